"""The endpoints about conversations, in the order of the documentation."""

from __future__ import annotations

from commonplace.input_limits import MAX_VALUES, MAX_VALUES_OF_MANY
from commonplace.rest import conversation_shapes as shapes
from commonplace.rest import conversations, import_export, messages, pruning, queries, sekha_tools, status
from commonplace.rest.endpoint import Endpoint, Scope
from commonplace.rest.fields import Strict

_ALL = "/api/v1/conversations"
_ONE = f"{_ALL}/{{id}}"
_IF_MATCH = ("If-Match",)
_TOOLS = "/mcp/tools"

CONVERSATIONS = (
    Endpoint(
        *("GET", _ALL, "List conversations", "Conversations", "read", conversations.list_conversations, shapes.LIST),
        query=conversations.Listed,
    ),
    Endpoint(
        *(
            "POST",
            _ALL,
            "Store a conversation",
            "Conversations",
            "write",
            conversations.create_conversation,
            shapes.STORED,
        ),
        body=conversations.NewConversationRequest,
        max_values=MAX_VALUES_OF_MANY,
        status=201,
        also=(200,),
    ),
    Endpoint(
        *(
            "GET",
            f"{_ALL}/count",
            "Count conversations",
            "Conversations",
            "read",
            conversations.count_conversations,
            shapes.COUNT,
        ),
        query=conversations.Chosen,
    ),
    Endpoint(
        *(
            "GET",
            _ONE,
            "Read a conversation",
            "Conversations",
            "read",
            conversations.read_conversation,
            shapes.WITH_MESSAGES,
        ),
        query=conversations.Seen,
    ),
    Endpoint(
        *(
            "PATCH",
            _ONE,
            "Change a conversation",
            "Conversations",
            "write",
            conversations.change_conversation,
            shapes.CONVERSATION,
        ),
        body=conversations.Changed,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *(
            "PUT",
            _ONE,
            "Change it by putting",
            "Conversations",
            "write",
            conversations.put_conversation,
            shapes.CONVERSATION,
        ),
        body=conversations.Changed,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/label", "Give it another title", "Conversations", "write"),
        *(conversations.put_label, shapes.CONVERSATION),
        body=conversations.NewLabel,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/folder", "Move it to a folder", "Conversations", "write"),
        *(conversations.put_folder, shapes.CONVERSATION),
        body=conversations.NewFolder,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/status", "Give it a status", "Conversations", "write"),
        *(conversations.put_status, shapes.CONVERSATION),
        body=conversations.NewStatus,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/pin", "Pin or unpin it", "Conversations", "write"),
        *(conversations.put_pin, shapes.CONVERSATION),
        body=conversations.Pinned,
        body_optional=True,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("PUT", f"{_ONE}/archive", "Archive it, or bring it back", "Conversations", "write"),
        *(conversations.put_archive, shapes.CONVERSATION),
        body=conversations.Archived,
        body_optional=True,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *(
            "DELETE",
            _ONE,
            "Forget it",
            "Conversations",
            "write",
            conversations.forget_conversation,
            shapes.CONVERSATION,
        ),
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("POST", f"{_ONE}/restore", "Restore it", "Conversations", "write"),
        *(conversations.restore_conversation, shapes.CONVERSATION),
        headers=_IF_MATCH,
    ),
    Endpoint(
        *(
            "GET",
            f"{_ONE}/history",
            "What it was",
            "Conversations",
            "read",
            conversations.conversation_history,
            shapes.CHANGES,
        ),
    ),
    Endpoint(
        *("GET", f"{_ONE}/messages", "Its messages", "Conversations", "read", messages.list_messages, shapes.MESSAGES),
        query=messages.Paged,
    ),
    Endpoint(
        *("POST", f"{_ONE}/messages", "Add messages", "Conversations", "write", messages.add_messages, shapes.GROWN),
        body=messages.MessagesBody,
        max_values=MAX_VALUES_OF_MANY,
        status=201,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *(
            "POST",
            f"{_ONE}/summary",
            "Summarize it",
            "Conversations",
            "read",
            conversations.summarize_conversation,
            shapes.SUMMARY,
        ),
        query=conversations.Levelled,
    ),
    Endpoint(
        *("POST", f"{_ONE}/suggest-labels", "Labels for it", "Conversations", "read"),
        *(conversations.suggest_conversation_labels, shapes.SUGGESTIONS),
    ),
    Endpoint(
        *(
            "GET",
            "/api/v1/sessions",
            "List sessions",
            "Conversations",
            "read",
            conversations.list_sessions,
            shapes.LIST,
        ),
        query=conversations.Listed,
    ),
    Endpoint(
        *("POST", "/api/v1/messages/{id}/importance", "How important a message is", "Conversations", "write"),
        *(messages.message_importance, shapes.IMPORTANCE),
        body=messages.Rated,
        body_optional=True,
    ),
    Endpoint(
        *("POST", "/api/v1/messages/score", "How important, by its id", "Conversations", "read"),
        *(messages.score_message, shapes.IMPORTANCE),
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
        *(conversations.summarize, shapes.SUMMARY),
        body=conversations.Summarised,
        also=(404,),
    ),
    Endpoint(
        *(
            "POST",
            "/api/v1/labels/suggest",
            "Suggest labels",
            "Asking",
            "read",
            conversations.suggest_labels,
            shapes.LABELS,
        ),
        body=conversations.Unlabelled,
        also=(404,),
    ),
)

