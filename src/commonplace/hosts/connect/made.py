"""Folders of an editor that were made here, because somebody named one that is not installed: no sign of it.

Such a folder is marked by an empty file in it, so that it goes with the last thing of ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from commonplace.hosts.connect.config_file import BACKUP

MARK = ".made-by-commonplace"


def mark(folders: Iterable[Path]) -> None:
    """Remember that these were made here."""
    for folder in folders:
        with contextlib.suppress(OSError):
            if folder.is_dir():
                (folder / MARK).touch()


def unmake(folder: Path) -> None:
    """Remove a folder that was made here, if nothing else is in it by now."""
    with contextlib.suppress(OSError):
        if [path.name for path in folder.iterdir()] == [MARK]:
            (folder / MARK).unlink()
            folder.rmdir()


def only_made_here(folder: Path, files: Iterable[Path | None]) -> bool:
    """Whether a folder was made here, and nobody has put anything into it but these files of ours."""
    try:
        if not (folder / MARK).is_file():
            return False
        ours = {file.relative_to(folder).parts[0] for file in files if file and file.is_relative_to(folder)}
        return all(path.name.removesuffix(BACKUP) in {MARK, *ours} for path in folder.iterdir())
    except OSError:
        return False
