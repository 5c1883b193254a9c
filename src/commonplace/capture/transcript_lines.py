"""Lines of a file that may be huge, packed, cut short or in another encoding, in little memory."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import importlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, cast

from commonplace.errors import InvalidInput
from commonplace.hosts.host import transcripts_of
from commonplace.hosts.transcript import Position
from commonplace.text.redact import redact

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


def read_lines(path: Path, offset: int = 0, limit: int = MAX_LINE) -> Iterator[Line]:
    """The lines from a byte offset on, counted in UTF-8 and unpacked. Ends quietly where a packed file is torn."""
    with open_unpacked(path) as stream:
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


def open_unpacked(path: Path) -> IO[bytes]:
    """The file as UTF-8 bytes, however it is packed or encoded, which its first bytes say, not its name."""
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


def first_bytes(path: Path, size: int) -> bytes:
    """The first bytes, unpacked; fewer where the file is torn."""
    with open_unpacked(path) as stream:
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
        "Use Python 3.14, or install `backports.zstd` next to Commonplace.",
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


Change = Literal["same", "grew", "rewritten", "compressed"]
PACKED = (".zst", ".gz")
_HEAD, _TAIL = 4096, 1024


@dataclass(frozen=True, slots=True)
class ReadMark:
    """A file as it was before it was read: the hashes are of its first and last bytes.

    `position` is where reading goes on, `last_turn` the digest of the last turn that was given, `reader` the version
    of the reader that gave it.
    """

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    head_hash: str
    tail_hash: str
    position: Position | None = None
    last_turn: str = ""
    reader: int = 0

    def after(self, position: Position, last_turn: str = "") -> ReadMark:
        """The mark to keep when the file was read up to there."""
        return replace(self, position=position, last_turn=last_turn, reader=_reader_version(position))

    def as_json(self) -> dict[str, Any]:
        """To be stored, so without secrets: the address of a repository may hold one, and so may any title."""
        values = asdict(self)
        if values["position"]:
            transcript = values["position"]["transcript"]
            texts = ((name, text) for name, text in transcript.items() if isinstance(text, str) and name != "path")
            transcript |= {name: redact(text) for name, text in texts}
        return values

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReadMark:
        position = data["position"]
        return cls(**{**data, "position": Position.from_json(position) if position else None})


def mark_of_file(path: Path) -> ReadMark:
    """The file as it is now. Look before reading, so that what is added meanwhile counts as growth."""
    seen = path.stat()
    with path.open("rb") as file:
        head, tail = _hashes(file, seen.st_size)
    return ReadMark(str(path), seen.st_dev, seen.st_ino, seen.st_size, _changed_ns(path), head, tail)


def changed_since(mark: ReadMark, path: Path) -> Change:
    """What happened since the mark was made to the file that now lies at `path`.

    A file that grew, or was only compressed, is read on from the mark's position; a rewritten one, or one that an
    older reader read, from its start.
    """
    if mark.position and mark.reader != _reader_version(mark.position):
        return "rewritten"
    if path.name.endswith(PACKED) and plain_name(path) == mark.path:
        with open_unpacked(path) as stream:
            return "compressed" if _starts_as(mark, stream) else "rewritten"
    size = path.stat().st_size
    with path.open("rb") as file:
        known = size >= mark.size and _hashes(file, mark.size) == (mark.head_hash, mark.tail_hash)
    if known and size == mark.size and _changed_ns(path) == mark.mtime_ns:
        return "same"
    return "grew" if known and size > mark.size and not path.name.endswith(PACKED) else "rewritten"


def _reader_version(position: Position) -> int:
    transcripts = transcripts_of(position.transcript.source)
    return transcripts.version if transcripts else 0


def plain_name(path: Path) -> str:
    """The path that a file had before it was compressed: what its mark is stored under."""
    name = str(path)
    return name[: -len(path.suffix)] if path.suffix in PACKED else name


def _hashes(file: IO[bytes], size: int) -> tuple[str, str]:
    """Of the first and the last bytes of the first `size` bytes."""
    head = file.read(min(_HEAD, size))
    file.seek(max(0, size - _TAIL))
    tail = file.read(min(_TAIL, size))
    return _hash(head), _hash(tail)


def _starts_as(mark: ReadMark, stream: IO[bytes]) -> bool:
    try:
        return _hash(stream.read(min(_HEAD, mark.size))) == mark.head_hash
    except EOFError:
        return False


def file_stamp(path: Path) -> tuple[int, int]:
    """What changes whenever the file does, at the price of a look at its folder."""
    return path.stat().st_size, _changed_ns(path)


def _changed_ns(path: Path) -> int:
    """When the file changed, or the write-ahead log of a database next to it."""
    log = path.with_name(f"{path.name}-wal")
    newest = path.stat().st_mtime_ns
    return max(newest, log.stat().st_mtime_ns) if log.is_file() else newest


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
