"""Sessions: the sequences that items come in."""

from __future__ import annotations

import apsw

from commonplace.identity import new_uid
from commonplace.store.sqlite import sql


def find_or_create(
    connection: apsw.Connection, space_id: int, key: str, project_id: int | None, started_ms: int, now_ms: int
) -> int:
    """The session an agent calls `key`, made on first mention; its project is learnt when one is first named."""
    row = sql.first(connection, "SELECT id, project_id FROM sessions WHERE space_id = ? AND key = ?", (space_id, key))
    if row is None:
        (session_id,) = sql.rows(
            connection,
            "INSERT INTO sessions (uid, space_id, key, project_id, started_ms) VALUES (?, ?, ?, ?, ?) RETURNING id",
            (new_uid(now_ms), space_id, key, project_id, started_ms),
        )[0]
        return int(session_id)
    if row[1] is None and project_id is not None:
        connection.execute("UPDATE sessions SET project_id = ? WHERE id = ?", (project_id, row[0]))
    return int(row[0])
