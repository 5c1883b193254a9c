"""Sekha's seven tools as plain HTTP calls, in the envelope that its bridge to agents reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from pydantic import ConfigDict, Field

from commonplace.dialects.reply_schema import component
from commonplace.dialects.sekha import MOST_CANDIDATES, TOOLS
from commonplace.memory.authors import for_agent
from commonplace.memory.conversations import NewConversation, find_session, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import is_person
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, find_prunable
from commonplace.rest import fields
from commonplace.rest.conversation_records import candidate_row, conversation_row
from commonplace.rest.conversations import pinned_means_ten
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.messages import MessageList, new_messages_of
from commonplace.rest.search import Query, answers
from commonplace.rest.status_and_events import CountedFilters, statistics_data

CHANGEABLE = ("label", "folder", "importance_score", "status")
_BY_NAME = {tool.name: tool for tool in TOOLS}


class StoreCall(Strict):
    """memory_store: a conversation to keep."""

    label: fields.Label
    folder: fields.Folder
    messages: MessageList
    importance_score: fields.Importance | None = None


class OneCall(Strict):
    """memory_get_context: which conversation."""

    conversation_id: fields.Id


class UpdateCall(OneCall):
    """memory_update: at least one new value."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=pinned_means_ten)
    at_least_one = CHANGEABLE

    label: fields.Label | None = None
    folder: fields.Folder | None = None
    importance_score: fields.Importance | None = None
    status: fields.Status | None = None


class PruneCall(Strict):
    """memory_prune: how long without a message, and how little important."""

    threshold_days: Annotated[int, Field(ge=0, le=MAX_DAYS), fields.WHOLE] = PRUNE_DAYS
    importance_threshold: fields.Importance | None = None


class ExportCall(OneCall):
    """memory_export: which conversation, and as what."""

    format: Literal["json", "markdown"] = "json"
    include_metadata: bool = True


class ToolRow(TypedDict):
    """A tool, as a list of them shows it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]


@component("ToolAnswer")
class ToolAnswer(TypedDict):
    """What a tool answered."""

    success: Literal[True]
    data: dict[str, Any]
    error: None


def _of_agent(memory: LocalMemory) -> LocalMemory:
    """The same memory for the agent that calls a tool, as over MCP."""
    return for_agent(memory, "") if is_person(memory) else memory


def list_tools(_memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[list[ToolRow]]:
    """The tools that can be called by a POST to /mcp/tools/NAME."""
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
        trusted=True,
    )


def memory_store(memory: LocalMemory, request: ApiRequest[None, StoreCall]) -> Answer[ToolAnswer]:
    """Keep a conversation."""
    new = request.body
    stored = store_conversation(
        _of_agent(memory), NewConversation(new.label, new_messages_of(new.messages), new.folder, new.importance_score)
    )
    return _done({**conversation_row(stored.session), "duplicate": stored.duplicate})


def memory_search(memory: LocalMemory, request: ApiRequest[None, Query]) -> Answer[ToolAnswer]:
    """Search all memory by meaning and words."""
    found = answers(memory, request.body, request.body.filter_labels)
    return _done({**found, "total_results": found["total"]})


def memory_update(memory: LocalMemory, request: ApiRequest[None, UpdateCall]) -> Answer[ToolAnswer]:
    """Change a conversation's label, folder, importance or status."""
    wanted = request.body.model_dump(exclude_none=True)
    changed = [name for name in CHANGEABLE if name in wanted]
    message = f"Updated {', '.join(changed)}."
    return _done(_run("memory_update", _of_agent(memory), wanted) | {"updated_fields": changed, "message": message})


def memory_get_context(memory: LocalMemory, request: ApiRequest[None, OneCall]) -> Answer[ToolAnswer]:
    """A whole conversation with all its messages."""
    data = _run("memory_get_context", memory, request.body.model_dump())
    # A conversation is one session here, however often it was continued.
    return _done(data | {"conversation_id": data["id"], "session_count": 1})


def memory_prune(memory: LocalMemory, request: ApiRequest[None, PruneCall]) -> Answer[ToolAnswer]:
    """Old conversations of low importance, each with the reason. Nothing is changed."""
    days, border = request.body.threshold_days, request.body.importance_threshold
    border = PRUNE_IMPORTANCE if border is None else border
    data = _run("memory_prune", memory, {"threshold_days": days, "importance_threshold": border})
    found = find_prunable(memory, days, border)
    rows = [candidate_row(entry) for entry in found.candidates[:MOST_CANDIDATES]]
    more = {
        "suggestions": rows,
        "total_suggestions": data["total_candidates"],
        "estimated_token_savings": sum(row["token_estimate"] for row in rows),
        "threshold_days": days,
        "importance_threshold": border,
    }
    return _done(data | more)


def memory_export(memory: LocalMemory, request: ApiRequest[None, ExportCall]) -> Answer[ToolAnswer]:
    """A conversation as JSON that can be imported again, or as Markdown."""
    data = _run("memory_export", memory, request.body.model_dump())
    session = find_session(memory, request.body.conversation_id)
    more = {"conversation": conversation_row(session), "include_metadata": request.body.include_metadata}
    return _done(data | more)


def memory_stats(memory: LocalMemory, request: ApiRequest[None, CountedFilters]) -> Answer[ToolAnswer]:
    """How many conversations, messages and words there are."""
    return _done(statistics_data(memory, request.body)["data"])


def _run(name: str, memory: LocalMemory, arguments: dict[str, Any]) -> dict[str, Any]:
    return dict(_BY_NAME[name].run(memory, arguments).data)


def _done(data: dict[str, Any]) -> Answer[ToolAnswer]:
    return Answer({"success": True, "data": data, "error": None})
