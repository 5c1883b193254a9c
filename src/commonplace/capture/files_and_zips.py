"""Files, folders and zips as streams with limits: nothing is unpacked to disk, and no zip bomb is read to its end."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from commonplace.capture.import_report import MAX_HELD, Advance, Skipped, Stream
from commonplace.capture.importers.foreign_database import DATABASE_SUFFIXES
from commonplace.errors import InvalidInput

SUFFIXES = (".json", ".jsonl", ".md", ".markdown", ".txt", ".html", ".htm", *DATABASE_SUFFIXES)
# Text compresses to a tenth or so; what grows to more than this is meant to fill a disk.
MAX_GROWTH = 200
ALWAYS_ALLOWED = 1 << 26
MAX_MEMBER = 1 << 34
MAX_DIRECTORY = 1 << 23
"""Bytes of the list of a zip's files."""
# The records at the end of a zip that say how long that list is, the last two for large zips.
_END, _END64, _END64_LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_LONGEST_END = (1 << 16) + 22 + 20
_PRODUCT_EXPORT = re.compile(r"conversations(?:[-_ ]?\d+)?\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to read: its name, its bytes on the disk per byte of content, and the most that is read of it.

    `path` is set for a file on the disk, not for one in a zip.
    """

    name: str
    density: float
    limit: int
    open: Callable[[], IO[bytes]]
    path: Path | None = None


class LimitedStream:
    """A stream that reports how much was read, and ends with a `fault` where it cannot or must not go on."""

    def __init__(self, stream: Stream, limit: int, advance: Advance, max_held: int = MAX_HELD) -> None:
        self._stream, self._left, self._advance = stream, limit, advance
        self.max_held = max_held
        self._ahead = b""
        self.fault = ""

    def peek(self, size: int) -> bytes:
        """The beginning, which the next reads return again."""
        self._ahead = self.read(size)
        return self._ahead

    def read(self, size: int = -1) -> bytes:
        """`size` bytes, or all that are left."""
        parts, wanted = [self._ahead[: size if size >= 0 else None]], size
        self._ahead = self._ahead[len(parts[0]) :]
        wanted -= len(parts[0])
        while wanted and (part := self._next(min(wanted, 1 << 20) if wanted > 0 else 1 << 20)):
            parts.append(part)
            wanted -= len(part) if wanted > 0 else 0
        return b"".join(parts)

    def _next(self, size: int) -> bytes:
        if self.fault:
            return b""
        try:
            part = self._stream.read(size)
        except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            self.fault = f"it cannot be read further: {error}"
            return b""
        self._left -= len(part)
        if self._left < 0:
            self.fault = "it unpacks to more than its size allows (a zip bomb?)"
            return b""
        self._advance(len(part))
        return part


def files_to_read(path: Path) -> list[SourceFile]:
    """The file itself, or the files of a folder to read. Of a product's export, only its conversations."""
    try:
        if path.is_dir():
            found = sorted(one for one in path.rglob("*") if one.is_file() and _is_inside(one, path))
            names = [one.relative_to(path).as_posix() for one in found]
            return [_file(found[n], names[n]) for n in _choose(names, (*SUFFIXES, ".zip"))]
        return [_file(path, path.name)]
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", "Name a file or a folder.") from error


def check_zip_directory(stream: IO[bytes]) -> None:
    """Refuse a zip with so many files that the list of them alone would take too much memory."""
    stream.seek(0, 2)
    start = max(0, stream.tell() - _LONGEST_END)
    stream.seek(start)
    tail = stream.read(_LONGEST_END)
    at = tail.rfind(_END)
    size = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if at >= 20 and tail[at - 20 : at - 16] == _END64_LOCATOR:
        stream.seek(int.from_bytes(tail[at - 12 : at - 4], "little"))
        end = stream.read(56)
        size = int.from_bytes(end[40:48], "little") if end.startswith(_END64) else size
    if size > MAX_DIRECTORY:
        raise zipfile.BadZipFile("it lists more files than can be read; split it into several zips")
    stream.seek(0)


def files_in_zip(archive: zipfile.ZipFile) -> list[SourceFile]:
    """The files of a zip, readable as long as it is open."""
    # No product writes a file without a name.
    entries = [entry for entry in archive.infolist() if entry.filename and not entry.is_dir()]
    return [_zip_entry(archive, entries[n]) for n in _choose([entry.filename for entry in entries], SUFFIXES)]


def _choose(names: Sequence[str], suffixes: tuple[str, ...]) -> list[int]:
    visible = [n for n, name in enumerate(names) if not _is_hidden(name)]
    exported = [n for n in visible if _PRODUCT_EXPORT.fullmatch(PurePosixPath(names[n]).name)]
    wanted = exported or [n for n in visible if names[n].lower().endswith(suffixes)]
    return sorted(wanted, key=lambda n: names[n])


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePath(name).parts)


def _is_inside(file: Path, folder: Path) -> bool:
    """Whether a file of a folder is no link to somewhere else: an export may come from anyone."""
    return file.resolve().is_relative_to(folder.resolve())


def _file(path: Path, name: str) -> SourceFile:
    return SourceFile(name, 1.0, MAX_MEMBER, lambda: path.open("rb"), path)


def _zip_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SourceFile:
    limit = min(MAX_MEMBER, max(ALWAYS_ALLOWED, MAX_GROWTH * entry.compress_size))
    return SourceFile(entry.filename, entry.compress_size / max(1, entry.file_size), limit, lambda: archive.open(entry))


def open_file(file: SourceFile) -> IO[bytes] | Skipped:
    """The stream of a file, or why there is none."""
    try:
        return file.open()
    except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        return Skipped(file.name, f"it cannot be opened: {error}", "file")
