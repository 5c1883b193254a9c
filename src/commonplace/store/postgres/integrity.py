"""Checking a PostgreSQL database: what the server knows to be wrong, and the invariants of its tables."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from commonplace.store.invariants import AUTHORED, DERIVED, LIVE, SEARCHED, SPLIT, USED, Invariant, counted_use, indexed
from commonplace.store.maintenance import FileDamage
from commonplace.store.postgres.connection import PostgresConnection
from commonplace.store.postgres.database import Database
from commonplace.store.sql.integrity import DifferentRows, Integrity
from commonplace.store.sql.scrubbing import TEXT_TABLES

# Whoever runs the server checks its files; this is what it shows to everybody.
_BAD_PAGES = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
_BAD_INDEXES = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
 WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""
_TOTALS = """FROM (SELECT count(*) AS n, coalesce(sum(length), 0) AS length FROM words WHERE space_id = {space}) g
  LEFT JOIN word_totals t ON t.space_id = {space}
 WHERE (g.n, g.length) <> (coalesce(t.rows, 0), coalesce(t.length, 0))"""
_OWN = (
    Invariant(
        "words",
        "sums over the index are wrong",
        _TOTALS,
        "g.n",
        "{} rows",
        f"INSERT INTO word_totals (space_id, rows, length) SELECT {{space}}, g.n, g.length {_TOTALS}"
        " ON CONFLICT (space_id) DO UPDATE SET rows = excluded.rows, length = excluded.length",
        derived=True,
    ),
    counted_use(
        f"INSERT INTO space_use (space_id, items, bytes) SELECT {{space}}, g.n, g.size {USED}"
        " ON CONFLICT (space_id) DO UPDATE SET items = excluded.items, bytes = excluded.bytes"
    ),
)
_DIFFERENT = """
SELECT e.id FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[]) AS e (id, length, streams, v)
  LEFT JOIN words w ON w.space_id = %s AND w.id = e.id
 WHERE w.id IS NULL OR w.length <> e.length OR w.streams <> e.streams OR w.v <> e.v::tsvector
"""


class PostgresIntegrity(Integrity):
    """Checking the database."""

    _database: Database

    # Of an item that was split, the whole has a row too.
    _WORDLESS = f"""{SEARCHED}
   AND (NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = p.id)
        OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = -p.item_id)))"""
    _STRAY_WORDS = f"""FROM words w WHERE w.space_id = {{space}} AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.space_id = w.space_id AND {LIVE}
       AND i.id = CASE WHEN w.id < 0 THEN -w.id ELSE (
           SELECT p.item_id FROM passages p WHERE p.space_id = w.space_id AND p.id = w.id) END)"""
    _STRAY_ROW = "w.id"
    _INVARIANTS = (*AUTHORED, SPLIT, *indexed(_WORDLESS, _STRAY_WORDS, _STRAY_ROW), *_OWN, *DERIVED)

    def _file_damage(self, connection: PostgresConnection, *, quick: bool) -> list[FileDamage]:
        """What the server knows to be wrong with its files."""
        bad = connection.value(_BAD_PAGES)
        pages = [FileDamage(f"{bad} pages of the database failed their checksums")] if bad else []
        indexes = [FileDamage(f"the index {name} is not valid") for (name,) in connection.rows(_BAD_INDEXES)]
        return [*pages, *indexes]

    def _compare_index(self) -> contextlib.nullcontext[DifferentRows]:
        return contextlib.nullcontext(self._different_rows)

    def _different_rows(self, connection: PostgresConnection, rows: Sequence[Sequence[Any]]) -> set[int]:
        columns = [[*column] for column in zip(*rows, strict=True)]
        return {id_ for (id_,) in connection.execute(_DIFFERENT, (*columns, self._space_id))} if rows else set()

    def clear_text_index(self) -> None:
        with self._database.write() as connection:
            for table in ("words", "word_totals"):
                connection.run(f"DELETE FROM {table} WHERE space_id = ?", (self._space_id,))

    def erase_deleted(self) -> bool:
        with self._database.write() as connection:
            # Cleaning leaves no history, and what was prepared before it must not pass for current.
            wiped = int(connection.get_setting(self._space_id, "wiped") or 0)
            connection.set_setting(self._space_id, "wiped", str(wiped + 1))
        return self._database.vacuum(
            sorted({"items", "passages", "words", *(one.table for one in TEXT_TABLES.values())})
        )
