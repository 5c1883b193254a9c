"""The engine's part about soundness: rows held against what always holds, and what is derived made anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from commonplace.errors import StoreError
from commonplace.model import Item, Passage
from commonplace.store.damage import DamagedRow
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
from commonplace.store.postgres import changes, index, items, sessions, sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scrubbing import part_rows
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.text_tables import TEXT_TABLES, damaged_row

EXAMPLES = 5
_ITEMS = 200
# Whoever runs the server checks its files; this is what it tells everybody.
_BAD_PAGES = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
_BAD_INDEXES = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
 WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""
# Of an item that was cut, the whole has a row too.
WORDLESS = f"""{SEARCHED}
   AND (NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = p.id)
        OR (p.seq > 0 AND NOT EXISTS (SELECT 1 FROM words w WHERE w.space_id = p.space_id AND w.id = -p.item_id)))"""
STRAY_WORDS = f"""FROM words w WHERE w.space_id = {{space}} AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.space_id = w.space_id AND {LIVE}
       AND i.id = CASE WHEN w.id < 0 THEN -w.id ELSE (
           SELECT p.item_id FROM passages p WHERE p.space_id = w.space_id AND p.id = w.id) END)"""
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
    used(
        f"INSERT INTO space_use (space_id, items, bytes) SELECT {{space}}, g.n, g.size {USED}"
        " ON CONFLICT (space_id) DO UPDATE SET items = excluded.items, bytes = excluded.bytes"
    ),
)
_MODEL = "(SELECT value::integer FROM meta WHERE space_id = %(space)s AND key = 'model')"
_LAST = {"p.id": "passages", "i.id": "items"}
_DIFFERENT = """
SELECT e.id FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[]) AS e (id, length, streams, v)
  LEFT JOIN words w ON w.space_id = %s AND w.id = e.id
 WHERE w.id IS NULL OR w.length <> e.length OR w.streams <> e.streams OR w.v <> e.v::tsvector
