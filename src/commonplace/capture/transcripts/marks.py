"""What is remembered of a file between two readings: which file it was, and how far it was read."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from commonplace.capture.transcripts.lines import unpacked
from commonplace.capture.transcripts.record import READERS, Position
from commonplace.text.redact import redact

Change = Literal["same", "grew", "rewritten", "compressed"]
PACKED = (".zst", ".gz")
_HEAD, _TAIL = 4096, 1024


@dataclass(frozen=True, slots=True)
class Mark:
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

    def after(self, position: Position, last_turn: str = "") -> Mark:
        """The mark to keep when the file was read up to there."""
        reader = READERS[position.transcript.source]
        return replace(self, position=position, last_turn=last_turn, reader=reader)

    def as_json(self) -> dict[str, Any]:
        """To be kept, so without secrets: the address of a repository may hold one, and so may any title."""
        kept = asdict(self)
        if kept["position"]:
            told = kept["position"]["transcript"]
            told |= {name: redact(text) for name, text in told.items() if isinstance(text, str) and name != "path"}
        return kept

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Mark:
        position = data["position"]
        return cls(**{**data, "position": Position.from_json(position) if position else None})


def look(path: Path) -> Mark:
    """The file as it is now. Look before reading, so that what is added meanwhile counts as growth."""
    seen = path.stat()
    with path.open("rb") as file:
        head, tail = _hashes(file, seen.st_size)
    return Mark(str(path), seen.st_dev, seen.st_ino, seen.st_size, _changed_ns(path), head, tail)


def changed(mark: Mark, path: Path) -> Change:
    """What happened since the mark was made to the file that now lies at `path`.

    A file that grew, or was only compressed, is read on from the mark's position; a rewritten one, or one that an
    older reader read, from its start.
    """
    if mark.position and mark.reader != READERS[mark.position.transcript.source]:
        return "rewritten"
    if path.name.endswith(PACKED) and plain_name(path) == mark.path:
        with unpacked(path) as stream:
            return "compressed" if _starts_as(mark, stream) else "rewritten"
    size = path.stat().st_size
    with path.open("rb") as file:
        known = size >= mark.size and _hashes(file, mark.size) == (mark.head_hash, mark.tail_hash)
    if known and size == mark.size and _changed_ns(path) == mark.mtime_ns:
        return "same"
    return "grew" if known and size > mark.size and not path.name.endswith(PACKED) else "rewritten"


def plain_name(path: Path) -> str:
    """The path that a file had before it was compressed: what its mark is kept under."""
    name = str(path)
    return name[: -len(path.suffix)] if path.suffix in PACKED else name


def _hashes(file: IO[bytes], size: int) -> tuple[str, str]:
    """Of the first and the last bytes of the first `size` bytes."""
    head = file.read(min(_HEAD, size))
    file.seek(max(0, size - _TAIL))
    tail = file.read(min(_TAIL, size))
    return _hash(head), _hash(tail)


def _starts_as(mark: Mark, stream: IO[bytes]) -> bool:
    try:
        return _hash(stream.read(min(_HEAD, mark.size))) == mark.head_hash
    except EOFError:
        return False


def stamp(path: Path) -> tuple[int, int]:
    """What changes whenever the file does, at the price of a look at its folder."""
    return path.stat().st_size, _changed_ns(path)


def _changed_ns(path: Path) -> int:
    """When the file changed, or the write-ahead log of a database beside it."""
    log = path.with_name(f"{path.name}-wal")
    newest = path.stat().st_mtime_ns
    return max(newest, log.stat().st_mtime_ns) if log.is_file() else newest


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
