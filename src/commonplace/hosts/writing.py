"""Writing: a list of changes to a project's files, all of them or none."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commonplace.errors import CommonplaceError

Action = Literal["create", "update", "remove", "unchanged"]


@dataclass(frozen=True, slots=True)
class Change:
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
            f"{change.path} could not be written: {error.strerror or error}. {state}", "Mend that, then call again."
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
    """Write beside the file and rename, so that no reader ever sees half of it. Its mode stays."""
    if data is None:
        file.unlink()
        return
    beside = file.with_name(f".{file.name[:80]}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(file.stat().st_mode))
        beside.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
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
