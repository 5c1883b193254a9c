"""Copies of a store: looked into, compared with it, and put back in its place."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StoreBusy, StoreCorrupt, StoreError
from commonplace.store.maintenance import BackupContents, BackupDifference
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.encryption_and_copies import (
    COUNT_ROWS,
    COUNTED,
    LOG_ENDS,
    READ_ONLY,
    connect,
    create_private,
    is_whole,
    locked,
    make_copy,
)
from commonplace.store.sqlite.file_errors import translated
from commonplace.store.sqlite.migrate import recognise
from commonplace.store.sqlite.replaced_file_detection import folder_lock

EXAMPLES = 5
_WAIT_MS = 5000
# An old copy does not know that a key was revoked since.
_REVOKED = "SELECT hash, revoked_ms FROM keys WHERE revoked_ms IS NOT NULL"
_WORKING = "SELECT hash, name FROM keys WHERE revoked_ms IS NULL ORDER BY id"
_NEWEST = "SELECT created_ms, title FROM items ORDER BY id DESC LIMIT 1"
_ITEMS = "SELECT space_id, uid, rev, title FROM items ORDER BY space_id, uid"


def inspect_copy(path: Path, key: str) -> BackupContents:
    """What a store or a copy holds, after a check of it."""
    with _reading(path, key) as connection:
        whole = is_whole(connection)
        counts = dict(zip(COUNTED, connection.first(COUNT_ROWS), strict=True))
        newest = connection.first(_NEWEST)
        return BackupContents(whole, int(connection.pragma("user_version")), counts, *(newest or (None, "")))


def compare_copy(current: Path, other: Path, key: str) -> BackupDifference:
    """What would be lost, come back or change if the other took the place of the current one."""
    lost, back, changed = 0, 0, 0
    examples: list[str] = []
    with _reading(current, key) as ours, _reading(other, key) as theirs:
        for mine, its in _side_by_side(ours.stream(_ITEMS), theirs.stream(_ITEMS)):
            if its is None:
                lost += 1
                if len(examples) < EXAMPLES:
                    examples.append(str(mine[3]))
            elif mine is None:
                back += 1
            else:
                changed += mine[2] != its[2]
    return BackupDifference(lost, back, changed, tuple(examples))


def revoked_keys(paths: Iterable[Path], key: str) -> dict[bytes, int]:
    """The digests of the keys that any of these stores and copies knows to be revoked, and when they were.

    What cannot be read says nothing.
    """
    revoked: dict[bytes, int] = {}
    for path in paths:
        with contextlib.suppress(StoreError, apsw.Error), _reading(path, key) as connection:
            revoked |= dict(connection.rows(_REVOKED))
    return revoked


def working_keys(path: Path, key: str) -> dict[bytes, str]:
    """The digests of the keys that a store or a copy takes for valid, with their names."""
    with _reading(path, key) as connection:
        return {digest: str(name) for digest, name in connection.rows(_WORKING)}


def restore_copy(
    path: Path, copy: Path, aside: Path, key: str, busy_ms: int, revoked: Mapping[bytes, int] | None = None
) -> bool:
    """Let a store be what a copy is, all of it or nothing, and keep aside what it was. False if it was nothing.

    Keys that it or `revoked` knows to be revoked stay so. StoreBusy if another process has it open: what it knows of
    the store would be untrue then.
    """
    with translated(path), folder_lock(path, busy_ms / 1000):
        return _restore_copy(path, copy, aside, key, busy_ms, revoked or {})


def _restore_copy(
    path: Path, copy: Path, aside: Path, key: str, busy_ms: int, known_revoked: Mapping[bytes, int]
) -> bool:
    there = path.exists()
    if there and not _is_database(path, key):
        # Nothing of it can be read: as it lies, it is kept.
        path.replace(aside)
    with exclusive(path, key, busy_ms) as live:
        if there and not aside.exists():
            make_copy(path, aside, key, busy_ms, checked=False, original=live)
        revoked = {**known_revoked, **(_revoked_keys(live) if there else {})}
        with contextlib.closing(connect(copy, key, READ_ONLY)) as source, live.backup("main", source, "main") as backup:
            backup.step(-1)
        again = [(when, digest) for digest, when in revoked.items()]
        live.executemany("UPDATE keys SET revoked_ms = ? WHERE hash = ? AND revoked_ms IS NULL", again)
        assign_new_identity(live)
        if not is_whole(live):
            raise StoreCorrupt(f"The store {path} failed its check after {copy.name} was restored.")
    return there


def _revoked_keys(connection: SqliteConnection) -> dict[bytes, int]:
    """The digest of each revoked key, and when it was revoked; none of a store that is too damaged to tell."""
    try:
        return dict(connection.rows(_REVOKED))
    except apsw.Error:
        return {}


def assign_new_identity(connection: SqliteConnection) -> None:
    """Let other stores take this one for one that they never saw: what they saw of it may be no more.

    Its next changes would have numbers that they know. One of an older version gets its names when it is migrated.
    """
    if any(row[1] == "uid" for row in connection.rows("PRAGMA table_info(spaces)")):
        connection.execute("UPDATE spaces SET uid = lower(hex(randomblob(16)))")


def _is_database(path: Path, key: str) -> bool:
    try:
        with contextlib.closing(connect(path, key, READ_ONLY)) as connection:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except (apsw.NotADBError, apsw.CorruptError):
        return False
    return True


def change_key(path: Path, aside: Path, key: str, to_key: str, busy_ms: int) -> None:
    """Let a store have another key, or none: a verified copy takes its place, and what it was is kept aside."""
    fresh = path.with_name(f"{path.name}.turned")
    fresh.unlink(missing_ok=True)
    with translated(path), folder_lock(path, busy_ms / 1000):
        with exclusive(path, key, busy_ms) as live:
            make_copy(path, fresh, key, busy_ms, to_key=to_key, original=live)
        replace_store(path, fresh, aside)


def replace_store(path: Path, fresh: Path, aside: Path) -> None:
    """Put a new file in the place of the store, which is kept aside with its log.

    It has two names for a while, and at no moment none: whoever is killed here must not leave an empty place.
    """
    aside.unlink(missing_ok=True)
    try:
        aside.hardlink_to(path)
    except OSError:
        # Not every file system can do that.
        shutil.copy2(path, aside)
    for end in LOG_ENDS:
        log_file = path.with_name(path.name + end)
        if log_file.exists():
            log_file.replace(aside.with_name(aside.name + end))
    fresh.replace(path)


@contextlib.contextmanager
def exclusive(path: Path, key: str, busy_ms: int) -> Iterator[SqliteConnection]:
    """A connection that keeps all others out, and is refused while there are any."""
    create_private(path)
    with contextlib.closing(connect(path, key)) as connection:
        # Meanwhile nobody can open or close the store.
        connection.set_busy_timeout(min(busy_ms, _WAIT_MS))
        connection.pragma("locking_mode", "exclusive")
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError as error:
            stop = "Stop servers and editors that use this memory, and try again."
            raise StoreBusy(f"Another process has the store {path} open.", stop) from error
        connection.execute("COMMIT")
        yield connection


@contextlib.contextmanager
def _reading(path: Path, key: str) -> Iterator[SqliteConnection]:
    with translated(path), contextlib.closing(connect(path, key, READ_ONLY)) as connection:
        try:
            recognise(connection)
        except apsw.NotADBError as error:
            raise (locked(path) if key else error) from error
        if not connection.pragma("user_version"):
            raise StoreCorrupt(f"The file {path} is empty.")
        yield connection


def _side_by_side(mine: Iterator[Any], its: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Rows of two walks in the same order, together where they are of the same item."""
    one, other = next(mine, None), next(its, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[:2] < other[:2]):
            yield one, None
            one = next(mine, None)
        elif one is None or other[:2] < one[:2]:
            yield None, other
            other = next(its, None)
        else:
            yield one, other
            one, other = next(mine, None), next(its, None)
