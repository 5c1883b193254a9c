"""Archive: everything of a space as an open format, JSON lines and a manifest, that others can read without us.

docs/reference/archive.md has it field by field; capture/importers/commonplace_export.py reads it back.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from commonplace import __version__
from commonplace.errors import TooLarge
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sync_records import Record, RecordKind, SyncScope, all_records, record_data, sync_position
from commonplace.model import KINDS
from commonplace.text.dates import iso_time

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

ARCHIVE_FORMAT, ARCHIVE_VERSION = "commonplace-archive", 1
MANIFEST = "manifest.json"
ARCHIVE_FILES: Mapping[RecordKind, str] = {
    "project": "projects.jsonl",
    "session": "sessions.jsonl",
    "item": "items.jsonl",
}
"""In the order in which one needs the other. They are written the other way round: whatever comes meanwhile, no item
is without its session."""
MAX_ARCHIVE_LINE = 1 << 28
"""Bytes of the longest record: an item with all that it ever was."""

# A piece of the zip is handed over when it has grown to this.
_PIECE = 1 << 16
_OWNER_ONLY = 0o600 << 16


class Archive:
    """An archive that is being written: its files, and then the manifest that counts what was in them.

    `since_ms` leaves out items that have not changed since; what they need is there all the same.
    """

    def __init__(self, memory: LocalMemory, extent: SyncScope | None = None, since_ms: int | None = None) -> None:
        self._memory, self._extent, self._since = memory, extent or SyncScope(), since_ms
        self._created = memory.clock()
        self._files: list[dict[str, Any]] = []
        names = ("projects", "sessions", "items", "forgotten", "superseded", "history")
        self.counts: Counter[str] = Counter(dict.fromkeys(names, 0))
        self._kinds: Counter[str] = Counter(dict.fromkeys(KINDS, 0))

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Each file by its name, as the pieces of what is in it; all of them have to be taken before the next one."""
        for what in reversed([*ARCHIVE_FILES]):
            yield ARCHIVE_FILES[what], self._measured(what)
        yield MANIFEST, iter([json.dumps(self.manifest, ensure_ascii=False, indent=2).encode() + b"\n"])

    def zipped(self) -> Iterator[bytes]:
        """All of it as one zip, piece by piece as it is made."""
        tray = _Tray()
        with zipfile.ZipFile(tray, "w") as archive:
            for name, pieces in self.files():
                entry = zipfile.ZipInfo(name)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _OWNER_ONLY
                with archive.open(entry, "w", force_zip64=True) as file:
                    for piece in pieces:
                        file.write(piece)
                        if tray.size >= _PIECE:
                            yield tray.taken()
        yield tray.taken()

    @property
    def manifest(self) -> dict[str, Any]:
        """What was written so far."""
        return {
            "format": ARCHIVE_FORMAT,
            "version": ARCHIVE_VERSION,
            "created": iso_time(self._created),
            "by": f"commonplace {__version__}",
            "space": self._memory.settings.space,
            "store": sync_position(self._memory)[0],
            "projects": [*self._extent.projects] or None,
            "since": None if self._since is None else iso_time(self._since),
            "counts": {**self.counts, "kinds": dict(self._kinds)},
            "files": self._files,
        }

    def _measured(self, what: RecordKind) -> Iterator[bytes]:
        digest, lines, size = hashlib.sha256(), 0, 0
        for record in self._records(what):
            line = _line(record)
            self._count(record)
            digest.update(line)
            lines, size = lines + 1, size + len(line)
            yield line
        self._files.append({"name": ARCHIVE_FILES[what], "lines": lines, "bytes": size, "sha256": digest.hexdigest()})

    def _records(self, what: RecordKind) -> Iterator[Record]:
        records = all_records(self._memory, what, self._extent)
        if what == "item" and self._since is not None:
            since = self._since
            return (record for record in records if record.version >= since)
        return records

    def _count(self, record: Record) -> None:
        self.counts[f"{record.what}s"] += 1
        self.counts["history"] += len(record.history)
        if record.what == "item":
            self._kinds[record.fields["kind"]] += 1
            self.counts["forgotten"] += record.fields["forgotten_ms"] is not None
            self.counts["superseded"] += record.fields["superseded_by"] is not None


class _Tray(io.RawIOBase):
    """Where the zip is written to, and taken from."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, data: Buffer, /) -> int:
        self._parts.append(bytes(data))
        self.size += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts, self.size = self._parts, [], 0
        return b"".join(parts)


def _line(record: Record) -> bytes:
    """A record as a line that is the same in every store."""
    parts = (f"{json.dumps(name)}:{_canonical(value)}" for name, value in record_data(record).items())
    line = f"{{{','.join(parts)}}}\n".encode("utf-8", "replace")
    if len(line) > MAX_ARCHIVE_LINE:
        raise TooLarge(
            f"{record.what.capitalize()} {record.name} has {len(line) >> 20} MB with its history.",
            "`commonplace backup` keeps it; --project leaves it out.",
        )
    return line


def _canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
