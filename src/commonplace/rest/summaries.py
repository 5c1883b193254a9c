"""Summaries and labels of conversations over HTTP: found in what was said, not written by a model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from pydantic import ConfigDict, Field, model_validator

from commonplace.dialects.reply_schema import Json, component
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.summarise_and_label import (
    DIGEST_LEVELS,
    DIGEST_METHOD,
    MAX_LABELS,
    ConversationDigest,
    LabelSuggestion,
    digest_conversation,
    label_suggestions,
    label_suggestions_for_texts,
)
from commonplace.rest import fields
from commonplace.rest.conversation_records import SuggestionRow, Time, suggestion_row
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.messages import MessageBody, new_messages_of
from commonplace.text.dates import short_iso_time

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
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MOST_MESSAGES, fail_fast=True)] | None = None
    count: Annotated[int, Field(ge=1, le=50), fields.WHOLE] = MAX_LABELS

    @model_validator(mode="after")
    def names_something(self) -> Unlabelled:
        if self.conversation_id is None and self.messages is None:
            raise ValueError("Give a conversation_id, or messages")
        return self


@component("Summary")
class Summary(TypedDict):
    """The main sentences of a conversation."""

    conversation_id: str
    level: Annotated[Any, Json(enum=list(DIGEST_LEVELS))]
    summary: str
    method: Annotated[
        Any, Json(const=DIGEST_METHOD, description="Sentences of the conversation itself; no model writes it.")
    ]
    model: Annotated[str, Json(description="The method again, for clients that name the model here.")]
    tokens_used: Annotated[int, Json(description="By a language model: none.")]
    message_count: int
    token_count: int
    created_at: Time
    generated_at: Time


@component("Labels")
class Labels(TypedDict):
    """Labels that would suit."""

    conversation_id: Annotated[str, Json(description="Empty where messages were given instead.")]
    suggestions: list[SuggestionRow]
    top_suggestion: SuggestionRow | None


def summarize(memory: LocalMemory, request: ApiRequest[None, Summarised]) -> Answer[Summary]:
    """The main sentences of a conversation's last day, week or month."""
    return _summary_answer(digest_conversation(memory, request.body.conversation_id, request.body.level))


def summarize_conversation(memory: LocalMemory, request: ApiRequest[Levelled, None]) -> Answer[Summary]:
    """The same, by the conversation's address."""
    return _summary_answer(digest_conversation(memory, request.path["id"], request.query.level))


def suggest_labels(memory: LocalMemory, request: ApiRequest[None, Unlabelled]) -> Answer[Labels]:
    """Labels that would suit: of conversations like it, and of its own words."""
    wanted = request.body
    if wanted.conversation_id is None:
        texts = [message.content for message in new_messages_of(wanted.messages or [])]
        return _labels_answer("", label_suggestions_for_texts(memory, texts, wanted.count))
    session, found = label_suggestions(memory, wanted.conversation_id, wanted.count)
    return _labels_answer(session.uid, found)


def suggest_conversation_labels(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[list[SuggestionRow]]:
    """The same, by the conversation's address, as a bare list."""
    _session, found = label_suggestions(memory, request.path["id"])
    return Answer([suggestion_row(one) for one in found])


def _summary_answer(made: ConversationDigest) -> Answer[Summary]:
    at = short_iso_time(made.made_ms)
    return Answer(
        {
            "conversation_id": made.session.uid,
            "level": made.level,
            "summary": made.text,
            "method": DIGEST_METHOD,
            "model": DIGEST_METHOD,
            "tokens_used": 0,
            "message_count": made.messages,
            "token_count": made.tokens,
            "created_at": at,
            "generated_at": at,
        }
    )


def _labels_answer(id_: str, found: list[LabelSuggestion]) -> Answer[Labels]:
    rows = [suggestion_row(one) for one in found]
    return Answer({"conversation_id": id_, "suggestions": rows, "top_suggestion": rows[0] if rows else None})
