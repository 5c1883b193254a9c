"""Messages over HTTP: as clients send them, a page of them, more of them, and how important one is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from commonplace.dialects.conversation_records import conversation_row
from commonplace.dialects.sekha_records import said
from commonplace.errors import NotFound
from commonplace.memory.book import Book
from commonplace.memory.browse import MAX_PAGE
from commonplace.memory.conversations import MAX_MESSAGES, Said, append, find, messages_after
from commonplace.memory.edit import Changes, edit
from commonplace.memory.export import message_data, score
from commonplace.memory.fetch import fetch_one
from commonplace.memory.weigh import weigh
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked, etag_of
from commonplace.rest.fields import Strict

# Sekha's scores begin at 1, ours at 0.
LOWEST_SCORE = 1.0
GUESSED = "rules"
"""What clients are told in place of a language model's name."""


class TextPart(Strict):
    """A piece of what was said."""

    type: Literal["text"]
    text: fields.Saying


class ImageAddress(Strict):
    """Where an image is."""

    url: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(Strict):
    """An image beside the text: that there was one is kept, not what it showed."""

    type: Literal["image_url"]
    image_url: ImageAddress


class NewMessage(Strict):
    """One thing that was said. Null is as good as leaving it out."""

    role: Literal["user", "assistant", "system", "tool"]
    content: fields.Saying | Annotated[list[TextPart | ImagePart], Field(min_length=1, max_length=100)]
    timestamp: fields.Stamp | None = None
    metadata: dict[str, Any] | None = None


Several = Annotated[list[NewMessage], Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)]


class NewMessages(Strict):
    """What was said since."""

    messages: Several


class Paged(Strict):
    """Some messages, in their order."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 100
    cursor: Annotated[str, Field(pattern=r"^[0-9]{1,15}$", max_length=15, description="`next_cursor` before.")] = "0"


class Rated(Strict):
    """What somebody says about a message's importance; without it, it is guessed."""

    importance_score: fields.Importance | None = None


class Scored(Strict):
    """Which message is meant."""

    message_id: fields.Id


def sayings(messages: list[NewMessage]) -> list[Said]:
    """Messages as they are kept. An image leaves a line in its place."""
    told = (one.model_dump(exclude_none=True) | {"content": _text(one)} for one in messages)
    kept = [said(entry, number) for number, entry in enumerate(told)]
    # Nobody looks at them again, and thousands of them take much more memory than their text.
    messages.clear()
    return kept


def listing(book: Book, asked: Asked[Paged, None]) -> Answer:
    """A page of the messages of a conversation, oldest first."""
    found, more = messages_after(book, asked.path["id"], asked.query.limit, int(asked.query.cursor))
    return Answer(
        {"messages": [message_data(item) for item in found], "next_cursor": None if more is None else str(more)}
    )


def add(book: Book, asked: Asked[None, NewMessages]) -> Answer:
    """Add messages to the end of a conversation."""
    rev = asked.rev_of(find(book, asked.path["id"]))
    grown = append(book, asked.path["id"], sayings(asked.body.messages), rev)
    data = conversation_row(grown.session) | {"added": grown.added}
    return Answer(data, status=201, etag=etag_of(grown.session))


def importance(book: Book, asked: Asked[None, Rated]) -> Answer:
    """How important a message is: as somebody says here, as somebody said before, or as it looks."""
    if asked.body.importance_score is not None:
        edit(book, fetch_one(book, asked.path["id"]).id, Changes(importance=asked.body.importance_score))
    return _weighed(book, asked.path["id"])


def scored(book: Book, asked: Asked[None, Scored]) -> Answer:
    """How important a message is, by its id in the body."""
    return _weighed(book, asked.body.message_id)


def _weighed(book: Book, id_: str) -> Answer:
    weight = weigh(book, id_)
    if weight.item.kind != "message":
        raise NotFound(f"There is no message {id_[:60]!r}.")
    return Answer(
        {
            "message_id": weight.item.uid,
            "importance_score": score(weight.score),
            "score": max(LOWEST_SCORE, weight.score),
            "model": GUESSED,
            "factors": dict(weight.factors),
            "reasoning": weight.reason,
        }
    )


def _text(message: NewMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    parts = (part.text if isinstance(part, TextPart) else _image(part.image_url.url) for part in message.content)
    return "\n".join(parts)


def _image(url: str) -> str:
    return "[image]" if url.startswith("data:") else f"[image: {url}]"
