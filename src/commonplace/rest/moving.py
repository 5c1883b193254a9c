"""Export and import over HTTP: everything out as one document, and files of many products in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from commonplace.capture.formats import FORMATS
from commonplace.capture.imports import Import, limits_for_upload
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.export import FORMAT, VERSION, export_data, export_markdown, whole_conversations
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.text.folders import folder_path
from commonplace.text.redact import redact_lines
from commonplace.text.redacted_data import redacted

TAKES = ("application/json", "application/zip", "multipart/form-data", "text/markdown", "text/plain")
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
    project: fields.Place | None = None
    dry_run: bool = Field(False, description="Read everything, keep nothing.")


def export(book: Book, asked: Asked[Wanted, None]) -> Answer:
    """Conversations as one text: JSON that can be imported again, or Markdown. It is sent as it is made."""
    wanted = asked.query
    scope = SessionScope(
        folder=folder_path(wanted.folder) if wanted.folder else "", labels=(wanted.label,) if wanted.label else ()
    )
    document = _document(book, scope, wanted.format, metadata=wanted.include_metadata)
    return Answer(stream=lambda: asked.pieces(lambda: _piece(document)))


def import_(book: Book, asked: Asked[Placed, None]) -> Answer:
    """Keep everything that the files hold. What is known is not kept twice."""
    wanted = asked.query
    limits = limits_for_upload(sum(path.stat().st_size for path in asked.files))
    importing = Import(None if wanted.dry_run else book, folder=wanted.folder, project=wanted.project, limits=limits)
    for path in asked.files:
        importing.add(path)
    summary = importing.finish()
    if summary.fruitless:
        why = "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:3]) or "there is nothing in it"
        known = "; ".join(f"{name} ({format_.what})" for name, format_ in FORMATS.items())
        raise InvalidInput(f"Nothing could be read: {why}.", f"These can be read: {known}.")
    return Answer(summary.told(dry_run=wanted.dry_run))


def _document(book: Book, scope: SessionScope, format_: Format, *, metadata: bool) -> Iterator[str]:
    """The answer in pieces: an object whose `content` is the whole text."""
    count = 0
    yield f'{{"format":{json.dumps(format_)},"content":"'
    if format_ == "json":
        yield _escaped(f'{{"format": {json.dumps(FORMAT)}, "version": {VERSION}, "conversations": [')
    for session, messages in whole_conversations(book, scope):
        if format_ == "json":
            data = redacted(export_data(session, messages, metadata=metadata))
            text = ("," if count else "") + "\n" + json.dumps(data, ensure_ascii=False)
        else:
            text = ("\n" if count else "") + redact_lines(export_markdown(session, messages, metadata=metadata))
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
