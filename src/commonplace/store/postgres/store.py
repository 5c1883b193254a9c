"""The PostgreSQL engine: a store in one database of a server, and the checks of what that knows to be wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from commonplace.model import Kind
from commonplace.store.invariants import AUTHORED, DERIVED, LIVE, SEARCHED, SPLIT, USED, Invariant, counted_use, indexed
from commonplace.store.maintenance import FileDamage
from commonplace.store.postgres.connection import PostgresConnection
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.fulltext import FullText
from commonplace.store.postgres.migrate import check, confined
from commonplace.store.postgres.migrate import migrate as run_migrations
from commonplace.store.postgres.pool_and_replicas import MOST
from commonplace.store.postgres.vector_search import Vectors
from commonplace.store.sql.connection import Connection
from commonplace.store.sql.integrity_and_scrubbing import TEXT_TABLES, Integrity
from commonplace.store.sql.items import Filter
from commonplace.store.sql.shared_store import SharedStore
from commonplace.text.dates import DAY_MS

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


_T = TypeVar("_T")


def use_replicas(store: type[_T]) -> type[_T]:
    """Let replicas answer every method of a store that is marked with `allow_replica`."""
    for name in dir(store):
        method = getattr(store, name)
        if getattr(method, "allow_replica", False):
            setattr(store, name, _on_replica(method))
    return store


def _on_replica(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def read(self: PostgresStore, /, *args: Any, **kwargs: Any) -> Any:
        return self._database.on_replica(functools.partial(method, self, *args, **kwargs))

    return read


@use_replicas
class PostgresStore(SharedStore, FullText, Vectors, PostgresIntegrity):
    """One space of one PostgreSQL database, shared with any number of other servers."""

    _database: Database

    def __init__(
        self,
        url: str,
        *,
        space: str = "default",
        query_timeout: float = 10.0,
        now_ms: int = 0,
        migrate: bool = True,
        replicas: Sequence[str] = (),
        connections: int = MOST,
        durability: str = "full",
        busy_timeout: float = 30.0,
    ) -> None:
        # Kept for a store of another space.
        self._options: dict[str, Any] = {
            "replicas": replicas,
            "connections": connections,
            "durability": durability,
            "busy_timeout": busy_timeout,
        }
        self._url = url
        self._database = Database(url, **self._options)
        self._open(space, now_ms, query_timeout, migrate=migrate)

    def _enter_space(self) -> None:
        self._database.space_id = self._space_id
        with self._database.admin_read() as connection:
            self._database.confined = confined(connection)

    def describe(self) -> Mapping[str, object]:
        with self._database.read() as connection:
            return {
                "engine": "postgres",
                "version": connection.value("SHOW server_version"),
                "path": self._database.place,
                "schema": self.schema,
                "row_security": self._database.confined,
                "connections": self._database.connections(),
                **({"replicas": self._database.replicas.states()} if self._database.replicas else {}),
            }

    def _count_by_day(
        self, connection: Connection, filter_: Filter, from_ms: int, to_ms: int
    ) -> Iterable[tuple[int, Kind, int]]:
        """Grouped by the server, which does so in one pass."""
        condition, bindings = filter_.sql(connection)
        return connection.rows(
            f"SELECT CAST(floor(i.created_ms / {DAY_MS}.0) AS bigint) AS day, i.kind, count(*) FROM items i"
            f" WHERE i.space_id = ? AND {condition} AND i.created_ms >= ? AND i.created_ms < ? GROUP BY day, i.kind",
            [self._space_id, *bindings, from_ms, to_ms],
        )

    def for_space(self, name: str) -> PostgresStore:
        timeout = self._query_timeout
        store = PostgresStore(self._url, space=name, query_timeout=timeout, migrate=False, **self._options)
        store.clock = self.clock
        return store

    def check_schema(self) -> int:
        return check(self._database)

    def _migrate(self) -> int:
        return run_migrations(self._database)
