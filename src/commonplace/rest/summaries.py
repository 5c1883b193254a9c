"""What is made of conversations over HTTP: summaries and labels, found in what was said and not written by a model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from commonplace.dialects.conversation_records import suggestion_row
from commonplace.memory.book import Book
from commonplace.memory.digest import METHOD, Digest, digest
from commonplace.memory.labels import MOST, Suggestion, suggest, suggest_for
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.messages import NewMessage, sayings
from commonplace.text.times import stamp

Level = Literal["daily", "weekly", "monthly"]
MOST_MESSAGES = 1000


class Summarised(Strict):
    """Which conversation, and how far back from its last message."""

    conversation_id: fields.Id
    level: Level = "daily"


class Levelled(Strict):
    """How far back from the last message."""

    level: Level = "daily"


def _either(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [
        {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
        for name in ("conversation_id", "messages")
    ]


class Unlabelled(Strict):
    """What needs a label: a conversation that is kept, or messages that are not."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=_either)

    conversation_id: fields.Id | None = None
    messages: Annotated[list[NewMessage], Field(min_length=1, max_length=MOST_MESSAGES, fail_fast=True)] | None = None
    count: Annotated[int, Field(ge=1, le=50), fields.WHOLE] = MOST

    @model_validator(mode="after")
    def names_something(self) -> Unlabelled:
        if self.conversation_id is None and self.messages is None:
            raise ValueError("Give a conversation_id, or messages")
        return self


def summarize(book: Book, asked: Asked[None, Summarised]) -> Answer:
    """The main sentences of a conversation's last day, week or month."""
    return _told(digest(book, asked.body.conversation_id, asked.body.level))


def summary(book: Book, asked: Asked[Levelled, None]) -> Answer:
    """The same, by the conversation's address."""
    return _told(digest(book, asked.path["id"], asked.query.level))


def labels(book: Book, asked: Asked[None, Unlabelled]) -> Answer:
    """Labels that would suit: of conversations like it, and of its own words."""
    wanted = asked.body
    if wanted.conversation_id is None:
        texts = [said.content for said in sayings(wanted.messages or [])]
        return _suggested("", suggest_for(book, texts, wanted.count))
    session, found = suggest(book, wanted.conversation_id, wanted.count)
    return _suggested(session.uid, found)


def labels_of(book: Book, asked: Asked[None, None]) -> Answer:
    """The same, by the conversation's address, as a bare list."""
    _session, found = suggest(book, asked.path["id"])
    return Answer([suggestion_row(one) for one in found])


def _told(made: Digest) -> Answer:
    at = stamp(made.made_ms)
    return Answer(
        {
            "conversation_id": made.session.uid,
            "level": made.level,
            "summary": made.text,
            "method": METHOD,
            "model": METHOD,
            "tokens_used": 0,
            "message_count": made.messages,
            "token_count": made.tokens,
            "created_at": at,
            "generated_at": at,
        }
    )


def _suggested(id_: str, found: list[Suggestion]) -> Answer:
    rows = [suggestion_row(one) for one in found]
    return Answer({"conversation_id": id_, "suggestions": rows, "top_suggestion": rows[0] if rows else None})
