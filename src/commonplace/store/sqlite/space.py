"""One space of one SQLite file: what every part of the engine works on."""

from __future__ import annotations

import threading
from pathlib import Path

from commonplace.errors import NotFound
from commonplace.store.sql.space import Space
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.migrate import check, migrations, recognise
from commonplace.store.sqlite.migrate import migrate as run_migrations


class SqliteSpace(Space):
    """The open file, migrated, and the number of the space in it. Parts of the engine are made of this."""

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
        self._database: Database
        self._shares = shared is not None
        self._database = shared or Database(
            path,
            durability=durability,
            busy_timeout=busy_timeout,
            key=key,
            recognise=recognise,
            newest=migrations()[-1][0],
        )
        self._query_timeout = query_timeout
        self._lock = threading.Lock()
        self._name, self._now_ms, self._migrate = space, now_ms, migrate
        # Without migrations: whoever opens it so wants to read at once, and leaves what has to be written to others.
        try:
            self.schema = run_migrations(self._database) if migrate else check(self._database)
            self._space_id = self._find_space(space, now_ms, migrate)
        except BaseException:
            # A repair needs a file that nobody has open.
            if not self._shares:
                self._database.close()
            raise
        self._database.tell(self)

    def reread(self) -> None:
        """Another file has taken the place of the store: what was read from the one before is dropped."""
        self.schema = run_migrations(self._database) if self._migrate else check(self._database)
        try:
            self._space_id = self._find_space(self._name, self._now_ms, self._migrate)
        except NotFound:
            # Nothing has this number: the space is empty until a file that has it is there.
            self._space_id = 0
