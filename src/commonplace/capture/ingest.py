"""Ingest: the sessions of coding agents, read where they lie and kept as conversations that follow their files.

Reading goes on where it ended; what was kept stays when it is interrupted, and doing it twice changes nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.capture.foreign import UNTITLED, Skipped
from commonplace.capture.summary import Summary, Tally
from commonplace.capture.transcripts.find import Found, find
from commonplace.capture.transcripts.marks import Mark, changed, look, plain_name
from commonplace.capture.transcripts.project import project_of
from commonplace.capture.transcripts.reading import Reading, read
from commonplace.capture.transcripts.record import Position, Transcript, Turn, off_path
from commonplace.capture.transcripts.telling import title_of_turns, told
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge
from commonplace.memory.answers import CapturedAnswers
from commonplace.memory.book import Book
from commonplace.memory.conversations import MAX_KEY, Conversation, Kept, Said, keep
from commonplace.memory.conversations import find as session_of
from commonplace.memory.sources import leave_behind, mark_of, note_mark, tie_sub_agents, turns_of
from commonplace.text.names import normalise_project

BATCH_MESSAGES = 200
BATCH_CHARACTERS = 2_000_000

Advance = Callable[[int], object]


@dataclass(slots=True)
class Ingested(Summary):
    """What became of the sessions, by product too, and what in them was of no known kind. Files may be unchanged."""

    by_source: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    unknown: Counter[str] = field(default_factory=Counter)


class Ingest:
    """One ingestion under way, of any number of paths."""

    def __init__(self, book: Book, *, project: str | None = None) -> None:
        self.summary = Ingested()
        self._book = book
        self._project = None if project is None else normalise_project(project)

    def add(self, paths: Iterable[Path], *, named: bool = False) -> None:
        """Every session at and under these paths."""
        self.read(self.find(paths, named=named))

    def find(self, paths: Iterable[Path], *, named: bool = False) -> list[Found]:
        """The files to read, those of sub-agents after the ones that started them."""
        files: list[Found] = []
        for found in find(paths, named=named):
            if isinstance(found, Skipped):
                self.summary.skip(found)
            else:
                files.append(found)
        return sorted(files, key=lambda found: "subagents" in found.path.parts)

    def read(self, files: Iterable[Found], advance: Advance = lambda _bytes: None) -> None:
        """Keep what is new in these files. `advance` is told how many of their bytes are done."""
        for found in files:
            try:
                self._file(found, advance)
            except (OSError, InvalidInput) as error:
                why = error.message if isinstance(error, CommonplaceError) else error.strerror or "It cannot be read."
                self.summary.skip(Skipped(str(found.path), why, "file"))

    def _file(self, found: Found, advance: Advance) -> None:
        name = plain_name(found.path)
        now, mark = look(found.path), self._mark(name)
        change = changed(mark, found.path) if mark else "rewritten"
        if change == "same":
            self.summary.files.known += 1
            advance(now.size)
            return
        position = mark.position if mark and change in ("grew", "compressed") else None
        done = _Done(advance, now.size)
        done.reach(position.offset if position else 0)
        self.summary.files.added += 1
        for reading in read(found.path, found.source, position):
            _Session(self._book, self._project, self.summary, reading, position).read(done)
            now = now.after(reading.position)
        note_mark(self._book, name, now.as_json())
        done.reach(now.size)

    def _mark(self, name: str) -> Mark | None:
        known = mark_of(self._book, name)
        try:
            return Mark.from_json(dict(known)) if known else None
        except (KeyError, TypeError, ValueError):
            # Of another version of ours: the file is read from its start, and what is known changes nothing.
            return None


class _Done:
    """How much of a file is read, told as it goes on. Offsets in packed files go beyond their size."""

    def __init__(self, advance: Advance, size: int) -> None:
        self._advance, self._size, self._told = advance, size, 0

    def reach(self, offset: int) -> None:
        reached = min(offset, self._size)
        if reached > self._told:
            self._advance(reached - self._told)
            self._told = reached


class _Session:
    """One session while it is read, kept a batch at a time."""

    def __init__(
        self, book: Book, project: str | None, summary: Ingested, reading: Reading, position: Position | None
    ) -> None:
        self._book, self._project, self._summary, self._reading = book, project, summary, reading
        self._resumed = position is not None
        self._before = position.trail[-1] if position and position.trail else None
        self._title = ""
        self._at: int | None = None
        self._started: int | None = None
        self._waiting: list[Said] = []
        self._characters = 0
        self._branched = self._spawned = False
        self._added = self._known = 0
        self._answers: CapturedAnswers | None = None

    def read(self, done: _Done) -> None:
        for turn in self._reading:
            self._take(turn)
            if len(self._waiting) >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
                self._keep()
                done.reach(self._reading.position.offset)
        self._keep()
        self._tie()
        self._tell()

    def _take(self, turn: Turn) -> None:
        if not turn.sidechain:
            # A turn without a link begins no branch: its product lost the thread, not the person.
            self._branched |= None not in (turn.parent, self._before) and turn.parent != self._before
            self._before = turn.identity
        self._spawned |= bool(turn.spawned)
        turn = self._dated(turn)
        said = list(told(turn))
        self._title = self._title or title_of_turns(self._reading.transcript, said)
        self._waiting += said
        self._characters += sum(len(one.content) for one in said)

    def _dated(self, turn: Turn) -> Turn:
        """A turn without a time gets that of the one before; the first the session's, else the file's."""
        transcript = self._reading.transcript
        known = (turn.at_ms, turn.until_ms, self._at, transcript.started_ms)
        at = next((moment for moment in known if moment is not None), None)
        at = _changed_ms(transcript.path) if at is None else at
        self._at = at if turn.until_ms is None else turn.until_ms
        self._started = at if self._started is None else self._started
        return replace(turn, at_ms=at)

    def _keep(self) -> None:
        said, self._waiting, self._characters = self._waiting, [], 0
        if not said:
            return
        try:
            kept = keep(self._book, self._conversation(said))
            self._added, self._known = self._added + kept.added, self._known + kept.known
            self._link_answers(kept, said)
        except (InvalidInput, TooLarge) as error:
            if len(said) == 1:
                self._summary.skip(Skipped(self._reading.transcript.path, error.message, "message"))
                return
            for one in said:
                self._waiting = [one]
                self._keep()

    def _link_answers(self, kept: Kept, said: list[Said]) -> None:
        """Let the messages stand for the answers that hooks captured of the same turns."""
        if self._answers is None:
            self._answers = CapturedAnswers(self._book, kept.session.id)
        pairs = zip(kept.ids, said, strict=False)
        self._answers.replace_by((id_, one.content) for id_, one in pairs if one.role == "assistant")

    def _conversation(self, said: list[Said]) -> Conversation:
        transcript = self._reading.transcript
        return Conversation(
            label=self._label(transcript),
            messages=said,
            folder=f"/sessions/{transcript.source}",
            project=self._project or project_of(transcript),
            source=transcript.source,
            key=key_of(transcript),
            meta=meta_of(transcript),
            started_ms=self._started if transcript.started_ms is None else transcript.started_ms,
            follows=True,
        )

    def _label(self, transcript: Transcript) -> str:
        """Its title, else the question that it began with, which is known already if reading went on."""
        title = title_of_turns(transcript, ())
        if not title and self._resumed:
            with contextlib.suppress(NotFound):
                title = session_of(self._book, key_of(transcript), forgotten=True).label
        return title or self._title or UNTITLED

    def _tie(self) -> None:
        """Tell how this session hangs together, in itself and with its sub-agents."""
        transcript = self._reading.transcript
        key = key_of(transcript)
        if self._branched:
            turns = turns_of(self._book, key)
            before = [None, *(turn for turn, _follows in turns)]
            leave_behind(self._book, key, off_path((turn, f or b) for (turn, f), b in zip(turns, before, strict=False)))
        if self._spawned:
            tie_sub_agents(self._book, key)
        if transcript.parent_session:
            tie_sub_agents(self._book, f"{transcript.source}:{transcript.parent_session}")

    def _tell(self) -> None:
        """Count what came in, and what was met and not taken."""
        summary, counts, transcript = self._summary, self._reading.counts, self._reading.transcript
        for tally in (summary.conversations, summary.by_source[transcript.source]):
            tally.added += bool(self._added)
            tally.known += bool(self._known and not self._added)
        summary.messages.added += self._added
        summary.messages.known += self._known
        summary.unknown.update(counts.unknown)
        for number, why in (
            (counts.malformed, "malformed lines"),
            (counts.oversize, "lines too long to be read"),
            (sum(counts.unknown.values()), "records of unknown types"),
        ):
            if number:
                summary.skip(Skipped(transcript.path, why, "message", number))


def key_of(transcript: Transcript) -> str:
    """What a session is called here: its product, its id there, and the sub-agent's if it is one."""
    session = transcript.session or Path(transcript.path).stem
    if transcript.agent_id and transcript.parent_session:
        return f"{transcript.source}:{transcript.parent_session}/{transcript.agent_id}"[:MAX_KEY]
    return f"{transcript.source}:{session}"[:MAX_KEY]


def meta_of(transcript: Transcript) -> Mapping[str, object]:
    """What is known about a session besides what was said in it; its links to others for the graph."""
    source = transcript.source
    known = {
        "folder": transcript.folder,
        "branch": transcript.branch,
        "version": transcript.version,
        "model": transcript.model,
        "agent": transcript.agent_type or transcript.agent_id,
        "continued_from": transcript.continued_from and f"{source}:{transcript.continued_from}",
        "parent_session": transcript.parent_session and f"{source}:{transcript.parent_session}",
        "started_by": transcript.parent_call,
    }
    return {name: value for name, value in known.items() if value}


def _changed_ms(path: str) -> int | None:
    try:
        return Path(path).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
