"""Sekha: conversations with messages, in folders, by importance."""

from __future__ import annotations

from typing import Any

from commonplace.dialects.schema import Schema
from commonplace.dialects.sekha_records import (
    CANDIDATES,
    CONTEXT,
    EXPORTED,
    FOUND,
    MESSAGE_GIVEN,
    STATS,
    STORED,
    UPDATED,
    conversation_brief,
    megabytes,
    message_hit,
    parse_message,
    prune_candidate,
    statistics,
)
from commonplace.dialects.tool import Arguments, Param, Reply, Tool, ToolFunction, search_notice
from commonplace.errors import InvalidInput
from commonplace.memory.conversations import (
    STATUSES,
    ConversationChanges,
    NewConversation,
    open_conversation,
    store_conversation,
    update_conversation,
)
from commonplace.memory.export_conversations import (
    EXPORT_FORMATS,
    conversation_data,
    conversation_export,
    conversation_markdown,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, find_prunable
from commonplace.memory.recall import recall_in_sessions
from commonplace.memory.stats import conversation_stats
from commonplace.model import KINDS, Scope, SessionScope

MAX_LIMIT = 50
# More than anybody goes through in one answer; the total tells how many there are.
MOST_CANDIDATES = 100
# Everything but checkpoints, which are about a session.
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")


def memory_store(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Keep a conversation; the same one again is found instead of repeated."""
    kept = store_conversation(
        memory,
        NewConversation(
            label=arguments["label"],
            folder=arguments["folder"],
            messages=[parse_message(entry, number) for number, entry in enumerate(arguments["messages"])],
            importance=arguments["importance_score"],
        ),
    )
    return Reply(conversation_brief(kept.session) | {"duplicate": kept.duplicate})


def memory_search(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Messages that answer, best first; with labels, only those of conversations that meet one."""
    if not arguments["query"].strip():
        raise InvalidInput("query is empty.", "Say what you are looking for.")
    labels = tuple(label for label in arguments["filter_labels"] or () if label.strip())
    scope = Scope(kinds=_FOUND, sessions=SessionScope(labels=labels) if labels else None)
    recalled, sessions = recall_in_sessions(memory, arguments["query"], scope, arguments["limit"])
    data = {"results": [message_hit(hit, sessions.get(hit.item.id)) for hit in recalled.hits], "total": recalled.total}
    told = search_notice(memory, recalled.waiting)
    return Reply(data | {"notice": told} if told else data)


def memory_update(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Change what is said about a conversation."""
    wanted = ConversationChanges(
        arguments["label"], arguments["folder"], arguments["importance_score"], arguments["status"]
    )
    return Reply(conversation_brief(update_conversation(memory, arguments["conversation_id"], wanted)))


def memory_get_context(memory: LocalMemory, arguments: Arguments) -> Reply:
    """A conversation with all its messages."""
    return Reply(conversation_data(*open_conversation(memory, arguments["conversation_id"])))


def memory_prune(memory: LocalMemory, arguments: Arguments) -> Reply:
    """What could go, and why; nothing is changed."""
    proposed = find_prunable(memory, arguments["threshold_days"], arguments["importance_threshold"])
    return Reply(
        {
            "candidates": [prune_candidate(entry) for entry in proposed.candidates[:MOST_CANDIDATES]],
            "total_candidates": len(proposed.candidates),
            "estimated_space_saved_mb": megabytes(proposed.bytes),
        }
    )


def memory_export(memory: LocalMemory, arguments: Arguments) -> Reply:
    """A conversation to keep elsewhere."""
    session, messages = open_conversation(memory, arguments["conversation_id"])
    metadata = arguments["include_metadata"]
    head = {"id": session.uid, "conversation_id": session.uid, "format": arguments["format"]}
    if arguments["format"] == "markdown":
        text = conversation_markdown(session, messages, metadata=metadata)
        return Reply(head | {"content": text}, text)
    return Reply(head | conversation_export(session, messages, metadata=metadata))


def memory_stats(memory: LocalMemory, arguments: Arguments) -> Reply:
    """How much there is, of a folder's tree or of everything."""
    return Reply(statistics(conversation_stats(memory, arguments["folder"])))


_ID = Param("conversation_id", str, "Conversation id", required=True)


def _score(name: str, description: str, default: float | None = None) -> Param:
    return Param(name, float, description, default=default, least=0, most=10, strict=True)


def _tool(
    name: str, title: str, description: str, params: tuple[Param, ...], output: Schema, call: ToolFunction, **more: Any
) -> Tool:
    return Tool("sekha", name, title, description, params, output, call, **more)


TOOLS = (
    _tool(
        "memory_store",
        "Store a conversation",
        "Store a conversation with its messages, under a folder, with an importance.",
        (
            Param("label", str, "Conversation title", required=True),
            Param("folder", str, 'Folder path such as "/work/projects"', required=True),
            Param("messages", list, "Messages in order", required=True, items=dict, shape=MESSAGE_GIVEN),
            _score("importance_score", "0.0-10.0, higher is more important; 5 if omitted, 10 is pinned"),
        ),
        STORED,
        memory_store,
        read_only=False,
    ),
    _tool(
        "memory_search",
        "Search conversations",
        "Search all memory by meaning and words, with a similarity of 0-1.",
        (
            Param("query", str, "Natural language query", required=True),
            Param("limit", int, "Most results", default=10, least=1, most=MAX_LIMIT, strict=True),
            Param("filter_labels", list, "Only conversations with one of these labels", items=str, max_items=100),
        ),
        FOUND,
        memory_search,
    ),
    _tool(
        "memory_update",
        "Update a conversation",
        "Change a conversation's label, folder, importance or status; at least one.",
        (
            _ID,
            Param("label", str, "New title"),
            Param("folder", str, "New folder path"),
            _score("importance_score", "New rating"),
            Param("status", str, "New status", choices=STATUSES),
        ),
        UPDATED,
        memory_update,
        read_only=False,
        destructive=True,
    ),
    _tool(
        "memory_get_context",
        "Read a conversation",
        "A whole conversation with all its messages.",
        (_ID,),
        CONTEXT,
        memory_get_context,
    ),
    _tool(
        "memory_prune",
        "What could be pruned",
        "Old conversations of low importance, each with the reason. Proposes only; pinned ones never are.",
        (
            Param(
                "threshold_days",
                int,
                "Days without a message",
                default=PRUNE_DAYS,
                least=0,
                most=MAX_DAYS,
                strict=True,
            ),
            _score("importance_threshold", "Keep from this importance on", PRUNE_IMPORTANCE),
        ),
        CANDIDATES,
        memory_prune,
        slow=True,
    ),
    _tool(
        "memory_export",
        "Export a conversation",
        "A conversation as JSON that can be imported again, or as Markdown.",
        (
            _ID,
            Param("format", str, "Format", default="json", choices=EXPORT_FORMATS),
            Param("include_metadata", bool, "Include folder, importance, counts and the like", default=True),
        ),
        EXPORTED,
        memory_export,
    ),
    _tool(
        "memory_stats",
        "Statistics",
        "How many conversations, messages and words there are, by folder, label and status.",
        (Param("folder", str, "Only this folder and all below it"),),
        STATS,
        memory_stats,
    ),
)
