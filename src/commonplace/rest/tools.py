"""Sekha's seven tools as plain HTTP calls, in the envelope that its bridge to agents reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from commonplace.dialects.conversation_records import candidate_row, conversation_row
from commonplace.dialects.sekha import MOST_CANDIDATES, TOOLS
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, find, keep
from commonplace.memory.prune import DEFAULT_DAYS, DEFAULT_IMPORTANCE, MAX_DAYS, prune
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.figures import CountedFilters, counted
from commonplace.rest.messages import Several, sayings
from commonplace.rest.organising import agreeing
from commonplace.rest.queries import Query, answers

CHANGEABLE = ("label", "folder", "importance_score", "status")
_BY_NAME = {tool.name: tool for tool in TOOLS}


class StoreCall(Strict):
    """memory_store: a conversation to keep."""

    label: fields.Label
    folder: fields.Folder
    messages: Several
    importance_score: fields.Importance | None = None


class OneCall(Strict):
    """memory_get_context: which conversation."""

    conversation_id: fields.Id


def _something(schema: dict[str, Any]) -> None:
    agreeing(schema)
    schema["anyOf"] = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in CHANGEABLE]


class UpdateCall(OneCall):
    """memory_update: at least one new value."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=_something)

    label: fields.Label | None = None
    folder: fields.Folder | None = None
    importance_score: fields.Importance | None = None
    status: fields.Status | None = None

    @model_validator(mode="after")
    def changes_something(self) -> UpdateCall:
        if all(getattr(self, name) is None for name in CHANGEABLE):
            raise ValueError(f"Give at least one of {', '.join(CHANGEABLE)}")
        return self


class PruneCall(Strict):
    """memory_prune: how long without a message, and how little important."""

    threshold_days: Annotated[int, Field(ge=0, le=MAX_DAYS), fields.WHOLE] = DEFAULT_DAYS
    importance_threshold: fields.Importance | None = None


class ExportCall(OneCall):
    """memory_export: which conversation, and as what."""

    format: Literal["json", "markdown"] = "json"
    include_metadata: bool = True


def listing(_book: Book, _asked: Asked[None, None]) -> Answer:
    """The tools that can be called below this address."""
    return _tools()


def listing_of_api(_book: Book, _asked: Asked[None, None]) -> Answer:
    """The same where one of the clients looks for it."""
    return _tools()


def memory_store(book: Book, asked: Asked[None, StoreCall]) -> Answer:
    """Keep a conversation."""
    new = asked.body
    kept = keep(book, Conversation(new.label, sayings(new.messages), new.folder, new.importance_score))
    return _done(conversation_row(kept.session) | {"duplicate": kept.duplicate})


def memory_search(book: Book, asked: Asked[None, Query]) -> Answer:
    """Search all memory by meaning and words."""
    found = answers(book, asked.body, asked.body.filter_labels)
    return _done(found | {"total_results": found["total"]})


def memory_update(book: Book, asked: Asked[None, UpdateCall]) -> Answer:
    """Change a conversation's label, folder, importance or status."""
    wanted = asked.body.model_dump(exclude_none=True)
    changed = [name for name in CHANGEABLE if name in wanted]
    message = f"Updated {', '.join(changed)}."
    return _done(_run("memory_update", book, wanted) | {"updated_fields": changed, "message": message})


def memory_get_context(book: Book, asked: Asked[None, OneCall]) -> Answer:
    """A whole conversation with all its messages."""
    data = _run("memory_get_context", book, asked.body.model_dump())
    # A conversation is one session here, however often it was continued.
    return _done(data | {"conversation_id": data["id"], "session_count": 1})


def memory_prune(book: Book, asked: Asked[None, PruneCall]) -> Answer:
    """Old conversations of low importance, each with the reason. Nothing is changed."""
    days, border = asked.body.threshold_days, asked.body.importance_threshold
    border = DEFAULT_IMPORTANCE if border is None else border
    data = _run("memory_prune", book, {"threshold_days": days, "importance_threshold": border})
    found = prune(book, days, border)
    rows = [candidate_row(entry) for entry in found.candidates[:MOST_CANDIDATES]]
    more = {
        "suggestions": rows,
        "total_suggestions": data["total_candidates"],
        "estimated_token_savings": sum(row["token_estimate"] for row in rows),
        "threshold_days": days,
        "importance_threshold": border,
    }
    return _done(data | more)


def memory_export(book: Book, asked: Asked[None, ExportCall]) -> Answer:
    """A conversation as JSON that can be imported again, or as Markdown."""
    data = _run("memory_export", book, asked.body.model_dump())
    session = find(book, asked.body.conversation_id)
    more = {"conversation": conversation_row(session), "include_metadata": asked.body.include_metadata}
    return _done(data | more)


def memory_stats(book: Book, asked: Asked[None, CountedFilters]) -> Answer:
    """How many conversations, messages and words there are."""
    data: dict[str, Any] = counted(book, asked.body)["data"]
    return _done(data)


def _run(name: str, book: Book, arguments: dict[str, Any]) -> dict[str, Any]:
    return _BY_NAME[name].run(book, arguments).data


def _done(data: dict[str, Any]) -> Answer:
    return Answer({"success": True, "data": data, "error": None})


def _tools() -> Answer:
    return Answer(
        [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "input_schema": tool.input_schema(),
            }
            for tool in TOOLS
        ],
        ours=True,
    )
