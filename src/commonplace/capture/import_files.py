"""Importing: the conversations and memories of other products, read from their files and stored a batch at a time.

What was stored stays when an import is interrupted; the same call continues it, because nothing known is stored twice.
"""

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
from commonplace.capture.import_report import MAX_HELD, Advance, Entry, ImportReport, Skipped, Stream
from commonplace.capture.importers import commonplace_export
from commonplace.capture.importers.commonplace_export import Archive
from commonplace.capture.importers.foreign_database import SQLITE_MAGIC
from commonplace.capture.importers.formats import HEAD, ZIP, detect_format, find_format, read_database, why_unknown
from commonplace.capture.importers.text_files import follow_file
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, TooLarge
from commonplace.memory.authors import for_import
from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    StoredConversation,
    find_session,
    store_conversations,
)
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.import_items_and_records import (
    ImportedItem,
    Replacement,
    TakenItem,
    import_items,
    import_replacement,
)
from commonplace.memory.imports import Brought, note_import
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.paths import normalise_folder
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

BATCH_MESSAGES = 400
BATCH_ITEMS = 200
BATCH_CHARACTERS = 4_000_000
_NOTHING_IN_IT = "no file in it that could contain conversations"
_USE_COMMAND = "use `commonplace import` on the store's machine"
# A long message is split at the last line break in the last tenth of a part.
_SEARCHED_FOR_BREAK = MAX_TEXT // 10


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """How much one import may take.

    `max_held` is the memory for one value or text of a file, `max_entries` how many messages, items and things to
    skip are read.
    """

    max_held: int = MAX_HELD
    max_entries: int = 1 << 60


