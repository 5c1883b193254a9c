"""What is changing in a working folder, read from git's own files: no process is started for it.

The branch is in `HEAD`. A file counts as changed if its size or time is not the one that git's index has for it, which
is how git itself decides where to look. Files that git does not know are not looked for.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from commonplace.memory.session_context import NO_CHANGES, WorkInProgress

# Larger indexes are not read; nor are more files compared, nor more changes told.
_MAX_INDEX_BYTES, _MAX_FILES, _MAX_CHANGES = 8 << 20, 20_000, 50
_HEADER, _ENTRY = struct.Struct(">4sII"), struct.Struct(">10I20sH")
_NAME_LENGTH, _EXTENDED, _STAGE = 0x0FFF, 0x4000, 0x3000
_BRANCH = "ref: refs/heads/"
# Branches that say nothing about what is being done on them.
_USUAL_BRANCHES = ("main", "master", "develop", "trunk")


def work_in_progress(folder: str) -> WorkInProgress:
    """The branch and the changed files of the repository around a folder."""
    root = next((path for path in (Path(folder), *Path(folder).parents) if (path / ".git").exists()), None)
    if root is None or not Path(folder).is_absolute():
        return NO_CHANGES
    git = _own_folder(root / ".git")
    head = _text(git / "HEAD")
    branch = head.removeprefix(_BRANCH).strip() if head.startswith(_BRANCH) else ""
    files = tuple(name for _place, name in zip(range(_MAX_CHANGES), _changed(git / "index", root), strict=False))
    return WorkInProgress("" if branch in _USUAL_BRANCHES else branch[:200], files)


def _own_folder(marker: Path) -> Path:
    """Where git keeps the HEAD and the index of a folder; those of a worktree are its own."""
    if marker.is_dir():
        return marker
    return marker.parent / _text(marker).removeprefix("gitdir:").strip()


def _changed(index: Path, root: Path) -> Iterator[str]:
    for name, mtime, nanoseconds, size in _entries(index):
        try:
            found = os.lstat(root / name)
        except OSError:
            yield name
            continue
        exact = (mtime, nanoseconds) if nanoseconds else (mtime, found.st_mtime_ns % 1_000_000_000)
        seen = (found.st_mtime_ns // 1_000_000_000 & 0xFFFFFFFF, found.st_mtime_ns % 1_000_000_000)
        if seen != exact or found.st_size & 0xFFFFFFFF != size:
            yield name


def _entries(index: Path) -> Iterator[tuple[str, int, int, int]]:
    """(name, seconds, nanoseconds, size) of each file that an index of version 2 or 3 lists."""
    try:
        content = index.read_bytes() if index.stat().st_size <= _MAX_INDEX_BYTES else b""
        signature, version, count = _HEADER.unpack_from(content)
    except (OSError, struct.error):
        return
    if signature != b"DIRC" or version not in (2, 3):
        return
    at = _HEADER.size
    for _number in range(min(count, _MAX_FILES)):
        try:
            fields = _ENTRY.unpack_from(content, at)
        except struct.error:
            return
        flags = fields[11]
        start = at + _ENTRY.size + (2 if version == 3 and flags & _EXTENDED else 0)
        end = content.find(b"\0", start) if flags & _NAME_LENGTH == _NAME_LENGTH else start + (flags & _NAME_LENGTH)
        if end < start:
            return
        # Entries are padded with one to eight zero bytes to a multiple of eight.
        at += (end - at + 8) // 8 * 8
        if not flags & _STAGE:
            yield content[start:end].decode("utf-8", "replace"), fields[2], fields[3], fields[9]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:4096] if path.is_file() else ""
    except OSError:
        return ""
