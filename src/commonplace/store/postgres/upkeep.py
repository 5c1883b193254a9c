"""The engine's part about upkeep: what the server knows to be wrong, and the indexes held against their rows."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.store.postgres import index, items, jobs, sql
from commonplace.store.postgres.migrate import check
from commonplace.store.postgres.space import Space
from commonplace.store.postgres.words import erase
from commonplace.store.upkeep import IndexState

# Whoever runs the server checks its files; this is what it tells everybody.
_BAD_PAGES = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
_BAD_INDEXES = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
 WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""
_LIVE = "i.forgotten_ms IS NULL AND i.superseded_by IS NULL"
_SEARCHED = f"""
FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
WHERE p.space_id = %(space)s AND {_LIVE}
"""
# Of an item that was cut, the whole has a row too.
_WORDLESS = f"""
{_SEARCHED} AND (NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = p.id)
   OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = -p.item_id)))
"""
_VECTORLESS = f"""
{_SEARCHED} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space_id = p.space_id AND v.passage_id = p.id)
   AND NOT EXISTS (
       SELECT 1 FROM jobs j WHERE j.space_id = p.space_id AND j.kind = 'embed' AND j.passage_id = p.id)
"""
_STRAY_WORDS = f"""
FROM words w WHERE w.space_id = %(space)s AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.space_id = w.space_id AND {_LIVE}
       AND i.id = CASE WHEN w.id < 0 THEN -w.id ELSE (
           SELECT p.item_id FROM passages p WHERE p.space_id = w.space_id AND p.id = w.id) END)
"""
_STRAY_VECTORS = f"""
FROM vectors v WHERE v.space_id = %(space)s AND NOT EXISTS (
    SELECT 1 FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
     WHERE p.space_id = v.space_id AND p.id = v.passage_id AND {_LIVE})
"""


class Upkeep(Space):
    """Looking after the database."""

    def check_schema(self) -> int:
        return check(self._database)

    def complaints(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            bad = sql.value(connection, _BAD_PAGES)
            pages = [f"{bad} pages of the database failed their checksums"] if bad else []
            indexes = [f"the index {name} is not valid" for (name,) in sql.rows(connection, _BAD_INDEXES)]
        return (*pages, *indexes)

    def index_state(self, seconds: float) -> IndexState:
        with self._database.read(seconds) as connection:

            def count(rows: str) -> int:
                return int(sql.value(connection, f"SELECT count(*) {rows}", {"space": self._space_id}))

            return IndexState(
                passages=count(_SEARCHED),
                wordless=count(_WORDLESS),
                vectorless=count(_VECTORLESS),
                waiting=jobs.pending(connection, self._space_id),
                given_up=count(
                    f"FROM jobs WHERE space_id = %(space)s AND kind = 'embed' AND tries >= {jobs.MAX_TRIES}"
                ),
                stray=count(_STRAY_WORDS) + count(_STRAY_VECTORS),
            )

    def clear_words(self) -> None:
        with self._database.write() as connection:
            for table in ("words", "word_totals"):
                sql.run(connection, f"DELETE FROM {table} WHERE space_id = %s", (self._space_id,))

    def mend_words(self, limit: int) -> int:
        here = {"space": self._space_id, "limit": limit}
        with self._database.write() as connection:
            question = f"SELECT DISTINCT i.id, i.project_id {_WORDLESS} LIMIT %(limit)s"
            missing = dict(sql.rows(connection, question, here))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                index.reword(connection, self._space_id, project_id, found[item_id])
            stray = [row[0] for row in sql.rows(connection, f"SELECT w.id {_STRAY_WORDS} LIMIT %(limit)s", here)]
            erase(connection, self._space_id, stray)
            gone = sql.run(
                connection,
                "DELETE FROM vectors WHERE space_id = %(space)s AND seq IN"
                f" (SELECT v.seq {_STRAY_VECTORS} LIMIT %(limit)s)",
                here,
            )
        return len(missing) + len(stray) + gone
