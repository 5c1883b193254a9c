"""The sessions of coding agents: finding the files, reading on from where the last pass ended, and turns as messages.

How the sessions of each product are recognised and read is in its module of hosts/.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from commonplace.capture.hooks.tool_calls import OWN_MEMORY_TOOL, tool_type
from commonplace.capture.import_report import Skipped
from commonplace.capture.transcript_lines import (
    MAX_LINE,
    PACKED,
    Line,
    first_bytes,
    open_unpacked,
    plain_name,
    read_lines,
)
from commonplace.errors import InvalidInput
from commonplace.hosts.host import (
    Locations,
    ReadSession,
    StoredSession,
    Transcripts,
    transcript_sources,
    transcripts_of,
)
from commonplace.hosts.transcript import Block, Counts, Position, Role, Source, Transcript, Turn, TurnBuilder, off_path
from commonplace.memory.conversations import NewMessage
from commonplace.text.redact import redact
from commonplace.text.sentences import shorten, title_of, truncate
from commonplace.text.untrusted_json import as_object

_SNIFF = 16 << 10
_LINES = 20
_MAX_DEPTH = 32
_ENDINGS = tuple(kind + packing for kind in (".jsonl", ".json") for packing in ("", *PACKED))
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file with sessions in it."""

    path: Path
    source: Source


def transcript_folders(locations: Locations) -> list[Path]:
    """The folders and files in which every host keeps its sessions, whether they exist or not."""
    return [folder for transcripts in transcript_sources().values() for folder in transcripts.folders(locations)]


def is_database(path: Path) -> bool:
    """Whether a file is by its name the database in which a host keeps all sessions."""
    return path.name in _databases()


def find_transcripts(paths: Iterable[Path], named: bool = False) -> Iterator[TranscriptFile | Skipped]:
    """The sessions at and under these paths, in the order of their names; what cannot be read is reported.

    `named` is for paths that a person gave: one that is missing, or a file that is no session, is reported too.
    """
    for path in paths:
        if path.is_file():
            yield from recognise(path, report=named)
        elif named and not path.is_dir():
            yield Skipped(str(path), "There is no such file or folder.", "file")
        else:
            for one in candidate_files([path]):
                yield from recognise(one) if isinstance(one, Path) else (one,)


def candidate_files(paths: Iterable[Path]) -> Iterator[Path | Skipped]:
    """The files that could be sessions, by their names alone; folders that cannot be read are reported."""
    for path in paths:
        if path.is_dir():
            yield from _within(path)
        elif path.is_file():
            yield path


def detect_source(path: Path) -> Source | None:
    """The host that wrote this file, recognised by its content; None if none did."""
    start, sources = first_bytes(path, _SNIFF), transcript_sources()
    if path.name in _databases():
        return _databases()[path.name] if start.startswith(_SQLITE) else None
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    unfinished = lines.pop() if len(start) == _SNIFF else b""
    for line in lines[:_LINES]:
        record = as_object(line)
        for name, transcripts in sources.items():
            if record and transcripts.matches(record):
                return name
    document = bool(lines) and lines[0].strip() == b"{"
    for name, transcripts in sources.items():
        where = start if document and transcripts.document else b"" if document else unfinished
        if transcripts.traits and all(trait in where for trait in transcripts.traits):
            return name
    return None


def _databases() -> dict[str, Source]:
    return {one.database: name for name, one in transcript_sources().items() if one.database}


