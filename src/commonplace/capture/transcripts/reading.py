"""Reading a transcript: which reader fits a source, and one pass over a file from where the last one ended."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from commonplace.capture.transcripts import claude_code, codex, gemini
from commonplace.capture.transcripts.cursor import Conversation, conversations
from commonplace.capture.transcripts.drafts import AtDesk, LookBack
from commonplace.capture.transcripts.lines import MAX_LINE, Line, lines, unpacked
from commonplace.capture.transcripts.record import Counts, Position, Source, Transcript, Turn, off_path

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


def read(path: Path, source: Source, position: Position | None = None) -> Iterator[Reading]:
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
        for line in lines(self._path, self._from, self._limit):
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
        with unpacked(self._path) as stream:
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
        return earlier._reader.links() if isinstance(earlier._reader, AtDesk) else {}
