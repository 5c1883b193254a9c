"""The SQLite engine: a store in one file."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from commonplace.store.sql.shared_store import SharedStore
from commonplace.store.sqlite.captures import Captures
from commonplace.store.sqlite.conversations import Conversations
from commonplace.store.sqlite.fulltext import FullText
from commonplace.store.sqlite.integrity import Integrity
from commonplace.store.sqlite.periods import Periods
from commonplace.store.sqlite.records import Records
from commonplace.store.sqlite.scrubbing import Scrubbing
from commonplace.store.sqlite.streams import Streams
from commonplace.store.sqlite.upkeep import Upkeep
from commonplace.store.sqlite.vectors import Vectors


class SqliteStore(
    SharedStore,
    FullText,
    Vectors,
    Captures,
    Conversations,
    Periods,
    Records,
    Scrubbing,
    Integrity,
    Streams,
    Upkeep,
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
