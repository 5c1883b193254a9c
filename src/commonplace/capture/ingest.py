"""Ingest: the sessions of coding agents, read where they lie and kept as conversations that follow their files.

Reading goes on where it ended; what was kept stays when it is interrupted, and doing it twice changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.capture.foreign import Skipped, label_of
from commonplace.capture.imports import Summary
from commonplace.capture.transcripts.find import Found, find
from commonplace.capture.transcripts.marks import Mark, changed, look, plain_name
from commonplace.capture.transcripts.project import project_of
from commonplace.capture.transcripts.reading import Reading, read
from commonplace.capture.transcripts.record import Transcript
from commonplace.capture.transcripts.telling import title_of_turns, told
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep, messages_after
from commonplace.memory.sources import mark_of, note_mark

BATCH_MESSAGES = 200
BATCH_CHARACTERS = 2_000_000
_PAGE = 500


@dataclass(slots=True)
class Ingested(Summary):
    """What became of the sessions, and what in them was of no known kind."""

    unchanged: int = 0
    unknown: Counter[str] = field(default_factory=Counter)


class Ingest:
    """One ingestion under way, of any number of paths."""

    def __init__(
        self, book: Book, *, project: str | None = None, advance: Callable[[int], object] = lambda _bytes: None
    ) -> None:
        self.summary = Ingested()
        self._book, self._project, self._advance = book, project, advance
        self._starters: dict[str, str] = {}

    def add(self, paths: Iterable[Path], *, named: bool = False) -> None:
        """Every session at and under these paths. Those of sub-agents come after the ones that started them."""
        later: list[Found] = []
        for found in find(paths, named=named):
            if isinstance(found, Skipped):
                self.summary.skip(found)
            elif "subagents" in found.path.parts:
                later.append(found)
            else:
                self._file(found)
        for found in later:
            self._file(found)

    def _file(self, found: Found) -> None:
        name = plain_name(found.path)
        try:
            now = look(found.path)
            position = None
            known = mark_of(self._book, name)
            if known is not None:
                mark = Mark.from_json(dict(known))
                change = changed(mark, found.path)
                if change == "same":
                    self.summary.unchanged += 1
                    self._advance(now.size)
                    return
                position = mark.position if change in ("grew", "compressed") else None
            self.summary.files.added += 1
            for reading in read(found.path, found.source, position):
                self._session(reading)
                now = now.after(reading.position)
            note_mark(self._book, name, now.as_json())
            self._advance(now.size)
        except (OSError, InvalidInput) as error:
            why = error.message if isinstance(error, CommonplaceError) else error.strerror or "It cannot be read."
            self.summary.skip(Skipped(str(found.path), why, "file"))

    def _session(self, reading: Reading) -> None:
        waiting: list[Said] = []
        started = added = known = 0
        title = ""
        for turn in reading:
            waiting += told(turn)
            started = started or turn.at_ms or 0
            title = title or title_of_turns(reading.transcript, waiting)
            if len(waiting) >= BATCH_MESSAGES or sum(len(said.content) for said in waiting) >= BATCH_CHARACTERS:
                new, old = self._keep(reading.transcript, title, started, waiting)
                added, known, waiting = added + new, known + old, []
        new, old = self._keep(reading.transcript, reading.transcript.title or title, started, waiting)
        added, known = added + new, known + old
        self.summary.conversations.added += bool(added)
        self.summary.conversations.known += bool(known and not added)
        self.summary.messages.added += added
        self.summary.messages.known += known
        self._tell(reading)

    def _keep(self, transcript: Transcript, title: str, started: int, said: list[Said]) -> tuple[int, int]:
        if not said:
            return 0, 0
        conversation = Conversation(
            label=label_of(title, ""),
            messages=said,
            folder=f"/sessions/{transcript.source}",
            project=self._project or project_of(transcript),
            source=transcript.source,
            key=key_of(transcript),
            meta=self._meta(transcript),
            started_ms=transcript.started_ms or started or None,
            follows=True,
        )
        try:
            kept = keep(self._book, conversation)
        except (InvalidInput, TooLarge) as error:
            self.summary.skip(Skipped(transcript.path, error.message, "message", len(said)))
            return 0, 0
        return kept.added, kept.known

    def _meta(self, transcript: Transcript) -> Mapping[str, object]:
        """What is known about a session besides what was said in it; its links to others for the graph."""
        source = transcript.source
        links = {
            "folder": transcript.folder,
            "branch": transcript.branch,
            "version": transcript.version,
            "model": transcript.model,
            "agent": transcript.agent_type or transcript.agent_id,
            "continued_from": transcript.continued_from and f"{source}:{transcript.continued_from}",
            "parent_session": transcript.parent_session and f"{source}:{transcript.parent_session}",
            "parent_message": self._starter(transcript),
        }
        return {name: value for name, value in links.items() if value}

    def _starter(self, transcript: Transcript) -> str:
        """The message that started a sub-agent."""
        if not transcript.parent_session:
            return ""
        key = key_of(transcript)
        if key not in self._starters:
            self._starters[key] = self._starter_in(f"{transcript.source}:{transcript.parent_session}", transcript)
        return self._starters[key]

    def _starter_in(self, parent: str, transcript: Transcript) -> str:
        names = {transcript.agent_id, transcript.parent_call, transcript.session}
        after: int | None = 0
        try:
            while after is not None:
                items, after = messages_after(self._book, parent, _PAGE, after)
                for item in items:
                    spawned = item.meta.get("spawned")
                    if isinstance(spawned, list) and names.intersection(spawned):
                        return item.uid
        except NotFound:
            pass
        return ""

    def _tell(self, reading: Reading) -> None:
        """Count what was met and not taken."""
        counts, where = reading.counts, reading.transcript.path
        self.summary.unknown.update(counts.unknown)
        for number, why in (
            (counts.malformed, "malformed lines"),
            (counts.oversize, "lines too long to be read"),
            (sum(counts.unknown.values()), "records of unknown types"),
        ):
            if number:
                self.summary.skip(Skipped(where, why, "message", number))


def key_of(transcript: Transcript) -> str:
    """What a session is called here: its product, its id there, and the sub-agent's if it is one."""
    session = transcript.session or Path(transcript.path).stem
    if transcript.agent_id and transcript.parent_session:
        return f"{transcript.source}:{transcript.parent_session}/{transcript.agent_id}"[:200]
    return f"{transcript.source}:{session}"[:200]
