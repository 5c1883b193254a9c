"""Messages longer than one item may be, cut into several at the ends of lines, so that nothing of them is lost."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from commonplace.capture.files_and_zips import (
    MAX_MEMBER,
    LimitedStream,
    SourceFile,
    check_zip_directory,
    files_in_zip,
    files_to_read,
    open_file,
)
from commonplace.capture.import_report import MAX_HELD, Entry, ImportReport, Skipped, Stream
from commonplace.capture.importers import commonplace_export
from commonplace.capture.importers.commonplace_export import Archive
from commonplace.capture.importers.foreign_database import SQLITE_MAGIC
from commonplace.capture.importers.formats import FORMATS, HEAD, ZIP, detect_format, read_database, why_unknown
from commonplace.capture.importers.text_files import follow_file
from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    StoredConversation,
    find_session,
    store_conversations,
)
from commonplace.memory.import_items import ImportedItem, Replacement, import_items, import_replacement
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import MAX_TEXT
from commonplace.text.paths import normalise_folder
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

# A border is looked for in the last tenth of a part.
_SEARCHED = MAX_TEXT // 10


def split_long_messages(conversation: NewConversation) -> NewConversation:
    """The conversation with messages that all can be kept."""
    if all(len(said.content) <= MAX_TEXT for said in conversation.messages):
        return conversation
    return replace(conversation, messages=[part for said in conversation.messages for part in _parts(said)])


def _parts(said: NewMessage) -> Iterator[NewMessage]:
    if len(said.content) <= MAX_TEXT:
        yield said
        return
    # Redacted first: half a secret in one part, and half in the next, would be told for none.
    pieces = [piece for piece in _pieces(redact(said.content)) if piece.strip()]
    if len(pieces) == 1:
        yield replace(said, content=pieces[0])
        return
    for number, piece in enumerate(pieces, 1):
        yield replace(
            said,
            content=piece,
            meta={**said.meta, "part": number, "parts": len(pieces)},
            identity=f"{said.identity}#{number}" if said.identity else "",
            uid=said.uid if number == 1 else None,
        )


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MAX_TEXT:
        end = start + MAX_TEXT
        border = text.rfind("\n", end - _SEARCHED, end) + 1
        yield text[start : border or end]
        start = border or end
    yield text[start:]


BATCH_MESSAGES = 400
BATCH_ITEMS = 200
BATCH_CHARACTERS = 4_000_000

Advance = Callable[[int], object]
_ELSEWHERE = "import it with `commonplace import`, on the machine of the store"


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """How much one import may take.

    `max_held` is the memory for one value or text of a file, `max_entries` how many messages, items and things to
    skip are read.
    """

    max_held: int = MAX_HELD
    max_entries: int = 1 << 60


def limits_for_upload(size: int) -> ImportLimits:
    """Limits for an upload of so many bytes: what it holds may be larger than itself, but not by any factor."""
    return ImportLimits(max_held=(6 << 20) + 4 * size, max_entries=50_000 + size // 40)


class Cancelled(Exception):
    """Whoever wanted the import is gone. What was kept so far stays."""


class ImportRun:
    """One import under way. Without a book it is a dry run: everything is read, nothing is kept."""

    def __init__(
        self,
        memory: LocalMemory | None,
        *,
        folder: str | None = None,
        project: str | None = None,
        format_: str | None = None,
        advance: Advance = lambda _bytes: None,
        limits: ImportLimits = ImportLimits(),  # noqa: B008 (it is frozen)
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """`cancelled` is asked whenever something was read; if it says so, Cancelled is raised."""
        self.summary = ImportReport()
        self._limits, self._cancelled, self._entries = limits, cancelled, 0
        self._report = advance
        self._memory, self._format = memory, format_
        self._folder = None if folder is None else normalise_folder(folder)
        self._project = None if project is None else normalise_project(project)
        self._waiting: list[NewConversation] = []
        self._arriving: list[ImportedItem] = []
        self._messages = self._characters = 0

    def add(self, path: Path) -> None:
        """Everything in a file, a folder or a zip."""
        if path.is_dir() and self._whole(lambda: commonplace_export.archive_in_folder(path), path.name):
            return
        found = files_to_read(path)
        if not found:
            self.summary.skip(Skipped(path.name, "no file in it that could hold conversations", "file"))
        for member in found:
            self._member(member, packed=False)

    def add_stream(self, stream: Stream, name: str) -> None:
        """Everything in a stream that is not a zip."""
        self._read(LimitedStream(stream, MAX_MEMBER, self._advance, self._limits.max_held), name)

    def finish(self) -> ImportReport:
        """Keep what still waits, conversations first, since other things belong to them."""
        if self._waiting and self._memory:
            for kept in self._kept(self._memory, self._waiting):
                self.summary.keep(kept)
        if self._arriving and self._memory:
            for took in self._took(self._memory, self._arriving):
                self.summary.items.added += took
                self.summary.items.known += not took
        self._waiting, self._arriving = [], []
        self._messages = self._characters = 0
        return self.summary

    def _member(self, member: SourceFile, *, packed: bool) -> None:
        stream = open_file(member)
        if isinstance(stream, Skipped):
            self.summary.skip(stream)
            return
        with stream:
            if not packed and stream.read(4) in ZIP:
                self._zip(stream, member.name)
                return
            if not packed:
                stream.seek(0)
            advance = self._advance
            measured = LimitedStream(
                stream, member.limit, lambda n: advance(round(n * member.density)), self._limits.max_held
            )
            self._read(measured, member.name, member.path)

    def _zip(self, stream: IO[bytes], name: str) -> None:
        try:
            check_zip_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                if self._whole(lambda: commonplace_export.archive_in_zip(archive), name):
                    return
                found = files_in_zip(archive)
                if not found:
                    self.summary.skip(Skipped(name, "no file in it that could hold conversations", "file"))
                for member in found:
                    self._member(replace(member, name=f"{name}/{member.name}"), packed=True)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self.summary.skip(Skipped(name, f"a damaged zip: {error}", "file"))

    def _whole(self, find: Callable[[], Archive | None], name: str) -> bool:
        """Keep a whole archive of our own, if it is one and sound. It says itself where everything belongs."""
        if self._format not in (None, "archive"):
            return False
        try:
            archive = find()
            if archive is None:
                return False
            if self._folder is not None or self._project is not None:
                raise InvalidInput("An archive says where everything belongs.", "Leave out --folder and --project.")
            archive.limit(self._limits.max_held, self._limits.max_entries - self._entries)
            archive.check(self._advance)
        except (InvalidInput, OSError) as error:
            hint = error.hint if isinstance(error, InvalidInput) else ""
            self.summary.skip(Skipped(name, f"{error} {hint}".strip(), "file"))
            return True
        self.summary.files.added += 1
        self.finish()
        for unit, told in archive.taken(self._memory, self._advance):
            self.summary.settle(unit, told)
        return True

    def _advance(self, size: int) -> None:
        if self._cancelled():
            raise Cancelled
        self._report(size)

    def _read(self, stream: LimitedStream, name: str, path: Path | None = None) -> None:
        if self._entries > self._limits.max_entries:
            self.summary.skip(Skipped(name, self._too_many(), "file"))
            return
        head = stream.peek(HEAD)
        if head.startswith(SQLITE_MAGIC):
            self.summary.files.added += 1
            self._take_all(read_database(path or stream, name, self._format, self._limits.max_held), name)
            if path:
                self._advance(max(0, path.stat().st_size - len(head)))
            return
        format_ = self._format or detect_format(head, name)
        if format_ is None or format_ not in FORMATS:
            self.summary.skip(Skipped(name, stream.fault or why_unknown(head, name, format_), "file"))
            return
        self.summary.files.added += 1
        found = FORMATS[format_].read(stream, name)
        self._take_all(found if path is None else (self._followed(one, path) for one in found), name)
        if stream.fault:
            self.summary.skip(Skipped(name, stream.fault, "file"))

    def _followed(self, found: Entry, path: Path) -> Entry:
        """A document of a file that follows it, unless it was kept before such files were followed."""
        if not isinstance(found, NewConversation) or not found.key:
            return found
        with contextlib.suppress(NotFound):
            if self._memory is not None and find_session(self._memory, found.key, forgotten=True):
                return found
        return follow_file(found, path)

    def _take_all(self, found: Iterator[Entry], name: str) -> None:
        with contextlib.ExitStack() as stack:
            if isinstance(found, Generator):
                # What it opened is closed at once, even if somebody interrupts.
                stack.callback(found.close)
            self._take_each(found, name)

    def _take_each(self, found: Iterator[Entry], name: str) -> None:
        for one in found:
            self._advance(0)
            self._entries += len(one.messages) if isinstance(one, NewConversation) else 1
            if self._entries > self._limits.max_entries:
                self.summary.skip(Skipped(f"{name}: the rest of it", self._too_many(), "file"))
                return
            if isinstance(one, Skipped):
                self.summary.skip(one if one.what == name else replace(one, what=f"{name}: {one.what}"))
            elif isinstance(one, Replacement):
                self._replace(one, name)
            elif isinstance(one, ImportedItem):
                self._arrive(one)
            else:
                self._take(one)

    def _too_many(self) -> str:
        return f"more than {self._limits.max_entries:,} messages or items in an upload of this size; {_ELSEWHERE}"

    def _take(self, found: NewConversation) -> None:
        conversation = split_long_messages(
            replace(found, folder=self._folder or found.folder, project=self._project or found.project)
        )
        if self._memory is None:
            self.summary.find(conversation)
            return
        self._waiting.append(conversation)
        self._messages += len(conversation.messages)
        self._characters += sum(len(said.content) for said in conversation.messages)
        if self._messages >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
            self.finish()

    def _arrive(self, found: ImportedItem) -> None:
        if self._memory is None:
            self.summary.find(found)
            return
        self._arriving.append(replace(found, note=replace(found.note, project=self._project or found.note.project)))
        self._characters += len(found.note.content)
        if len(self._arriving) >= BATCH_ITEMS or self._characters >= BATCH_CHARACTERS:
            self.finish()

    def _replace(self, found: Replacement, name: str) -> None:
        if self._memory is not None:
            self.finish()
            if why := import_replacement(self._memory, found):
                self.summary.skip(Skipped(f"{name}: {found.old} by {found.new}", why, "link"))

    def _took(self, memory: LocalMemory, arrivals: list[ImportedItem]) -> list[bool]:
        """For each that was kept whether it is new. If one is refused, the others are kept without it."""
        try:
            return import_items(memory, arrivals)
        except (InvalidInput, TooLarge, Conflict) as error:
            if len(arrivals) == 1:
                self.summary.skip(Skipped(f"item {arrivals[0].note.meta.get('source_id')}", error.message, "item"))
                return []
        return [took for one in arrivals for took in self._took(memory, [one])]

    def _kept(self, memory: LocalMemory, conversations: list[NewConversation]) -> list[StoredConversation]:
        """What was kept of them. If one is refused, the others are kept without it."""
        try:
            return store_conversations(memory, conversations)
        except (InvalidInput, TooLarge, Conflict) as error:
            if len(conversations) == 1:
                self.summary.skip(Skipped(conversations[0].label, error.message))
                return []
        return [kept for one in conversations for kept in self._kept(memory, [one])]


def import_path(
    memory: LocalMemory,
    path: Path,
    *,
    folder: str | None = None,
    project: str | None = None,
    report: Advance = lambda _bytes: None,
) -> ImportReport:
    """Keep every conversation in a file, a folder or a zip. `report` is told how many bytes were read."""
    importing = ImportRun(memory, folder=folder, project=project, advance=report)
    importing.add(path)
    return importing.finish()
