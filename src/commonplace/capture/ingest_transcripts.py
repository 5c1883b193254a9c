"""Ingesting: the sessions that coding agents left on this machine become conversations that follow their files.

Reading continues where it ended; what was stored stays when it is interrupted, and ingesting twice changes nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from commonplace.capture.hooks.noise_filter import is_small_talk_prompt
from commonplace.capture.import_report import UNTITLED, Advance, ImportReport, Skipped, Tally
from commonplace.capture.proposals import proposals_in
from commonplace.capture.transcript_lines import ReadMark, changed_since, file_stamp, mark_of_file, plain_name
from commonplace.capture.transcripts import (
    Reading,
    TranscriptFile,
    candidate_files,
    find_transcripts,
    is_database,
    read_sessions,
    recognise,
    session_title,
    turn_messages,
)
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge
from commonplace.hosts.transcript import Position, Transcript, Turn, off_path, transcript_project
from commonplace.memory.authors import for_import
from commonplace.memory.captured_events import CapturedAnswers, StartedSession, is_captured, store_captured
from commonplace.memory.conversations import (
    MAX_KEY,
    NewConversation,
    NewMessage,
    StoredConversation,
    find_session,
    store_conversation,
)
from commonplace.memory.import_items_and_records import (
    link_sub_agents,
    mark_abandoned_turns,
    save_source_mark,
    session_turns,
    source_mark,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.dates import DAY_MS
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

BATCH_MESSAGES = 200
BATCH_CHARACTERS = 2_000_000
# An answer to a greeting that is longer than this says something.
SMALL_TALK_REPLY = 200
# What a person stated is proposed for so long: of older sessions, it would be too much to review.
PROPOSED_MS = 30 * DAY_MS
# A database changes all the time while its editor runs, and is read whole.
DATABASE_SECONDS = 60.0
# Between two looks at least this long, and this many times as long as the look took.
REST_SECONDS, REST_FACTOR = 2.0, 20.0


@dataclass(slots=True)
class IngestReport(ImportReport):
    """What became of the sessions, also by product, and record types that are unknown. A known file is unchanged.

    `proposed` counts statements of prompts that wait for review now.
    """

    by_source: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    unknown: Counter[str] = field(default_factory=Counter)
    proposed: int = 0

    def as_json(self, *, dry_run: bool = False) -> dict[str, Any]:
        """The report for programs, the commonest reasons first."""
        return {
            "sessions": {"added": self.conversations.added, "known": self.conversations.known},
            "messages": {"added": self.messages.added, "known": self.messages.known},
            "files": {"read": self.files.added, "unchanged": self.files.known, "skipped": self.files.skipped},
            "proposed": self.proposed,
            "by_source": {source: tally.added + tally.known for source, tally in sorted(self.by_source.items())},
            "skipped": self.skipped_by_reason(),
            "examples": [{"what": one.what, "why": one.why} for one in self.examples],
            "unknown_records": dict(self.unknown),
        }


class IngestRun:
    """One ingestion of any number of paths."""

    def __init__(self, memory: LocalMemory, *, project: str | None = None) -> None:
        self.report = IngestReport()
        self._memory = for_import(memory)
        self._project = None if project is None else normalise_project(project)

    def add(self, paths: Iterable[Path], *, named: bool = False) -> None:
        """Ingest every session at and below these paths."""
        self.read(self.find(paths, named=named))

    def find(self, paths: Iterable[Path], *, named: bool = False) -> list[TranscriptFile]:
        """The files to read, those of sub-agents after the ones that started them."""
        files: list[TranscriptFile] = []
        for found in find_transcripts(paths, named=named):
            if isinstance(found, Skipped):
                self.report.skip(found)
            else:
                files.append(found)
        return sorted(files, key=lambda found: "subagents" in found.path.parts)

    def read(self, files: Iterable[TranscriptFile], advance: Advance = lambda _bytes: None) -> None:
        """Store what is new in these files. `advance` gets the number of bytes read since its last call."""
        for found in files:
            try:
                self._read_file(found, advance)
            except (OSError, InvalidInput) as error:
                why = error.message if isinstance(error, CommonplaceError) else error.strerror or "It cannot be read."
                self.report.skip(Skipped(str(found.path), why, "file"))

    def _read_file(self, found: TranscriptFile, advance: Advance) -> None:
        name = plain_name(found.path)
        now, mark = mark_of_file(found.path), self._mark(name)
        change = changed_since(mark, found.path) if mark else "rewritten"
        if change == "same":
            self.report.files.known += 1
            advance(now.size)
            return
        position = mark.position if mark and change in ("grew", "compressed") else None
        progress = _FileProgress(advance, now.size)
        progress.reach(position.offset if position else 0)
        self.report.files.added += 1
        for reading in read_sessions(found.path, found.source, position):
            _Session(self._memory, self._project, self.report, reading, position).read(progress)
            now = now.after(reading.position)
        save_source_mark(self._memory, name, now.as_json())
        progress.reach(now.size)

    def _mark(self, name: str) -> ReadMark | None:
        known = source_mark(self._memory, name)
        try:
            return ReadMark.from_json(dict(known)) if known else None
        except (KeyError, TypeError, ValueError):
            # Written by another version: the file is read from its start, and what is known is not stored again.
            return None


class _FileProgress:
    """Reports how much of a file was read. Offsets in compressed files go beyond their size."""

    def __init__(self, advance: Advance, size: int) -> None:
        self._advance, self._size, self._reached = advance, size, 0

    def reach(self, offset: int) -> None:
        reached = min(offset, self._size)
        if reached > self._reached:
            self._advance(reached - self._reached)
            self._reached = reached


class _Session:
    """One session while it is read, stored a batch at a time."""

    def __init__(
        self,
        memory: LocalMemory,
        project: str | None,
        report: IngestReport,
        reading: Reading,
        position: Position | None,
    ) -> None:
        self._memory, self._project, self._report, self._reading = memory, project, report, reading
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

    def read(self, progress: _FileProgress) -> None:
        for turn in self._reading:
            self._add(turn)
            if len(self._waiting) >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
                self._store()
                progress.reach(self._reading.position.offset)
        self._store()
        self._link()
        self._count()

    def _add(self, turn: Turn) -> None:
        if not turn.sidechain:
            # A turn without a parent starts no branch: the product lost the link, the person did not go back.
            self._branched |= None not in (turn.parent, self._before) and turn.parent != self._before
            self._before = turn.identity
        self._spawned |= bool(turn.spawned)
        turn = self._dated(turn)
        messages = list(turn_messages(turn))
        self._title = self._title or session_title(self._reading.transcript, messages)
        self._waiting += messages
        self._characters += sum(len(message.content) for message in messages)

    def _dated(self, turn: Turn) -> Turn:
        """A turn without a time gets that of the one before; the first that of the session, else of the file."""
        transcript = self._reading.transcript
        known = (turn.at_ms, turn.until_ms, self._at, transcript.started_ms)
        at = next((moment for moment in known if moment is not None), None)
        at = _modified_ms(transcript.path) if at is None else at
        self._at = at if turn.until_ms is None else turn.until_ms
        self._started = at if self._started is None else self._started
        return replace(turn, at_ms=at)

    def _store(self) -> None:
        messages, self._waiting, self._characters = self._waiting, [], 0
        if not messages or (not self._added + self._known and self._is_empty(messages)):
            return
        try:
            stored = store_conversation(self._memory, self._conversation(messages))
            self._added, self._known = self._added + stored.added, self._known + stored.known
            self._replace_answers(stored, messages)
            self._propose(stored, messages)
        except (InvalidInput, TooLarge) as error:
            if len(messages) == 1:
                self._report.skip(Skipped(self._reading.transcript.path, error.message, "message"))
                return
            for message in messages:
                self._waiting = [message]
                self._store()

    def _is_empty(self, messages: Sequence[NewMessage]) -> bool:
        """Whether nothing happened: a greeting and a reply, in a session of which nothing is stored."""
        only_small_talk = all(is_small_talk_prompt(one.content) for one in messages if one.role == "user")
        if not only_small_talk or any(one.details or len(one.content) > SMALL_TALK_REPLY for one in messages):
            return False
        with contextlib.suppress(NotFound):
            return not find_session(self._memory, session_key(self._reading.transcript), forgotten=True)
        return True

    def _replace_answers(self, stored: StoredConversation, messages: list[NewMessage]) -> None:
        """Let the messages replace the answers that hooks captured from the same turns."""
        if self._answers is None:
            self._answers = CapturedAnswers(self._memory, stored.session.id)
        pairs = zip(stored.ids, messages, strict=False)
        self._answers.replace_by((id_, one.content) for id_, one in pairs if one.role == "assistant")

    def _propose(self, stored: StoredConversation, messages: list[NewMessage]) -> None:
        """Propose what the person stated in new messages, unless hooks saw them or an agent began the session."""
        transcript, session = self._reading.transcript, stored.session
        if transcript.parent_session or not stored.new_ids or is_captured(self._memory, session.id):
            return
        new, since = set(stored.new_ids), self._memory.clock() - PROPOSED_MS
        prompts = [
            message
            for id_, message in zip(stored.ids, messages, strict=False)
            if id_ in new and message.role == "user" and "sidechain" not in message.meta
        ]
        outcomes = [
            outcome
            for prompt in prompts
            if (at_ms := prompt.at_ms or 0) >= since
            for outcome in proposals_in(self._memory, redact(prompt.content), session.project, session.key, at_ms)
        ]
        if outcomes:
            known = StartedSession(session.key, transcript.source, session.label, session.started_ms, session.project)
            self._report.proposed += store_captured(self._memory, [known], outcomes, []).total()

    def _conversation(self, messages: list[NewMessage]) -> NewConversation:
        transcript = self._reading.transcript
        return NewConversation(
            label=self._label(transcript),
            messages=messages,
            folder=f"/sessions/{transcript.source}",
            project=self._project or transcript_project(transcript),
            source=transcript.source,
            key=session_key(transcript),
            meta=session_metadata(transcript),
            started_ms=self._started if transcript.started_ms is None else transcript.started_ms,
            follows=True,
        )

    def _label(self, transcript: Transcript) -> str:
        """The session's title, else its first question, which is in the store already if reading continued."""
        title = session_title(transcript, ())
        if not title and self._resumed:
            with contextlib.suppress(NotFound):
                title = find_session(self._memory, session_key(transcript), forgotten=True).label
        return title or self._title or UNTITLED

    def _link(self) -> None:
        """Record abandoned branches of this session, and its links with sub-agents."""
        transcript = self._reading.transcript
        key = session_key(transcript)
        if self._branched:
            turns = session_turns(self._memory, key)
            before = [None, *(turn for turn, _follows in turns)]
            links = ((turn, parent or previous) for (turn, parent), previous in zip(turns, before, strict=False))
            mark_abandoned_turns(self._memory, key, off_path(links))
        if self._spawned:
            link_sub_agents(self._memory, key)
        if transcript.parent_session:
            link_sub_agents(self._memory, f"{transcript.source}:{transcript.parent_session}")

    def _count(self) -> None:
        """Count what was stored, and what could not be read."""
        report, counts, transcript = self._report, self._reading.counts, self._reading.transcript
        for tally in (report.conversations, report.by_source[transcript.source]):
            tally.added += bool(self._added)
            tally.known += bool(self._known and not self._added)
        report.messages.added += self._added
        report.messages.known += self._known
        report.unknown.update(counts.unknown)
        for number, why in (
            (counts.malformed, "malformed lines"),
            (counts.oversize, "lines too long to be read"),
            (sum(counts.unknown.values()), "records of unknown types"),
        ):
            if number:
                report.skip(Skipped(transcript.path, why, "message", number))


def session_key(transcript: Transcript) -> str:
    """The name of a session: its product, its id there, and that of the sub-agent if it is one's."""
    session = transcript.session or Path(transcript.path).stem
    if transcript.agent_id and transcript.parent_session:
        return f"{transcript.source}:{transcript.parent_session}/{transcript.agent_id}"[:MAX_KEY]
    return f"{transcript.source}:{session}"[:MAX_KEY]


def session_metadata(transcript: Transcript) -> Mapping[str, object]:
    """What is known about a session besides its messages, with its links to other sessions."""
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


def _modified_ms(path: str) -> int | None:
    try:
        return Path(path).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


class SessionWatcher:
    """Watches the sessions at and below some paths. Files may disappear meanwhile."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen: dict[Path, tuple[int, int]] = {}
        self._read_at: dict[Path, float] = {}
        self.rest = REST_SECONDS
        """Seconds to wait before the next look, so that watching costs little however many files there are."""

    def changed(self) -> list[TranscriptFile]:
        """The sessions that are new or changed; all of them the first time."""
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
