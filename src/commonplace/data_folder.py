"""Where the data lies. Hooks ask this before anything else, so it imports next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def data_folder(given: str, env: Mapping[str, str]) -> str:
    """The folder that was named on the command line, else in the environment, else where the system wants it."""
    return given or env.get("COMMONPLACE_DATA_DIR") or env.get("KIRO_MEMORY_DATA_DIR") or _usual(env)


DATABASE_NAME = "commonplace.db"
# Below the data folder: a folder for each server elsewhere that hooks send to, with a spool of its own.
TEAMS = "teams"


def is_team_folder(data: str) -> bool:
    """Whether a data folder is that of hooks that send to a server elsewhere: there is no store in it."""
    return os.path.basename(os.path.dirname(os.path.abspath(data))) == TEAMS


def own_data_folder(data: str) -> str:
    """The data folder of this machine's own memory, also for one of hooks that send to a server."""
    return os.path.dirname(os.path.dirname(os.path.abspath(data))) if is_team_folder(data) else data


def _usual(env: Mapping[str, str]) -> str:
    home = env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    if sys.platform == "win32":
        parent = env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        parent = os.path.join(home, "Library", "Application Support")
    else:
        parent = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(parent, "commonplace")


def on_read_only_disk(folder: Path) -> bool:
    """Whether the file system of a folder is read-only, where the system tells."""
    if sys.platform == "win32":
        return False
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def closed_folder(folder: Path) -> Path | None:
    """The folder, or the one above it, that keeps this user from looking into it; None if nothing does."""
    for path in (*reversed(folder.absolute().parents), folder):
        wanted = os.X_OK if path != folder else os.R_OK | os.X_OK
        if os.path.isdir(path) and not os.access(path, wanted):
            return path
    return None


def read_only_files(database: Path) -> list[Path]:
    """Which of the folder, the database and the files that SQLite keeps beside it cannot be written.

    SQLite gives those the mode that the database had when they were made. The modes are looked at because root may
    write anything.
    """
    files = (database.parent, database, *(database.with_name(database.name + end) for end in ("-wal", "-shm")))
    return [path for path in files if path.exists() and not (path.stat().st_mode & 0o200 and os.access(path, os.W_OK))]
