"""Lines of a file that may be huge, packed, cut short or in another encoding, in little memory."""

from __future__ import annotations

import codecs
import gzip
import importlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from commonplace.errors import InvalidInput

MAX_LINE = 16 << 20
"""Bytes that one line may have; a longer one is passed over without being held."""

_CHUNK = 1 << 16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# In this order: the standard library of Python 3.14, its backport, the older package.
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")
_TORN = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class Line:
    """A line and where it begins. `raw` is None where it was too long; the last one may be unfinished."""

    offset: int
    raw: bytes | None
    finished: bool = True


def lines(path: Path, offset: int = 0, limit: int = MAX_LINE) -> Iterator[Line]:
    """The lines from a byte offset on, counted in UTF-8 and unpacked. Ends quietly where a packed file is torn."""
    with unpacked(path) as stream:
        try:
            _skip(stream, offset)
            while head := stream.readline(limit + 1):
                size, finished = len(head), head.endswith(b"\n")
                raw: bytes | None = head
                if size > limit:
                    raw = None
                    while not finished and (rest := stream.readline(_CHUNK)):
                        size, finished = size + len(rest), rest.endswith(b"\n")
                yield Line(offset, raw, finished)
                offset += size
        except EOFError:
            return


def unpacked(path: Path) -> IO[bytes]:
    """The file as UTF-8 bytes, whatever it was packed or encoded with; told by its first bytes, not by its name."""
    plain = path.open("rb")
    try:
        magic = plain.read(4)
        plain.seek(0)
        if magic.startswith(_GZIP):
            return cast(IO[bytes], io.BufferedReader(_Unpacked(gzip.GzipFile(fileobj=plain), plain, _TORN)))
        if magic == _ZSTD:
            return cast(IO[bytes], io.BufferedReader(_zstd(plain)))
        if magic.startswith(_UTF16):
            return cast(IO[bytes], io.BufferedReader(_Recoded(plain)))
    except BaseException:
        plain.close()
        raise
    return plain


def head(path: Path, size: int) -> bytes:
    """The first bytes, unpacked; fewer where the file is torn."""
    with unpacked(path) as stream:
        try:
            return stream.read(size)
        except EOFError:
            return b""


def _skip(stream: IO[bytes], offset: int) -> None:
    if stream.seekable():
        stream.seek(offset)
        return
    while offset > 0 and (passed := stream.read(min(offset, _CHUNK))):
        offset -= len(passed)


def _zstd(plain: IO[bytes]) -> _Unpacked:
    for name in _ZSTD_MODULES:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        return _Unpacked(module.open(plain, "rb"), plain, (EOFError, module.ZstdError))
    raise InvalidInput(
        "The file is compressed with Zstandard, which this Python cannot read.",
        "Use Python 3.14, or install `backports.zstd` beside Commonplace.",
    )


class _Unpacked(io.RawIOBase):
    """An unpacking stream that closes the file under it, and cannot jump: a jump would unpack from the start."""

    def __init__(self, inner: Any, file: IO[bytes], torn: tuple[type[Exception], ...]) -> None:
        self._inner, self._file, self._torn = inner, file, torn

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._inner.read(len(buffer))
        except self._torn:
            raise EOFError from None
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._file.close()
        super().close()


class _Recoded(io.RawIOBase):
    """UTF-16 as UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._rest = file, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (part := self._file.read(_CHUNK)):
            self._rest = self._decoder.decode(part).encode("utf-8", "replace")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()
