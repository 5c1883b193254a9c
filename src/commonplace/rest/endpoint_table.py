"""Every endpoint, in the order of the documentation. To add one: a function with its types, and a row here.

Those about the server and for other machines are in server_endpoints.py.
"""

from __future__ import annotations

from typing import Any

from commonplace.rest import (
    conversations,
    import_export,
    items,
    messages,
    projects_and_entities,
    review,
    search,
    sekha_tools,
    status_and_events,
)
from commonplace.rest.endpoint import Call, Endpoint
from commonplace.rest.endpoint_rows import ask, delete, get, patch, post, put, tagged
from commonplace.rest.server_endpoints import (
    DOCS,
    HOOKS,
    LIBRARY,
    MEMORIES_SDK,
    PLACE,
    SPACES,
    SYNCING,
    WATCHING,
)


def _tool(call: Call, **more: Any) -> Endpoint:
    """A tool needs what it needs over MCP."""
    name = call.__name__
    scope = sekha_tools.TOOL_BY_NAME[name].verb.key_scope
    return post(f"/mcp/tools/{name}", call, f"tools_{name}", f"The tool {name}", scope=scope, **more)


ITEMS = tagged(
    "Items",
    get("/items", items.list_items, "items_listing", "List items", verb="list"),
    post("/items", items.create_item, "items_create", "Add an item", verb="add", status=201, also=(200,)),
    post(
        "/items/batch",
        items.create_items,
        "items_create_batch",
        "Add several items",
        verb="add_many",
        status=201,
        slow=True,
        many_values=True,
    ),
    get("/items/{id}", items.read_item, "items_read", "Show an item", verb="get"),
    patch("/items/{id}", items.change_item, "items_change", "Change an item", verb="edit", if_match=True, also=(202,)),
    delete(
        "/items/{id}", items.forget_item, "items_forget", "Forget an item", verb="forget", if_match=True, also=(202,)
    ),
    post(
        "/items/{id}/restore",
        items.restore_item,
        "items_restore",
        "Restore an item",
        verb="restore",
        if_match=True,
        also=(202,),
    ),
    get("/items/{id}/history", items.item_history, "items_history", "Show its earlier versions", verb="history"),
    post(
        "/items/{id}/revert",
        items.revert_item,
        "items_revert",
        "Revert an item",
        verb="revert",
        body_optional=True,
        if_match=True,
        also=(202,),
    ),
    post(
        "/items/{id}/supersede",
        items.supersede_item,
        "items_supersede",
        "Supersede an item",
        verb="supersede",
        if_match=True,
        also=(202,),
    ),
    get(
        "/items/{id}/timeline",
        items.item_timeline,
        "items_timeline",
        "Show what happened before and after it",
        verb="timeline",
    ),
    get(
        "/contradictions",
        review.list_contradictions,
        "contradictions_listing",
        "List contradictions",
        verb="open_contradictions",
        also=(404,),
    ),
    post(
        "/contradictions", review.settle, "contradictions_settle", "Settle a contradiction", verb="settle", also=(404,)
    ),
)

REVIEW = tagged(
    "Review",
    get("/review", review.list_proposals, "review_listing", "List proposals", verb="proposals"),
    post(
        "/review/{id}/accept",
        review.accept_proposal,
        "review_accept",
        "Accept one",
        verb="accept",
        body_optional=True,
        if_match=True,
    ),
    post(
        "/review/{id}/dismiss", review.dismiss_proposal, "review_dismiss", "Dismiss one", verb="dismiss", if_match=True
    ),
    post("/review/{id}/undo", review.undo_review, "review_undo", "Undo either", verb="undo_review", if_match=True),
)

