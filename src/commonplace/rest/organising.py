"""Organising conversations over HTTP: another title, folder, importance or status, each with its own address too."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from commonplace.memory.book import Book
from commonplace.memory.organise import Arrangement, arrange, unarchive, unpin
from commonplace.rest import fields
from commonplace.rest.conversations import CAMEL, meant, told
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict


def agreeing(schema: dict[str, Any]) -> None:
    """Tell in the document that importance 10 and pinned mean the same."""
    below = {"type": "number", "minimum": 0, "maximum": 10, "exclusiveMaximum": 10}
    apart = ({"enum": ["active", "archived"]}, {"const": 10}), ({"const": "pinned"}, below)
    schema["not"] = {
        "anyOf": [
            {"required": ["status", name], "properties": {"status": status, name: score}}
            for name in ("importance_score", "importanceScore")
            for status, score in apart
        ]
    }


class Changed(Strict):
    """New values. What is left out, or null, stays as it is."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=agreeing)

    label: fields.Label | None = None
    folder: fields.Folder | None = None
    importance_score: fields.Importance | None = None
    camel_score: fields.Importance | None = Field(default=None, alias="importanceScore", description=CAMEL)
    status: fields.Status | None = None
    project: fields.Place | None = None
    metadata: dict[str, Any] | None = None
    rev: fields.Rev | None = None


class NewLabel(Strict):
    """Another title, and another folder if one is named."""

    label: fields.Label
    folder: fields.Folder | None = None


class NewFolder(Strict):
    """Another folder."""

    folder: fields.Folder


class Pinned(Strict):
    """Whether it is pinned."""

    pinned: bool = True


class Archived(Strict):
    """Whether it is archived."""

    archived: bool = True


class NewStatus(Strict):
    """Another status."""

    status: fields.Status


def change(book: Book, asked: Asked[None, Changed]) -> Answer:
    """Change what is named; the rest stays. What it was goes to its history."""
    return _changed(book, asked, asked.body)


def replace(book: Book, asked: Asked[None, Changed]) -> Answer:
    """The same, for clients that put."""
    return _changed(book, asked, asked.body)


def label(book: Book, asked: Asked[None, NewLabel]) -> Answer:
    """Give it another title."""
    return _changed(book, asked, Changed(label=asked.body.label, folder=asked.body.folder))


def folder(book: Book, asked: Asked[None, NewFolder]) -> Answer:
    """Put it into another folder."""
    return _changed(book, asked, Changed(folder=asked.body.folder))


def status(book: Book, asked: Asked[None, NewStatus]) -> Answer:
    """Give it another status."""
    return _changed(book, asked, Changed(status=asked.body.status))


def pin(book: Book, asked: Asked[None, Pinned]) -> Answer:
    """Pin it, which is importance 10, or unpin it."""
    if asked.body.pinned:
        return _changed(book, asked, Changed(status="pinned"))
    asked.rev_of(meant(book, asked.path["id"]))
    return told(unpin(book, asked.path["id"]))


def archive(book: Book, asked: Asked[None, Archived]) -> Answer:
    """Archive it, or bring it back from there."""
    if asked.body.archived:
        return _changed(book, asked, Changed(status="archived"))
    asked.rev_of(meant(book, asked.path["id"]))
    return told(unarchive(book, asked.path["id"]))


def _changed(book: Book, asked: Asked[None, Any], wanted: Changed) -> Answer:
    session = meant(book, asked.path["id"])
    rev = asked.rev_of(session, wanted.rev)
    arrangement = Arrangement(
        label=wanted.label,
        folder=wanted.folder,
        importance=wanted.camel_score if wanted.importance_score is None else wanted.importance_score,
        status=wanted.status,
        project=wanted.project,
        meta=wanted.metadata,
    )
    return told(session if arrangement == Arrangement() else arrange(book, session.uid, arrangement, rev))
