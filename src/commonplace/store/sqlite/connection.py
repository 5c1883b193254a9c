"""Connections to a SQLite file: what they run, one for each thread, and none that a fork inherits.

They run the shared statements (`store/sql/`), and write the rows of the full-text table. Text that is not valid UTF-8
(a damaged page, a flipped bit) does not make a query fail: it is repeated with its texts as bytes, and what cannot be
decoded arrives as `DamagedText`.

A connection that a child process inherited would, even unused, make SQLite believe that the child holds the parent's
locks, and lose its writes. So a fork happens only between transactions, with every connection closed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar, TypeVar, cast

import apsw

from commonplace.errors import StoreError
from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS, Item, Kind, Session, new_uid
from commonplace.store.damaged_values import DamagedText, content_checksum
from commonplace.store.rows import COLUMNS, PART
from commonplace.store.sql.connection import Bindings, Columns, Connection, FullTextRows, Ids, Rows
from commonplace.text.dates import clamp_time
from commonplace.text.plain_form import fingerprint

_T = TypeVar("_T")

_BATCH = 500
# What is kept of a version of the database, before it is begun anew.
MOST_UNCHANGED = 1_000
_INTEGERS = frozenset([int])
_CHANGED = re.compile(r"\s*(?:UPDATE|DELETE FROM|INSERT INTO|INSERT OR \w+ INTO)\s+(\w+)", re.IGNORECASE)
# What every full-text row says of where it belongs: its space, with that its project, and with that its kind.
space_token, project_token, kind_token = "==s{}".format, "==s{}p{}".format, "==s{}k{}".format
_INSERT_FULL_TEXT = (
    f"INSERT INTO passages_fts (rowid, {', '.join(COLUMNS)}, scope) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)


class SqliteFullTextRows(FullTextRows):
    """Rows of the full-text table: the words of each column of a passage, and tokens that tell where it belongs.

    Written in the order of their ids: whenever these go back, FTS5 writes out what it gathered.
    """

    def _row(self, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool) -> tuple[Any, ...]:
        space = self._space_id
        scope = f"{space_token(space)} {project_token(space, project_id)} {kind_token(space, kind)}"
        return *(words.get(name, "") for name in COLUMNS), f"{scope} {PART}" if part else scope

    def _write(self) -> None:
        for row in sorted(self.rows):
            self._connection.execute(_INSERT_FULL_TEXT, row)


class SqliteConnection(Connection, apsw.Connection):
    """What `Connection` promises, and apsw's own methods; by it a damaged row can be read and changed.

    SQLite refuses to change a row that has a value of the wrong type, and one whose entry it does not find in an index,
    such as after a bit flipped in the row. The value is converted, or the index rebuilt, and the change done again.
    """

    has_checksums = True
    has_fingerprints = True
    skip_locked = ""
    # What was read of this version of the database, and still holds while that is the version.
    _unchanged: tuple[tuple[int, int], dict[Hashable, Any]] | None = None

    def until_changed(self, key: Hashable, read: Callable[[], _T]) -> _T:
        if self.snapshot_cache is None:
            return read()
        # It changes with what other connections commit, and with what this one does.
        version = self.once("version", lambda: (self.value("PRAGMA data_version"), self.total_changes()))
        if self._unchanged is None or self._unchanged[0] != version or len(self._unchanged[1]) > MOST_UNCHANGED:
            self._unchanged = version, {}
        known = self._unchanged[1]
        if key not in known:
            known[key] = read()
        return cast("_T", known[key])

    def rows(self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False) -> list[Any]:
        """All rows as tuples. Read to the end, so that no cursor keeps a snapshot open."""
        try:
            return self.execute(sql, bindings).fetchall()
        except UnicodeDecodeError:
            return [*self._decoded(sql, bindings)]

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
        read = 0
        cursor = self.execute(sql, bindings)
        try:
            while some := list(islice(cursor, _BATCH)):
                yield from some
                read += len(some)
        except UnicodeDecodeError:
            # The rows of the batch that broke off come again.
            cursor.close()
            yield from islice(self._decoded(sql, bindings), read, None)

    def run(self, sql: str, bindings: Bindings = ()) -> int:
        self.execute(sql, bindings)
        return self.changes()

    def run_all(self, sql: str, many: Sequence[Bindings]) -> None:
        for bindings in many:
            self.execute(sql, bindings)

    def insert(self, sql: str, bindings: Bindings) -> int | None:
        """Without RETURNING: that would open a savepoint, at which FTS5 writes out what it gathered."""
        self.execute(sql, bindings)
        return self.last_insert_rowid() if self.changes() else None

    def insert_all(self, table: str, columns: Columns, rows: Rows, *, key: Sequence[str], conflict: str = "") -> Ids:
        statement = _insert_statement(table, tuple(columns), conflict)
        return [self.insert(statement, row) for row in rows]

    def add_rows(self, space_id: int, insert: str, types: Sequence[str], rows: Rows, conflict: str) -> None:
        row = f"({', '.join('?' * len(types))})"
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            values = [value for one in batch for value in one]
            self.execute(f"{insert} VALUES {', '.join([row] * len(batch))} {conflict}", values)

    def array(self, values: Iterable[Any]) -> str:
        listed = list(values)
        if {*map(type, listed)} <= _INTEGERS:
            # As JSON has them, and in a tenth of the time.
            return str(listed)
        return json.dumps([value.hex() if isinstance(value, bytes) else value for value in listed])

    def _setting_key(self, space_id: int, name: str) -> Mapping[str, object]:
        return {"key": f"{name}:{space_id}"}

    def database_size(self) -> int:
        return int(self.pragma("page_count")) * int(self.pragma("page_size"))

    def fulltext_rows(self, space_id: int) -> SqliteFullTextRows:
        return SqliteFullTextRows(self, space_id)

    def delete_fulltext(self, space_id: int, rowids: Sequence[int]) -> None:
        for rowid in rowids:
            self.execute("DELETE FROM passages_fts WHERE rowid = ?", (rowid,))

    def make_item_changeable(self, item: Item) -> None:
        details = self.as_json(item.details)
        plain = ("kind", "type", "title", "body", "importance", "status", "tokens", "rev", "forgotten_ms")
        self._write_readable(
            "items",
            item,
            (*plain, "superseded_by", *VALIDITY_FIELDS, *SOURCE_FIELDS),
            {
                "details": details,
                "meta": self.as_json(item.meta),
                "content_hash": item.content_hash or hashlib.sha256(f"damaged {item.id}".encode()).digest(),
                "created_ms": clamp_time(item.created_ms),
                "updated_ms": clamp_time(item.updated_ms),
                "checksum": content_checksum(item.title, item.body, details),
                "fingerprint": fingerprint(item.body) if item.kind == "memory" else None,
            },
            "tagged = tagged <> 0, session_id = iif(typeof(session_id) = 'integer', session_id, NULL),"
            " parent_id = NULL, accessed_ms = NULL",
        )

    def make_session_changeable(self, session: Session) -> None:
        plain = ("source", "label", "folder", "status", "importance", "started_ms", "ended_ms", "updated_ms")
        meta = json.dumps(session.meta, ensure_ascii=False) if session.meta else "{}"
        self._write_readable(
            "sessions",
            session,
            (*plain, "accessed_ms", "rev", "messages", "words", "bytes", "forgotten_ms"),
            {"key": session.key or f"damaged-{session.id}", "meta": meta},
            "sketch = iif(typeof(sketch) = 'blob', sketch, x'')",
        )

    def _write_readable(
        self, table: str, row: Item | Session, plain: Sequence[str], columns: Mapping[str, object], more: str
    ) -> None:
        """Write a damaged row as it was read: these fields as they are, these columns, and what SQL puts right."""
        started = row.created_ms if isinstance(row, Item) else row.started_ms
        uid = new_uid(clamp_time(started)) if "uid" in row.damaged else row.uid
        written = {"uid": uid, **{name: getattr(row, name) for name in plain}, **columns}
        changes = ", ".join(f"{name} = ?" for name in written)
        self.execute(
            f"UPDATE {table} SET {changes}, {more},"
            " project_id = iif(typeof(project_id) = 'integer', project_id, NULL) WHERE id = ?",
            (*written.values(), row.id),
        )

    def execute(self, statements: str, bindings: apsw.Bindings | None = None, **options: Any) -> apsw.Cursor:
        try:
            return super().execute(statements, bindings, **options)
        except (apsw.CorruptError, apsw.ConstraintError) as error:
            if not self.in_transaction or not self._made_changeable(statements, error):
                raise
            return super().execute(statements, bindings, **options)

    def _made_changeable(self, statement: str, error: apsw.Error) -> bool:
        table, why = _CHANGED.match(statement), getattr(error, "extendedresult", 0)
        try:
            if table is not None and why == apsw.SQLITE_CORRUPT_INDEX:
                super().execute(f"REINDEX {table[1]}")
                return True
            if table is not None and why == apsw.SQLITE_CONSTRAINT_DATATYPE:
                return self._converted(table[1], error)
        except apsw.Error:
            return False
        return False

    def _converted(self, table: str, error: apsw.Error) -> bool:
        """Whether values of a table that have the wrong type could be converted, one column after the other."""
        types = {str(row[1]): str(row[2]) for row in super().execute(f"PRAGMA table_info({table})")}
        columns: list[str] = []
        while (column := str(error).rpartition(".")[2]) in types and column not in columns:
            columns.append(column)
            casts = ", ".join(f"{name} = CAST({name} AS {types[name]})" for name in columns)
            wrong = " OR ".join(f"typeof({name}) NOT IN ('null', '{types[name].lower()}')" for name in columns)
            try:
                super().execute(f"UPDATE {table} SET {casts} WHERE {wrong}")
                return True
            except apsw.ConstraintError as other:
                error = other
        return False

    def _decoded(self, sql: str, bindings: Bindings) -> Iterator[tuple[Any, ...]]:
        """The rows of a query with every text read as bytes and decoded here, as far as it can be."""
        names = [f"c{n}" for n in range(self._width(sql, bindings))]
        texts = ", ".join(
            f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name}), typeof({name})" for name in names
        )
        question = f"WITH found({', '.join(names)}) AS ({sql.rstrip().rstrip(';')}) SELECT {texts} FROM found"
        for row in self.execute(question, bindings):
            pairs = zip(row[::2], row[1::2], strict=True)
            yield tuple(_text(value) if kind == "text" else value for value, kind in pairs)

    def _width(self, sql: str, bindings: Bindings) -> int:
        """How many columns a query has, asked before its first row is decoded."""
        width = 0

        def look(cursor: apsw.Cursor, _sql: str, _bindings: apsw.Bindings | None) -> bool:
            nonlocal width
            width = len(cursor.get_description())
            return False

        cursor = self.cursor()
        cursor.exec_trace = look
        with contextlib.suppress(apsw.ExecTraceAbort):
            cursor.execute(sql, bindings)
        return width


@lru_cache(maxsize=100)
def _insert_statement(table: str, columns: tuple[str, ...], conflict: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {conflict}"


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return DamagedText(value)


class Connections:
    """One connection per thread, known by thread so that closing reaches every one of them."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._of: dict[threading.Thread, SqliteConnection] = {}

    def mine(self) -> SqliteConnection | None:
        return getattr(self._local, "connection", None)

    def keep(self, connection: SqliteConnection) -> None:
        """Remember this thread's connection, and close those of threads that have ended."""
        self._local.connection = connection
        with self._lock:
            for thread in [thread for thread in self._of if not thread.is_alive()]:
                close_quietly(self._of.pop(thread))
            self._of[threading.current_thread()] = connection

    def any(self) -> SqliteConnection | None:
        """One that is not in use, first this thread's own; there may be none."""
        mine = self.mine()
        with self._lock:
            every = [*self._of.values()] if mine is None else [mine, *self._of.values()]
            return next(filter(_is_idle, every), None)

    def close(self, *, fold: bool) -> None:
        with self._lock:
            while self._of:
                connection = self._of.popitem()[1]
                with contextlib.suppress(apsw.Error):
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, not fold)
                close_quietly(connection)


