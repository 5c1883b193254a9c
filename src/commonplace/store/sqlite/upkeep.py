"""The engine's part about upkeep: SQLite's own check, and the indexes held against the rows they were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.store.sqlite import index, items, jobs, sql
from commonplace.store.sqlite.space import Space
from commonplace.store.upkeep import IndexState

MOST_COMPLAINTS = 20
# The ids of the rows that the full-text index holds are in this table of its own.
_WORDED = "passages_fts_docsize"
_LIVE = "i.forgotten_ms IS NULL AND i.superseded_by IS NULL"
_SEARCHED = f"FROM passages p CROSS JOIN items i ON i.id = p.item_id WHERE p.space_id = ?1 AND {_LIVE}"
# Of an item that was cut, the whole has a row too.
_WORDLESS = f"""
{_SEARCHED} AND (NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = p.id)
   OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = -p.item_id)))
"""
_VECTORLESS = f"""
{_SEARCHED} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space_id = ?1 AND v.passage_id = p.id)
   AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.space_id = ?1 AND j.kind = 'embed' AND j.passage_id = p.id)
"""
# Asked of the rows of every space: whose a stray one is, nobody can tell.
_STRAY_WORDS = f"""
FROM {_WORDED} d WHERE NOT EXISTS (
    SELECT 1 FROM items i WHERE {_LIVE}
       AND i.id = iif(d.id < 0, -d.id, (SELECT p.item_id FROM passages p WHERE p.id = d.id)))
"""
_STRAY_VECTORS = f"""
FROM vectors v WHERE v.space_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM passages p CROSS JOIN items i ON i.id = p.item_id WHERE p.id = v.passage_id AND {_LIVE})
"""


class Upkeep(Space):
    """Looking after the file."""

    def complaints(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            found = [str(row[0]) for row in sql.rows(connection, f"PRAGMA quick_check({MOST_COMPLAINTS})")]
        return () if found == ["ok"] else found

    def index_state(self, seconds: float) -> IndexState:
        with self._database.read(seconds) as connection:

            def count(rows: str) -> int:
                return int(sql.value(connection, f"SELECT count(*) {rows}", (self._space_id,) if "?1" in rows else ()))

            return IndexState(
                passages=count(_SEARCHED),
                wordless=count(_WORDLESS),
                vectorless=count(_VECTORLESS),
                waiting=jobs.pending(connection, self._space_id),
                given_up=count(f"FROM jobs WHERE space_id = ?1 AND kind = 'embed' AND tries >= {jobs.MAX_TRIES}"),
                stray=count(_STRAY_WORDS) + count(_STRAY_VECTORS),
            )

    def clear_words(self) -> None:
        with self._database.write() as connection:
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")

    def mend_words(self, limit: int) -> int:
        with self._database.write() as connection:
            question = f"SELECT DISTINCT i.id, i.project_id {_WORDLESS} LIMIT ?2"
            missing = dict(sql.rows(connection, question, (self._space_id, limit)))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                index.reword(connection, self._space_id, project_id, found[item_id])
            stray = [row[0] for row in sql.rows(connection, f"SELECT d.id {_STRAY_WORDS} LIMIT ?", (limit,))]
            for rowid in stray:
                connection.execute("DELETE FROM passages_fts WHERE rowid = ?", (rowid,))
            strays = f"SELECT v.seq {_STRAY_VECTORS} LIMIT ?2"
            gone = [row[0] for row in sql.rows(connection, strays, (self._space_id, limit))]
            connection.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (json.dumps(gone),))
        return len(missing) + len(stray) + len(gone)
