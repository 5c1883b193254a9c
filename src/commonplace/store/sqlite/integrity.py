"""Checking a SQLite file: SQLite's own check, and the invariants of its tables."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

from commonplace.store.damaged_values import content_checksum
from commonplace.store.invariants import AUTHORED, DERIVED, LIVE, SEARCHED, SPLIT, USED, Invariant, counted_use, indexed
from commonplace.store.maintenance import FileDamage
from commonplace.store.sql.integrity_and_scrubbing import Integrity
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.content_fingerprint import WIPED
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.encryption_and_copies import ROW_PROBLEMS

MAX_PROBLEMS = 100
WORDS = "passages_fts"
# What SQLite says of an index that disagrees with its table; the rest is about the pages themselves.
_INDEX_PROBLEMS = ("missing from index", "wrong # of entries in index", "values differ from index", "rowid not at end")
# The ids of the rows that the full-text index holds are in this table of its own.
_WORDED = "passages_fts_docsize"
_OWN = (
    # Replaced, since a change would be refused where it is more than the space may hold.
    counted_use(f"INSERT OR REPLACE INTO space_use (space_id, items, bytes) SELECT {{space}}, g.n, g.size {USED}"),
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


class SqliteIntegrity(Integrity):
    """Checking the file."""

    _database: Database

    # Of an item that was split, the whole has a row too.
    _WORDLESS = f"""{SEARCHED} AND (NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = p.id)
   OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM {_WORDED} d WHERE d.id = -p.item_id)))"""
    # Of the rows of every space: which one a stray row belonged to, nobody can tell.
    _STRAY_WORDS = f"""FROM {_WORDED} d WHERE NOT EXISTS (
    SELECT 1 FROM items i WHERE {LIVE}
       AND i.id = iif(d.id < 0, -d.id, (SELECT p.item_id FROM passages p WHERE p.id = d.id)))"""
    _STRAY_ROW = "d.id"
    _INVARIANTS = (*AUTHORED, *_OWN, SPLIT, *indexed(_WORDLESS, _STRAY_WORDS, _STRAY_ROW), *DERIVED)

    def _file_damage(self, connection: SqliteConnection, *, quick: bool) -> list[FileDamage]:
        return [*map(_damage, _problems(connection, "quick_check" if quick else "integrity_check"))]

    def reindex(self) -> None:
        with self._database.write() as connection:
            connection.execute("REINDEX")

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        as_stored = ", ".join(f"CAST({column} AS BLOB)" for column in ("title", "body", "details"))
        select = (
            f"SELECT id, checksum, forgotten_ms, {as_stored} FROM items WHERE +space_id = ? AND id > ?"
            " ORDER BY id LIMIT ?"
        )
        with self._database.read() as connection:
            rows = connection.rows(select, (self._space_id, after, limit))
        wrong = [
            id_
            for id_, known, forgotten, *content in rows
            if known is not None and forgotten is None and known != content_checksum(*(part or b"" for part in content))
        ]
        return wrong, rows[-1][0] if rows else None

    def clear_text_index(self) -> None:
        with self._database.write() as connection:
            connection.execute(f"INSERT INTO {WORDS} ({WORDS}) VALUES ('delete-all')")

    def erase_deleted(self) -> bool:
        with self._database.write() as connection:
            # What was deleted from the index is still in it until its pieces are joined; there must be two to join.
            connection.execute(f"INSERT INTO {WORDS} (rowid, text) VALUES (-9223372036854775807, 'x')")
            connection.execute(f"DELETE FROM {WORDS} WHERE rowid = -9223372036854775807")
            connection.execute(f"INSERT INTO {WORDS} ({WORDS}) VALUES ('optimize')")
            # Cleaning leaves no history, and what was prepared before it must not pass for current.
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, '1')"
                " ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
                (WIPED,),
            )
        return self._database.compact()

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        self._database.backup(target, to_key=to_key, checked=checked)


def _problems(connection: SqliteConnection, pragma: str) -> list[str]:
    """What SQLite's own check finds wrong with the file."""
    # Only who reads an index notices that others have changed it; the check trusts what it remembers.
    with contextlib.suppress(apsw.CorruptError):
        connection.rows(f"SELECT 1 FROM {WORDS} LIMIT 1")
    lines = [str(row[0]) for row in connection.rows(f"PRAGMA {pragma}({MAX_PROBLEMS})")]
    return [] if lines == ["ok"] else lines


def _damage(line: str) -> FileDamage:
    if WORDS in line:
        return FileDamage(line, "words")
    if any(mark in line for mark in _INDEX_PROBLEMS):
        return FileDamage(line, "indexes")
    return FileDamage(line, "rows" if any(mark in line for mark in ROW_PROBLEMS) else "")
