"""How much there is of everything in a space."""

from __future__ import annotations

import apsw

from commonplace.store import Counts
from commonplace.store.sqlite import jobs, sql


def of_space(connection: apsw.Connection, space_id: int) -> Counts:
    """Everything that `status` counts, of one space."""

    def one(question: str) -> int:
        return int(sql.value(connection, question, (space_id,)))

    tally = sql.rows(connection, "SELECT kind, sum(items) FROM tally WHERE space_id = ? GROUP BY kind", (space_id,))
    return Counts(
        items=dict(tally),
        projects=one("SELECT count(*) FROM projects WHERE space_id = ?"),
        sessions=one("SELECT count(*) FROM sessions WHERE space_id = ?"),
        passages=one("SELECT count(*) FROM passages WHERE space_id = ?"),
        vectors=one("SELECT count(*) FROM vectors WHERE space_id = ?"),
        pending=jobs.pending(connection, space_id),
        forgotten=one("SELECT count(*) FROM items WHERE space_id = ? AND forgotten_ms IS NOT NULL"),
        bytes=int(connection.pragma("page_count")) * int(connection.pragma("page_size")),
    )
