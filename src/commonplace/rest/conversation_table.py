"""The endpoints about conversations, in the order of the documentation."""

from __future__ import annotations

from commonplace.input_limits import MAX_VALUES, MAX_VALUES_OF_MANY
from commonplace.rest import (
    archive,
    conversations,
    figures,
    messages,
    moving,
    organising,
    pruning,
    queries,
    summaries,
    tools,
)
from commonplace.rest import conversation_shapes as shapes
from commonplace.rest.endpoint import Endpoint, Scope
from commonplace.rest.fields import Strict

_ALL = "/api/v1/conversations"
_ONE = f"{_ALL}/{{id}}"
_IF_MATCH = ("If-Match",)
_TOOLS = "/mcp/tools"

CONVERSATIONS = (
    Endpoint(
        *("GET", _ALL, "List conversations", "Conversations", "read", conversations.listing, shapes.LIST),
        query=conversations.Listed,
    ),
    Endpoint(
        *("POST", _ALL, "Store a conversation", "Conversations", "write", conversations.create, shapes.STORED),
        body=conversations.NewConversation,
        max_values=MAX_VALUES_OF_MANY,
        status=201,
        also=(200,),
    ),
    Endpoint(
        *("GET", f"{_ALL}/count", "Count conversations", "Conversations", "read", conversations.count, shapes.COUNT),
        query=conversations.Chosen,
    ),
    Endpoint(
        *("GET", _ONE, "Read a conversation", "Conversations", "read", conversations.read, shapes.WITH_MESSAGES),
        query=conversations.Seen,
    ),
    Endpoint(
        *("PATCH", _ONE, "Change a conversation", "Conversations", "write", organising.change, shapes.CONVERSATION),
        body=organising.Changed,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", _ONE, "Change it by putting", "Conversations", "write", organising.replace, shapes.CONVERSATION),
        body=organising.Changed,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/label", "Give it another title", "Conversations", "write"),
        *(organising.label, shapes.CONVERSATION),
        body=organising.NewLabel,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/folder", "Move it to a folder", "Conversations", "write"),
        *(organising.folder, shapes.CONVERSATION),
        body=organising.NewFolder,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/status", "Give it a status", "Conversations", "write"),
        *(organising.status, shapes.CONVERSATION),
        body=organising.NewStatus,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/pin", "Pin or unpin it", "Conversations", "write"),
        *(organising.pin, shapes.CONVERSATION),
        body=organising.Pinned,
        body_optional=True,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/archive", "Archive it, or bring it back", "Conversations", "write"),
        *(organising.archive, shapes.CONVERSATION),
        body=organising.Archived,
        body_optional=True,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("DELETE", _ONE, "Forget it", "Conversations", "write", conversations.forget, shapes.CONVERSATION),
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("POST", f"{_ONE}/restore", "Restore it", "Conversations", "write"),
        *(conversations.restore, shapes.CONVERSATION),
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("GET", f"{_ONE}/history", "What it was", "Conversations", "read", conversations.history, shapes.CHANGES),
    ),
    Endpoint(
        *("GET", f"{_ONE}/messages", "Its messages", "Conversations", "read", messages.listing, shapes.MESSAGES),
        query=messages.Paged,
    ),
    Endpoint(
        *("POST", f"{_ONE}/messages", "Add messages", "Conversations", "write", messages.add, shapes.GROWN),
        body=messages.NewMessages,
        max_values=MAX_VALUES_OF_MANY,
        status=201,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("POST", f"{_ONE}/summary", "Summarize it", "Conversations", "read", summaries.summary, shapes.SUMMARY),
        query=summaries.Levelled,
    ),
    Endpoint(
        *("POST", f"{_ONE}/suggest-labels", "Labels for it", "Conversations", "read"),
        *(summaries.labels_of, shapes.SUGGESTIONS),
    ),
    Endpoint(
        *("GET", "/api/v1/sessions", "List sessions", "Conversations", "read", conversations.sessions, shapes.LIST),
        query=conversations.Listed,
    ),
    Endpoint(
        *("POST", "/api/v1/messages/{id}/importance", "How important a message is", "Conversations", "write"),
        *(messages.importance, shapes.IMPORTANCE),
        body=messages.Rated,
        body_optional=True,
    ),
    Endpoint(
        *("POST", "/api/v1/messages/score", "How important, by its id", "Conversations", "read"),
        *(messages.scored, shapes.IMPORTANCE),
        body=messages.Scored,
        also=(404,),
    ),
)

