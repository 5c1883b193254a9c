"""Checking and repairing: rows compared with what always holds, and derived data rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from commonplace.errors import StoreError
from commonplace.model import Item, Passage
from commonplace.store.damaged_values import DamagedRow
from commonplace.store.invariants import LIVE, SEARCHED, STRAY_TOKENS, STRAY_VECTORS, UNSPLIT, VECTORLESS, Invariant
from commonplace.store.maintenance import FileDamage, IndexState, ReportProgress, RowKey, Violations
from commonplace.store.sql import indexing, item_changes, items, sessions
from commonplace.store.sql.connection import Connection, Space
from commonplace.store.sql.scrubbing import TEXT_TABLES, damaged_row, table_rows
from commonplace.store.sql.vectors import current_model
from commonplace.store.types import MAX_EMBED_TRIES

EXAMPLES = 5
# So many items at once are compared with the full-text index.
_ITEMS = 200
_LIVE_ITEMS = (
    f"SELECT i.id, i.project_id FROM items i WHERE i.space_id = ? AND i.id > ? AND {LIVE} ORDER BY i.id LIMIT ?"
)
_LAST = {"p.id": "passages", "i.id": "items"}
_GIVEN_UP = f"FROM jobs WHERE space_id = {{space}} AND kind = 'embed' AND tries >= {MAX_EMBED_TRIES}"
_WAITING = f"FROM jobs WHERE space_id = {{space}} AND kind = 'embed' AND tries < {MAX_EMBED_TRIES}"


# Those of some full-text rows, as they should be, that are others in the index.
DifferentRows = Callable[[Any, Sequence[Sequence[Any]]], set[int]]


class Integrity(Space):
    """Checking one space. An engine adds its own invariants, and what it knows of its files."""

    # Searched passages without a row in the full-text index, rows of it that belong to nothing, and their id.
    _WORDLESS: str
    _STRAY_WORDS: str
    _STRAY_ROW: str
    # What the rows of the engine have to satisfy, in the order in which violations are repaired.
    _INVARIANTS: Sequence[Invariant]

    def _file_damage(self, connection: Any, *, quick: bool) -> list[FileDamage]:
        raise NotImplementedError

    def _compare_index(self) -> AbstractContextManager[DifferentRows]:
        """Tells for as long as it is open which full-text rows are not as they should be."""
        raise NotImplementedError

    def invariants(self) -> Sequence[Invariant]:
        return self._INVARIANTS

    def file_damage(self, *, quick: bool) -> Sequence[FileDamage]:
        with self._database.read() as connection:
            return self._file_damage(connection, quick=quick)

    def file_problems(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            return tuple(damage.sentence for damage in self._file_damage(connection, quick=True))

    def violations(self, invariant: Invariant, newest: int | None = None) -> Violations:
        rows = filled(invariant.rows)
        if newest is not None and invariant.newest:
            # Along the ids of the rows, where SQLite would rather read all of a space.
            rows = rows.replace("FROM items i WHERE", "FROM items i NOT INDEXED WHERE", 1)
            last = f"SELECT max(id) FROM {_LAST[invariant.newest]} /*pg WHERE space_id = :space */"
            rows += f" AND {invariant.newest} > ({last}) - :newest"
        with self._database.read() as connection:
            bindings = {**self._bindings(connection), "newest": newest}
            count = int(connection.value(f"SELECT count(*) {rows}", bindings))
            some = connection.rows(f"SELECT {invariant.key} {rows} LIMIT {EXAMPLES}", bindings) if count else ()
        return Violations(count, tuple(invariant.named.format(row[0]) for row in some))

    def repair(self, invariant: Invariant, limit: int) -> int:
        with self._database.write() as connection:
            return connection.run(filled(invariant.repair), self._bindings(connection, limit))

    # Whoever runs a database server does these (docs/reference/postgresql.md); an engine with a file does them itself.

    def reindex(self) -> None:
        return

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        return [], None

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        hint = "Use pg_dump; see docs/reference/postgresql.md."
        raise StoreError("A database on a server is not copied into a file here.", hint)

    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]:
        with self._database.read() as connection:
            rows = table_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
        found = [damage for damage in (damaged_row(part, row) for row in rows) if damage is not None]
        return found, tuple(rows[-1][: len(TEXT_TABLES[part].keys)]) if rows else None

    def items_by_id(self, after: int, limit: int) -> list[Item]:
        select = "SELECT id FROM items WHERE +space_id = ? AND id > ? ORDER BY id LIMIT ?"
        with self._database.read() as connection:
            ids = [row[0] for row in connection.rows(select, (self._space_id, after, limit))]
            found = items.get(connection, self._space_id, ids)
        return [found[id_] for id_ in ids]

    def unsplit_items(self, limit: int) -> list[Item]:
        with self._database.read() as connection:
            rows = connection.rows(filled(f"SELECT i.id {UNSPLIT} LIMIT {{limit}}"), self._bindings(connection, limit))
            return [*items.get(connection, self._space_id, [row[0] for row in rows]).values()]

    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None:
        with self._database.write() as connection:
            item = items.get_one(connection, self._space_id, item_id)
            project_id = item_changes.location_of(connection, self._space_id, item_id).project_id
            indexing.delete_passages(connection, self._space_id, item_id)
            indexing.add_passages(connection, self._space_id, item_id, passages)
            if item_changes.is_live(item):
                indexing.show(connection, self._space_id, [(project_id, item)])

    def reindex_items(self, item_ids: Sequence[int]) -> None:
        with self._database.write() as connection:
            locations = item_changes.locations_of(connection, self._space_id, item_ids)
            for item in items.get(connection, self._space_id, item_ids).values():
                if item_changes.is_live(item):
                    indexing.reindex(connection, self._space_id, locations[item.id].project_id, item)

    def stale_fts_items(self, advance: ReportProgress) -> list[int]:
        found: list[int] = []
        after = 0
        with self._compare_index() as different:
            while True:
                with self._database.read() as connection:
                    projects = dict(connection.rows(_LIVE_ITEMS, (self._space_id, after, _ITEMS)))
                    if not projects:
                        return found
                    read = items.get(connection, self._space_id, projects)
                    located = [(project_id, read[id_]) for id_, project_id in projects.items()]
                    wanted = {
                        row[0]: (item.id, row)
                        for item, rows in indexing.wanted_rows(connection, self._space_id, located)
                        for row in rows.rows
                    }
                    wrong = different(connection, [row for _item_id, row in wanted.values()])
                found += dict.fromkeys(item_id for rowid, (item_id, _row) in wanted.items() if rowid in wrong)
                after = max(projects)
                advance(len(projects))

    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]:
        select = "SELECT id, messages, words, bytes, sketch FROM sessions WHERE +space_id = ? AND id > ?"
        with self._database.read() as connection:
            rows = connection.rows(f"{select} ORDER BY id LIMIT ?", (self._space_id, after, limit))
            wrong = [
                id_
                for id_, *sums, sketch in rows
                if not sessions.is_counted(connection, self._space_id, id_, tuple(sums), bytes(sketch))
            ]
        return wrong, rows[-1][0] if rows else None

    def recount_sessions(self, session_ids: Sequence[int]) -> None:
        # The sketch is made of the messages when somebody asks for it.
        change = "UPDATE sessions SET messages = ?, words = ?, bytes = ?, sketch = ? WHERE space_id = ? AND id = ?"
        with self._database.write() as connection:
            for id_ in session_ids:
                counted = sessions.count_messages(connection, self._space_id, id_)
                connection.run(change, (*counted, b"", self._space_id, id_))

    def index_state(self, seconds: float) -> IndexState:
        with self._database.read(seconds) as connection:
            bindings = self._bindings(connection)

            def count(rows: str) -> int:
                return int(connection.value(filled(f"SELECT count(*) {rows}"), bindings))

            return IndexState(
                passages=count(SEARCHED),
                wordless=count(self._WORDLESS),
                vectorless=count(VECTORLESS),
                waiting=count(_WAITING),
                given_up=count(_GIVEN_UP),
                stray=count(self._STRAY_WORDS) + count(STRAY_VECTORS) + count(STRAY_TOKENS),
            )

    def repair_text_index(self, limit: int) -> int:
        with self._database.write() as connection:
            bindings = self._bindings(connection, limit)
            select = filled(f"SELECT DISTINCT i.id, i.project_id {self._WORDLESS} LIMIT {{limit}}")
            missing = dict(connection.rows(select, bindings))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                indexing.reindex(connection, self._space_id, project_id, found[item_id])
            select = filled(f"SELECT {self._STRAY_ROW} {self._STRAY_WORDS} LIMIT {{limit}}")
            stray = [row[0] for row in connection.rows(select, bindings)]
            connection.delete_fulltext(self._space_id, stray)
            stray_vectors = f"SELECT v.seq {STRAY_VECTORS} LIMIT {{limit}}"
            delete = f"DELETE FROM vectors WHERE +space_id = {{space}} AND seq IN ({stray_vectors})"
            gone = connection.run(filled(delete), bindings)
            stray_tokens = f"SELECT t.passage_id {STRAY_TOKENS} LIMIT {{limit}}"
            delete = f"DELETE FROM token_vectors WHERE space_id = {{space}} AND passage_id IN ({stray_tokens})"
            gone += connection.run(filled(delete), bindings)
        return len(missing) + len(stray) + gone

    def _bindings(self, connection: Connection, limit: int = 0) -> Mapping[str, object]:
        return {"space": self._space_id, "model": current_model(connection, self._space_id), "limit": limit}


def filled(statement: str) -> str:
    """A statement about invariants with its parameters."""
    return statement.format(space=":space", model=":model", limit=":limit")
