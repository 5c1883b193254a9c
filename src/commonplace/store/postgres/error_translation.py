"""PostgreSQL's errors as ours, each with what to do, so that no other room has to know psycopg."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

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
