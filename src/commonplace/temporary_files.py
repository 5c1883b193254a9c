"""Temporary files: of a server or an import in a private folder of the data folder, removed even after a crash; and
those that become a file that a user asked for once they are complete.

What is uploaded must not stay in the temporary folder of the system when a process is killed. Each process has a
folder of its own under `temporary/`, and holds a lock beside it; a folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from commonplace.errors import CommonplaceError, Conflict

FOLDER = "temporary"
_LOCK = ".lock"


@contextlib.contextmanager
def private_temporary_files(data_dir: Path) -> Iterator[None]:
    """Let `tempfile` use a folder of this process meanwhile. One that cannot be made leaves it as it is."""
    parent, was_there = data_dir / FOLDER, data_dir.exists()
    name = parent / secrets.token_hex(8)
    lock: int | None = None
    try:
        # Of folders that are made on the way, only the last gets the mode.
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent.mkdir(mode=0o700, exist_ok=True)
        if parent.is_symlink():
            raise NotADirectoryError(str(parent))
        remove_abandoned(data_dir)
        lock = _held(name.with_suffix(_LOCK))
        name.mkdir(mode=0o700)
    except OSError:
        if lock is not None:
            os.close(lock)
        yield
        return
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    # Processes that this one starts read the variable.
    tempfile.tempdir = os.environ["TMPDIR"] = str(name)
    try:
        yield
    finally:
        tempfile.tempdir = before
        os.environ.pop("TMPDIR", None)
        if variable is not None:
            os.environ["TMPDIR"] = variable
        os.close(lock)
        with contextlib.suppress(OSError):
            _remove(name)
            # Of the last process; others keep theirs in it.
            parent.rmdir()
            if not was_there:
                data_dir.rmdir()


def remove_abandoned(data_dir: Path) -> None:
    """Remove what processes left behind that were killed."""
    with contextlib.suppress(OSError):
        for lock in (data_dir / FOLDER).glob(f"*{_LOCK}"):
            if _is_abandoned(lock):
                _remove(lock.with_suffix(""))


def _held(path: Path) -> int:
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    # It gets its name once it is locked: others take one that is free for abandoned.
    unnamed = path.with_suffix(".new")
    lock = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(path)
    return lock


def _is_abandoned(path: Path) -> bool:
    """Whether the process that made a lock is gone."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        # On Windows a file that a process has open cannot be removed.
        try:
            path.unlink()
        except OSError:
            return False
        return True
    lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _remove(folder: Path) -> None:
    """The folder first: as long as its lock is there, what is left of it is found again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(_LOCK).unlink(missing_ok=True)


OVERWRITE = "Choose another name, or give overwrite=True."


@contextlib.contextmanager
def written_file(path: Path, *, overwrite: bool = False, hint: str = OVERWRITE) -> Iterator[IO[bytes]]:
    """Write to a temporary file next to `path` and rename it at the end; a failure leaves nothing behind."""
    _refuse_existing(path, overwrite, hint)
    partial = path.with_name(f".{os.getpid()}-{path.name.encode()[:80].decode('utf-8', 'ignore')}.part")
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _refuse_existing(path, overwrite, hint)
        partial.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommonplaceError(f"{path} could not be written: {reason}.", "Fix that, then try again.") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _refuse_existing(path: Path, overwrite: bool, hint: str) -> None:
    if path.exists() and not overwrite:
        raise Conflict(f"{path} exists.", hint)
