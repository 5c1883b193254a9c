"""The SQLite engine: a store in one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw

from commonplace.errors import NotFound
from commonplace.store.sql.shared_store import SharedStore
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.integrity import SqliteIntegrity
from commonplace.store.sqlite.migrate import check, migrations, recognise
from commonplace.store.sqlite.migrate import migrate as run_migrations
from commonplace.store.sqlite.text_query import TextQueries


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
