"""The PostgreSQL engine: each method is one transaction over the statements of its neighbours."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.store.postgres import sql
from commonplace.store.postgres.keyring import Keyring
from commonplace.store.postgres.replies import Replies


class PostgresStore(Keyring, Replies):
    """One space of one PostgreSQL database, shared with any number of other servers."""

    # Keeping.

    def describe(self) -> Mapping[str, object]:
        with self._database.read() as connection:
            return {
                "engine": "postgres",
                "version": sql.value(connection, "SHOW server_version"),
                "path": self._database.place,
                "schema": self.schema,
                "row_security": self._database.confined,
            }

    def close(self) -> None:
        self._database.close()
