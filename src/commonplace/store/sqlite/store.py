"""The SQLite engine: a store in one file."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from commonplace.store.sql.shared_store import SharedStore
from commonplace.store.sqlite.fulltext import FullText
from commonplace.store.sqlite.integrity import SqliteIntegrity
from commonplace.store.sqlite.vectors import Vectors


class SqliteStore(
    SharedStore,
    FullText,
    Vectors,
    SqliteIntegrity,
):
    """One space of one SQLite file, shared with any number of other processes."""

    def describe(self) -> Mapping[str, object]:
        return {
            "engine": "sqlite",
            "version": apsw.sqlite_lib_version(),
            "path": str(self._database.path),
            "schema": self.schema,
        }

    def for_space(self, name: str) -> SqliteStore:
        path, timeout = self._database.path, self._query_timeout
        return SqliteStore(path, space=name, query_timeout=timeout, migrate=False, shared=self._database)

    def close(self) -> None:
        # Spaces share the connections of whoever opened the first.
        if not self._shares:
            self._database.close()
