"""The engine's part about upkeep: SQLite's own check, and the indexes held against the rows they were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.store.invariants import SEARCHED, STRAY_VECTORS, VECTORLESS
from commonplace.store.maintenance import IndexState
from commonplace.store.sql.vectors import pending
from commonplace.store.sqlite import index, items, sql
from commonplace.store.sqlite.integrity import STRAY_WORDS, WORDLESS, complaints, filled
from commonplace.store.sqlite.migrate import check
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import MAX_EMBED_TRIES


class Upkeep(SqliteSpace):
    """Looking after the file."""

    def check_schema(self) -> int:
        return check(self._database)

    def file_problems(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            return tuple(complaints(connection, "quick_check"))

    def index_state(self, seconds: float) -> IndexState:
        with self._database.read(seconds) as connection:

            def count(rows: str) -> int:
                return int(sql.value(connection, filled(f"SELECT count(*) {rows}"), {"space": self._space_id}))

            return IndexState(
                passages=count(SEARCHED),
                wordless=count(WORDLESS),
                vectorless=count(VECTORLESS),
                waiting=pending(connection, self._space_id),
                given_up=count(
                    f"FROM jobs WHERE space_id = {{space}} AND kind = 'embed' AND tries >= {MAX_EMBED_TRIES}"
                ),
                stray=count(STRAY_WORDS) + count(STRAY_VECTORS),
            )

    def clear_text_index(self) -> None:
        with self._database.write() as connection:
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")

    def repair_text_index(self, limit: int) -> int:
        some = {"space": self._space_id, "limit": limit}
        with self._database.write() as connection:
            question = filled(f"SELECT DISTINCT i.id, i.project_id {WORDLESS} LIMIT {{limit}}")
            missing = dict(sql.rows(connection, question, some))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                index.reindex_items(connection, self._space_id, project_id, found[item_id])
            stray = [row[0] for row in sql.rows(connection, filled(f"SELECT d.id {STRAY_WORDS} LIMIT {{limit}}"), some)]
            for rowid in stray:
                connection.execute("DELETE FROM passages_fts WHERE rowid = ?", (rowid,))
            gone = [
                row[0] for row in sql.rows(connection, filled(f"SELECT v.seq {STRAY_VECTORS} LIMIT {{limit}}"), some)
            ]
            connection.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (json.dumps(gone),))
        return len(missing) + len(stray) + len(gone)