"""


def filled(statement: str) -> str:
    """A statement about invariants as this engine takes it."""
    return statement.format(space="%(space)s", model=_MODEL, limit="%(limit)s")


def told_by_server(connection: Connection) -> list[FileDamage]:
    """What the server knows to be wrong with its files."""
    bad = sql.value(connection, _BAD_PAGES)
    pages = [FileDamage(f"{bad} pages of the database failed their checksums")] if bad else []
    indexes = [FileDamage(f"the index {name} is not valid") for (name,) in sql.rows(connection, _BAD_INDEXES)]
    return [*pages, *indexes]


class Integrity(PostgresSpace):
    """Checking the database."""

    def invariants(self) -> Sequence[Invariant]:
        return (*TRUTH, CUT, *worded(WORDLESS, STRAY_WORDS, "w.id"), *_OWN, *DERIVED, *RECORDED)

    def violations(self, kept: Invariant, newest: int | None = None) -> Violations:
        rows, bindings = filled(kept.rows), {"space": self._space_id, "newest": newest}
        if newest is not None and kept.newest:
            last = f"SELECT max(id) FROM {_LAST[kept.newest]} WHERE space_id = %(space)s"
            rows += f" AND {kept.newest} > ({last}) - %(newest)s"
        with self._database.read() as connection:
            count = int(sql.value(connection, f"SELECT count(*) {rows}", bindings))
            some = sql.rows(connection, f"SELECT {kept.key} {rows} LIMIT {EXAMPLES}", bindings) if count else ()
        return Violations(count, tuple(kept.named.format(row[0]) for row in some))

    def repair(self, kept: Invariant, limit: int) -> int:
        with self._database.write() as connection:
            return sql.run(connection, filled(kept.repair), {"space": self._space_id, "limit": limit})

    def file_damage(self, *, quick: bool) -> Sequence[FileDamage]:
        with self._database.read() as connection:
            return told_by_server(connection)

    def reindex(self) -> None:
        """Left to whoever runs the server: see docs/team.md."""

    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]:
        with self._database.read() as connection:
            rows = part_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
        found = [damage for damage in (damaged_row(part, row) for row in rows) if damage is not None]
        return found, tuple(rows[-1][: len(TEXT_TABLES[part].keys)]) if rows else None

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        """None: the pages of a server have checksums of their own."""
        return [], None

    def items_by_id(self, after: int, limit: int) -> list[Item]:
        question = "SELECT id FROM items WHERE space_id = %s AND id > %s ORDER BY id LIMIT %s"
        with self._database.read() as connection:
            ids = [row[0] for row in sql.rows(connection, question, (self._space_id, after, limit))]
            found = items.get(connection, self._space_id, ids)
        return [found[id_] for id_ in ids]

    def unsplit_items(self, limit: int) -> list[Item]:
        with self._database.read() as connection:
            question = filled(f"SELECT i.id {UNCUT} LIMIT {{limit}}")
            rows = sql.rows(connection, question, {"space": self._space_id, "limit": limit})
            return [*items.get(connection, self._space_id, [row[0] for row in rows]).values()]

    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None:
        with self._database.write() as connection:
            item = items.get_one(connection, self._space_id, item_id)
            project_id = changes.place_of(connection, self._space_id, item_id).project_id
            index.drop_passages(connection, self._space_id, item_id)
            index.add_passages(connection, self._space_id, item_id, passages)
            if item.forgotten_ms is None and item.superseded_by is None:
                index.show(connection, self._space_id, [(project_id, item)])

    def stale_fts_items(self, advance: ReportProgress) -> list[int]:
        question = f"SELECT i.id, i.project_id FROM items i WHERE i.space_id = %s AND i.id > %s AND {LIVE}"
        found: list[int] = []
        after = 0
        while True:
            with self._database.read() as connection:
                some = dict(sql.rows(connection, f"{question} ORDER BY i.id LIMIT %s", (self._space_id, after, _ITEMS)))
                if not some:
                    return found
                found += self._differing(connection, some)
            after = max(some)
            advance(len(some))

    def _differing(self, connection: Connection, some: dict[int, int | None]) -> list[int]:
        """Those of some items (id, project) whose words are others in the index."""
        read = items.get(connection, self._space_id, some)
        wanted = index.rows_of(connection, self._space_id, [(some[id_], item) for id_, item in read.items()])
        if not wanted:
            return []
        columns = map(list, zip(*(row for _item, row in wanted), strict=True))
        wrong = {row[0] for row in sql.rows(connection, _DIFFERENT, (*columns, self._space_id))}
        return list(dict.fromkeys(item_id for item_id, row in wanted if row[0] in wrong))

    def reindex_items(self, item_ids: Sequence[int]) -> None:
        with self._database.write() as connection:
            places = changes.places_of(connection, self._space_id, item_ids)
            for item in items.get(connection, self._space_id, item_ids).values():
                if item.forgotten_ms is None and item.superseded_by is None:
                    index.reindex_items(connection, self._space_id, places[item.id].project_id, item)

    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]:
        question = (
            "SELECT id, messages, words, bytes, sketch FROM sessions"
            " WHERE space_id = %s AND id > %s ORDER BY id LIMIT %s"
        )
        with self._database.read() as connection:
            rows = sql.rows(connection, question, (self._space_id, after, limit))
            wrong = [
                id_
                for id_, *sums, sketch in rows
                if not sessions.is_counted(connection, self._space_id, id_, tuple(sums), bytes(sketch))
            ]
        return wrong, rows[-1][0] if rows else None

    def recount_sessions(self, session_ids: Sequence[int]) -> None:
        with self._database.write() as connection:
            for id_ in session_ids:
                # The sketch is made of what is said when somebody asks for it.
                sql.run(
                    connection,
                    "UPDATE sessions SET messages = %s, words = %s, bytes = %s, sketch = ''"
                    " WHERE space_id = %s AND id = %s",
                    (*sessions.counted(connection, self._space_id, id_), self._space_id, id_),
                )

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        raise StoreError("A database on a server is not copied into a file here.", "Use pg_dump; see docs/team.md.")
