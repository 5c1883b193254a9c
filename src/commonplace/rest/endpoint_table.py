"""Every endpoint, in the order of the documentation. To add one: a function with its types, and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from commonplace.rest import (
    conversations,
    import_export,
    items,
    keys_and_spaces,
    memories_sdk,
    messages,
    metrics,
    openapi,
    projects_and_entities,
    remote,
    review,
    search,
    sekha_tools,
    status_and_events,
)
from commonplace.rest.endpoint import Call, Endpoint, Method, Scope
from commonplace.text.untrusted_json import MAX_VALUES_OF_MANY

# Paths are below this unless they begin with one of the others.
_ROOT, _OTHER_ROOTS = "/api/v1", ("/api/", "/mcp/", "/metrics")


def _row(
    method: Method,
    path: str,
    call: Call,
    operation: str,
    summary: str,
    *,
    scope: Scope | None = "write",
    if_match: bool = False,
    many_values: bool = False,
    **more: Any,
) -> Endpoint:
    """A row; `operation` with the method names it for clients that are generated from the document."""
    if if_match:
        more["headers"] = ("If-Match",)
    if many_values:
        more["max_values"] = MAX_VALUES_OF_MANY
    whole = path if path.startswith(_OTHER_ROOTS) else _ROOT + path
    return Endpoint(method, whole, call, f"{operation}_{method.lower()}", summary, scope, **more)


_get = partial(_row, "GET", scope="read")
_ask = partial(_row, "POST", scope="read")
_post = partial(_row, "POST")
_put = partial(_row, "PUT", if_match=True)
_patch = partial(_row, "PATCH")
_delete = partial(_row, "DELETE")


# Many records at once, from another Commonplace.
_BULK: dict[str, Any] = {"packed": True, "many_values": True, "slow": True}


def _tool(row: Callable[..., Endpoint], call: Call, **more: Any) -> Endpoint:
    name = call.__name__
    return row(f"/mcp/tools/{name}", call, f"tools_{name}", f"The tool {name}", **more)


def _sdk(row: Callable[..., Endpoint], path: str, call: Call, name: str, summary: str, **more: Any) -> Endpoint:
    return row(f"{memories_sdk.ROOT}/{path}", call, f"memories_sdk_{name}", summary, **more)


def _tagged(tag: str, *rows: Endpoint) -> tuple[Endpoint, ...]:
    return tuple(replace(row, tag=tag) for row in rows)


ITEMS = _tagged(
    "Items",
    _get("/items", items.list_items, "items_listing", "List items"),
    _post("/items", items.create_item, "items_create", "Add an item", status=201, also=(200,)),
    _post(
        *("/items/batch", items.create_items, "items_create_batch", "Add several items"),
        status=201,
        slow=True,
        many_values=True,
    ),
    _get("/items/{id}", items.read_item, "items_read", "Show an item"),
    _patch("/items/{id}", items.change_item, "items_change", "Change an item", if_match=True, also=(202,)),
    _delete("/items/{id}", items.forget_item, "items_forget", "Forget an item", if_match=True, also=(202,)),
    _post("/items/{id}/restore", items.restore_item, "items_restore", "Restore an item", if_match=True, also=(202,)),
    _get("/items/{id}/history", items.item_history, "items_history", "Show its earlier versions"),
    _post(
        "/items/{id}/revert",
        items.revert_item,
        "items_revert",
        "Revert an item",
        body_optional=True,
        if_match=True,
        also=(202,),
    ),
    _post(
        "/items/{id}/supersede",
        items.supersede_item,
        "items_supersede",
        "Supersede an item",
        if_match=True,
        also=(202,),
    ),
    _get("/items/{id}/timeline", items.item_timeline, "items_timeline", "Show what happened before and after it"),
    _get("/contradictions", review.list_contradictions, "contradictions_listing", "List contradictions", also=(404,)),
    _post("/contradictions", review.settle, "contradictions_settle", "Settle a contradiction", also=(404,)),
)

REVIEW = _tagged(
    "Review",
    _get("/review", review.list_proposals, "review_listing", "List proposals"),
    _post(
        "/review/{id}/accept", review.accept_proposal, "review_accept", "Accept one", body_optional=True, if_match=True
    ),
    _post("/review/{id}/dismiss", review.dismiss_proposal, "review_dismiss", "Dismiss one", if_match=True),
    _post("/review/{id}/undo", review.undo_review, "review_undo", "Undo either", if_match=True),
)

FINDING = _tagged(
    "Search",
    _get("/search", search.search_items, "search_found", "Search"),
    _ask("/search", search.search_by_body, "search_found_by_body", "Search, for long queries"),
    _get("/context", search.read_context, "search_context", "Get the context for a task"),
    _get("/rules", search.read_rules, "search_rules", "List the rules"),
    _get(
        "/entities",
        projects_and_entities.list_entities,
        "entities_listing",
        "List the people and things that memories name",
        also=(404,),
    ),
    _get("/about", projects_and_entities.read_entity, "entities_read", "Show what is known about one", also=(404,)),
    _get(
        "/profile", projects_and_entities.read_profile, "profile_read", "Show how you and your team work", also=(404,)
    ),
    _post(
        "/profile/{id}",
        projects_and_entities.show_in_profile,
        "profile_show",
        "Pin or hide a memory there",
        if_match=True,
    ),
)

STREAMS = _tagged(
    "Streams",
    _get("/streams", items.list_streams, "streams_listing", "List open streams"),
    _post("/streams", items.start_stream, "streams_start", "Start a stream", status=201, body_optional=True),
    _post("/streams/{id}/chunks", items.append_chunk, "streams_append", "Append a chunk"),
    _post("/streams/{id}/finalize", items.finalize_stream, "streams_finalize", "Store it as one memory"),
    _delete("/streams/{id}", items.cancel_stream, "streams_cancel", "Cancel it"),
)

CONVERSATIONS = _tagged(
    "Conversations",
    _get("/conversations", conversations.list_conversations, "conversations_listing", "List conversations"),
    _post(
        *("/conversations", conversations.create_conversation, "conversations_create", "Store a conversation"),
        status=201,
        also=(200,),
        many_values=True,
    ),
    _get("/conversations/count", conversations.count_conversations, "conversations_count", "Count conversations"),
    _get("/conversations/{id}", conversations.read_conversation, "conversations_read", "Show a conversation"),
    _patch(
        *("/conversations/{id}", conversations.change_conversation, "organising_change", "Change a conversation"),
        if_match=True,
    ),
    _put(
        "/conversations/{id}",
        conversations.change_conversation,
        "organising_replace",
        "Change it (for clients that use PUT)",
    ),
    _put("/conversations/{id}/label", conversations.put_label, "organising_label", "Rename it"),
    _put("/conversations/{id}/folder", conversations.put_folder, "organising_folder", "Move it to a folder"),
    _put("/conversations/{id}/status", conversations.put_status, "organising_status", "Change its status"),
    _put("/conversations/{id}/pin", conversations.put_pin, "organising_pin", "Pin or unpin it", body_optional=True),
    _put(
        *(
            "/conversations/{id}/archive",
            conversations.put_archive,
            "organising_archive",
            "Archive or unarchive it",
        ),
        body_optional=True,
    ),
    _delete(
        "/conversations/{id}", conversations.forget_conversation, "conversations_forget", "Forget it", if_match=True
    ),
    _post(
        *("/conversations/{id}/restore", conversations.restore_conversation, "conversations_restore", "Restore it"),
        if_match=True,
    ),
    _get(
        "/conversations/{id}/history",
        conversations.conversation_history,
        "conversations_history",
        "Show its earlier versions",
    ),
    _get("/conversations/{id}/messages", messages.list_messages, "messages_listing", "List its messages"),
    _post(
        *("/conversations/{id}/messages", messages.add_messages, "messages_add", "Add messages"),
        status=201,
        if_match=True,
        many_values=True,
    ),
    _ask("/conversations/{id}/summary", messages.summarize_conversation, "summaries_summary", "Summarize it"),
    _ask(
        *(
            "/conversations/{id}/suggest-labels",
            messages.suggest_conversation_labels,
            "summaries_labels_of",
            "Suggest labels for it",
        ),
    ),
    _get("/sessions", conversations.list_sessions, "conversations_sessions", "List sessions"),
    _post(
        *(
            "/messages/{id}/importance",
            messages.message_importance,
            "messages_importance",
            "Rate a message, or estimate its importance",
        ),
        body_optional=True,
    ),
    _ask(
        "/messages/score",
        messages.score_message,
        "messages_scored",
        "Estimate it, with the id in the body",
        also=(404,),
    ),
)

ASKING = _tagged(
    "Queries",
    _ask("/query", search.query, "queries_query", "Search messages and memories"),
    _ask("/query/smart", search.smart, "queries_smart", "Search, and assemble a context"),
    _ask("/search/fts", search.by_words, "queries_by_words", "Search by words"),
    _ask("/context/assemble", search.assembled, "queries_assembled", "Assemble messages for a model"),
    _ask("/summarize", messages.summarize, "summaries_summarize", "Summarize a conversation", also=(404,)),
    _ask("/labels/suggest", messages.suggest_labels, "summaries_labels", "Suggest labels", also=(404,)),
)

KEEPING = _tagged(
    "Pruning, import and export",
    _get(
        "/prune/suggestions",
        conversations.prune_suggestions,
        "pruning_suggestions",
        "List what could be archived",
        slow=True,
    ),
    _ask(
        *("/prune/dry-run", conversations.prune_dry_run, "pruning_dry_run", "The same, with a body"),
        body_optional=True,
        slow=True,
    ),
    _post(
        *("/prune/execute", conversations.prune_execute, "pruning_execute", "Archive the chosen ones"),
        also=(404,),
        slow=True,
    ),
    _get("/stats", status_and_events.read_statistics, "figures_figures", "Count conversations and messages"),
    _get("/export", import_export.export_conversations, "moving_export", "Export conversations", slow=True),
    _get(
        *("/archive", import_export.export_archive, "archive_archive", "Export everything"),
        scope="admin",
        media=import_export.ARCHIVE_MEDIA,
        slow=True,
    ),
    _post(
        *("/import", import_export.import_files, "moving_import", "Import conversations or an archive"),
        takes=import_export.UPLOAD_MEDIA,
        slow=True,
    ),
    _post(
        *(
            "/rebuild-embeddings",
            status_and_events.rebuild_embeddings,
            "figures_rebuild_embeddings",
            "Rebuild all vectors",
        ),
        scope="admin",
        status=202,
        slow=True,
    ),
)

TOOLS = _tagged(
    "Tools over HTTP",
    _get("/mcp/tools", sekha_tools.list_tools, "tools_listing", "List the tools"),
    _get("/api/v1/mcp/tools", sekha_tools.list_tools, "tools_listing_of_api", "List the tools"),
    _tool(_post, sekha_tools.memory_store, many_values=True),
    _tool(_ask, sekha_tools.memory_search),
    _tool(_post, sekha_tools.memory_update, also=(404,)),
    _tool(_ask, sekha_tools.memory_get_context, also=(404,)),
    _tool(_ask, sekha_tools.memory_prune, slow=True),
    _tool(_ask, sekha_tools.memory_export, also=(404,)),
    _tool(_ask, sekha_tools.memory_stats),
    _ask("/mcp/memory/search", search.query, "queries_searched", "Search"),
    _ask("/mcp/memory/stats", status_and_events.statistics_by_body, "figures_figures_by_body", "Count"),
)

PLACE = _tagged(
    "Projects and keys",
    _get("/projects", projects_and_entities.list_projects, "place_projects", "List projects"),
    _get(
        "/overview",
        projects_and_entities.read_overview,
        "place_overview",
        "Show where a project stands",
        also=(404, 409),
    ),
    _get("/overviews", projects_and_entities.list_briefs, "place_overviews", "Show all projects in short"),
    _post(
        "/projects/aliases",
        projects_and_entities.alias_project,
        "place_alias",
        "Give a project another name",
        also=(404,),
    ),
    _get("/status", status_and_events.read_status, "place_status", "Show what is stored"),
    _get("/keys", keys_and_spaces.list_keys, "place_key_list", "List keys", scope="admin"),
    _post("/keys", keys_and_spaces.create_key, "place_key_create", "Create a key", scope="admin", status=201),
    _delete("/keys/{id}", keys_and_spaces.revoke_key, "place_key_revoke", "Revoke a key", scope="admin"),
)

SPACES = _tagged(
    "Spaces",
    _get("/spaces", keys_and_spaces.list_spaces, "spaces_listing", "List spaces"),
    _post("/spaces", keys_and_spaces.create_space, "spaces_create", "Create a space", scope="admin", status=201),
    _get("/spaces/{name}", keys_and_spaces.read_space, "spaces_read", "Show a space"),
    _patch("/spaces/{name}", keys_and_spaces.set_space_limits, "spaces_limit", "Change its limits", scope="admin"),
    _get(
        *("/spaces/{name}/keys", keys_and_spaces.list_space_keys, "spaces_people", "List its keys"),
        scope="admin",
    ),
    _post(
        *("/spaces/{name}/keys", keys_and_spaces.create_space_key, "spaces_invite", "Create a key for it"),
        scope="admin",
        status=201,
    ),
    _delete(
        *("/spaces/{name}/keys/{id}", keys_and_spaces.revoke_space_key, "spaces_revoke", "Revoke one of them"),
        scope="admin",
    ),
)

SYNCING = _tagged(
    "Sync",
    _get("/sync", remote.sync_position, "syncing_standing", "Show the state of the space"),
    _get("/sync/changes", remote.changes, "syncing_changes", "List changes", slow=True, new_project=True),
    _ask("/sync/compare", remote.compare, "syncing_compare", "Compare records", **_BULK),
    _ask("/sync/fetch", remote.records_by_name, "syncing_fetch", "Fetch records by name", **_BULK),
    _get("/sync/records", remote.changed_records, "syncing_told", "Fetch changed records", slow=True, new_project=True),
    _post("/sync/records", remote.take_records, "syncing_take", "Store records", **_BULK),
)

HOOKS = _tagged(
    "Hooks",
    _post("/hooks/events", remote.take_events, "hooks_take", "Store captured events", **_BULK),
    _get(
        *("/hooks/context", remote.read_start_context, "hooks_context", "Get the context for a new session"),
        new_project=True,
    ),
    _ask(
        *("/hooks/hints", remote.read_hints, "hooks_hints", "Get what concerns a prompt or a tool"),
        packed=True,
        many_values=True,
    ),
)

LIBRARY = _tagged(
    "Library",
    _ask(
        *("/verbs/{verb}", remote.call_verb, "verbs_call_verb", "Call a method of the library"),
        packed=True,
        also=(404, 409),
        slow=True,
    ),
)

MEMORIES_SDK = _tagged(
    "memories.sh SDK",
    _sdk(_ask, "context/get", memories_sdk.get_context, "context", "Get rules and relevant memories"),
    _sdk(_post, "memories/add", memories_sdk.add, "add", "Store a memory", status=201, also=(200,)),
    _sdk(_ask, "memories/search", memories_sdk.search, "search", "Search memories"),
    _sdk(_ask, "memories/list", memories_sdk.list_memories, "listing", "List memories"),
    _sdk(_post, "memories/edit", memories_sdk.edit, "edit", "Edit a memory", also=(404,)),
    _sdk(_post, "memories/forget", memories_sdk.forget, "forget", "Forget a memory", also=(404,)),
    _sdk(_post, "memories/bulk-forget", memories_sdk.bulk_forget, "bulk_forget", "Forget several memories"),
    _sdk(
        *(_post, "memories/vacuum", memories_sdk.vacuum, "vacuum"),
        "Purge nothing: forgotten memories can be restored",
    ),
)

WATCHING = _tagged(
    "Events and metrics",
    _get(
        "/events",
        status_and_events.events,
        "events_events",
        "Follow changes",
        media="text/event-stream",
        headers=("Last-Event-ID",),
    ),
    _get(
        "/metrics",
        metrics.metrics,
        "metrics_metrics",
        "Metrics for Prometheus",
        media=metrics.MEDIA,
        json_reply=metrics.MetricsReply,
    ),
)

DOCS = _tagged(
    "Documentation",
    _get("/openapi.json", openapi.openapi_document, "docs_openapi", "The OpenAPI document", scope=None),
    _get("/docs", openapi.docs_page, "docs_page", "The API page", scope=None, media="text/html"),
    _get("/docs/docs.js", openapi.docs_script, "docs_script", "Its script", scope=None, media="text/javascript"),
    _get("/docs/docs.css", openapi.docs_style, "docs_style", "Its style", scope=None, media="text/css"),
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
