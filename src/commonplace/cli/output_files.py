"""Files that a command writes: complete or not at all, readable by their owner only; and diffs of what would change."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from commonplace.errors import CommonplaceError, Conflict, InvalidInput

if TYPE_CHECKING:
    from commonplace.hosts.project_files import Change


FORCE = "Choose another name, or use --force to overwrite it."


def check_target(file: Path, *, force: bool) -> Path:
    """Check that a file may be written, before the work is done."""
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder.", "Name a file.")
    if not file.parent.is_dir():
        raise InvalidInput(f"There is no folder {file.parent}.", "Create it first, or choose another one.")
    if file.exists() and not force:
        raise Conflict(f"{file} exists.", FORCE)
    return file


def make_folder(folder: Path, *, force: bool) -> None:
    """Create a folder; unless forced, it has to be empty."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        used = any(folder.iterdir())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{folder} cannot be used as a folder: {_reason(error)}.", "Choose another one.") from error
    if used and not force:
        raise Conflict(f"The folder {folder} is not empty.", FORCE)


@contextlib.contextmanager
def atomic_file(file: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Write to a temporary file and rename it at the end; a failure leaves nothing behind."""
    partial = file.with_name(f".{os.getpid()}-{file.name.encode()[:80].decode('utf-8', 'ignore')}.part")
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if file.exists() and not force:
            raise Conflict(f"{file} exists.", FORCE)
        partial.replace(file)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            raise CommonplaceError(
                f"{file} could not be written: {_reason(error)}.", "Solve that, then run the command again."
            ) from error
        raise


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def unified_diff(change: Change, name: str | None = None) -> str:
    """A change as a unified diff, under its path or under another name for that."""
    path = change.path if name is None else name
    old, new = (
        f"{side}/{path.removeprefix('/')}" if data is not None else "/dev/null"
        for side, data in (("a", change.before), ("b", change.after))
    )
    return "".join(difflib.unified_diff(_lines(change.before), _lines(change.after), old, new)).rstrip("\n")


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8")
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in _split_lines(text)]


def _split_lines(text: str) -> list[str]:
    """Lines at LF only, as diff cuts them."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