FINDING = tagged(
    "Search",
    get("/search", search.search_items, "search_found", "Search", verb="search"),
    post("/search", search.search_by_body, "search_found_by_body", "Search, for long queries", verb="search"),
    get("/context", search.read_context, "search_context", "Get the context for a task", verb="context"),
    get("/rules", search.read_rules, "search_rules", "List the rules", verb="rules"),
    get(
        "/entities",
        projects_and_entities.list_entities,
        "entities_listing",
        "List the people and things that memories name",
        verb="entities",
        also=(404,),
    ),
    get(
        "/about",
        projects_and_entities.read_entity,
        "entities_read",
        "Show what is known about one",
        verb="about",
        also=(404,),
    ),
    get(
        "/profile",
        projects_and_entities.read_profile,
        "profile_read",
        "Show how you and your team work",
        verb="profile",
        also=(404,),
    ),
    post(
        "/profile/{id}",
        projects_and_entities.show_in_profile,
        "profile_show",
        "Pin or hide a memory there",
        verb="show_in_profile",
        if_match=True,
    ),
)

STREAMS = tagged(
    "Streams",
    get("/streams", items.list_streams, "streams_listing", "List open streams"),
    post("/streams", items.start_stream, "streams_start", "Start a stream", verb="add", status=201, body_optional=True),
    post("/streams/{id}/chunks", items.append_chunk, "streams_append", "Append a chunk", verb="add"),
    post("/streams/{id}/finalize", items.finalize_stream, "streams_finalize", "Store it as one memory", verb="add"),
    delete("/streams/{id}", items.cancel_stream, "streams_cancel", "Cancel it", verb="add"),
)

CONVERSATIONS = tagged(
    "Conversations",
    get(
        "/conversations",
        conversations.list_conversations,
        "conversations_listing",
        "List conversations",
        verb="conversations",
    ),
    post(
        "/conversations",
        conversations.create_conversation,
        "conversations_create",
        "Store a conversation",
        verb="store_conversation",
        status=201,
        also=(200,),
        many_values=True,
    ),
    get(
        "/conversations/count",
        conversations.count_conversations,
        "conversations_count",
        "Count conversations",
        verb="stats",
    ),
    get(
        "/conversations/{id}",
        conversations.read_conversation,
        "conversations_read",
        "Show a conversation",
        verb="conversation",
    ),
    patch(
        "/conversations/{id}",
        conversations.change_conversation,
        "organising_change",
        "Change a conversation",
        verb="update_conversation",
        if_match=True,
    ),
    put(
        "/conversations/{id}",
        conversations.change_conversation,
        "organising_replace",
        "Change it (for clients that use PUT)",
        verb="update_conversation",
    ),
    put(
        "/conversations/{id}/label",
        conversations.put_label,
        "organising_label",
        "Rename it",
        verb="update_conversation",
    ),
    put(
        "/conversations/{id}/folder",
        conversations.put_folder,
        "organising_folder",
        "Move it to a folder",
        verb="update_conversation",
    ),
    put(
        "/conversations/{id}/status",
        conversations.put_status,
        "organising_status",
        "Change its status",
        verb="update_conversation",
    ),
    put(
        "/conversations/{id}/pin",
        conversations.put_pin,
        "organising_pin",
        "Pin or unpin it",
        verb="update_conversation",
        body_optional=True,
    ),
    put(
        "/conversations/{id}/archive",
        conversations.put_archive,
        "organising_archive",
        "Archive or unarchive it",
        verb="update_conversation",
        body_optional=True,
    ),
    delete(
        "/conversations/{id}",
        conversations.forget_conversation,
        "conversations_forget",
        "Forget it",
        verb="forget_conversation",
        if_match=True,
    ),
    post(
        "/conversations/{id}/restore",
        conversations.restore_conversation,
        "conversations_restore",
        "Restore it",
        verb="restore_conversation",
        if_match=True,
    ),
    get(
        "/conversations/{id}/history",
        conversations.conversation_history,
        "conversations_history",
        "Show its earlier versions",
    ),
    get(
        "/conversations/{id}/messages",
        messages.list_messages,
        "messages_listing",
        "List its messages",
        verb="conversation",
    ),
    post(
        "/conversations/{id}/messages",
        messages.add_messages,
        "messages_add",
        "Add messages",
        verb="append",
        status=201,
        if_match=True,
        many_values=True,
    ),
    ask("/conversations/{id}/summary", messages.summarize_conversation, "summaries_summary", "Summarize it"),
    ask(
        "/conversations/{id}/suggest-labels",
        messages.suggest_conversation_labels,
        "summaries_labels_of",
        "Suggest labels for it",
    ),
    get("/sessions", conversations.list_sessions, "conversations_sessions", "List sessions", verb="sessions"),
    post(
        "/messages/{id}/importance",
        messages.message_importance,
        "messages_importance",
        "Rate a message, or estimate its importance",
        body_optional=True,
    ),
    ask(
        "/messages/score",
        messages.score_message,
        "messages_scored",
        "Estimate it, with the id in the body",
        also=(404,),
    ),
)

