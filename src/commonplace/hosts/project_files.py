"""A project's folder: where it begins, which rule files are in it, and which of them may be read or written.

Changes are shown as a diff, and written all or none. Nothing is reached through a link that leaves the folder, whoever
made it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, TooLarge

MAX_BYTES = 1_000_000
MAX_FOUND = 1_000


def project_folder(start: Path) -> Path:
    """The top of the repository that a folder is in; the folder itself outside any."""
    try:
        here = start.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(f"The folder {start} cannot be opened.", "Name an existing folder.") from error
    if not here.is_dir():
        raise InvalidInput(f"{start} is not a folder.", "Name the folder of the project.")
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def exact_folder(start: Path) -> Path:
    """A folder that someone named, and not the repository around it."""
    project_folder(start)
    return start.resolve()


def find_files(root: Path, patterns: Iterable[str]) -> list[str]:
    """Files that match, relative to the root, sorted; at most MAX_FOUND for each pattern."""
    found: set[str] = set()
    for pattern in patterns:
        try:
            matching = list(islice(root.glob(pattern), MAX_FOUND))
        except (OSError, RuntimeError):
            # A folder that cannot be listed, or links in a circle.
            continue
        found |= {path.relative_to(root).as_posix() for path in matching if not path.is_dir()}
    return sorted(found)


def read_inside(root: Path, path: str) -> bytes:
    """A file's bytes, or the reason why it is not read."""
    file = root / path
    try:
        inside = file.resolve(strict=True).is_relative_to(root)
        status = file.stat()
        if not inside:
            raise Conflict(f"{path} is a link that leaves the project.")
        if not stat.S_ISREG(status.st_mode):
            raise Conflict(f"{path} is not a file.")
        if status.st_size > MAX_BYTES:
            raise TooLarge(f"{path} has {status.st_size:,} bytes, more than {MAX_BYTES:,}.")
        return file.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Conflict(f"{path} cannot be read: {why}.") from error


def as_text(data: bytes, path: str) -> str:
    """UTF-8 text; a BOM stays in it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Conflict(f"{path} is not UTF-8 text.", "Save it as UTF-8, then call again.") from error


def read_writable(root: Path, path: str) -> bytes | None:
    """What a file that is to be written holds now, None if it does not exist. Refuses what must not be written."""
    _check_parents(root, path)
    file = root / path
    try:
        status = file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot(path, error) from error
    if stat.S_ISLNK(status.st_mode):
        raise Conflict(
            f"{path} is a link to {file.readlink()}.",
            "Put a file in its place, or name the targets to write, such as `commonplace generate agents`.",
        )
    if stat.S_ISDIR(status.st_mode):
        raise Conflict(f"{path} is a folder, where a file should be.", "Move it out of the way.")
    if not stat.S_ISREG(status.st_mode):
        raise Conflict(f"{path} is not an ordinary file.", "Move it out of the way.")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise Conflict(f"{path} belongs to another user.", "Run this as its owner, or take the file over first.")
    # Asked of the mode as well: renaming over it would succeed, and a superuser may write anything.
    if not status.st_mode & stat.S_IWUSR or not os.access(file, os.W_OK):
        raise Conflict(f"{path} is read-only.", "Make it writable, or name the targets to write.")
    if status.st_size > MAX_BYTES:
        raise TooLarge(
            f"{path} has {status.st_size:,} bytes, more than {MAX_BYTES:,}.", "It is too long for a rule file."
        )
    try:
        return file.read_bytes()
    except OSError as error:
        raise _cannot(path, error) from error


def canonical_path(root: Path, path: str) -> str:
    """Where a file really is, spelled so that two names of one place are equal, on disks that ignore case too."""
    return os.path.realpath((root / path).parent).casefold() + "/" + PurePosixPath(path).name.casefold()


def _check_parents(root: Path, path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts:
        raise InvalidInput(f"{path!r} is not a path inside the project.")
    folder = root
    for part in parts[:-1]:
        inner = folder / part
        shown = inner.relative_to(root).as_posix()
        try:
            real = inner.resolve()
            if not real.is_relative_to(root):
                raise Conflict(f"{shown} leads out of the project, to {real}.", "Put a folder in place of the link.")
            if not inner.exists():
                if inner.is_symlink():
                    raise Conflict(f"{shown} is a link to nothing.", "Remove the link.")
                break
            if not inner.is_dir():
                raise Conflict(f"{shown} is not a folder, but {path} has to go into it.", "Move it out of the way.")
        except (OSError, RuntimeError) as error:
            raise _cannot(shown, error) from error
        folder = inner
    if not os.access(folder, os.W_OK | os.X_OK):
        shown = folder.relative_to(root).as_posix()
        raise Conflict(f"The folder {shown} is not writable.", "Make it writable, or name the targets to write.")


def _cannot(path: str, error: Exception) -> CommonplaceError:
    why = error.strerror if isinstance(error, OSError) else error
    return Conflict(f"{path} cannot be used: {why}.", "Nothing was written.")


Action = Literal["create", "update", "remove", "unchanged"]


class Change(NamedTuple):
    """What becomes of one file; None is no file."""

    path: str
    before: bytes | None
    after: bytes | None
    # What a new file may be, within what the system lets it; one that is there keeps its mode.
    mode: int = 0o666

    @property
    def action(self) -> Action:
        if self.before == self.after:
            return "unchanged"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "update"


def unified_diff(change: Change, name: str | None = None) -> str:
    """A change as a unified diff, with its path or another name."""
    import difflib

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


def write_all(root: Path, changes: Sequence[Change]) -> None:
    """Make every change. If one fails, undo those before it and say so."""
    done: list[Change] = []
    made: list[Path] = []
    try:
        for change in changes:
            if change.action != "unchanged":
                _make_folders(root, change, made)
                _put(root / change.path, change.after, change.mode)
                done.append(change)
    except OSError as error:
        left = _undo(root, done, made)
        state = "Everything is as it was." if not left else f"These could not be put back: {', '.join(left)}."
        raise CommonplaceError(
            f"{change.path} could not be written: {error.strerror or error}. {state}", "Fix that, then call again."
        ) from error
    for change in done:
        # A skill's folder has nothing in it but its skill.
        if change.action == "remove" and change.path.endswith("/SKILL.md"):
            with contextlib.suppress(OSError):
                (root / change.path).parent.rmdir()


def _make_folders(root: Path, change: Change, made: list[Path]) -> None:
    if change.after is None:
        return
    for folder in reversed((root / change.path).parents):
        if folder.is_relative_to(root) and not folder.exists():
            folder.mkdir()
            made.append(folder)


def _put(file: Path, data: bytes | None, mode: int = 0o666) -> None:
    """Write to a temporary file next to it and rename that, so that no reader ever sees half of it. Its mode stays."""
    if data is None:
        file.unlink()
        return
    temporary = file.with_name(f".{file.name[:80]}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(file.stat().st_mode))
        temporary.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _undo(root: Path, done: Sequence[Change], made: Sequence[Path]) -> list[str]:
    """Put back what was; returns what could not be."""
    left = []
    for change in reversed(done):
        try:
            _put(root / change.path, change.before)
        except OSError:
            left.append(change.path)
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return left
