"""Export and import over HTTP: everything out as one document, and files of many products in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Literal, TypedDict, cast

from pydantic import Field

from commonplace.capture.import_files import ImportRun, limits_for_upload
from commonplace.dialects.reply_schema import Json, component
from commonplace.errors import Forbidden, InvalidInput
from commonplace.memory.export_conversations import (
    CONVERSATIONS_FORMAT,
    CONVERSATIONS_VERSION,
    all_conversations,
    conversation_export,
    conversation_markdown,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sync_and_archive import Archive
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.text.paths import normalise_folder
from commonplace.text.redact import redact_data, redact_lines

UPLOAD_MEDIA = ("application/json", "application/zip", "multipart/form-data", "text/markdown", "text/plain")
# A piece of the document is sent when it has grown to this.
_PIECE = 65_536
Format = Literal["json", "markdown"]


class Wanted(Strict):
    """What is exported, and as what."""

    format: Format = "json"
    label: fields.Label | None = None
    folder: fields.Folder | None = Field(default=None, description="Only this folder and all below it.")
    include_metadata: bool = True


class Placed(Strict):
    """Where what is imported belongs; as its source says if omitted."""

    folder: fields.Folder | None = None
    project: fields.ProjectName | None = None
    dry_run: bool = Field(False, description="Read everything, keep nothing.")


@component("Exported")
class ExportReply(TypedDict):
    """Conversations as one text."""

    format: str
    content: str
    conversation_count: int


class Tally(TypedDict):
    """How many there were of something."""

    added: int
    known: int
    skipped: int


class FileTally(TypedDict):
    """How many files there were."""

    read: int
    skipped: int


class SkippedRow(TypedDict):
    """What was skipped, why and how often."""

    unit: str
    why: str
    count: int


class ExampleRow(TypedDict):
    """An example of what was skipped."""

    what: str
    why: str


class ConflictRow(TypedDict):
    """Which of two versions stands."""

    what: str
    name: str
    stands: str


class Conflicts(TypedDict):
    """What differed here and in an archive."""

    count: int
    named: list[ConflictRow]


@component("Imported")
class ImportReply(TypedDict):
    """What became of the files."""

    dry_run: bool
    import_id: Annotated[str | None, Json(description="By this, all of it can be taken back.")]
    conversations: Tally
    messages: Tally
    items: Tally
    files: FileTally
    skipped: list[SkippedRow]
    examples: list[ExampleRow]
    conflicts: Conflicts


def export_conversations(memory: LocalMemory, request: ApiRequest[Wanted, None]) -> Answer[ExportReply]:
    """Conversations as one text: JSON that can be imported again, or Markdown. It is sent as it is made."""
    wanted = request.query
    scope = SessionScope(
        folder=normalise_folder(wanted.folder) if wanted.folder else "", labels=(wanted.label,) if wanted.label else ()
    )
    document = _document(memory, scope, wanted.format, metadata=wanted.include_metadata)
    return Answer(stream=lambda: request.pieces(lambda: _piece(document)))


def import_files(memory: LocalMemory, request: ApiRequest[Placed, None]) -> Answer[ImportReply]:
    """Keep everything that the files hold. What is known is not kept twice."""
    wanted = request.query
    limits = limits_for_upload(sum(path.stat().st_size for path in request.files))
    importing = ImportRun(
        None if wanted.dry_run else memory, folder=wanted.folder, project=wanted.project, limits=limits
    )
    for path in request.files:
        importing.add(path)
    summary = importing.finish()
    if summary.nothing_read:
        why = "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:3]) or "there is nothing in it"
        raise InvalidInput(f"Nothing could be read: {why}.", "The documentation of `import` lists the formats.")
    return Answer(cast(ImportReply, summary.as_json(dry_run=wanted.dry_run)))


def _document(memory: LocalMemory, scope: SessionScope, format_: Format, *, metadata: bool) -> Iterator[str]:
    """The answer in pieces: an object whose `content` is the whole text."""
    count = 0
    yield f'{{"format":{json.dumps(format_)},"content":"'
    if format_ == "json":
        yield _escaped(
            f'{{"format": {json.dumps(CONVERSATIONS_FORMAT)}, "version": {CONVERSATIONS_VERSION}, "conversations": ['
        )
    for session, messages in all_conversations(memory, scope):
        if format_ == "json":
            data = redact_data(conversation_export(session, messages, metadata=metadata))
            text = ("," if count else "") + "\n" + json.dumps(data, ensure_ascii=False)
        else:
            text = ("\n" if count else "") + redact_lines(conversation_markdown(session, messages, metadata=metadata))
        count += 1
        yield _escaped(text)
    if format_ == "json":
        yield _escaped("\n]}\n")
    yield f'","conversation_count":{count}}}'


def _piece(document: Iterator[str]) -> bytes:
    made: list[str] = []
    size = 0
    for text in document:
        made.append(text)
        size += len(text)
        if size >= _PIECE:
            break
    return "".join(made).encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


ARCHIVE_MEDIA = "application/zip"
_ARCHIVE_HEADERS = {"Content-Disposition": 'attachment; filename="memory.zip"', "Cache-Control": "no-store"}


def export_archive(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[None]:
    """All that the space remembers, with its history. One that breaks off cannot be taken for whole."""
    if request.key is not None and request.key.project is not None:
        raise Forbidden(
            f"This key is for the project {request.key.project} only.", "Use a key of scope admin for the whole space."
        )
    pieces = Archive(memory).zipped()
    return Answer(headers=_ARCHIVE_HEADERS, stream=lambda: request.pieces(lambda: next(pieces, b"")))
