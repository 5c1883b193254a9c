"""Commonplace's own exports, imported without loss: archives of everything, and conversations as JSON.

Nothing in an archive (memory/sync_and_archive.py writes it) is trusted, and all of it is checked before any is stored.
Only files with the right names are opened; each is read line by line in little memory and has to be what the manifest
says. Records are stored in batches, each in one transaction; importing again continues.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from commonplace.capture.import_report import MAX_HELD, Advance, Entry, Skipped, Stream, Unit, conversation_label
from commonplace.capture.importers.json_reader import UnreadableMessage, read_conversations
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sync_and_archive import (
    ARCHIVE_FILES,
    ARCHIVE_FORMAT,
    ARCHIVE_VERSION,
    MANIFEST,
    MAX_ARCHIVE_LINE,
    RecordKind,
    RecordOutcome,
    take_records,
)
from commonplace.model import MESSAGE_ROLES, ref
from commonplace.text.untrusted_json import check_json, object_in, text_in, time_in, values_for

BATCH_RECORDS = 500
BATCH_BYTES = 8_000_000
MAX_MANIFEST = 1 << 20
# All projects are in memory at once: hundreds of thousands.
MAX_PROJECTS = 1 << 26
_PROJECTS_SHARE = 8
_USE_COMMAND = "Use `commonplace import` on the store's machine."
_AGAIN = "Create or download the archive again: nothing was imported."
_UNREADABLE = (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
# Files that operating systems add to folders and zips.
_STRAY = re.compile(r"(?:.*/)?(?:\.(?!\.).*|__MACOSX/.*|Thumbs\.db|desktop\.ini)", re.DOTALL)

LONGEST_ITEM = 5 << 20
"""Bytes of a record whose text is as long as an item may be."""
SOURCE = "json"
"""The source of conversations that name none."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the manifest says about a file."""

    lines: Any
    bytes: Any
    sha256: Any

    @property
    def is_complete(self) -> bool:
        return all(isinstance(one, int) for one in (self.lines, self.bytes)) and isinstance(self.sha256, str)


