"""A connection to PostgreSQL: it translates errors, and shared statements, which are written as SQLite reads them.

The words of a passage are made by the same tokens as on SQLite. A row has its tokens twice. `v` holds each of them
once, led by its space, so that the index tells spaces apart; how much a token weighs in the row is written as so many
positions, in halves, since that is what the server can count without reading the text. `streams` holds them in order,
column by column, for phrases and columns.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors

from commonplace.errors import (
    CommonplaceError,
    QuotaExceeded,
    StoreBusy,
    StoreConstraint,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    TimedOut,
)
from commonplace.model import Kind
from commonplace.store.rows import COLUMNS, PART, WEIGHTS
from commonplace.store.sql.connection import Bindings, Columns, Connection, FullTextRows, Ids, Rows

# The server keeps no more positions of a word, and no more bytes of a row.
MOST_HALVES, MOST_BYTES = 255, 1_000_000
_HALVES = tuple(int(2 * weight) for weight in WEIGHTS[: len(COLUMNS)])
_SPEAKER = COLUMNS.index("speaker")
_POSITIONS = tuple(",".join(map(str, range(1, n + 1))) for n in range(MOST_HALVES + 1))

# Stands between the streams of two columns.
BORDER = "|"
_INSERT = """
INSERT INTO words (space_id, id, length, streams, v) SELECT %s, id, length, streams, v::tsvector
  FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[]) AS w (id, length, streams, v)
"""
_TOTALS = """
INSERT INTO word_totals (space_id, rows, length) VALUES (%s, %s, %s) ON CONFLICT (space_id) DO UPDATE
   SET rows = word_totals.rows + excluded.rows, length = word_totals.length + excluded.length
"""


def project_token(project_id: int) -> str:
    """Said of a row of where it belongs; the double mark keeps this and those below apart from any word of a text."""
    return f"==p{project_id}"


def kind_token(kind: Kind) -> str:
    return f"==k{kind}"


def type_token(type_: str) -> str:
    return f"==t{type_}"


def name_token(token: str) -> str:
    """Said of a row for each token of the name of who speaks in it."""
    return f"==n{token}"


def lexeme(space_id: int, token: str) -> str:
    """A token as the index knows it, quoted for a tsvector or a tsquery."""
    safe = token.replace("\\", "\\\\").replace("'", "''") if "'" in token or "\\" in token else token
    return f"'{space_id}:{safe}'"


class PostgresFullTextRows(FullTextRows):
    """Written in one statement, besides the sums over all rows of the space."""

    def _row(self, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool) -> tuple[Any, ...]:
        columns = [words.get(name, "") for name in COLUMNS]
        tokens = [column.split() for column in columns]
        scope = [project_token(project_id), kind_token(kind), type_token(type_), *([PART] if part else ())]
        # On SQLite the space is one of the tokens that tell where a row belongs, and the type is not.
        length = sum(map(len, tokens)) + len(scope)
        streams = BORDER.join(f" {column} " if column else "" for column in columns)
        return length, streams, _vector(self._space_id, tokens, scope)

    def _write(self) -> None:
        self._connection.execute(_INSERT, (self._space_id, *map(list, zip(*self.rows, strict=True))))
        length = sum(row[1] for row in self.rows)
        self._connection.execute(_TOTALS, (self._space_id, len(self.rows), length))


def delete_rows(connection: PostgresConnection, space_id: int, rowids: Sequence[int]) -> None:
    delete = "DELETE FROM words WHERE space_id = %s AND id = ANY(%s::bigint[]) RETURNING length"
    gone = connection.execute(delete, (space_id, list(rowids))).fetchall()
    if gone:
        connection.execute(_TOTALS, (space_id, -len(gone), -sum(row[0] for row in gone)))


def _vector(space_id: int, columns: Sequence[Sequence[str]], scope: Sequence[str]) -> str:
    halves: dict[str, int] = {}
    for tokens, weight in zip(columns, _HALVES, strict=True):
        for token in tokens:
            halves[token] = halves.get(token, 0) + weight
    names = map(name_token, dict.fromkeys(columns[_SPEAKER]))
    parts = [lexeme(space_id, token) for token in (*scope, *names)]
    room = MOST_BYTES
    for token, weight in halves.items():
        weight = min(weight, MOST_HALVES)
        room -= len(token.encode()) + 16 + 2 * weight
        if room < 0:
            # A text of a megabyte without repetitions; its passages have all of their words.
            break
        parts.append(f"{lexeme(space_id, token)}:{_POSITIONS[weight]}")
    return " ".join(parts)


# In this order. A parameter is `?`, `?1` or `:name`.
_PARAMETER = r"(\?\d*|:\w+)"
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"/\*pg (.*?)\*/", r"\1"),
        (r"%", "%%"),
        # Joins in the order in which they are written, indexes that have to be used or left alone.
        (r"\bCROSS JOIN\b", "JOIN"),
        (r" (?:INDEXED BY \w+|NOT INDEXED)", ""),
        (r"(?<=[\s(])\+(?=[a-z])", ""),
        # Lists.
        (rf"\bNOT IN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"<> ALL(\1)"),
        (rf"\bIN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1)"),
        (rf"\bIN \(SELECT unhex\(value\) FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1::bytea[])"),
        (rf"\bjson_each\({_PARAMETER}\) (\w+)", r"unnest(\1::bigint[]) WITH ORDINALITY \2(value, key)"),
        (r"\bjson_group_array\(", "array_agg("),
        # Functions.
        (r"\bjson_extract\(iif\(json_valid\(([\w.]+)\), \1, '{}'\), '\$\.(\w+)'\)", r"(\1::json ->> '\2')"),
        (r"\bsubstr\(([\w.]+), -(\d+)\)", r"right(\1, \2)"),
        (r"\binstr\(", "strpos("),
        (r"\bmax\((\?|[\w.]+), ", r"greatest(\1, "),
        (r"\bmin\((\?|[\w.]+), ", r"least(\1, "),
        # SQLite's LIKE does not tell capital letters from small ones.
        (r"\bLIKE\b", "ILIKE"),
        (r"\bGLOB '\*(\[[^\]]*\])\*'", r"~ '\1'"),
        # Parameters.
        (r"\?(\d+)", r"%(\1)s"),
        (r"\?", "%s"),
        (r"(?<![:\w]):([a-z]\w*)", r"%(\1)s"),
    )
)


@lru_cache(maxsize=2_000)
def translate(sql: str) -> str:
    """A shared statement in PostgreSQL's words."""
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    return sql


