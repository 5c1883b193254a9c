"""The engine's part about soundness: rows held against what always holds, and what is derived made anew."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from commonplace.model import Item, Passage
from commonplace.store.damage import DamagedRow, content_checksum
from commonplace.store.invariants import (
    CUT,
    DERIVED,
    LIVE,
    RECORDED,
    SEARCHED,
    TRUTH,
    UNCUT,
    USED,
    Invariant,
    used,
    worded,
)
from commonplace.store.maintenance import FileDamage, ReportProgress, RowKey, Violations
from commonplace.store.sqlite import changes, fulltext_check, index, items, sessions, sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.online_backup import ROW_PROBLEMS
from commonplace.store.sqlite.scrubbing import part_rows
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.text_tables import TEXT_TABLES, damaged_row

EXAMPLES = 5
MOST_COMPLAINTS = 100
WORDS = "passages_fts"
# What SQLite says of an index that disagrees with its table; the rest is about the pages themselves.
_OF_INDEXES = ("missing from index", "wrong # of entries in index", "values differ from index", "rowid not at end")
# The ids of the rows that the full-text index holds are in this table of its own.
_WORDED = "passages_fts_docsize"
# Of an item that was cut, the whole has a row too.
WORDLESS = f"""{SEARCHED} AND (NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = p.id)
   OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = -p.item_id)))"""
# Asked of the rows of every space: whose a stray one is, nobody can tell.
STRAY_WORDS = f"""FROM {_WORDED} d WHERE NOT EXISTS (
    SELECT 1 FROM items i WHERE {LIVE}
       AND i.id = iif(d.id < 0, -d.id, (SELECT p.item_id FROM passages p WHERE p.id = d.id)))"""
_OWN = (
    # Replaced, since a change would be refused where it is more than the space may hold.
    used(f"INSERT OR REPLACE INTO space_use (space_id, items, bytes) SELECT {{space}}, g.n, g.size {USED}"),
    Invariant(
        "rows",
        "items are in a space that is not there",
        "FROM items i WHERE NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = i.space_id)",
        "i.id",
        "item {}",
    ),
    Invariant(
        "topics",
        "members are of no topic",
        "FROM cluster_passages m WHERE NOT EXISTS (SELECT 1 FROM clusters c WHERE c.id = m.cluster_id)",
        "m.passage_id",
        "passage {}",
        "DELETE FROM cluster_passages WHERE cluster_id NOT IN (SELECT id FROM clusters)",
        derived=True,
    ),
)
_MODEL = "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'model:' || :space)"
_LAST = {"p.id": "passages", "i.id": "items"}


def filled(statement: str) -> str:
    """A statement about invariants as this engine takes it."""
    return statement.format(space=":space", model=_MODEL, limit=":limit")


def complaints(connection: SqliteConnection, pragma: str) -> list[str]:
    """What SQLite's own check finds wrong with the file."""
    # Only who asks an index notices that others have changed it; the check takes what it remembers for the truth.
    with contextlib.suppress(apsw.CorruptError):
        sql.rows(connection, f"SELECT 1 FROM {WORDS} LIMIT 1")
    lines = [str(row[0]) for row in sql.rows(connection, f"PRAGMA {pragma}({MOST_COMPLAINTS})")]
    return [] if lines == ["ok"] else lines


