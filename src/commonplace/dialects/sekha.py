"""Sekha's tools: conversations with messages, in folders, by importance."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from commonplace.dialects.reply_schema import schema_of
from commonplace.dialects.sekha_records import (
    ConversationBrief,
    ConversationReply,
    ExportReply,
    GivenMessage,
    PruneReply,
    SearchReply,
    Statistics,
    StoredReply,
    conversation_brief,
    megabytes,
    message_hit,
    parse_message,
    prune_candidate,
    statistics,
)
from commonplace.dialects.tool import SEARCHED_KINDS, Param, Reply, Tool, search_notice
from commonplace.dialects.window_project import WhichProject, window_scope
from commonplace.errors import InvalidInput, NotFound
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
from commonplace.memory.status_and_stats import conversation_stats
from commonplace.model import Scope, SessionScope

MAX_LIMIT = 50
# More than anybody goes through in one answer; the total says how many there are.
MOST_CANDIDATES = 100

_Text = str | None
_ConversationId = Annotated[str, Param("Conversation id")]


def _score(description: str) -> Param:
    return Param(description, least=0, most=10, strict=True)


@contextmanager
def _hint_at_conversation_id() -> Iterator[None]:
    """Say first what Sekha's reference tells those who name a conversation that is not there."""
    try:
        yield
    except NotFound as error:
        raise NotFound(error.message, f"Verify conversation_id. {error.hint}") from error


def memory_store(
    memory: LocalMemory,
    label: Annotated[str, Param("Conversation title")],
    folder: Annotated[str, Param('Folder path such as "/work/projects"')],
    messages: Annotated[list[dict[str, Any]], Param("Messages in order", shape=schema_of(GivenMessage))],
    importance_score: Annotated[
        float | None, _score("0.0-10.0, higher is more important; 5 if omitted, 10 is pinned")
    ] = None,
) -> Reply[StoredReply]:
    """Store a conversation; the same one again is found instead of repeated."""
    new_messages = [parse_message(entry, number) for number, entry in enumerate(messages)]
    project = memory.settings.project or None
    stored = store_conversation(memory, NewConversation(label, new_messages, folder, importance_score, project=project))
    return Reply({**conversation_brief(stored.session), "duplicate": stored.duplicate})


def memory_search(
    memory: LocalMemory,
    query: Annotated[str, Param("Natural language query")],
    limit: Annotated[int, Param("Most results", least=1, most=MAX_LIMIT, strict=True)] = 10,
    filter_labels: Annotated[
        list[str] | None, Param("Only conversations with one of these labels", max_items=100)
    ] = None,
) -> Reply[SearchReply]:
    """Messages that answer, best first; with labels, only those of conversations that meet one."""
    return _search(memory, query, limit, filter_labels, Scope())


def memory_search_from_window(
    memory: LocalMemory,
    query: Annotated[str, Param("Natural language query")],
    limit: Annotated[int, Param("Most results", least=1, most=MAX_LIMIT, strict=True)] = 10,
    filter_labels: Annotated[
        list[str] | None, Param("Only conversations with one of these labels", max_items=100)
    ] = None,
    project: WhichProject = None,
) -> Reply[SearchReply]:
    """The same, from the window's project and conversations of none if no project is named."""
    scope = window_scope(memory, project, strict=False)
    if scope.with_global:
        # Who searches conversations asks for those that belong to no project, too.
        scope = replace(scope, with_global=False, with_unfiled=scope.project is not None)
    return _search(memory, query, limit, filter_labels, scope)


def _search(
    memory: LocalMemory, query: str, limit: int, filter_labels: list[str] | None, scope: Scope
) -> Reply[SearchReply]:
    if not query.strip():
        raise InvalidInput("query is empty.", "Say what you are looking for.")
    labels = tuple(label for label in filter_labels or () if label.strip())
    scope = replace(scope, kinds=SEARCHED_KINDS, sessions=SessionScope(labels=labels) if labels else None)
    found, sessions = recall_in_sessions(memory, query, scope, limit)
    hits = [message_hit(hit, sessions.get(hit.item.id)) for hit in found.hits]
    data: SearchReply = {"results": hits, "total": found.total}
    if notice := search_notice(memory, found.waiting, found.note):
        data["notice"] = notice
    return Reply(data)