ASKING = tagged(
    "Queries",
    post("/query", search.query, "queries_query", "Search messages and memories", verb="search"),
    post("/query/smart", search.smart, "queries_smart", "Search, and assemble a context", verb="context"),
    post("/search/fts", search.by_words, "queries_by_words", "Search by words", verb="search"),
    post("/context/assemble", search.assembled, "queries_assembled", "Assemble messages for a model", verb="context"),
    ask("/summarize", messages.summarize, "summaries_summarize", "Summarize a conversation", also=(404,)),
    ask("/labels/suggest", messages.suggest_labels, "summaries_labels", "Suggest labels", also=(404,)),
)

KEEPING = tagged(
    "Pruning, import and export",
    get(
        "/prune/suggestions",
        conversations.prune_suggestions,
        "pruning_suggestions",
        "List what could be archived",
        verb="prune",
        slow=True,
    ),
    post(
        "/prune/dry-run",
        conversations.prune_dry_run,
        "pruning_dry_run",
        "The same, with a body",
        verb="prune",
        body_optional=True,
        slow=True,
    ),
    post(
        "/prune/execute",
        conversations.prune_execute,
        "pruning_execute",
        "Archive the chosen ones",
        verb="update_conversation",
        also=(404,),
        slow=True,
    ),
    get(
        "/stats", status_and_events.read_statistics, "figures_figures", "Count conversations and messages", verb="stats"
    ),
    get(
        "/export",
        import_export.export_conversations,
        "moving_export",
        "Export conversations",
        verb="export_conversation",
        slow=True,
    ),
    get(
        "/archive",
        import_export.export_archive,
        "archive_archive",
        "Export everything",
        verb="export",
        media=import_export.ARCHIVE_MEDIA,
        slow=True,
    ),
    post(
        "/import",
        import_export.import_files,
        "moving_import",
        "Import conversations or an archive",
        verb="import_",
        takes=import_export.UPLOAD_MEDIA,
        slow=True,
    ),
    post(
        "/rebuild-embeddings",
        status_and_events.rebuild_embeddings,
        "figures_rebuild_embeddings",
        "Rebuild all vectors",
        scope="admin",
        status=202,
        slow=True,
    ),
)

TOOLS = tagged(
    "Tools over HTTP",
    get("/mcp/tools", sekha_tools.list_tools, "tools_listing", "List the tools"),
    get("/api/v1/mcp/tools", sekha_tools.list_tools, "tools_listing_of_api", "List the tools"),
    _tool(sekha_tools.memory_store, many_values=True),
    _tool(sekha_tools.memory_search),
    _tool(sekha_tools.memory_update, also=(404,)),
    _tool(sekha_tools.memory_get_context, also=(404,)),
    _tool(sekha_tools.memory_prune, slow=True),
    _tool(sekha_tools.memory_export, also=(404,)),
    _tool(sekha_tools.memory_stats),
    post("/mcp/memory/search", search.query, "queries_searched", "Search", verb="search"),
    post("/mcp/memory/stats", status_and_events.statistics_by_body, "figures_figures_by_body", "Count", verb="stats"),
)

ENDPOINTS: tuple[Endpoint, ...] = (
    *ITEMS,
    *REVIEW,
    *FINDING,
    *STREAMS,
    *CONVERSATIONS,
    *ASKING,
    *KEEPING,
    *TOOLS,
    *PLACE,
    *SPACES,
    *SYNCING,
    *HOOKS,
    *MEMORIES_SDK,
    *LIBRARY,
    *WATCHING,
    *DOCS,
)
