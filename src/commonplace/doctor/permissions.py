"""Permissions: whether what is remembered can be read by its owner only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from commonplace.capture.hooks.prepared import OPENINGS
from commonplace.capture.hooks.spool import REFUSED, SPOOL
from commonplace.doctor.finding import Finding, failure, well
from commonplace.doctor.patient import Patient

AREA = "permissions"
FOLDERS = ("backups", "running", OPENINGS, SPOOL, f"{SPOOL}/{REFUSED}")
# Of a folder with very many files, so many are looked at.
MOST = 10_000


def examine(patient: Patient) -> Iterator[Finding]:
    data = patient.settings.data_dir
    if os.name != "posix" or not data.exists():
        return
    open_ = [path for path in _ours(data) if _mode(path) & 0o077]
    if not open_:
        yield well(AREA, "files", f"Only you can read what is in {data}.")
        return
    told = f"Others may read {open_[0]}" + (f" and {len(open_) - 1:,} more." if len(open_) > 1 else ".")
    yield failure(AREA, "files", told, f"Close it: chmod go-rwx {open_[0]}, or use --fix.", _closing(open_))


def _ours(data: Path) -> Iterator[Path]:
    """The data folder, the files in it, and the folders of ours with theirs. Links are left to whoever made them."""
    yield data
    for folder in (data, *(data / name for name in FOLDERS)):
        if folder.is_dir() and not folder.is_symlink():
            yield from () if folder == data else (folder,)
            yield from (path for path in islice(folder.iterdir(), MOST) if path.is_file() and not path.is_symlink())


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        # A hook or a server took it away meanwhile.
        return 0


def _closing(paths: Sequence[Path]) -> Callable[[], str]:
    def mend() -> str:
        for path in paths:
            if mode := _mode(path):
                path.chmod(mode & ~0o077)
        return f"{len(paths):,} files and folders were closed to others."

    return mend