ASKING = (
    Endpoint(
        *("POST", "/api/v1/query", "Ask", "Asking", "read", queries.query, shapes.ANSWERS),
        body=queries.Query,
    ),
    Endpoint(
        *("POST", "/api/v1/query/smart", "Ask, with a context", "Asking", "read", queries.smart, shapes.SMART),
        body=queries.SmartQuery,
    ),
    Endpoint(
        *("POST", "/api/v1/search/fts", "Look for words", "Asking", "read", queries.by_words, shapes.WORDS_FOUND),
        body=queries.Words,
    ),
    Endpoint(
        *("POST", "/api/v1/context/assemble", "Messages for a model", "Asking", "read"),
        *(queries.assembled, shapes.ASSEMBLED),
        body=queries.Assembly,
    ),
    Endpoint(
        *("POST", "/api/v1/summarize", "Summarize a conversation", "Asking", "read"),
        *(summaries.summarize, shapes.SUMMARY),
        body=summaries.Summarised,
        also=(404,),
    ),
    Endpoint(
        *("POST", "/api/v1/labels/suggest", "Suggest labels", "Asking", "read", summaries.labels, shapes.LABELS),
        body=summaries.Unlabelled,
        also=(404,),
    ),
)

KEEPING = (
    Endpoint(
        *("GET", "/api/v1/prune/suggestions", "What could go", "Keeping", "read"),
        *(pruning.suggestions, shapes.CANDIDATES),
        query=pruning.Idle,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/prune/dry-run", "What could go, by a body", "Keeping", "read"),
        *(pruning.dry_run, shapes.PRUNING),
        body=pruning.Idle,
        body_optional=True,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/prune/execute", "Archive what was chosen", "Keeping", "write"),
        *(pruning.execute, shapes.ARCHIVED),
        body=pruning.Chosen,
        also=(404,),
        slow=True,
    ),
    Endpoint(
        *("GET", "/api/v1/stats", "Statistics", "Keeping", "read", figures.figures, shapes.STATISTICS),
        query=figures.Counted,
    ),
    Endpoint(
        *("GET", "/api/v1/export", "Export conversations", "Keeping", "read", moving.export, shapes.EXPORTED),
        query=moving.Wanted,
        slow=True,
    ),
    Endpoint(
        *("GET", "/api/v1/archive", "Everything as an archive", "Keeping", "admin", archive.archive),
        media=archive.MEDIA,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/import", "Import conversations or an archive", "Keeping", "write"),
        *(moving.import_, shapes.IMPORTED),
        query=moving.Placed,
        takes=moving.TAKES,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/rebuild-embeddings", "Make all vectors again", "Keeping", "admin"),
        *(figures.rebuild_embeddings, shapes.REBUILDING),
        status=202,
        slow=True,
    ),
)


def _call(
    name: str,
    scope: Scope,
    body: type[Strict],
    also: tuple[int, ...] = (),
    max_values: int = MAX_VALUES,
    *,
    slow: bool = False,
) -> Endpoint:
    return Endpoint(
        *("POST", f"{_TOOLS}/{name}", f"The tool {name}", "Tools", scope, getattr(tools, name), shapes.TOOL_ANSWER),
        body=body,
        also=also,
        max_values=max_values,
        slow=slow,
    )


TOOL_CALLS = (
    Endpoint("GET", _TOOLS, "The tools", "Tools", "read", tools.listing, shapes.TOOLS),
    Endpoint("GET", "/api/v1/mcp/tools", "The tools again", "Tools", "read", tools.listing_of_api, shapes.TOOLS),
    _call("memory_store", "write", tools.StoreCall, max_values=MAX_VALUES_OF_MANY),
    _call("memory_search", "read", queries.Query),
    _call("memory_update", "write", tools.UpdateCall, also=(404,)),
    _call("memory_get_context", "read", tools.OneCall, also=(404,)),
    _call("memory_prune", "read", tools.PruneCall, slow=True),
    _call("memory_export", "read", tools.ExportCall, also=(404,)),
    _call("memory_stats", "read", figures.CountedFilters),
    Endpoint(
        *("POST", "/mcp/memory/search", "Search, for one client", "Tools", "read", queries.searched, shapes.ANSWERS),
        body=queries.Query,
    ),
    Endpoint(
        *("POST", "/mcp/memory/stats", "Statistics, for one client", "Tools", "read"),
        *(figures.figures_by_body, shapes.STATISTICS),
        body=figures.Filtered,
    ),
)

ENDPOINTS: tuple[Endpoint, ...] = (*CONVERSATIONS, *ASKING, *KEEPING, *TOOL_CALLS)
