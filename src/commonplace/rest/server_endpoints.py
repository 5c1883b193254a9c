"""The endpoints about the server and for other machines: projects, keys, spaces, sync, hooks, the library, metrics."""

from __future__ import annotations

from typing import Any

from commonplace.rest import (
    keys_and_spaces,
    memories_sdk,
    metrics,
    openapi,
    projects_and_entities,
    remote,
    status_and_events,
)
from commonplace.rest.endpoint import Call, Endpoint
from commonplace.rest.endpoint_rows import ask, delete, get, patch, post, tagged

# Many records at once, from another Commonplace.
_BULK: dict[str, Any] = {"packed": True, "many_values": True, "slow": True}


def _sdk(path: str, call: Call, name: str, summary: str, **more: Any) -> Endpoint:
    return post(f"{memories_sdk.ROOT}/{path}", call, f"memories_sdk_{name}", summary, **more)


PLACE = tagged(
    "Projects and keys",
    get("/projects", projects_and_entities.list_projects, "place_projects", "List projects", verb="projects"),
    get(
        "/overview",
        projects_and_entities.read_overview,
        "place_overview",
        "Show where a project stands",
        verb="overview",
        also=(404, 409),
    ),
    get(
        "/overviews",
        projects_and_entities.list_briefs,
        "place_overviews",
        "Show all projects in short",
        verb="overviews",
    ),
    post(
        "/projects/aliases",
        projects_and_entities.alias_project,
        "place_alias",
        "Give a project another name",
        also=(404,),
    ),
    get("/status", status_and_events.read_status, "place_status", "Show what is stored", verb="status"),
    get("/keys", keys_and_spaces.list_keys, "place_key_list", "List keys", scope="admin"),
    post("/keys", keys_and_spaces.create_key, "place_key_create", "Create a key", scope="admin", status=201),
    delete("/keys/{id}", keys_and_spaces.revoke_key, "place_key_revoke", "Revoke a key", scope="admin"),
)

SPACES = tagged(
    "Spaces",
    get("/spaces", keys_and_spaces.list_spaces, "spaces_listing", "List spaces"),
    post("/spaces", keys_and_spaces.create_space, "spaces_create", "Create a space", scope="admin", status=201),
    get("/spaces/{name}", keys_and_spaces.read_space, "spaces_read", "Show a space"),
    patch("/spaces/{name}", keys_and_spaces.set_space_limits, "spaces_limit", "Change its limits", scope="admin"),
    get("/spaces/{name}/keys", keys_and_spaces.list_space_keys, "spaces_people", "List its keys", scope="admin"),
    post(
        "/spaces/{name}/keys",
        keys_and_spaces.create_space_key,
        "spaces_invite",
        "Create a key for it",
        scope="admin",
        status=201,
    ),
    delete(
        "/spaces/{name}/keys/{id}",
        keys_and_spaces.revoke_space_key,
        "spaces_revoke",
        "Revoke one of them",
        scope="admin",
    ),
)

SYNCING = tagged(
    "Sync",
    get("/sync", remote.sync_position, "syncing_standing", "Show the state of the space"),
    get("/sync/changes", remote.changes, "syncing_changes", "List changes", slow=True, new_project=True),
    ask("/sync/compare", remote.compare, "syncing_compare", "Compare records", **_BULK),
    ask("/sync/fetch", remote.records_by_name, "syncing_fetch", "Fetch records by name", **_BULK),
    get("/sync/records", remote.changed_records, "syncing_told", "Fetch changed records", slow=True, new_project=True),
    post("/sync/records", remote.take_records, "syncing_take", "Store records", **_BULK),
)

HOOKS = tagged(
    "Hooks",
    post("/hooks/events", remote.take_events, "hooks_take", "Store captured events", **_BULK),
    get(
        "/hooks/context",
        remote.read_start_context,
        "hooks_context",
        "Get the context for a new session",
        verb="session_context",
        new_project=True,
    ),
    ask(
        "/hooks/hints",
        remote.read_hints,
        "hooks_hints",
        "Get what concerns a prompt or a tool",
        packed=True,
        many_values=True,
    ),
)

LIBRARY = tagged(
    "Library",
    ask(
        "/verbs/{verb}",
        remote.call_verb,
        "verbs_call_verb",
        "Call a method of the library",
        packed=True,
        also=(404, 409),
        slow=True,
    ),
)

MEMORIES_SDK = tagged(
    "memories.sh SDK",
    _sdk("context/get", memories_sdk.get_context, "context", "Get rules and relevant memories", verb="context"),
    _sdk("memories/add", memories_sdk.add, "add", "Store a memory", verb="add", status=201, also=(200,)),
    _sdk("memories/search", memories_sdk.search, "search", "Search memories", verb="search"),
    _sdk("memories/list", memories_sdk.list_memories, "listing", "List memories", verb="list"),
    _sdk("memories/edit", memories_sdk.edit, "edit", "Edit a memory", verb="edit", also=(404,)),
    _sdk("memories/forget", memories_sdk.forget, "forget", "Forget a memory", verb="forget", also=(404,)),
    _sdk("memories/bulk-forget", memories_sdk.bulk_forget, "bulk_forget", "Forget several memories", verb="forget"),
    _sdk(
        "memories/vacuum",
        memories_sdk.vacuum,
        "vacuum",
        "Purge nothing: forgotten memories can be restored",
        verb="forget",
    ),
)

WATCHING = tagged(
    "Events and metrics",
    get(
        "/events",
        status_and_events.events,
        "events_events",
        "Follow changes",
        media="text/event-stream",
        headers=("Last-Event-ID",),
    ),
    get(
        "/metrics",
        metrics.metrics,
        "metrics_metrics",
        "Metrics for Prometheus",
        media=metrics.MEDIA,
        json_reply=metrics.MetricsReply,
    ),
)

DOCS = tagged(
    "Documentation",
    get("/openapi.json", openapi.openapi_document, "docs_openapi", "The OpenAPI document", scope=None),
    get("/docs", openapi.docs_page, "docs_page", "The API page", scope=None, media="text/html"),
    get("/docs/docs.js", openapi.docs_script, "docs_script", "Its script", scope=None, media="text/javascript"),
    get("/docs/docs.css", openapi.docs_style, "docs_style", "Its style", scope=None, media="text/css"),
)