class PostgresConnection(Connection, psycopg.Connection[tuple[Any, ...]]):
    """What `Connection` promises, and psycopg's own methods for statements in PostgreSQL's words."""

    has_checksums = False
    has_fingerprints = False
    skip_locked = "FOR UPDATE SKIP LOCKED"

    def rows(self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False) -> list[Any]:
        return self.native_rows(translate(sql), _named(sql, bindings), prepared=prepared, binary=binary)

    def native_rows(
        self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement in PostgreSQL's own words."""
        return self.execute(sql, bindings, binary=binary, prepare=prepared).fetchall()

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
        yield from self.execute(translate(sql), _named(sql, bindings))

    def run(self, sql: str, bindings: Bindings = ()) -> int:
        return self.execute(translate(sql), _named(sql, bindings)).rowcount

    def run_all(self, sql: str, many: Sequence[Bindings]) -> None:
        if many:
            with self.cursor() as cursor:
                cursor.executemany(translate(sql), [_named(sql, bindings) for bindings in many])

    def insert(self, sql: str, bindings: Bindings) -> int | None:
        row = self.first(f"{sql} RETURNING id", bindings)
        return None if row is None else int(row[0])

    def insert_all(self, table: str, columns: Columns, rows: Rows, *, key: Sequence[str], conflict: str = "") -> Ids:
        if not rows:
            return []
        statement = _insert_statement(table, tuple(columns.items()), ", ".join(key), conflict)
        made = {
            tuple(names): int(id_) for id_, *names in self.execute(statement, [*map(list, zip(*rows, strict=True))])
        }
        places = [[*columns].index(name) for name in key]
        return [made.pop(tuple(row[place] for place in places), None) for row in rows]

    def add_rows(self, space_id: int, insert: str, types: Sequence[str], rows: Rows, conflict: str) -> None:
        if rows:
            arrays = ", ".join(f"%s::{type_}[]" for type_ in types)
            statement = f"{translate(insert)} SELECT {space_id}, * FROM unnest({arrays}) {translate(conflict)}"
            self.execute(statement, [*map(list, zip(*rows, strict=True))])

    def array(self, values: Iterable[Any]) -> Any:
        """Numbers as the server writes them: a list of hundreds takes longer to bind than its rows take to be found."""
        listed = list(values)
        return "{" + ",".join(map(str, listed)) + "}" if not listed or isinstance(listed[0], int) else listed

    def as_json(self, value: object) -> str:
        """As the database can read it: PostgreSQL has no NUL characters, also not spelled as JSON does."""
        text = super().as_json(value)
        return re.sub(r"(\\\\)|\\u0000", lambda found: found[1] or "\ufffd", text) if "\\u0000" in text else text

    def _setting_key(self, space_id: int, name: str) -> Mapping[str, object]:
        return {"space_id": space_id, "key": name}

    def database_size(self) -> int:
        return int(self.value("SELECT pg_database_size(current_database())"))

    def fulltext_rows(self, space_id: int) -> PostgresFullTextRows:
        return PostgresFullTextRows(self, space_id)

    def delete_fulltext(self, space_id: int, rowids: Sequence[int]) -> None:
        delete_rows(self, space_id, rowids)


def _named(sql: str, bindings: Bindings) -> Bindings:
    """Bindings of a statement; those of numbered parameters by their numbers."""
    if isinstance(bindings, Mapping) or "?1" not in sql:
        return bindings
    return {str(number): value for number, value in enumerate(bindings, 1)}


@lru_cache(maxsize=100)
def _insert_statement(table: str, columns: tuple[tuple[str, str], ...], key: str, conflict: str) -> str:
    names = ", ".join(name for name, _type in columns)
    arrays = ", ".join(f"%s::{type_}[]" for _name, type_ in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {names} FROM unnest({arrays}) WITH ORDINALITY AS new ({names}, place)"
        f" ORDER BY place {conflict} RETURNING id, {key}"
    )


# What the server says when it lets nobody in. Before a session exists there is no code to tell by.
_NOT_LET_IN: Mapping[str, str] = {
    "authentication failed": "Correct the user and the password in `database_url`.",
    "no password supplied": "Name a password in `database_url`.",
    "no pg_hba.conf entry": "Allow this host in the server's pg_hba.conf, or use another user.",
    "pg_hba.conf rejects": "Allow this host and user in the server's pg_hba.conf, or use another user.",
    'FATAL: role "': "Correct the user in `database_url`, or create the role.",
    'FATAL: database "': "Create the database, or correct its name in `database_url`.",
    "permission denied for database": "Allow the user of `database_url` to connect to it, or use another user.",
}
# What passes by itself, or when somebody looks after the server.
_NOT_NOW: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("too many clients", "remaining connection slots", "too many connections"): (
        "has no connection left",
        "Raise its max_connections, or run fewer servers. Try again.",
    ),
    # Starting up, shutting down, in recovery mode, not yet accepting connections.
    ("the database system is",): ("is not ready", "Wait until it has started, then try again."),
    ("session is read-only", "server is in hot standby mode"): (
        "has no host that takes writes",
        "Wait until a replica is promoted, or promote one. Then try again; nothing needs a restart.",
    ),
}
# What `use_space` says, in words for people.
_QUOTA = "CPQ01"