def _is_idle(connection: SqliteConnection) -> bool:
    try:
        return not connection.in_transaction
    except apsw.ThreadingViolationError:
        # Another thread is in the middle of a statement.
        return False


def set_up(connection: SqliteConnection) -> None:
    """What every connection has, also one that only reads."""
    connection.pragma("foreign_keys", True)
    connection.pragma("recursive_triggers", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("temp_store", 2)
    connection.pragma("cache_size", -8192)
    # Statements are planned once, not again for each new value: SQLite compares the values of some with the conditions
    # of partial indexes. Ours say those conditions in their text.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, True)
    # The full-text rows that a question is limited to (search.py).
    connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")


def roll_back(connection: SqliteConnection) -> None:
    """End a transaction without it, unless an error ended it already, such as a full disk."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def close_quietly(connection: SqliteConnection) -> None:
    with contextlib.suppress(apsw.Error):
        connection.close()


def patiently(step: Callable[[], object], seconds: float) -> None:
    """Repeat a step that may meet a lock which SQLite itself would not wait for."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            pause.wait(0.01)


class Forks:
    """Lets a fork happen only between transactions, with every connection closed."""

    everywhere: ClassVar[weakref.WeakSet[Forks]] = weakref.WeakSet()

    def __init__(self, close: Callable[[], None], patience: float) -> None:
        self._close, self._patience = close, patience
        # In a child: whether there was a transaction open at the fork. Its connections must not be touched.
        self.torn = False
        self._reset()
        self.everywhere.add(self)

    def _reset(self) -> None:
        self._gate = threading.Condition()
        self._coming = self._alone = False
        self._inside: dict[int, int] = {}

    @contextlib.contextmanager
    def holding_forks(self) -> Iterator[None]:
        """While inside, a fork by another thread waits."""
        me = threading.get_ident()
        with self._gate:
            if me not in self._inside:
                self._gate.wait_for(lambda: not (self._coming or self._alone))
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._gate:
                depth = self._inside.pop(me, 1) - 1
                if depth:
                    self._inside[me] = depth
                self._gate.notify_all()

    def is_inside(self) -> bool:
        """Whether this thread is in a transaction."""
        return threading.get_ident() in self._inside

    @contextlib.contextmanager
    def alone(self, patience: float) -> Iterator[bool]:
        """Wait until no thread of this process is in a transaction, and let none begin one meanwhile.

        False if they did not end in time.
        """
        me = threading.get_ident()
        with self._gate:
            self._gate.wait_for(lambda: not self._alone)
            self._alone = True
            left = self._gate.wait_for(lambda: not (self._inside or self._coming), patience)
            self._inside[me] = 1
        try:
            yield left
        finally:
            with self._gate:
                self._inside.pop(me, None)
                self._alone = False
                self._gate.notify_all()

    def check(self) -> None:
        if self.torn:
            raise StoreError(
                "This process was forked in the middle of a transaction.", "Open the store in the new process."
            )

    def before(self) -> None:
        self._gate.acquire()
        self._coming = True
        if threading.get_ident() not in self._inside:
            self._gate.wait_for(lambda: not self._inside, self._patience)
        if not self._inside:
            self._close()

    def after_in_parent(self) -> None:
        self._coming = False
        self._gate.notify_all()
        self._gate.release()

    def after_in_child(self) -> None:
        self.torn = self.torn or bool(self._inside)
        self._reset()


def _at_each(step: Callable[[Forks], None]) -> Callable[[], None]:
    def at_each() -> None:
        for forks in list(Forks.everywhere):
            step(forks)

    return at_each


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_at_each(Forks.before),
        after_in_parent=_at_each(Forks.after_in_parent),
        after_in_child=_at_each(Forks.after_in_child),
    )
