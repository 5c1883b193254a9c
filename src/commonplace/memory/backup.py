"""Backups: copies of the store that are made, verified, listed, thinned out and put back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import Conflict, NotFound, StoreCorrupt, StoreError, StoreLocked
from commonplace.memory.backup_files import STAMP, backup_path, make_private_folder
from commonplace.memory.encryption import read_key, read_or_make_key, store_key
from commonplace.memory.local_memory import LocalMemory
from commonplace.store.maintenance import BackupContents, BackupDifference

__all__ = [
    "Backup",
    "BackupContents",
    "RestoreResult",
    "back_up_store",
    "backup_path",
    "copy_before_change",
    "delete_old_backups",
    "list_backups",
    "make_private_folder",
    "restore_backup",
]

SCHEDULED = "daily"
LATEST = "latest"
_ASIDE = ("restore", "repair", "damaged", "replaced")
_NAME = re.compile(r".+-(\w+)-(\d{8}T\d{6})\.db")
_SERVER = "The memory is on a PostgreSQL server, whose backups its own tools make."
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
    """What a backup and the store hold, how they differ, and where the store as it was is kept, if it was replaced."""

    backup: BackupContents
    current: BackupContents | None
    difference: BackupDifference | None
    kept: Path | None


def back_up_store(memory: LocalMemory, target: Path | None = None, *, encrypt: bool = False) -> Backup:
    """Make a verified copy: in the folder of backups, or where a person wants it. Nothing is overwritten."""
    if memory.settings.database_url:
        raise StoreError(_SERVER, _DUMP)
    if target is None:
        target = backup_path(memory.settings, "made", memory.clock())
    elif target.is_dir():
        target = target / backup_path(memory.settings, "made", memory.clock()).name
    if target.exists():
        raise Conflict(f"{target} is there already.", "Name another file.")
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


def list_backups(settings: Settings) -> list[Backup]:
    """Every copy in the folder of backups, the newest first."""
    found = [(path, match) for path in settings.backups.glob("*.db") if (match := _NAME.fullmatch(path.name))]
    made = [_backup(path, match[1], _read_stamp(match[2])) for path, match in found]
    return sorted(made, key=lambda one: (one.made_ms, one.path.name), reverse=True)


def restore_backup(settings: Settings, named: str, now_ms: int, *, dry_run: bool = False) -> RestoreResult:
    """Put a backup in the place of the store, which is kept aside first; `dry_run` only tells what that would change.

    The store must not be open anywhere, in this process neither. One that is damaged can be replaced too.
    """
    from commonplace.store.sqlite import restore

    if settings.database_url:
        raise StoreError(_SERVER, _UNDUMP)
    key = store_key(settings)
    with _readable(settings, _found(settings, named), key) as path:
        backup = restore.inspect_copy(path, key)
        if not backup.whole:
            raise StoreCorrupt(f"The backup {named} is damaged.", "Choose another: `commonplace backups` lists them.")
        current, difference = None, None
        with contextlib.suppress(StoreCorrupt, StoreLocked):
            if settings.database.exists():
                current = restore.inspect_copy(settings.database, key)
                difference = restore.compare_copy(settings.database, path, key)
        if dry_run:
            return RestoreResult(backup, current, difference, None)
        aside = backup_path(settings, "restore", now_ms)
        make_private_folder(aside.parent)
        kept = restore.restore_copy(settings.database, path, aside, key, int(settings.busy_timeout * 1000))
    return RestoreResult(backup, restore.inspect_copy(settings.database, key), difference, aside if kept else None)


@contextlib.contextmanager
def _readable(settings: Settings, path: Path, key: str) -> Iterator[Path]:
    """A backup that has the key of the store: itself, or a copy of it for a while."""
    from commonplace.store.sqlite.files import is_plain
    from commonplace.store.sqlite.online_backup import make_copy

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


def _found(settings: Settings, named: str) -> Path:
    """The backup that a person names: by its name in the folder, by `latest`, or as any file."""
    if named == LATEST:
        # Not one that was made because the store was about to be changed like this.
        named = next((one.path.name for one in list_backups(settings) if one.why not in _ASIDE), named)
    for path in (settings.backups / named, Path(named).expanduser()):
        if path.is_file():
            return path
    raise NotFound(f"There is no backup {named!r}.", f"`commonplace backups` lists those in {settings.backups}.")


def _backup(path: Path, why: str, made_ms: int) -> Backup:
    return Backup(path, why, made_ms, path.stat().st_size)


def _read_stamp(stamp: str) -> int:
    return int(datetime.strptime(stamp, STAMP).replace(tzinfo=UTC).timestamp() * 1000)