KEEPING = (
    Endpoint(
        *("GET", "/api/v1/prune/suggestions", "What could go", "Keeping", "read"),
        *(pruning.prune_suggestions, shapes.CANDIDATES),
        query=pruning.Idle,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/prune/dry-run", "What could go, by a body", "Keeping", "read"),
        *(pruning.prune_dry_run, shapes.PRUNING),
        body=pruning.Idle,
        body_optional=True,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/prune/execute", "Archive what was chosen", "Keeping", "write"),
        *(pruning.prune_execute, shapes.ARCHIVED),
        body=pruning.Chosen,
        also=(404,),
        slow=True,
    ),
    Endpoint(
        *("GET", "/api/v1/stats", "Statistics", "Keeping", "read", status.read_statistics, shapes.STATISTICS),
        query=status.Counted,
    ),
    Endpoint(
        *(
            "GET",
            "/api/v1/export",
            "Export conversations",
            "Keeping",
            "read",
            import_export.export_conversations,
            shapes.EXPORTED,
        ),
        query=import_export.Wanted,
        slow=True,
    ),
    Endpoint(
        *("GET", "/api/v1/archive", "Everything as an archive", "Keeping", "admin", import_export.export_archive),
        media=import_export.ARCHIVE_MEDIA,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/import", "Import conversations or an archive", "Keeping", "write"),
        *(import_export.import_files, shapes.IMPORTED),
        query=import_export.Placed,
        takes=import_export.UPLOAD_MEDIA,
        slow=True,
    ),
    Endpoint(
        *("POST", "/api/v1/rebuild-embeddings", "Make all vectors again", "Keeping", "admin"),
        *(status.rebuild_embeddings, shapes.REBUILDING),
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
        *(
            "POST",
            f"{_TOOLS}/{name}",
            f"The tool {name}",
            "Tools",
            scope,
            getattr(sekha_tools, name),
            shapes.TOOL_ANSWER,
        ),
        body=body,
        also=also,
        max_values=max_values,
        slow=slow,
    )


TOOL_CALLS = (
    Endpoint("GET", _TOOLS, "The tools", "Tools", "read", sekha_tools.list_tools, shapes.TOOLS),
    Endpoint("GET", "/api/v1/mcp/tools", "The tools again", "Tools", "read", sekha_tools.list_api_tools, shapes.TOOLS),
    _call("memory_store", "write", sekha_tools.StoreCall, max_values=MAX_VALUES_OF_MANY),
    _call("memory_search", "read", queries.Query),
    _call("memory_update", "write", sekha_tools.UpdateCall, also=(404,)),
    _call("memory_get_context", "read", sekha_tools.OneCall, also=(404,)),
    _call("memory_prune", "read", sekha_tools.PruneCall, slow=True),
    _call("memory_export", "read", sekha_tools.ExportCall, also=(404,)),
    _call("memory_stats", "read", status.CountedFilters),
    Endpoint(
        *(
            "POST",
            "/mcp/memory/search",
            "Search, for one client",
            "Tools",
            "read",
            queries.query_for_bridge,
            shapes.ANSWERS,
        ),
        body=queries.Query,
    ),
    Endpoint(
        *("POST", "/mcp/memory/stats", "Statistics, for one client", "Tools", "read"),
        *(status.statistics_by_body, shapes.STATISTICS),
        body=status.Filtered,
    ),
)

ENDPOINTS: tuple[Endpoint, ...] = (*CONVERSATIONS, *ASKING, *KEEPING, *TOOL_CALLS)
