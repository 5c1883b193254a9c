"""Files that a command writes, and diffs of what would change in a file."""

from __future__ import annotations

import difflib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from commonplace.errors import Conflict, InvalidInput
from commonplace.temporary_files import written_file

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
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{folder} cannot be used as a folder: {reason}.", "Choose another one.") from error
    if used and not force:
        raise Conflict(f"The folder {folder} is not empty.", FORCE)


def atomic_file(file: Path, *, force: bool) -> AbstractContextManager[IO[bytes]]:
    """A file that appears when it is complete."""
    return written_file(file, overwrite=force, hint=FORCE)


def unified_diff(change: Change, name: str | None = None) -> str:
    """A change as a unified diff, with its path or another name."""
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
    """Lines at LF only, as diff does."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
