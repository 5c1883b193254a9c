"""Where copies of a store are put, and what they are called."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import StoreReadOnly

STAMP = "%Y%m%dT%H%M%S"


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
