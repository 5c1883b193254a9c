"""Conversations over HTTP: store, list, read, organise, forget and restore, as Sekha's clients call it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from commonplace.dialects.conversation_records import conversation_row, listed_row
from commonplace.dialects.records import change_record
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import organise
from commonplace.memory.book import Book
from commonplace.memory.browse import MAX_PAGE
from commonplace.memory.conversations import (
    HINT,
    STATUSES,
    Conversation,
    SessionPage,
    find,
    keep,
    latest,
    numbered,
    opened,
)
from commonplace.memory.conversations import count as how_many
from commonplace.memory.export import message_data
from commonplace.memory.stats import totals
from commonplace.model import Item, Session, SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked, etag_of
from commonplace.rest.fields import Strict
from commonplace.rest.messages import Several, sayings
from commonplace.text.folders import ROOT, folder_path
from commonplace.text.summarise import title_of

UNTITLED = "Conversation"
CAMEL = "The same, as one of the clients spells it."
_MOST_PAGES = 1_000_000


class NewConversation(Strict):
    """A conversation to keep. Null is as good as leaving it out."""

    messages: Several
    label: fields.Label | None = Field(default=None, description="Its title; the first thing said if omitted.")
    folder: fields.Folder | None = None
    importance_score: fields.Importance | None = None
    camel_score: fields.Importance | None = Field(default=None, alias="importanceScore", description=CAMEL)
    status: fields.Status | None = None
    project: fields.Place | None = None
    metadata: dict[str, Any] | None = None


class Chosen(Strict):
    """Which conversations are meant. A folder means all below it too."""

    label: fields.Label | None = Field(
        default=None, description="Its label, a part of it between slashes, or a folder's name."
    )
    folder: fields.Folder | None = None
    pinned: bool | None = None
    archived: bool | None = None
    status: fields.Status | None = None
    project: fields.Place | None = None

    def scope(self, *, empty: bool = False) -> SessionScope | None:
        """The same as a scope; None if no conversation can be all of this."""
        wanted = {self.status} if self.status else set(STATUSES)
        for status, asked in (("pinned", self.pinned), ("archived", self.archived)):
            if asked is not None:
                wanted &= {status} if asked else set(STATUSES) - {status}
        if not wanted:
            return None
        return SessionScope(
            folder=folder_path(self.folder) if self.folder else "",
            labels=(self.label,) if self.label else (),
            statuses=tuple(sorted(wanted)) if len(wanted) < len(STATUSES) else (),
            project=self.project,
            empty=empty,
        )


class Listed(Chosen):
    """A page: by its number, by how many to skip, or, quickest, by the cursor of the page before."""

    page: Annotated[int, Field(ge=1, le=_MOST_PAGES), fields.WHOLE] = 1
    page_size: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 50
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] | None = Field(
        default=None, description="Another name."
    )
    offset: Annotated[int, Field(ge=0, le=fields.MAX_IDS), fields.WHOLE] | None = None
    cursor: fields.Cursor | None = None


class Seen(Strict):
    """How a conversation is read."""

    messages: bool = Field(True, description="false: without its messages.")
    forgotten: bool = Field(False, description="Show it even if it was forgotten, then without its messages.")


def create(book: Book, asked: Asked[None, NewConversation]) -> Answer:
    """Keep a conversation. The same again is found instead of repeated."""
    new = asked.body
    messages = sayings(new.messages)
    kept = keep(
        book,
        Conversation(
            label=new.label or _title([said.content for said in messages]),
            messages=messages,
            folder=new.folder or ROOT,
            importance=new.camel_score if new.importance_score is None else new.importance_score,
            status=new.status,
            project=new.project,
            meta=new.metadata or {},
        ),
    )
    data = conversation_row(kept.session) | {"duplicate": kept.duplicate}
    headers = {"Location": f"/api/v1/conversations/{kept.session.uid}"}
    return Answer(data, status=200 if kept.duplicate else 201, etag=etag_of(kept.session), headers=headers)


def listing(book: Book, asked: Asked[Listed, None]) -> Answer:
    """Conversations, the one with the newest message first."""
    return _listed(book, asked.query, asked.query.scope())


def sessions(book: Book, asked: Asked[Listed, None]) -> Answer:
    """Every session: conversations, and the work of coding agents, in which nobody need have said anything."""
    return _listed(book, asked.query, asked.query.scope(empty=True))


def count(book: Book, asked: Asked[Chosen, None]) -> Answer:
    """How many conversations there are."""
    scope = asked.query.scope()
    found = {} if scope is None else totals(book, scope).statuses
    by_status = {status: found.get(status, 0) for status in STATUSES}
    total = sum(by_status.values())
    return Answer({"count": total, "total": total, "by_status": by_status})


def read(book: Book, asked: Asked[Seen, None]) -> Answer:
    """Everything about a conversation."""
    wanted = asked.query
    session = meant(book, asked.path["id"], forgotten=wanted.forgotten)
    if not wanted.messages or session.forgotten_ms is not None:
        return told(session)
    session, messages = opened(book, session.uid)
    data = conversation_row(session) | {"messages": [message_data(item) for item in messages]}
    return Answer(data, etag=_etag_with(session, messages))


def forget(book: Book, asked: Asked[None, None]) -> Answer:
    """Take a conversation and its messages out of every answer; they can be restored."""
    session = meant(book, asked.path["id"], forgotten=True)
    return told(organise.forget(book, session.uid, asked.rev_of(session)))


def restore(book: Book, asked: Asked[None, None]) -> Answer:
    """Bring a forgotten conversation back."""
    session = meant(book, asked.path["id"], forgotten=True)
    asked.rev_of(session)
    return told(organise.restore(book, session.uid))


def history(book: Book, asked: Asked[None, None]) -> Answer:
    """What a conversation was before each change, oldest first."""
    session = meant(book, asked.path["id"], forgotten=True)
    changes = [change_record(one) for one in organise.history(book, session.uid)]
    return Answer({"id": session.uid, "conversation_id": session.uid, "rev": session.rev, "changes": changes})


def _listed(book: Book, wanted: Listed, scope: SessionScope | None) -> Answer:
    size = wanted.limit or wanted.page_size
    skip = (wanted.page - 1) * size if wanted.offset is None else wanted.offset
    total, page = 0, SessionPage((), None)
    if scope is not None and wanted.cursor:
        page, total = latest(book, scope, size, wanted.cursor), how_many(book, scope)
    elif scope is not None:
        page, total = numbered(book, scope, size, skip)
    rows = [listed_row(session) for session in page.sessions]
    # One of its clients reads the one name, one the other.
    data = {"results": rows, "conversations": rows, "total": total, "page": skip // size + 1, "page_size": size}
    return Answer(data | {"next_cursor": page.next_cursor})


def told(session: Session) -> Answer:
    """A conversation without its messages."""
    return Answer(conversation_row(session), etag=etag_of(session))


def _etag_with(session: Session, messages: Sequence[Item]) -> str:
    """The revision of a conversation, and a mark of what its messages are at. That it was read makes no other of it."""
    state = repr([(item.id, item.rev) for item in messages]).encode()
    return f'W/"r{session.rev}.{hashlib.blake2b(state, digest_size=8).hexdigest()}"'


def _title(contents: Sequence[str]) -> str:
    return next(filter(None, map(title_of, contents)), UNTITLED)


def meant(book: Book, id_: str, *, forgotten: bool = False) -> Session:
    """The conversation of this id. What cannot be an id is one that nothing answers to."""
    try:
        return find(book, id_, forgotten=forgotten)
    except InvalidInput as error:
        raise NotFound(f"There is no conversation {id_[:60]!r}.", HINT) from error
