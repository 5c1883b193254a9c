"""The SQLite engine: a store in one file. FTS5 answers queries with operators as filters, which every hit satisfies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw

from commonplace.errors import NotFound
from commonplace.store.rows import PART
from commonplace.store.sql.items import Filter
from commonplace.store.sql.shared_store import SharedStore
from commonplace.store.sqlite.connection import SqliteConnection, space_token
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.integrity import SqliteIntegrity
from commonplace.store.sqlite.migrate import check, migrations, recognise
from commonplace.store.sqlite.migrate import migrate as run_migrations
from commonplace.store.sqlite.search import BM25, Search, hits_inside
from commonplace.store.sqlite.search_filter import FtsFilter, in_scope, plan_filter
from commonplace.store.types import TextAnswer
from commonplace.text.query import NEWEST_ROWS, Query, to_fts5


class TextQueries(Search):
    """Finding passages of one space by queries with operators."""

    def _search_strict(self, connection: SqliteConnection, query: Query, filter_: Filter, k: int) -> TextAnswer:
        fts = plan_filter(connection, self._space_id, filter_, exact=True)
        answer = _strict(connection, self._space_id, query, filter_, fts, k)
        if fts.share < 1.0 and len(answer.hits) < min(k, answer.total):
            fts = plan_filter(connection, self._space_id, filter_, exact=True, timely=True)
            answer = _strict(connection, self._space_id, query, filter_, fts, k)
        return answer


def _strict(
    connection: SqliteConnection, space_id: int, query: Query, filter_: Filter, fts: FtsFilter, k: int
) -> TextAnswer:
    assert query.tree is not None
    expression = to_fts5(query.tree)
    if query.inverted:
        expression = f"{in_scope([space_token(space_id)])} NOT {expression}"
    whole = fts.around(expression)
    total, scored, all_seen = 0, [], True
    # Items that are one passage, then the wholes of those that were cut (0001_everything.sql); the newest of each.
    sides = [(">", "DESC", f"{whole} NOT {in_scope([PART])}"), ("<", "ASC", whole)]
    for side, newest, match in sides if _has_wholes(connection) else sides[:1]:
        rows = connection.rows(
            f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? AND rowid {side} 0{fts.among}"
            f" ORDER BY rowid {newest} LIMIT ?",
            (match, NEWEST_ROWS),
        )
        if not rows:
            continue
        total += len(rows)
        all_seen = all_seen and len(rows) < min(NEWEST_ROWS, fts.reach(k))
        scored += connection.rows(
            f"SELECT rowid, {BM25} AS score FROM passages_fts WHERE passages_fts MATCH ? AND rowid BETWEEN ? AND ?"
            f"{fts.among} ORDER BY score DESC, rowid DESC LIMIT ?",
            (match, *sorted((rows[0][0], rows[-1][0])), fts.reach(k)),
        )
    hits = hits_inside(connection, space_id, filter_, scored)
    if fts.share < 1.0 and all_seen:
        total = len(hits)
    hits.sort(key=lambda hit: (-hit.score, -hit.passage_id))
    return TextAnswer(tuple(hits[:k]), total)


def _has_wholes(connection: SqliteConnection) -> bool:
    """Whether any item was cut into passages, so that the whole of it has a row of its own."""
    select = "SELECT rowid FROM passages_fts WHERE rowid < 0 LIMIT 1"
    return connection.once("wholes", lambda: connection.first(select) is not None)


class SqliteStore(SharedStore, TextQueries, SqliteIntegrity):
    """One space of one SQLite file, shared with any number of other processes."""

    _database: Database

    def __init__(
        self,
        path: Path,
        *,
        space: str = "default",
        durability: str = "full",
        busy_timeout: float = 30.0,
        query_timeout: float = 10.0,
        key: str = "",
        now_ms: int = 0,
        migrate: bool = True,
        shared: Database | None = None,
    ) -> None:
        self._shares = shared is not None
        newest = migrations()[-1][0]
        self._database = shared or Database(
            path, durability=durability, busy_timeout=busy_timeout, key=key, recognise=recognise, newest=newest
        )
        self._name, self._now_ms, self._migrates = space, now_ms, migrate
        # Without migrations: whoever opens it so wants to read at once, and leaves what has to be written to others.
        self._open(space, now_ms, query_timeout, migrate=migrate)
        self._database.tell(self)

    def reread(self) -> None:
        """Another file has taken the place of the store: what was read from the one before is dropped."""
        self.schema = self._migrate() if self._migrates else self.check_schema()
        try:
            self._space_id = self._find_space(self._name, self._now_ms, self._migrates)
        except NotFound:
            # Nothing has this number: the space is empty until a file that has it is there.
            self._space_id = 0
        self._reread_vectors()

    def describe(self) -> Mapping[str, object]:
        version, path = apsw.sqlite_lib_version(), str(self._database.path)
        return {"engine": "sqlite", "version": version, "path": path, "schema": self.schema}

    def for_space(self, name: str) -> SqliteStore:
        path, timeout = self._database.path, self._query_timeout
        store = SqliteStore(path, space=name, query_timeout=timeout, migrate=False, shared=self._database)
        store.clock = self.clock
        return store

    def close(self) -> None:
        # Spaces share the connections of whoever opened the first.
        if not self._shares:
            super().close()

    def check_schema(self) -> int:
        return check(self._database)

    def _migrate(self) -> int:
        return run_migrations(self._database)
