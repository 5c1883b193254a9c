"""The engine's part about upkeep: the indexes held against the rows they were made of."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.store.postgres import index, items, jobs, sql
from commonplace.store.postgres.space import Space
from commonplace.store.postgres.words import erase
from commonplace.store.upkeep import IndexState

_LIVE = "i.forgotten_ms IS NULL AND i.superseded_by IS NULL"
_SEARCHED = f"""
FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
WHERE p.space_id = %(space)s AND {_LIVE}
"""
_WORDED = "SELECT 1 FROM words w WHERE w.space_id = %(space)s AND w.id"
# Of an item that was cut, the whole has a row too.
_WORDLESS = f"""
{_SEARCHED} AND (NOT EXISTS ({_WORDED} = p.id) OR (p.seq > 0 AND NOT EXISTS ({_WORDED} = -p.item_id)))
"""
_VECTORLESS = f"""
{_SEARCHED} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space_id = %(space)s AND v.passage_id = p.id)
   AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.space_id = %(space)s AND j.kind = 'embed' AND j.passage_id = p.id)
"""
_STRAY_WORDS = f"""
FROM words w WHERE w.space_id = %(space)s AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.space_id = %(space)s AND {_LIVE} AND i.id = CASE WHEN w.id < 0 THEN -w.id
       ELSE (SELECT p.item_id FROM passages p WHERE p.space_id = %(space)s AND p.id = w.id) END)
"""
_STRAY_VECTORS = f"""
FROM vectors v WHERE v.space_id = %(space)s AND NOT EXISTS (
    SELECT 1 FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
     WHERE p.space_id = %(space)s AND p.id = v.passage_id AND {_LIVE})
"""


class Upkeep(Space):
    """Looking after the space. The files of the server are looked after by the server."""

    def complaints(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            broken = sql.rows(
                connection, "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid OR NOT indisready"
            )
        return [f"The index {name} is not valid." for (name,) in broken]

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
        with self._database.write() as connection:
            bindings = {"space": self._space_id, "limit": limit}
            question = f"SELECT DISTINCT i.id, i.project_id {_WORDLESS} LIMIT %(limit)s"
            missing = dict(sql.rows(connection, question, bindings))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                index.reword(connection, self._space_id, project_id, found[item_id])
            stray = [row[0] for row in sql.rows(connection, f"SELECT w.id {_STRAY_WORDS} LIMIT %(limit)s", bindings)]
            erase(connection, self._space_id, stray)
            gone = sql.run(
                connection,
                f"DELETE FROM vectors WHERE space_id = %(space)s"
                f" AND seq IN (SELECT v.seq {_STRAY_VECTORS} LIMIT %(limit)s)",
                bindings,
            )
        return len(missing) + len(stray) + gone