_KINDS: tuple[tuple[tuple[type[psycopg.Error], ...], type[CommonplaceError], str, str | None], ...] = (
    ((errors.QueryCanceled,), TimedOut, "The query took longer than its deadline and was interrupted", None),
    (
        (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusy,
        "Another server is writing to the space",
        "Nothing was written. Try again.",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        StoreReadOnly,
        "The database server does not accept writes",
        "It may be a replica: name the primary in `database_url`. Nothing was written.",
    ),
    ((errors.DiskFull,), StoreFull, "The disk of the database server is full", None),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreCorrupt,
        "The database is damaged",
        "Restore it from the newest backup of the database server.",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        "The database user is not allowed to do this",
        "Let the user of `database_url` own the database, or have its owner run `commonplace status` once.",
    ),
    (
        (errors.TooManyConnections,),
        StoreUnavailable,
        "The database server has no connection left",
        "Raise its max_connections, or run fewer servers. Then try again.",
    ),
)


@contextlib.contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise what the server refuses as ours. `place` names the database without its password."""
    try:
        yield
    except psycopg.Error as error:
        raise _refusal(place, error) from error


def not_connected(place: str, error: psycopg.Error) -> StoreError:
    """Why no connection came about."""
    reason = _sentence(error)
    for marks, (sentence, hint) in _NOT_NOW.items():
        if any(mark in reason for mark in marks):
            return StoreUnavailable(f"{place} {sentence}: {reason}.", hint)
    for mark, hint in _NOT_LET_IN.items():
        if mark in reason:
            return StoreError(f"{place} does not accept us: {reason}.", hint)
    return StoreUnavailable(f"{place} cannot be reached: {reason}.")


def is_cut(error: psycopg.Error) -> bool:
    """Whether the connection itself is gone, so that another one may do better."""
    gone = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)
    return isinstance(error, gone) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)


def _refusal(place: str, error: psycopg.Error) -> CommonplaceError:
    if error.sqlstate == _QUOTA:
        return QuotaExceeded(str(error.diag.message_primary))
    if isinstance(error, psycopg.IntegrityError):
        # Its words tell values of other rows.
        return StoreConstraint()
    reason = _sentence(error)
    for kinds, ours, sentence, hint in _KINDS:
        if isinstance(error, kinds):
            return ours(f"{sentence}: {reason}.", hint)
    if is_cut(error) or isinstance(error, errors.OperatorIntervention):
        return StoreUnavailable(
            f"The connection to {place} was cut: {reason}.",
            "Try again. The last write may have been stored; writing it again is safe.",
        )
    return StoreError(f"{place} refused: {reason}.", "Check the database server's log.")


def _sentence(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
