"""Ingest: the sessions of coding agents, read where they lie and kept as conversations that follow their files.

Reading goes on where it ended; what was kept stays when it is interrupted, and doing it twice changes nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.capture.import_report import UNTITLED, ImportReport, Skipped, Tally
from commonplace.capture.transcript_files import ReadMark, changed_since, file_stamp, mark_of_file, plain_name
from commonplace.capture.transcript_messages import session_title, turn_messages
from commonplace.capture.transcript_reading import (
    Reading,
    TranscriptFile,
    candidate_files,
    find_transcripts,
    is_database,
    read_sessions,
    recognise,
)
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge
from commonplace.hosts.transcript import Position, Transcript, Turn, off_path, transcript_project
from commonplace.memory.captured_events import CapturedAnswers
from commonplace.memory.conversations import (
    MAX_KEY,
    NewConversation,
    NewMessage,
    StoredConversation,
    store_conversation,
)
from commonplace.memory.conversations import find_session as session_of
from commonplace.memory.import_items import (
    link_sub_agents,
    mark_abandoned_turns,
    save_source_mark,
    session_turns,
    source_mark,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.project_names import normalise_project

BATCH_MESSAGES = 200
BATCH_CHARACTERS = 2_000_000

Advance = Callable[[int], object]


@dataclass(slots=True)
class IngestReport(ImportReport):
    """What became of the sessions, by product too, and what in them was of no known kind. Files may be unchanged."""

    by_source: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    unknown: Counter[str] = field(default_factory=Counter)


class IngestRun:
    """One ingestion under way, of any number of paths."""

    def __init__(self, memory: LocalMemory, *, project: str | None = None) -> None:
        self.summary = IngestReport()
        self._memory = memory
        self._project = None if project is None else normalise_project(project)

    def add(self, paths: Iterable[Path], *, named: bool = False) -> None:
        """Every session at and under these paths."""
        self.read(self.find(paths, named=named))

    def find(self, paths: Iterable[Path], *, named: bool = False) -> list[TranscriptFile]:
        """The files to read, those of sub-agents after the ones that started them."""
        files: list[TranscriptFile] = []
        for found in find_transcripts(paths, named=named):
            if isinstance(found, Skipped):
                self.summary.skip(found)
            else:
                files.append(found)
        return sorted(files, key=lambda found: "subagents" in found.path.parts)

    def read(self, files: Iterable[TranscriptFile], advance: Advance = lambda _bytes: None) -> None:
        """Keep what is new in these files. `advance` is told how many of their bytes are done."""
        for found in files:
            try:
                self._file(found, advance)
            except (OSError, InvalidInput) as error:
                why = error.message if isinstance(error, CommonplaceError) else error.strerror or "It cannot be read."
                self.summary.skip(Skipped(str(found.path), why, "file"))

    def _file(self, found: TranscriptFile, advance: Advance) -> None:
        name = plain_name(found.path)
        now, mark = mark_of_file(found.path), self._mark(name)
        change = changed_since(mark, found.path) if mark else "rewritten"
        if change == "same":
            self.summary.files.known += 1
            advance(now.size)
            return
        position = mark.position if mark and change in ("grew", "compressed") else None
        done = _Done(advance, now.size)
        done.reach(position.offset if position else 0)
        self.summary.files.added += 1
        for reading in read_sessions(found.path, found.source, position):
            _Session(self._memory, self._project, self.summary, reading, position).read(done)
            now = now.after(reading.position)
        save_source_mark(self._memory, name, now.as_json())
        done.reach(now.size)

    def _mark(self, name: str) -> ReadMark | None:
        known = source_mark(self._memory, name)
        try:
            return ReadMark.from_json(dict(known)) if known else None
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
        self,
        memory: LocalMemory,
        project: str | None,
        summary: IngestReport,
        reading: Reading,
        position: Position | None,
    ) -> None:
        self._memory, self._project, self._summary, self._reading = memory, project, summary, reading
        self._resumed = position is not None
        self._before = position.trail[-1] if position and position.trail else None
        self._title = ""
        self._at: int | None = None
        self._started: int | None = None
        self._waiting: list[NewMessage] = []
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
        said = list(turn_messages(turn))
        self._title = self._title or session_title(self._reading.transcript, said)
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
            kept = store_conversation(self._memory, self._conversation(said))
            self._added, self._known = self._added + kept.added, self._known + kept.known
            self._link_answers(kept, said)
        except (InvalidInput, TooLarge) as error:
            if len(said) == 1:
                self._summary.skip(Skipped(self._reading.transcript.path, error.message, "message"))
                return
            for one in said:
                self._waiting = [one]
                self._keep()

    def _link_answers(self, kept: StoredConversation, said: list[NewMessage]) -> None:
        """Let the messages stand for the answers that hooks captured of the same turns."""
        if self._answers is None:
            self._answers = CapturedAnswers(self._memory, kept.session.id)
        pairs = zip(kept.ids, said, strict=False)
        self._answers.replace_by((id_, one.content) for id_, one in pairs if one.role == "assistant")

    def _conversation(self, said: list[NewMessage]) -> NewConversation:
        transcript = self._reading.transcript
        return NewConversation(
            label=self._label(transcript),
            messages=said,
            folder=f"/sessions/{transcript.source}",
            project=self._project or transcript_project(transcript),
            source=transcript.source,
            key=session_key(transcript),
            meta=session_metadata(transcript),
            started_ms=self._started if transcript.started_ms is None else transcript.started_ms,
            follows=True,
        )

    def _label(self, transcript: Transcript) -> str:
        """Its title, else the question that it began with, which is known already if reading went on."""
        title = session_title(transcript, ())
        if not title and self._resumed:
            with contextlib.suppress(NotFound):
                title = session_of(self._memory, session_key(transcript), forgotten=True).label
        return title or self._title or UNTITLED

    def _tie(self) -> None:
        """Tell how this session hangs together, in itself and with its sub-agents."""
        transcript = self._reading.transcript
        key = session_key(transcript)
        if self._branched:
            turns = session_turns(self._memory, key)
            before = [None, *(turn for turn, _follows in turns)]
            mark_abandoned_turns(
                self._memory, key, off_path((turn, f or b) for (turn, f), b in zip(turns, before, strict=False))
            )
        if self._spawned:
            link_sub_agents(self._memory, key)
        if transcript.parent_session:
            link_sub_agents(self._memory, f"{transcript.source}:{transcript.parent_session}")

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


def session_key(transcript: Transcript) -> str:
    """What a session is called here: its product, its id there, and the sub-agent's if it is one."""
    session = transcript.session or Path(transcript.path).stem
    if transcript.agent_id and transcript.parent_session:
        return f"{transcript.source}:{transcript.parent_session}/{transcript.agent_id}"[:MAX_KEY]
    return f"{transcript.source}:{session}"[:MAX_KEY]