def limits_for_upload(size: int) -> ImportLimits:
    """Limits for an upload of `size` bytes: its content may be larger than the file itself, but not without limit."""
    return ImportLimits(max_held=(6 << 20) + 4 * size, max_entries=50_000 + size // 40)


class Cancelled(Exception):
    """Nobody waits for the import any more. What was stored so far stays."""


class ImportRun:
    """One import of any number of paths and streams. Without a memory it is a dry run, which stores nothing."""

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
        accept: bool = False,
    ) -> None:
        """`advance` gets the number of bytes read since its last call; Cancelled is raised once `cancelled` is true.

        Rules wait for review, unless whoever imports them says to `accept` them.
        """
        self.report = ImportReport()
        self._brought = Brought()
        # What an archive holds was said before, and keeps its authors as far as its caller may name them.
        self._archived_into = memory
        self._memory = None if memory is None else for_import(memory, accept=accept)
        self._format, self._advance_by = format_, advance
        self._limits, self._cancelled, self._entries = limits, cancelled, 0
        self._folder = None if folder is None else normalise_folder(folder)
        self._project = None if project is None else normalise_project(project)
        self._conversations: list[NewConversation] = []
        self._items: list[ImportedItem] = []
        self._messages = self._characters = 0

    def add(self, path: Path) -> None:
        """Import everything in a file, a folder or a zip."""
        self._brought.name(path.name)
        if path.is_dir() and self._add_archive(lambda: commonplace_export.archive_in_folder(path), path.name):
            return
        files = files_to_read(path)
        if not files:
            self.report.skip(Skipped(path.name, _NOTHING_IN_IT, "file"))
        for file in files:
            self._add_file(file, in_zip=False)

    def add_stream(self, stream: Stream, name: str) -> None:
        """Import everything in a stream that is not a zip."""
        self._brought.name(name)
        self._read(LimitedStream(stream, MAX_MEMBER, self._advance, self._limits.max_held), name)

    def finish(self) -> ImportReport:
        """Store what still waits, conversations first, since items belong to them."""
        if self._conversations and self._memory:
            for stored in self._store_conversations(self._memory, self._conversations):
                self.report.count_stored(stored)
                self._brought.add_conversation(stored)
        if self._items and self._memory:
            for taken in self._store_items(self._memory, self._items):
                took = taken.is_new or taken.changed
                self.report.items.added += took
                self.report.items.known += not took
                if taken.is_new:
                    self._brought.items.add(taken.id)
        self._conversations, self._items = [], []
        self._messages = self._characters = 0
        if self._brought and self._memory:
            # A key for one project cannot note it: it takes back nothing of others either.
            with contextlib.suppress(Forbidden):
                self.report.import_id = note_import(self._memory, self._brought, self.report.import_id)
        return self.report

    def _add_file(self, file: SourceFile, *, in_zip: bool) -> None:
        stream = open_file(file)
        if isinstance(stream, Skipped):
            self.report.skip(stream)
            return
        with stream:
            if not in_zip and stream.read(4) in ZIP:
                self._add_zip(stream, file.name)
                return
            if not in_zip:
                stream.seek(0)

            def advance(size: int) -> None:
                self._advance(round(size * file.density))

            self._read(LimitedStream(stream, file.limit, advance, self._limits.max_held), file.name, file.path)

    def _add_zip(self, stream: IO[bytes], name: str) -> None:
        try:
            check_zip_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                if self._add_archive(lambda: commonplace_export.archive_in_zip(archive), name):
                    return
                files = files_in_zip(archive)
                if not files:
                    self.report.skip(Skipped(name, _NOTHING_IN_IT, "file"))
                for file in files:
                    self._add_file(replace(file, name=f"{name}/{file.name}"), in_zip=True)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self.report.skip(Skipped(name, f"a damaged zip: {error}", "file"))

    def _add_archive(self, find: Callable[[], Archive | None], name: str) -> bool:
        """Import an archive of Commonplace, if it is one and valid. It says itself where everything belongs."""
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
            self.report.skip(Skipped(name, f"{error} {hint}".strip(), "file"))
            return True
        self.report.files.added += 1
        self.finish()
        for unit, outcome in archive.store_records(self._archived_into, self._advance):
            self.report.count_record(unit, outcome)
        return True

    def _advance(self, size: int) -> None:
        if self._cancelled():
            raise Cancelled
        self._advance_by(size)

    def _read(self, stream: LimitedStream, name: str, path: Path | None = None) -> None:
        if self._entries > self._limits.max_entries:
            self.report.skip(Skipped(name, self._too_many(), "file"))
            return
        head = stream.peek(HEAD)
        if head.startswith(SQLITE_MAGIC):
            self.report.files.added += 1
            self._add_entries(read_database(path or stream, name, self._format, self._limits.max_held), name)
            if path:
                self._advance(max(0, path.stat().st_size - len(head)))
            return
        format_name = self._format or detect_format(head, name)
        format_ = find_format(format_name) if format_name else None
        if format_ is None:
            self.report.skip(Skipped(name, stream.fault or why_unknown(head, name, format_name), "file"))
            return
        self.report.files.added += 1
        entries = format_.read(stream, name)
        self._add_entries(entries if path is None else (self._followed(entry, path) for entry in entries), name)
        if stream.fault:
            self.report.skip(Skipped(name, stream.fault, "file"))

    def _followed(self, entry: Entry, path: Path) -> Entry:
        """A document that follows its file, unless it was stored before documents did that."""
        if not isinstance(entry, NewConversation) or not entry.key:
            return entry
        with contextlib.suppress(NotFound):
            if self._memory is not None and find_session(self._memory, entry.key, forgotten=True):
                return entry
        return follow_file(entry, path)

    def _add_entries(self, entries: Iterator[Entry], name: str) -> None:
        with contextlib.ExitStack() as stack:
            if isinstance(entries, Generator):
                # Whatever it has open is closed at once, even after an interruption.
                stack.callback(entries.close)
            for entry in entries:
                self._advance(0)
                self._entries += len(entry.messages) if isinstance(entry, NewConversation) else 1
                if self._entries > self._limits.max_entries:
                    self.report.skip(Skipped(f"{name}: the rest of it", self._too_many(), "file"))
                    return
                self._add_entry(entry, name)

    def _add_entry(self, entry: Entry, name: str) -> None:
        if isinstance(entry, Skipped):
            self.report.skip(entry if entry.what == name else replace(entry, what=f"{name}: {entry.what}"))
        elif isinstance(entry, Replacement):
            self._replace(entry, name)
        elif isinstance(entry, ImportedItem):
            self._add_item(entry)
        else:
            self._add_conversation(entry)

    def _too_many(self) -> str:
        return f"more than {self._limits.max_entries:,} messages or items in an upload of this size; {_USE_COMMAND}"

    def _add_conversation(self, entry: NewConversation) -> None:
        conversation = split_long_messages(
            replace(entry, folder=self._folder or entry.folder, project=self._project or entry.project)
        )
        if self._memory is None:
            self.report.count_found(conversation)
            return
        self._conversations.append(conversation)
        self._messages += len(conversation.messages)
        self._characters += sum(len(message.content) for message in conversation.messages)
        if self._messages >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
            self.finish()

    def _add_item(self, entry: ImportedItem) -> None:
        if self._memory is None:
            self.report.count_found(entry)
            return
        self._items.append(replace(entry, note=replace(entry.note, project=self._project or entry.note.project)))
        self._characters += len(entry.note.content)
        if len(self._items) >= BATCH_ITEMS or self._characters >= BATCH_CHARACTERS:
            self.finish()

    def _replace(self, entry: Replacement, name: str) -> None:
        if self._memory is not None:
            self.finish()
            if why := import_replacement(self._memory, entry):
                self.report.skip(Skipped(f"{name}: {entry.old} by {entry.new}", why, "link"))

    def _store_items(self, memory: LocalMemory, items: list[ImportedItem]) -> list[TakenItem]:
        """What became of each item. If one is refused, the others are stored without it."""
        try:
            return import_items(memory, items)
        except (InvalidInput, TooLarge, Conflict) as error:
            if len(items) == 1:
                self.report.skip(Skipped(f"item {items[0].note.meta.get('source_id')}", error.message, "item"))
                return []
        return [taken for item in items for taken in self._store_items(memory, [item])]

    def _store_conversations(
        self, memory: LocalMemory, conversations: list[NewConversation]
    ) -> list[StoredConversation]:
        """The stored conversations. If one is refused, the others are stored without it."""
        try:
            return store_conversations(memory, conversations)
        except (InvalidInput, TooLarge, Conflict) as error:
            if len(conversations) == 1:
                self.report.skip(Skipped(conversations[0].label, error.message))
                return []
        return [stored for one in conversations for stored in self._store_conversations(memory, [one])]