class Archive:
    """An archive, open for reading: `density` is its bytes on the disk per byte of content.

    InvalidInput says what is wrong with it.
    """

    def __init__(
        self, manifest: Mapping[str, Any], names: Sequence[str], open_: Callable[[str], IO[bytes]], density: float = 1.0
    ) -> None:
        self._open, self._density = open_, density
        self._most_held = MAX_HELD
        self._files = _read_manifest_entries(manifest)
        if len({*names}) < len(names):
            raise InvalidInput("A file is in it twice.", _AGAIN)
        for name in names:
            if name not in (MANIFEST, *ARCHIVE_FILES.values()) and not _STRAY.fullmatch(name):
                raise InvalidInput(f"{name[:100]!r} is not part of an archive.", _AGAIN)

    def limit(self, max_held: int, max_records: int) -> None:
        """Hold no more than so many bytes of its text at once, and take no more records than that."""
        self._most_held = max_held
        if sum(one.lines for one in self._files.values()) > max_records:
            raise InvalidInput("It has too many records for an upload of its size.", _USE_COMMAND)
        # A project takes many times its text in memory, and all projects are in memory at once.
        if self._files["project"].bytes > max_held // _PROJECTS_SHARE:
            raise InvalidInput("It has too many projects for an upload of its size.", _USE_COMMAND)

    def check(self, advance: Advance) -> None:
        """Read and check all of it."""
        for what in ARCHIVE_FILES:
            for _record, size in self._records(what):
                advance(self._half(size))

    def store_records(self, memory: LocalMemory | None, advance: Advance) -> Iterator[tuple[Unit, RecordOutcome]]:
        """Store all of it; yields what became of each record. Without a memory, nothing is stored."""
        for what in ARCHIVE_FILES:
            for batch in self._batches(what, advance):
                if memory is None:
                    outcomes = [RecordOutcome(one["what"], one["name"], "added") for one in batch]
                else:
                    outcomes = take_records(memory, batch, future_as_now=True)
                yield from zip(map(_unit, batch), outcomes, strict=True)

    def _half(self, size: int) -> int:
        """Half the bytes on the disk, since all of it is read twice."""
        return round(size * self._density / 2)

    def _longest_line(self) -> int:
        """Long enough for the longest item, however small the archive is."""
        return max(self._most_held // 4, LONGEST_ITEM)

    def _batches(self, what: RecordKind, advance: Advance) -> Iterator[list[Record]]:
        batch: list[Record] = []
        bytes_ = 0
        for record, size in self._records(what):
            batch.append(record)
            bytes_ += size
            advance(self._half(size))
            # Projects come together: so it is known which of them are apart.
            if what != "project" and (len(batch) >= BATCH_RECORDS or bytes_ >= min(BATCH_BYTES, self._most_held // 4)):
                yield batch
                batch, bytes_ = [], 0
        if batch:
            yield batch

    def _records(self, what: RecordKind) -> Iterator[tuple[Record, int]]:
        """The records of a file with the length of each; at its end the file is compared with its manifest entry."""
        name, expected = ARCHIVE_FILES[what], self._files[what]
        digest, lines, size, last = hashlib.sha256(), 0, 0, ""
        for line in self._lines(name):
            lines, size = lines + 1, size + len(line)
            if len(line) > MAX_ARCHIVE_LINE or size > expected.bytes:
                raise InvalidInput(f"{name} is longer than its manifest says, or has a line without an end.", _AGAIN)
            if len(line) > self._longest_line():
                raise InvalidInput(f"{name}, line {lines} is too long for an upload of its size.", _USE_COMMAND)
            digest.update(line)
            record = _record(what, line, f"{name}, line {lines}")
            if record["name"] <= last:
                raise InvalidInput(f"{name}, line {lines}: a name comes twice, or out of order.", _AGAIN)
            last = record["name"]
            yield record, len(line)
        if ManifestEntry(lines, size, digest.hexdigest()) != expected:
            raise InvalidInput(f"{name} is not what its manifest says: it was cut off or changed.", _AGAIN)

    def _lines(self, name: str) -> Iterator[bytes]:
        try:
            with io.BufferedReader(cast(io.RawIOBase, self._open(name)), 1 << 20) as stream:
                while line := stream.readline(min(MAX_ARCHIVE_LINE, self._longest_line()) + 1):
                    yield line
        except (KeyError, *_UNREADABLE) as why:
            raise InvalidInput(f"{name} cannot be read: {why}.", _AGAIN) from why


def archive_in_folder(folder: Path) -> Archive | None:
    """The archive in a folder; None if it is none."""
    manifest = _read_manifest(lambda: _open_file(folder / MANIFEST)) if (folder / MANIFEST).is_file() else None
    if manifest is None:
        return None
    names = [one.name + "/" * one.is_dir() for one in folder.iterdir()]
    return Archive(manifest, names, lambda name: _open_file(folder / name))


def archive_in_zip(archive: zipfile.ZipFile) -> Archive | None:
    """The archive in a zip, while that is open; None if it is none."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    manifest = _read_manifest(lambda: archive.open(MANIFEST)) if MANIFEST in names else None
    if manifest is None:
        return None
    packed, unpacked = sum(entry.compress_size for entry in entries), sum(entry.file_size for entry in entries)
    return Archive(manifest, names, archive.open, packed / max(1, unpacked))


def read_archive_part(_stream: Stream, name: str) -> Iterator[Entry]:
    """A single file of an archive cannot be imported."""
    yield Skipped(name, f"it is a part of an archive: import its folder or zip as a whole, with {MANIFEST}", "file")


def _open_file(path: Path) -> IO[bytes]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path.name}")
    return path.open("rb")


def _read_manifest(open_: Callable[[], IO[bytes]]) -> Mapping[str, Any] | None:
    try:
        with open_() as stream:
            data = json.loads(stream.read(MAX_MANIFEST).decode())
    except (ValueError, RecursionError, *_UNREADABLE):
        return None
    return data if isinstance(data, dict) and data.get("format") == ARCHIVE_FORMAT else None


def _read_manifest_entries(manifest: Mapping[str, Any]) -> dict[RecordKind, ManifestEntry]:
    version, files = manifest.get("version"), manifest.get("files")
    if isinstance(version, int) and version > ARCHIVE_VERSION:
        raise InvalidInput(f"It has version {version}; only {ARCHIVE_VERSION} is known here.", "Upgrade Commonplace.")
    entries = [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    found = {one.get("name"): ManifestEntry(one.get("lines"), one.get("bytes"), one.get("sha256")) for one in entries}
    complete = {*found} == {*ARCHIVE_FILES.values()} and all(one.is_complete for one in found.values())
    if version != ARCHIVE_VERSION or not complete:
        raise InvalidInput("Its manifest does not say what is in it.", _AGAIN)
    if found[ARCHIVE_FILES["project"]].bytes > MAX_PROJECTS:
        raise InvalidInput(f"Its projects have more than {MAX_PROJECTS >> 20} MB.", "Export them in parts: --project.")
    return {what: found[ARCHIVE_FILES[what]] for what in ARCHIVE_FILES}


def _record(what: RecordKind, line: bytes, where: str) -> Record:
    try:
        check_json(line, values_for(len(line)), where)
        record = json.loads(line.decode())
    except CommonplaceError as error:
        raise InvalidInput(error.message, _AGAIN) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: it is not JSON in UTF-8.", _AGAIN) from error
    if not isinstance(record, dict) or record.get("what") != what or not isinstance(record.get("name"), str):
        raise InvalidInput(f"{where}: it is not a record of this file.", _AGAIN)
    return record


def _unit(record: Record) -> Unit:
    if record["what"] == "item":
        return "message" if object_in(record, "fields").get("kind") == "message" else "item"
    return "conversation" if record["what"] == "session" else "project"


def read_json(stream: Stream, name: str) -> Iterator[Entry]:
    """Every conversation of a JSON export, and what could not be read of it."""
    return read_conversations(stream, lambda data, where: (_conversation(data, where),))


def _conversation(data: Any, where: str) -> Entry:
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        return Skipped(where, "it has no list of messages")
    messages = []
    for number, entry in enumerate(data["messages"], 1):
        try:
            messages.append(_message(entry))
        except UnreadableMessage as error:
            return Skipped(where, f"message {number}: {error}")
    if not messages:
        return Skipped(where, "it has no messages")
    score = data.get("importance_score")
    id_ = text_in(data, "id", "conversation_id")
    return NewConversation(
        label=conversation_label(text_in(data, "label"), messages[0].content),
        messages=messages,
        folder=text_in(data, "folder") or f"/imports/{SOURCE}",
        importance=score if isinstance(score, (int, float)) and not isinstance(score, bool) else None,
        status=text_in(data, "status") or None,
        project=text_in(data, "project") or None,
        source=text_in(data, "source") if "source" in data else SOURCE,
        key=text_in(data, "key") or id_,
        meta=object_in(data, "metadata"),
        started_ms=time_in(data, "created_at"),
        accessed_ms=time_in(data, "last_accessed"),
        updated_ms=time_in(data, "updated_at"),
        uid=_uid(id_),
    )


def _message(data: Any) -> NewMessage:
    if not isinstance(data, dict):
        raise UnreadableMessage("it is not an object")
    role, content, id_ = text_in(data, "role"), text_in(data, "content"), text_in(data, "id")
    if role not in MESSAGE_ROLES:
        raise UnreadableMessage(f"unknown role {role[:40]!r}" if role else "no role")
    if not content:
        raise UnreadableMessage("no content")
    meta, at_ms = object_in(data, "metadata"), time_in(data, "timestamp")
    return NewMessage(role, content, at_ms, meta, identity=id_, uid=_uid(id_))


def _uid(id_: str) -> str | None:
    """The id, if it is a UUID; any other only identifies within the export."""
    return ref(id_).uid if id_ else None
