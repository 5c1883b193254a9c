"""Where coding agents keep their sessions, and which files under a path are sessions at all."""

from __future__ import annotations

import codecs
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from commonplace.capture.import_report import Skipped
from commonplace.capture.transcript_files import (
    MAX_LINE,
    PACKED,
    Line,
    first_bytes,
    open_unpacked,
    plain_name,
    read_lines,
)
from commonplace.capture.transcripts import claude_code, codex, gemini
from commonplace.capture.transcripts.cursor import Conversation, conversations
from commonplace.errors import InvalidInput
from commonplace.hosts.transcript import AppendedReader, Counts, LookBack, Position, Source, Transcript, Turn, off_path
from commonplace.text.json_fields import text_in

_SNIFF = 16 << 10
_LINES = 20
_MAX_DEPTH = 32
DATABASE = "state.vscdb"
_ENDINGS = tuple(kind + packing for kind in (".jsonl", ".json") for packing in ("", *PACKED))
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}
_CODEX_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
# What a line holds at its beginning, where it is longer than what is looked at.
_TRAITS: Mapping[Source, tuple[bytes, ...]] = {
    "codex": (b'"type"', b'"session_meta"'),
    "claude-code": (b'"parentUuid"', b'"isSidechain"'),
    "gemini": (b'"sessionId"', b'"projectHash"'),
}


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file with sessions in it."""

    path: Path
    source: Source


def transcript_folders(environment: Mapping[str, str], home: Path, system: str) -> list[Path]:
    """The folders and files in which the four products keep sessions, whether they exist or not."""
    told = environment.get("CLAUDE_CONFIG_DIR", "")
    claude = [Path(folder.strip()) for folder in told.split(",") if folder.strip()]
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    gemini = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    cursor = _settings(environment, home, system) / "Cursor" / "User"
    return [
        *(folder / "projects" for folder in claude or [home / ".claude", home / ".config" / "claude"]),
        codex / "sessions",
        codex / "archived_sessions",
        gemini / "tmp",
        cursor / "globalStorage" / DATABASE,
        cursor / "workspaceStorage",
    ]


def find_transcripts(paths: Iterable[Path], named: bool = False) -> Iterator[TranscriptFile | Skipped]:
    """The sessions at and under these paths, in the order of their names; what cannot be read is told.

    `named` is for paths that a person gave: one that is missing, or a file that is no session, is told too.
    """
    for path in paths:
        if path.is_file():
            yield from recognise(path, tell=named)
        elif named and not path.is_dir():
            yield Skipped(str(path), "There is no such file or folder.", "file")
        else:
            for one in candidate_files([path]):
                yield from recognise(one) if isinstance(one, Path) else (one,)


def candidate_files(paths: Iterable[Path]) -> Iterator[Path | Skipped]:
    """The files that could be sessions, by their names alone; folders that cannot be read are told."""
    for path in paths:
        if path.is_dir():
            yield from _within(path)
        elif path.is_file():
            yield path


def detect_source(path: Path) -> Source | None:
    """Which product wrote this file, told by its content; None if none of them did."""
    start = first_bytes(path, _SNIFF)
    if path.name == DATABASE:
        return "cursor" if start.startswith(b"SQLite format 3\0") else None
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    unfinished = lines.pop() if len(start) == _SNIFF else b""
    for line in lines[:_LINES]:
        if source := _source(_object(line)):
            return source
    if lines and lines[0].strip() == b"{":
        return "gemini" if all(trait in start for trait in _TRAITS["gemini"]) else None
    return next((source for source, traits in _TRAITS.items() if all(trait in unfinished for trait in traits)), None)


def _settings(environment: Mapping[str, str], home: Path, system: str) -> Path:
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")


def _within(root: Path) -> Iterator[Path | Skipped]:
    """Depth first. Links to folders are not followed, so that no loop can catch the walk."""
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                kept = sorted((entry for entry in entries if _promising(entry)), key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(str(folder), error.strerror or "It cannot be read.", "file")
            continue
        folders = [Path(entry.path) for entry in kept if entry.is_dir(follow_symlinks=False)]
        yield from (path for path in (Path(entry.path) for entry in kept) if path.is_file())
        if depth < _MAX_DEPTH:
            waiting.extend((inner, depth + 1) for inner in reversed(folders))


def _promising(entry: os.DirEntry[str]) -> bool:
    if entry.name == DATABASE or entry.name.endswith(_ENDINGS):
        return True
    return not entry.name.startswith(".") and entry.name not in _PASSED_OVER and entry.is_dir(follow_symlinks=False)


def recognise(path: Path, tell: bool = False) -> Iterator[TranscriptFile | Skipped]:
    """The file, if it is a session; why not, if it cannot be read or that is to be told."""
    # While a session is being compressed both files are there; the plain one is the truth.
    if path.suffix in PACKED and Path(plain_name(path)).exists():
        return
    try:
        source = detect_source(path)
    except InvalidInput as error:
        yield Skipped(str(path), f"{error.message} {error.hint}", "file")
        return
    except OSError as error:
        yield Skipped(str(path), error.strerror or "It cannot be read.", "file")
        return
    if source:
        yield TranscriptFile(path, source)
    elif tell:
        yield Skipped(str(path), "It is no session of Claude Code, Codex, Gemini CLI or Cursor.", "file")


def _source(record: dict[str, Any]) -> Source | None:
    kind = text_in(record, "type")
    if kind in _CODEX_TYPES and isinstance(record.get("payload"), dict):
        return "codex"
    if {"id", "timestamp", "instructions"} <= record.keys():
        return "codex"
    if "sessionId" in record and ("projectHash" in record or "startTime" in record):
        return "gemini"
    if kind and ("sessionId" in record or {"uuid", "parentUuid"} <= record.keys()):
        return "claude-code"
    return None


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


MAX_DOCUMENT = 64 << 20
"""Bytes that a session which is one JSON object may have."""


class Learnt(Protocol):
    """What is known of a session while it is read."""

    @property
    def transcript(self) -> Transcript: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def position(self) -> Position: ...


class Reader(Learnt, Protocol):
    """Takes the records of one format and makes turns of them. Its position is behind the last turn wholly given."""

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]: ...
    def rest(self) -> Iterator[Turn]: ...


_READERS: Mapping[Source, Callable[[Position, LookBack], Reader]] = {
    "claude-code": claude_code.ClaudeCode,
    "codex": codex.Codex,
    "gemini": lambda position, _: gemini.Gemini(position),
}
_PLACES: Mapping[Source, Callable[[Path], Transcript]] = {
    "claude-code": claude_code.transcript_of,
    "codex": codex.transcript_of,
    "gemini": gemini.transcript_of,
}


def read_sessions(path: Path, source: Source, position: Position | None = None) -> Iterator[Reading]:
    """The sessions of a file, each to be iterated before the next: one, but for Cursor, which keeps all in one."""
    if source == "cursor":
        for conversation in conversations(path):
            yield CursorReading(conversation)
    else:
        yield FileReading(path, source, position)


class Reading(ABC):
    """One pass over one session. Iterate it once; what it learnt is final after that."""

    def __init__(self, learnt: Learnt) -> None:
        self._learnt = learnt
        self._lineage: dict[str, str | None] = {}

    def __iter__(self) -> Iterator[Turn]:
        for turn in self._turns():
            if not turn.sidechain:
                self._lineage.pop(turn.identity, None)
                self._lineage[turn.identity] = turn.parent
            yield turn

    @property
    def transcript(self) -> Transcript:
        """Where the turns come from; a session without an id is named after its file."""
        known = self._learnt.transcript
        return known if known.session else replace(known, session=Path(known.path).name.split(".")[0])

    @property
    def counts(self) -> Counts:
        return self._learnt.counts

    @property
    def position(self) -> Position:
        """Where to go on later; whoever stops early gets again what was not wholly given."""
        return self._learnt.position

    @property
    def off_path(self) -> frozenset[str]:
        """The turns of this pass that the conversation left behind; `record.off_path` tells it of all turns."""
        return off_path(self._lineage.items())

    @abstractmethod
    def _turns(self) -> Iterator[Turn]: ...


class CursorReading(Reading):
    """One conversation of Cursor's database. There is nowhere to go on from: a changed one is read again."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._conversation = conversation

    def _turns(self) -> Iterator[Turn]:
        return self._conversation.turns()


