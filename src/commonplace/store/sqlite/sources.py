"""The engine's part about files that were read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from commonplace.store.sqlite import sql
from commonplace.store.sqlite.space import Space


class Sources(Space):
    """How far each file was read."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        with self._database.read() as connection:
            question = "SELECT mark FROM sources WHERE space_id = ? AND path = ?"
            row = sql.first(connection, question, (self._space_id, path))
        return None if row is None else json.loads(row[0])

    def note_source(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO sources (space_id, path, mark, at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (space_id, path) DO UPDATE SET mark = excluded.mark, at_ms = excluded.at_ms",
                (self._space_id, path, json.dumps(mark, ensure_ascii=False), now_ms),
            )