def memory_update(
    memory: LocalMemory,
    conversation_id: _ConversationId,
    label: Annotated[_Text, Param("New title")] = None,
    folder: Annotated[_Text, Param("New folder path")] = None,
    importance_score: Annotated[float | None, _score("New rating")] = None,
    status: Annotated[_Text, Param("New status", choices=STATUSES)] = None,
) -> Reply[ConversationBrief]:
    """Change a conversation's label, folder, importance or status."""
    changes = ConversationChanges(label, folder, importance_score, status)
    with _hint_at_conversation_id():
        session = update_conversation(memory, conversation_id, changes)
    return Reply(conversation_brief(session))


def memory_get_context(memory: LocalMemory, conversation_id: _ConversationId) -> Reply[ConversationReply]:
    """A conversation with all its messages."""
    with _hint_at_conversation_id():
        session, messages = open_conversation(memory, conversation_id)
    return Reply(cast(ConversationReply, conversation_data(session, messages)))


def memory_prune(
    memory: LocalMemory,
    threshold_days: Annotated[int, Param("Days without a message", least=0, most=MAX_DAYS, strict=True)] = PRUNE_DAYS,
    importance_threshold: Annotated[float, _score("Keep from this importance on")] = PRUNE_IMPORTANCE,
) -> Reply[PruneReply]:
    """What could be archived, and why; nothing is changed."""
    proposed = find_prunable(memory, threshold_days, importance_threshold)
    return Reply(
        {
            "candidates": [prune_candidate(entry) for entry in proposed.candidates[:MOST_CANDIDATES]],
            "total_candidates": len(proposed.candidates),
            "estimated_space_saved_mb": megabytes(proposed.bytes),
        }
    )


def memory_export(
    memory: LocalMemory,
    conversation_id: _ConversationId,
    format_: Annotated[str, Param("Format", choices=EXPORT_FORMATS)] = "json",
    include_metadata: Annotated[bool, Param("Include folder, importance, counts and the like")] = True,
) -> Reply[ExportReply]:
    """A conversation to store elsewhere."""
    with _hint_at_conversation_id():
        session, messages = open_conversation(memory, conversation_id)
    head: ExportReply = {"id": session.uid, "conversation_id": session.uid, "format": format_}
    if format_ == "markdown":
        text = conversation_markdown(session, messages, metadata=include_metadata)
        return Reply({**head, "content": text}, text)
    exported: Any = conversation_export(session, messages, metadata=include_metadata)
    return Reply({**head, **exported})


def memory_stats(
    memory: LocalMemory, folder: Annotated[_Text, Param("Only this folder and all below it")] = None
) -> Reply[Statistics]:
    """How much there is, of a folder's tree or of everything."""
    return Reply(statistics(conversation_stats(memory, folder)))


_tool = partial(Tool.of, dialect="sekha")

_search_tool = partial(
    _tool,
    verb="search",
    title="Search conversations",
    description="Search all memory by meaning and words, with a similarity of 0-1.",
)
WINDOW_TOOLS = (_search_tool(memory_search_from_window, name="memory_search"),)
TOOLS = (
    _tool(
        memory_store,
        verb="store_conversation",
        title="Store a conversation",
        description="Store a conversation with its messages, under a folder, with an importance.",
    ),
    _search_tool(memory_search),
    _tool(
        memory_update,
        verb="update_conversation",
        title="Update a conversation",
        description="Change a conversation's label, folder, importance or status; at least one.",
        destructive=True,
    ),
    _tool(
        memory_get_context,
        verb="conversation",
        title="Read a conversation",
        description="A whole conversation with all its messages.",
    ),
    _tool(
        memory_prune,
        verb="prune",
        title="What could be pruned",
        description="Old conversations of low importance, each with the reason. Proposes only; pinned ones never are.",
        slow=True,
    ),
    _tool(
        memory_export,
        verb="export_conversation",
        title="Export a conversation",
        description="A conversation as JSON that can be imported again, or as Markdown.",
    ),
    _tool(
        memory_stats,
        verb="stats",
        title="Statistics",
        description="How many conversations, messages and words there are, by folder, label and status.",
    ),
)