def session_metadata(transcript: Transcript) -> Mapping[str, object]:
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


# A database changes all the time while its editor runs, and is read whole.
DATABASE_SECONDS = 60.0
# After a look it rests at least this long, and this many times as long as the look took.
REST_SECONDS, REST_FACTOR = 2.0, 20.0


class SessionWatcher:
    """Looks again and again at what lies at and under some paths. A file that vanished is no matter."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen: dict[Path, tuple[int, int]] = {}
        self._read_at: dict[Path, float] = {}
        self.rest = REST_SECONDS
        """Seconds to wait before the next look, so that looking costs little however much there is to look at."""

    def changed(self) -> list[TranscriptFile]:
        """The sessions that are new or changed; at the first look all."""
        began = time.monotonic()
        seen: dict[Path, tuple[int, int]] = {}
        files: list[TranscriptFile] = []
        for path in candidate_files(self._paths):
            if isinstance(path, Skipped):
                continue
            try:
                now = file_stamp(path)
            except OSError:
                continue
            if self._seen.get(path) == now or self._too_soon(path, began):
                seen[path] = self._seen.get(path, now)
                continue
            seen[path] = now
            self._read_at[path] = began
            files += [found for found in recognise(path) if isinstance(found, TranscriptFile)]
        self._seen = seen
        self.rest = max(REST_SECONDS, REST_FACTOR * (time.monotonic() - began))
        return sorted(files, key=lambda found: "subagents" in found.path.parts)

    def _too_soon(self, path: Path, now: float) -> bool:
        return is_database(path) and now - self._read_at.get(path, -DATABASE_SECONDS) < DATABASE_SECONDS