class FileReading(Reading):
    """A file of one session, from a position on; `until` an offset for those who look back."""

    def __init__(
        self,
        path: Path,
        source: Source,
        position: Position | None = None,
        limit: int = MAX_LINE,
        until: int | None = None,
    ) -> None:
        start = position or Position(_PLACES[source](path))
        start = replace(start, transcript=replace(start.transcript, path=str(path)))
        self._reader = _READERS[source](start, self._links_before)
        super().__init__(self._reader)
        self._path, self._source, self._limit = path, source, limit
        self._from, self._until = start.offset, until

    def _turns(self) -> Iterator[Turn]:
        for offset, record in self._records():
            self.counts.records += 1
            yield from self._reader.take(record, offset)
        yield from self._reader.rest()

    def _records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for line in read_lines(self._path, self._from, self._limit):
            if self._until is not None and line.offset >= self._until:
                return
            if line.offset == 0 and line.raw is not None and line.raw.strip() == b"{":
                yield from self._document()
                return
            record = self._record(line)
            if record is not None:
                yield line.offset, record

    def _document(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """A file that is one object over many lines."""
        with open_unpacked(self._path) as stream:
            whole = stream.read(MAX_DOCUMENT + 1)
        record = self._record(Line(0, whole if len(whole) <= MAX_DOCUMENT else None))
        if record is not None:
            yield 0, record

    def _record(self, line: Line) -> dict[str, Any] | None:
        if line.raw is None:
            self.counts.oversize += 1
            return None
        raw = line.raw.removeprefix(codecs.BOM_UTF8).strip()
        text = raw.decode("utf-8", "replace")
        try:
            record = json.loads(text) if text else None
        except (ValueError, RecursionError):
            # The last line may still be in the making.
            self.counts.malformed += line.finished
            return None
        if text and not isinstance(record, dict):
            self.counts.malformed += line.finished
            return None
        self.counts.replaced += "\ufffd" in text and "\ufffd".encode() not in raw
        return record

    def _links_before(self) -> Mapping[str, str]:
        """Which turns the records before this pass belong to, by reading them again."""
        earlier = FileReading(self._path, self._source, limit=self._limit, until=self._from)
        for _ in earlier:
            pass
        return earlier._reader.links() if isinstance(earlier._reader, AppendedReader) else {}