def import_path(
    memory: LocalMemory,
    path: Path,
    *,
    folder: str | None = None,
    project: str | None = None,
    advance: Advance = lambda _bytes: None,
) -> ImportReport:
    """Import everything in a file, a folder or a zip. `advance` gets the number of bytes read since its last call."""
    run = ImportRun(memory, folder=folder, project=project, advance=advance)
    run.add(path)
    return run.finish()


def split_long_messages(conversation: NewConversation) -> NewConversation:
    """The conversation with messages longer than an item split into several, so that nothing is lost."""
    if all(len(message.content) <= MAX_TEXT for message in conversation.messages):
        return conversation
    return replace(conversation, messages=[part for message in conversation.messages for part in _split(message)])


def _split(message: NewMessage) -> Iterator[NewMessage]:
    if len(message.content) <= MAX_TEXT:
        yield message
        return
    # Redacted first: a secret torn between two parts would not be recognised.
    parts = [part for part in _text_parts(redact(message.content)) if part.strip()]
    if len(parts) == 1:
        yield replace(message, content=parts[0])
        return
    for number, part in enumerate(parts, 1):
        yield replace(
            message,
            content=part,
            meta={**message.meta, "part": number, "parts": len(parts)},
            identity=f"{message.identity}#{number}" if message.identity else "",
            uid=message.uid if number == 1 else None,
        )


def _text_parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MAX_TEXT:
        end = start + MAX_TEXT
        after_break = text.rfind("\n", end - _SEARCHED_FOR_BREAK, end) + 1
        yield text[start : after_break or end]
        start = after_break or end
    yield text[start:]
