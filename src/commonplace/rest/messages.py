"""Messages over HTTP: as clients send them, a page of them, how important one is; and what sums them up.

Summaries and labels of conversations are found in what was said, not written by a model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from pydantic import Field

from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.sekha_records import parse_message
from commonplace.errors import NotFound
from commonplace.memory.conversations import MAX_MESSAGES, NewMessage, append_messages, find_session, messages_after
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.export_conversations import message_data, plain_score
from commonplace.memory.items import MAX_PAGE, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.summarise_and_label import (
    DIGEST_LEVELS,
    DIGEST_METHOD,
    MAX_LABELS,
    ConversationDigest,
    LabelSuggestion,
    digest_conversation,
    estimate_importance,
    label_suggestions,
    label_suggestions_for_texts,
)
from commonplace.model import Item
from commonplace.rest import fields
from commonplace.rest.conversation_records import ConversationRow, SuggestionRow, Time, conversation_row, suggestion_row
from commonplace.rest.endpoint import Answer, ApiRequest, etag_of
from commonplace.rest.fields import Strict
from commonplace.text.dates import short_iso_time

# Sekha's scores begin at 1, ours at 0.
LOWEST_SCORE = 1.0
ESTIMATED = "rules"
"""What clients get in place of a language model's name."""


class TextPart(Strict):
    """A piece of what was said."""

    type: Literal["text"]
    text: fields.NonBlankText


class ImageAddress(Strict):
    """Where an image is."""

    url: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(Strict):
    """An image beside the text: that there was one is kept, not what it showed."""

    type: Literal["image_url"]
    image_url: ImageAddress


class MessageBody(Strict):
    """One thing that was said. Null is as good as leaving it out."""

    role: Literal["user", "assistant", "system", "tool"]
    content: fields.NonBlankText | Annotated[list[TextPart | ImagePart], Field(min_length=1, max_length=100)]
    timestamp: fields.Timestamp | None = None
    metadata: dict[str, Any] | None = None


MessageList = Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)]


class MessagesBody(Strict):
    """What was said since."""

    messages: MessageList


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


@component("Message")
class MessageRow(TypedDict):
    """One message of a conversation."""

    id: str
    role: str
    content: str
    timestamp: Time
    metadata: NotRequired[dict[str, Any]]


@component("Messages")
class MessagePage(TypedDict):
    """A page of messages."""

    messages: list[MessageRow]
    next_cursor: str | None


@component("ConversationGrown")
class GrownConversation(ConversationRow):
    """A conversation, and how many messages were added to it."""

    added: int


@component("Importance")
class Importance(TypedDict):
    """How important a message is, and why."""

    message_id: str
    importance_score: float
    score: Annotated[float, Json(minimum=1, maximum=10, description="The same, but at least 1.")]
    model: Annotated[str, Json(description="How it was found: no language model is asked.")]
    factors: dict[str, float]
    reasoning: str


def message_row(item: Item) -> MessageRow:
    return cast(MessageRow, message_data(item))


def new_messages_of(messages: list[MessageBody]) -> list[NewMessage]:
    """Messages as they are stored. An image leaves a line in its place."""
    entries = (one.model_dump(exclude_none=True) | {"content": _text(one)} for one in messages)
    parsed = [parse_message(entry, number) for number, entry in enumerate(entries)]
    # Nobody looks at them again, and thousands of them take much more memory than their text.
    messages.clear()
    return parsed


def list_messages(memory: LocalMemory, request: ApiRequest[Paged, None]) -> Answer[MessagePage]:
    """A page of the messages of a conversation, oldest first."""
    found, more = messages_after(memory, request.path["id"], request.query.limit, int(request.query.cursor))
    return Answer(
        {"messages": [message_row(item) for item in found], "next_cursor": None if more is None else str(more)}
    )


def add_messages(memory: LocalMemory, request: ApiRequest[None, MessagesBody]) -> Answer[GrownConversation]:
    """Add messages to the end of a conversation."""
    rev = request.expected_rev(find_session(memory, request.path["id"]))
    grown = append_messages(memory, request.path["id"], new_messages_of(request.body.messages), rev)
    data: GrownConversation = {**conversation_row(grown.session), "added": grown.added}
    return Answer(data, status=201, etag=etag_of(grown.session))


def message_importance(memory: LocalMemory, request: ApiRequest[None, Rated]) -> Answer[Importance]:
    """How important a message is: as somebody says here, as somebody said before, or as it looks."""
    if request.body.importance_score is not None:
        edit_item(memory, get_item(memory, request.path["id"]).id, Changes(importance=request.body.importance_score))
    return _importance_answer(memory, request.path["id"])


def score_message(memory: LocalMemory, request: ApiRequest[None, Scored]) -> Answer[Importance]:
    """How important a message is, by its id in the body."""
    return _importance_answer(memory, request.body.message_id)


def _importance_answer(memory: LocalMemory, id_: str) -> Answer[Importance]:
    weight = estimate_importance(memory, id_)
    if weight.item.kind != "message":
        raise NotFound(f"There is no message {id_[:60]!r}.")
    return Answer(
        {
            "message_id": weight.item.uid,
            "importance_score": plain_score(weight.score),
            "score": max(LOWEST_SCORE, weight.score),
            "model": ESTIMATED,
            "factors": dict(weight.factors),
            "reasoning": weight.reason,
        }
    )


def _text(message: MessageBody) -> str:
    if isinstance(message.content, str):
        return message.content
    parts = (part.text if isinstance(part, TextPart) else _image(part.image_url.url) for part in message.content)
    return "\n".join(parts)


def _image(url: str) -> str:
    return "[image]" if url.startswith("data:") else f"[image: {url}]"


Level = Literal["daily", "weekly", "monthly"]
MOST_MESSAGES = 1000


class Summarised(Strict):
    """Which conversation, and how far back from its last message."""

    conversation_id: fields.Id
    level: Level = "daily"


class Levelled(Strict):
    """How far back from the last message."""

    level: Level = "daily"


class Unlabelled(Strict):
    """What needs a label: a conversation that is kept, or messages that are not."""

    at_least_one = ("conversation_id", "messages")
    conversation_id: fields.Id | None = None
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MOST_MESSAGES, fail_fast=True)] | None = None
    count: Annotated[int, Field(ge=1, le=50), fields.WHOLE] = MAX_LABELS


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