def _within(root: Path) -> Iterator[Path | Skipped]:
    """Depth first. Links to folders are not followed, so that no loop can catch the walk."""
    waiting, databases = [(root, 0)], _databases()
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(
                    (entry for entry in entries if _promising(entry, databases)), key=lambda entry: entry.name
                )
        except OSError as error:
            yield Skipped(str(folder), error.strerror or "It cannot be read.", "file")
            continue
        folders = [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
        yield from (path for path in (Path(entry.path) for entry in found) if path.is_file())
        if depth < _MAX_DEPTH:
            waiting.extend((inner, depth + 1) for inner in reversed(folders))


def _promising(entry: os.DirEntry[str], databases: Collection[str]) -> bool:
    if entry.name.endswith(_ENDINGS) or entry.name in databases:
        return True
    return not entry.name.startswith(".") and entry.name not in _PASSED_OVER and entry.is_dir(follow_symlinks=False)


def recognise(path: Path, report: bool = False) -> Iterator[TranscriptFile | Skipped]:
    """The file, if it is a session; why not, if it cannot be read or `report` is set."""
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
    elif report:
        yield Skipped(str(path), "It is not a session of Claude Code, Codex, Gemini CLI or Cursor.", "file")


MAX_DOCUMENT = 64 << 20
"""Bytes that a session which is one JSON object may have."""


def read_sessions(path: Path, source: Source, position: Position | None = None) -> Iterator[Reading]:
    """The sessions of a file, each to be iterated before the next: one, unless it is a database of many."""
    transcripts = _transcripts(source)
    if transcripts.sessions is None:
        yield FileReading(path, source, position)
        return
    for session in transcripts.sessions(path):
        yield DatabaseReading(session)


def _transcripts(source: Source) -> Transcripts:
    transcripts = transcripts_of(source)
    if transcripts is None:
        raise InvalidInput(f"The sessions of {source!r} cannot be read.", "Install the plugin that reads them.")
    return transcripts


class Reading(ABC):
    """One pass over one session. Iterate it once; what it learnt is final after that."""

    def __init__(self, session: ReadSession) -> None:
        self._session = session
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
        known = self._session.transcript
        return known if known.session else replace(known, session=Path(known.path).name.split(".")[0])

    @property
    def counts(self) -> Counts:
        return self._session.counts

    @property
    def position(self) -> Position:
        """Where to go on later; whoever stops early gets again what was not wholly given."""
        return self._session.position

    @property
    def off_path(self) -> frozenset[str]:
        """The turns of this pass that the conversation left behind; `record.off_path` tells it of all turns."""
        return off_path(self._lineage.items())

    @abstractmethod
    def _turns(self) -> Iterator[Turn]: ...


class DatabaseReading(Reading):
    """One session of a database. There is nowhere to go on from: a changed one is read again."""

    def __init__(self, session: StoredSession) -> None:
        super().__init__(session)
        self._stored = session

    def _turns(self) -> Iterator[Turn]:
        return self._stored.turns()


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
        transcripts = _transcripts(source)
        assert transcripts.reader is not None, f"{source} has no reader"
        begun = transcripts.start(path) if transcripts.start else Transcript(source, str(path))
        start = position or Position(begun)
        start = replace(start, transcript=replace(start.transcript, path=str(path)))
        self._reader = transcripts.reader(start, self._links_before)
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
            # The last line may not be finished.
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
        return earlier._reader.all_links() if isinstance(earlier._reader, TurnBuilder) else {}


MAX_MESSAGE = 400_000
"""Characters after which the rest of a turn is another message. A block is shorter, so that it stays whole."""
# Tool results are put into code fences, which a passage never splits where they fit into one.
_LONGEST_TITLE, _LOOKED_AT = 100, 5000
_MAX_NAMED, _LONGEST_NAME = 100, 1000
_FENCE = re.compile(r"^[ \t]{0,40}(`{3,})", re.MULTILINE)
_HEADS = {"thinking": "Thought", "summary": "Summary"}


def turn_messages(turn: Turn) -> Iterator[NewMessage]:
    """The messages of a turn: a summary if it begins with one, the question, and the answer if there is any yet."""
    speakers: dict[Role, list[Block]] = {"system": [], "user": [], "assistant": []}
    for block in turn.blocks:
        speakers[_speaker(block)].append(block)
    follows: dict[str, object] = {"follows": turn.parent} if turn.parent else {}
    for role, blocks in speakers.items():
        for number, (text, part) in enumerate(_parts(blocks), 1):
            yield _message(turn, role, text, part, number, follows)
            follows = {}


def session_title(transcript: Transcript, messages: Iterable[NewMessage]) -> str:
    """What to call a session: its title, else its first question. Nothing secret is cut, and so hidden, by it."""
    title = shorten(redact(transcript.title), _LONGEST_TITLE)
    return title or next((title_of(redact(one.content)) for one in messages if one.role == "user"), "")


def _speaker(block: Block) -> Role:
    if block.kind == "summary":
        return "system"
    return "user" if block.who == "user" and block.kind == "text" else "assistant"


def _parts(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """The text of blocks, and which they are; in several where it is long. What comes later changes only the last."""
    texts: list[str] = []
    part: list[Block] = []
    size = 0
    for block in blocks:
        text = _rendered(block)
        if not text:
            continue
        if part and size + len(text) > MAX_MESSAGE:
            yield "\n\n".join(texts), part
            texts, part, size = [], [], 0
        texts.append(text)
        part.append(block)
        size += len(text)
    if part:
        yield "\n\n".join(texts), part


def _message(
    turn: Turn, role: Role, text: str, blocks: list[Block], number: int, more: dict[str, object]
) -> NewMessage:
    meta: dict[str, object] = {"turn": turn.identity, **more}
    if number > 1:
        meta["part"] = number
    if role == "assistant" and turn.spawned:
        meta["spawned"] = sorted({name for pair in turn.spawned for name in pair if name})
    if turn.sidechain:
        meta["sidechain"] = True
    if turn.model and role == "assistant":
        meta["model"] = turn.model
    details = {
        "files": _named(file for block in blocks for file in block.files),
        "commands": _named((block.command for block in blocks), "\n"),
        "errors": _named((block.error for block in blocks), "\n"),
    }
    at = turn.until_ms if role == "assistant" and turn.until_ms is not None else turn.at_ms
    identity = f"{turn.identity}/{role}" + (f"/{number}" if number > 1 else "")
    named = {name: value for name, value in details.items() if value}
    return NewMessage(role, text, at, meta, identity, details=named, title=_title(blocks))


def _title(blocks: Iterable[Block]) -> str:
    """From the text, rather than from thoughts before it or tool calls."""
    text = next((block.text for block in blocks if block.kind == "text" and block.text.strip()), "")
    return title_of(redact(text[:_LOOKED_AT]))


def _rendered(block: Block) -> str:
    text = block.text.strip()
    if block.kind == "tool_call":
        return f"[{block.tool or 'tool'}] {block.command or text}".rstrip()
    # What was recalled from this memory is in it already.
    if not text or (block.kind == "tool_result" and tool_type(block.tool) == OWN_MEMORY_TOOL):
        return ""
    if block.kind == "tool_result":
        fence = max((match[1] for match in _FENCE.finditer(text)), key=len, default="``") + "`"
        return f"{fence}\n{text}\n{fence}"
    head = _HEADS.get(block.kind)
    return f"{head}: {text}" if head else text


def _named(names: Iterable[str], separator: str = ", ") -> str:
    found = dict.fromkeys(_short(name) for name in names if name)
    return separator.join(list(found)[:_MAX_NAMED])


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else truncate(redact(name), _LONGEST_NAME)