class Integrity(SqliteSpace):
    """Checking the file."""

    def invariants(self) -> Sequence[Invariant]:
        return (*TRUTH, *_OWN, CUT, *worded(WORDLESS, STRAY_WORDS, "d.id"), *DERIVED, *RECORDED)

    def violations(self, kept: Invariant, newest: int | None = None) -> Violations:
        rows, bindings = filled(kept.rows), {"space": self._space_id, "newest": newest}
        if newest is not None and kept.newest:
            # Along the numbers of the rows, where SQLite would rather walk all of a space.
            rows = rows.replace("FROM items i WHERE", "FROM items i NOT INDEXED WHERE", 1)
            rows += f" AND {kept.newest} > (SELECT max(id) FROM {_LAST[kept.newest]}) - :newest"
        with self._database.read() as connection:
            count = int(sql.value(connection, f"SELECT count(*) {rows}", bindings))
            some = sql.rows(connection, f"SELECT {kept.key} {rows} LIMIT {EXAMPLES}", bindings) if count else ()
        return Violations(count, tuple(kept.named.format(row[0]) for row in some))

    def repair(self, kept: Invariant, limit: int) -> int:
        with self._database.write() as connection:
            connection.execute(filled(kept.repair), {"space": self._space_id, "limit": limit})
            return connection.changes()

    def file_damage(self, *, quick: bool) -> Sequence[FileDamage]:
        with self._database.read() as connection:
            return [*map(_damage, complaints(connection, "quick_check" if quick else "integrity_check"))]

    def reindex(self) -> None:
        with self._database.write() as connection:
            connection.execute("REINDEX")

    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]:
        with self._database.read() as connection:
            rows = part_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
        found = [damage for damage in (damaged_row(part, row) for row in rows) if damage is not None]
        return found, tuple(rows[-1][: len(TEXT_TABLES[part].keys)]) if rows else None

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        as_stored = ", ".join(f"CAST({column} AS BLOB)" for column in ("title", "body", "details"))
        question = (
            f"SELECT id, checksum, forgotten_ms, {as_stored} FROM items WHERE space_id = ? AND id > ?"
            " ORDER BY id LIMIT ?"
        )
        with self._database.read() as connection:
            rows = sql.rows(connection, question, (self._space_id, after, limit))
        wrong = [
            id_
            for id_, known, forgotten, *content in rows
            if known is not None and forgotten is None and known != content_checksum(*(part or b"" for part in content))
        ]
        return wrong, rows[-1][0] if rows else None

    def items_by_id(self, after: int, limit: int) -> list[Item]:
        question = "SELECT id FROM items WHERE space_id = ? AND id > ? ORDER BY id LIMIT ?"
        with self._database.read() as connection:
            ids = [row[0] for row in sql.rows(connection, question, (self._space_id, after, limit))]
            return [*items.get(connection, self._space_id, ids).values()]

    def unsplit_items(self, limit: int) -> list[Item]:
        with self._database.read() as connection:
            question = filled(f"SELECT i.id {UNCUT} LIMIT {{limit}}")
            ids = [row[0] for row in sql.rows(connection, question, self._some(limit))]
            return [*items.get(connection, self._space_id, ids).values()]

    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None:
        with self._database.write() as connection:
            item, place = items.get_one(connection, self._space_id, item_id), changes.place_of(connection, item_id)
            index.drop_passages(connection, self._space_id, item_id)
            index.add_passages(connection, self._space_id, item_id, passages)
            if item.forgotten_ms is None and item.superseded_by is None:
                index.show(connection, self._space_id, place.project_id, item)

    def stale_fts_items(self, advance: ReportProgress) -> list[int]:
        with self._database.read() as connection:
            return fulltext_check.differing(connection, self._space_id, advance)

    def reindex_items(self, item_ids: Sequence[int]) -> None:
        with self._database.write() as connection:
            for item in items.get(connection, self._space_id, item_ids).values():
                project_id = changes.place_of(connection, item.id).project_id
                if item.forgotten_ms is None and item.superseded_by is None:
                    index.reindex_items(connection, self._space_id, project_id, item)

    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]:
        question = (
            "SELECT id, messages, words, bytes, sketch FROM sessions WHERE space_id = ? AND id > ? ORDER BY id LIMIT ?"
        )
        with self._database.read() as connection:
            rows = sql.rows(connection, question, (self._space_id, after, limit))
            wrong = [
                id_
                for id_, *sums, sketch in rows
                if not sessions.is_counted(connection, id_, tuple(sums), bytes(sketch))
            ]
        return wrong, rows[-1][0] if rows else None

    def recount_sessions(self, session_ids: Sequence[int]) -> None:
        with self._database.write() as connection:
            for id_ in session_ids:
                # The sketch is made of what is said when somebody asks for it.
                connection.execute(
                    "UPDATE sessions SET messages = ?, words = ?, bytes = ?, sketch = x'' WHERE id = ?",
                    (*sessions.counted(connection, id_), id_),
                )

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        self._database.backup(target, to_key=to_key, checked=checked)

    def _some(self, limit: int) -> Mapping[str, int]:
        return {"space": self._space_id, "limit": limit}


def _damage(line: str) -> FileDamage:
    if WORDS in line:
        return FileDamage(line, "words")
    if any(mark in line for mark in _OF_INDEXES):
        return FileDamage(line, "indexes")
    return FileDamage(line, "rows" if any(mark in line for mark in ROW_PROBLEMS) else "")
