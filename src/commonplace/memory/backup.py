"""Backups: copies of the store, made each day or when asked, verified, listed, deleted when old, and restored."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import Conflict, NotFound, StoreCorrupt, StoreError, StoreLocked, StoreReadOnly
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.store_key import read_key, read_or_make_key, store_key
from commonplace.store.maintenance import BackupContents as BackupContents
from commonplace.store.maintenance import BackupDifference
from commonplace.text.dates import HOUR_MS

STAMP = "%Y%m%dT%H%M%S"
SCHEDULED = "daily"
LATEST = "latest"
BACKUP_LOCK = "making.lock"
# A lock is held by nobody for longer, and a half made copy is of one that was killed.
MAX_BACKUP_SECONDS = 3600.0
_ASIDE = ("restore", "repair", "damaged", "replaced")
_NAME = re.compile(r".+-(\w+)-(\d{8}T\d{6})\.db")
_SERVER = "The memory is on a PostgreSQL server, which has its own backup tools."
_DUMP = 'Run `pg_dump --format=custom --file=commonplace.dump "$COMMONPLACE_DATABASE_URL"`.'
_UNDUMP = 'Run `pg_restore --clean --if-exists --dbname="$COMMONPLACE_DATABASE_URL" commonplace.dump`.'


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the store: why and when it was made."""

    path: Path
    why: str
    made_ms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a backup and the store hold, how they differ, and where the old store was put, if it was replaced.

    Of the keys that work in the backup, by their names: those that were revoked since and stay so, and the others.
    """

    backup: BackupContents
    current: BackupContents | None
    difference: BackupDifference | None
    old_copy: Path | None
    revoked_keys: tuple[str, ...] = ()
    working_keys: tuple[str, ...] = ()


def back_up_store(memory: LocalMemory, target: Path | None = None, *, encrypt: bool = False) -> Backup:
    """Make a verified copy: in the folder of backups, or where a person wants it. Nothing is overwritten."""
    if memory.settings.database_url:
        raise StoreError(_SERVER, _DUMP)
    if target is None:
        target = backup_path(memory.settings, "made", memory.clock())
    elif target.is_dir():
        target = target / backup_path(memory.settings, "made", memory.clock()).name
    if target.exists():
        raise Conflict(f"{target} already exists.", "Name another file.")
    make_private_folder(target.parent)
    memory.maintenance.backup(target, to_key=read_or_make_key(memory.settings) if encrypt else None)
    return _backup(target, "made", memory.clock())


def copy_before_change(memory: LocalMemory, why: str) -> Path | None:
    """The store as it is, whole or not, before something is done to it. A server keeps its own."""
    if memory.settings.database_url:
        return None
    target = backup_path(memory.settings, why, memory.clock())
    make_private_folder(target.parent)
    memory.maintenance.backup(target, checked=False)
    return target


def back_up_if_due(memory: LocalMemory) -> Path | None:
    """Make the backup of the day, if it is time for it, something changed since the last, and nobody else is at it."""
    settings, now = memory.settings, memory.clock()
    if not settings.backup_every_hours:
        return None
    last = next((one for one in _made_until(settings, now) if one.why == SCHEDULED), None)
    if last is not None and now - last.made_ms < settings.backup_every_hours * HOUR_MS:
        return None
    if _content_mark(settings, settings.database) == (last and _content_mark(settings, last.path)):
        return None
    target = backup_path(settings, SCHEDULED, now)
    make_private_folder(target.parent)
    with _exclusive_lock(target.parent / BACKUP_LOCK) as mine:
        if not mine:
            return None
        _remove_partial_backups(target.parent)
        memory.maintenance.backup(target)
    delete_old_backups(settings)
    return target


def _remove_partial_backups(folder: Path) -> None:
    """Delete the half made copies of those that were killed."""
    with contextlib.suppress(OSError):
        for half in folder.glob("*.partial*"):
            if not 0 <= time.time() - half.stat().st_mtime < MAX_BACKUP_SECONDS:
                half.unlink(missing_ok=True)


def _content_mark(settings: Settings, path: Path) -> str | None:
    from commonplace.store.sqlite.content_fingerprint import content_fingerprint

    return content_fingerprint(str(path), store_key(settings))


@contextlib.contextmanager
def _exclusive_lock(lock: Path) -> Iterator[bool]:
    """Whether nobody else of this machine is at it. What one that was killed left is taken over after a while."""
    with contextlib.suppress(OSError):
        if not 0 <= time.time() - lock.stat().st_mtime < MAX_BACKUP_SECONDS:
            lock.unlink(missing_ok=True)
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


def list_backups(settings: Settings) -> list[Backup]:
    """Every copy in the folder of backups, the newest first."""
    found = [(path, match) for path in settings.backups.glob("*.db") if (match := _NAME.fullmatch(path.name))]
    made = [_backup(path, match[1], _read_stamp(match[2])) for path, match in found]
    return sorted(made, key=lambda one: (one.made_ms, one.path.name), reverse=True)


def restore_backup(settings: Settings, named: str, now_ms: int, *, dry_run: bool = False) -> RestoreResult:
    """Replace the store by a backup after copying it aside; `dry_run` only returns what that would change.

    The store must not be open anywhere, in this process neither. One that is damaged can be replaced too.
    """
    from commonplace.store.sqlite import restore

    if settings.database_url:
        raise StoreError(_SERVER, _UNDUMP)
    key = store_key(settings)
    with _readable(settings, _found(settings, named, now_ms), key) as path:
        backup = restore.inspect_copy(path, key)
        if not backup.whole:
            raise StoreCorrupt(f"The backup {named} is damaged.", "Choose another one from `commonplace backup list`.")
        current, difference = None, None
        with contextlib.suppress(StoreCorrupt, StoreLocked):
            if settings.database.exists():
                current = restore.inspect_copy(settings.database, key)
                difference = restore.compare_copy(settings.database, path, key)
        # Also those that an earlier restore took out of the store, or that only a copy of a damaged store knows.
        revoked = restore.revoked_keys([settings.database, *(one.path for one in list_backups(settings))], key)
        working = restore.working_keys(path, key)
        kept_out = tuple(name for digest, name in working.items() if digest in revoked)
        still_in = tuple(name for digest, name in working.items() if digest not in revoked)
        if dry_run:
            return RestoreResult(backup, current, difference, None, kept_out, still_in)
        aside = backup_path(settings, "restore", now_ms)
        make_private_folder(aside.parent)
        replaced = restore.restore_copy(settings.database, path, aside, key, int(settings.busy_timeout * 1000), revoked)
    restored, old_copy = restore.inspect_copy(settings.database, key), aside if replaced else None
    return RestoreResult(backup, restored, difference, old_copy, kept_out, still_in)


@contextlib.contextmanager
def _readable(settings: Settings, path: Path, key: str) -> Iterator[Path]:
    """A backup that has the key of the store: itself, or a copy of it for a while."""
    from commonplace.store.sqlite.encryption_and_copies import is_plain, make_copy

    if is_plain(path) == (not key):
        yield path
        return
    turned = backup_path(settings, "turned", 0)
    make_private_folder(turned.parent)
    try:
        make_copy(path, turned, "" if key else read_key(settings), int(settings.busy_timeout * 1000), to_key=key)
        yield turned
    finally:
        turned.unlink(missing_ok=True)


def delete_old_backups(settings: Settings) -> list[Path]:
    """Delete the scheduled backups that are neither among the last days nor among the weeks before them."""
    made = [one for one in list_backups(settings) if one.why == SCHEDULED]
    days = _last_of_each(made, "%Y-%m-%d")[: settings.backup_daily]
    older = [one for one in made if one not in days and (not days or one.made_ms < days[-1].made_ms)]
    weeks = _last_of_each(older, "%G-%V")[: settings.backup_weekly]
    gone = [one.path for one in made if one not in (*days, *weeks)]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def _last_of_each(made: Sequence[Backup], period: str) -> list[Backup]:
    """The last of each day or week, the newest first."""
    last: dict[str, Backup] = {}
    for one in made:
        last.setdefault(datetime.fromtimestamp(one.made_ms / 1000, UTC).strftime(period), one)
    return [*last.values()]


def _made_until(settings: Settings, now_ms: int) -> list[Backup]:
    """The backups, the latest first, without those that a clock dated which ran ahead."""
    return [one for one in list_backups(settings) if one.made_ms <= now_ms]


def _found(settings: Settings, named: str, now_ms: int) -> Path:
    """The backup that a person names: by its name in the folder, by `latest`, or as any file."""
    if named == LATEST:
        # Not one that was made because the store was about to be changed like this.
        named = next((one.path.name for one in _made_until(settings, now_ms) if one.why not in _ASIDE), named)
    for path in (settings.backups / named, Path(named).expanduser()):
        if path.is_file():
            return path
    raise NotFound(f"There is no backup {named!r}.", f"`commonplace backup list` shows those in {settings.backups}.")


def _backup(path: Path, why: str, made_ms: int) -> Backup:
    return Backup(path, why, made_ms, path.stat().st_size)


def _read_stamp(stamp: str) -> int:
    return int(datetime.strptime(stamp, STAMP).replace(tzinfo=UTC).timestamp() * 1000)


def backup_path(settings: Settings, why: str, now_ms: int) -> Path:
    """A name that no backup has yet, in the folder of backups, which is a folder and leads nowhere else."""
    if settings.backups.is_symlink():
        hint = "Put a folder in its place; `commonplace backup FILE` writes a copy anywhere."
        raise StoreReadOnly(f"The folder {settings.backups} for backups is a link.", hint)
    while True:
        stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime(STAMP)
        path = settings.backups / f"{settings.database.stem}-{why}-{stamp}.db"
        if not path.exists():
            return path
        now_ms += 1000


def make_private_folder(folder: Path) -> None:
    """Make the folder that a copy is to be in, for its owner only."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreReadOnly(f"The folder {folder} for backups cannot be made: {error}.") from error
