"""The engine's part about upkeep: what the server knows to be wrong, and the indexes held against their rows."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.store.invariants import SEARCHED, STRAY_VECTORS, VECTORLESS
from commonplace.store.maintenance import IndexState
from commonplace.store.postgres import index, items, sql
from commonplace.store.postgres.integrity import STRAY_WORDS, WORDLESS, filled, told_by_server
from commonplace.store.postgres.migrate import check
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.postgres.words import erase
from commonplace.store.sql.vectors import pending
from commonplace.store.types import MAX_EMBED_TRIES


class Upkeep(PostgresSpace):
    """Looking after the database."""

    def check_schema(self) -> int:
        return check(self._database)

    def file_problems(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            return tuple(damage.sentence for damage in told_by_server(connection))

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
            for table in ("words", "word_totals"):
                sql.run(connection, f"DELETE FROM {table} WHERE space_id = %s", (self._space_id,))

    def repair_text_index(self, limit: int) -> int:
        here = {"space": self._space_id, "limit": limit}
        with self._database.write() as connection:
            question = filled(f"SELECT DISTINCT i.id, i.project_id {WORDLESS} LIMIT {{limit}}")
            missing = dict(sql.rows(connection, question, here))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                index.reindex_items(connection, self._space_id, project_id, found[item_id])
            question = filled(f"SELECT w.id {STRAY_WORDS} LIMIT {{limit}}")
            stray = [row[0] for row in sql.rows(connection, question, here)]
            erase(connection, self._space_id, stray)
            stray_vectors = f"SELECT v.seq {STRAY_VECTORS} LIMIT {{limit}}"
            delete = filled(f"DELETE FROM vectors WHERE space_id = {{space}} AND seq IN ({stray_vectors})")
            gone = sql.run(connection, delete, here)
        return len(missing) + len(stray) + gone
