"""Every endpoint, in the order of the documentation. To add one: a function, its models, and a row here."""

from __future__ import annotations

from commonplace.dialects.kiro_records import ContextReply
from commonplace.dialects.schema import schema_of
from commonplace.input_limits import MAX_VALUES_OF_MANY
from commonplace.rest import (
    conversation_shapes,
    conversation_table,
    events,
    items,
    keys_and_spaces,
    memories_sdk,
    metrics,
    openapi,
    search,
    shapes,
    streams,
    sync,
    verbs,
)
from commonplace.rest.endpoint import Endpoint

_ITEMS = "/api/v1/items"
_STREAMS = "/api/v1/streams"
_IF_MATCH = ("If-Match",)

ITEMS = (
    Endpoint("GET", _ITEMS, "List items", "Items", "read", items.list_items, shapes.PAGE, query=items.Listed),
    Endpoint(
        *("POST", _ITEMS, "Remember", "Items", "write", items.create_item, shapes.CREATED),
        body=items.ItemBody,
        status=201,
        also=(200,),
    ),
    Endpoint(
        *("POST", f"{_ITEMS}/batch", "Remember several things", "Items", "write", items.create_items, shapes.BATCH),
        body=items.ItemsBody,
        max_values=MAX_VALUES_OF_MANY,
        status=201,
        slow=True,
    ),
    Endpoint(
        "GET", f"{_ITEMS}/{{id}}", "Read an item", "Items", "read", items.read_item, shapes.ITEM, query=items.Seen
    ),
    Endpoint(
        *("PATCH", f"{_ITEMS}/{{id}}", "Change an item", "Items", "write", items.change_item, shapes.ITEM),
        body=items.ItemChanges,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("DELETE", f"{_ITEMS}/{{id}}", "Forget an item", "Items", "write", items.forget_item, shapes.FORGOTTEN),
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("POST", f"{_ITEMS}/{{id}}/restore", "Restore an item", "Items", "write", items.restore_item, shapes.ITEM),
        headers=_IF_MATCH,
    ),
    Endpoint(
        "GET", f"{_ITEMS}/{{id}}/history", "What an item was", "Items", "read", items.item_history, shapes.HISTORY
    ),
    Endpoint(
        *("POST", f"{_ITEMS}/{{id}}/revert", "Revert an item", "Items", "write", items.revert_item, shapes.ITEM),
        body=items.Reverted,
        body_optional=True,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("POST", f"{_ITEMS}/{{id}}/supersede", "Supersede an item", "Items", "write"),
        *(items.supersede_item, shapes.SUPERSEDED),
        body=items.Superseding,
        headers=_IF_MATCH,
    ),
    Endpoint(
        *("GET", f"{_ITEMS}/{{id}}/timeline", "What happened around an item", "Items", "read"),
        *(items.item_timeline, shapes.TIMELINE),
        query=items.Around,
    ),
)

FINDING = (
    Endpoint(
        "GET", "/api/v1/search", "Search", "Finding", "read", search.search_items, shapes.FOUND, query=search.Search
    ),
    Endpoint(
        *("POST", "/api/v1/search", "Search with a long question", "Finding", "read"),
        *(search.search_by_body, shapes.FOUND_EITHER),
        body=search.SearchBody,
    ),
    Endpoint(
        "GET",
        "/api/v1/context",
        "Context for a task",
        "Finding",
        "read",
        search.read_context,
        schema_of(ContextReply),
        query=search.Prepared,
    ),
    Endpoint(
        "GET", "/api/v1/rules", "Active rules", "Finding", "read", search.read_rules, shapes.RULES, query=search.Ruled
    ),
)

STREAMS = (
    Endpoint("GET", _STREAMS, "Open streams", "Streams", "read", streams.list_streams, shapes.STREAMS),
    Endpoint(
        *("POST", _STREAMS, "Start a stream", "Streams", "write", streams.start_stream, shapes.STREAM),
        body=streams.NewStream,
        body_optional=True,
        status=201,
    ),
    Endpoint(
        *(
            "POST",
            f"{_STREAMS}/{{id}}/chunks",
            "Append a chunk",
            "Streams",
            "write",
            streams.append_chunk,
            shapes.STREAM,
        ),
        body=streams.Chunk,
    ),
    Endpoint(
        *("POST", f"{_STREAMS}/{{id}}/finalize", "Make a memory of a stream", "Streams", "write"),
        *(streams.finalize_stream, shapes.FINALIZED),
    ),
    Endpoint(
        "DELETE", f"{_STREAMS}/{{id}}", "Cancel a stream", "Streams", "write", streams.cancel_stream, shapes.STREAM
    ),
)

PLACE = (
    Endpoint("GET", "/api/v1/projects", "Projects", "Place", "read", keys_and_spaces.list_projects, shapes.PROJECTS),
    Endpoint(
        *("POST", "/api/v1/projects/aliases", "Give a project another name", "Place", "write"),
        *(keys_and_spaces.place_add_alias, shapes.ALIAS),
        body=keys_and_spaces.Alias,
        also=(404,),
    ),
    Endpoint("GET", "/api/v1/status", "Status", "Place", "read", keys_and_spaces.read_status, shapes.STATUS),
    Endpoint("GET", "/api/v1/keys", "Keys", "Place", "admin", keys_and_spaces.list_keys, shapes.KEYS),
    Endpoint(
        *("POST", "/api/v1/keys", "Make a key", "Place", "admin", keys_and_spaces.create_key, shapes.NEW_KEY),
        body=keys_and_spaces.NewKey,
        status=201,
    ),
    Endpoint("DELETE", "/api/v1/keys/{id}", "Revoke a key", "Place", "admin", keys_and_spaces.revoke_key, shapes.KEY),
)

_SPACE = "/api/v1/spaces/{name}"
SPACES = (
    Endpoint("GET", "/api/v1/spaces", "Spaces", "Spaces", "read", keys_and_spaces.list_spaces, shapes.SPACES),
    Endpoint(
        *("POST", "/api/v1/spaces", "Make a space", "Spaces", "admin", keys_and_spaces.create_space, shapes.SPACE),
        body=keys_and_spaces.NewSpace,
        status=201,
    ),
    Endpoint("GET", _SPACE, "A space", "Spaces", "read", keys_and_spaces.read_space, shapes.SPACE),
    Endpoint(
        *("PATCH", _SPACE, "Limit a space", "Spaces", "admin", keys_and_spaces.set_space_limits, shapes.SPACE),
        body=keys_and_spaces.SpaceLimits,
    ),
    Endpoint(
        "GET",
        f"{_SPACE}/keys",
        "Who has a key to a space",
        "Spaces",
        "admin",
        keys_and_spaces.list_space_keys,
        shapes.KEYS,
    ),
    Endpoint(
        *(
            "POST",
            f"{_SPACE}/keys",
            "Invite into a space",
            "Spaces",
            "admin",
            keys_and_spaces.create_space_key,
            shapes.NEW_KEY,
        ),
        body=keys_and_spaces.Invitation,
        status=201,
    ),
    Endpoint(
        *(
            "DELETE",
            f"{_SPACE}/keys/{{id}}",
            "Revoke a key to a space",
            "Spaces",
            "admin",
            keys_and_spaces.revoke_space_key,
            shapes.KEY,
        )
    ),
)

_SYNC = "/api/v1/sync"
SYNCING = (
    Endpoint("GET", _SYNC, "Where the space stands", "Syncing", "read", sync.sync_position, sync.STANDING),
    Endpoint(
        *("GET", f"{_SYNC}/changes", "What changed", "Syncing", "read", sync.changes, sync.CHANGES),
        query=sync.Since,
        slow=True,
    ),
    Endpoint(
        *("POST", f"{_SYNC}/compare", "What differs", "Syncing", "read", sync.compare, sync.DIFFERING),
        body=sync.Digests,
        packed=True,
        max_values=MAX_VALUES_OF_MANY,
        slow=True,
    ),
    Endpoint(
        *("POST", f"{_SYNC}/fetch", "Records by name", "Syncing", "read", sync.records_by_name, sync.FETCHED),
        body=sync.Names,
        packed=True,
        max_values=MAX_VALUES_OF_MANY,
        slow=True,
    ),
    Endpoint(
        *("GET", f"{_SYNC}/records", "Records that changed", "Syncing", "read", sync.changed_records, sync.RECORDS),
        query=sync.Since,
        slow=True,
    ),
    Endpoint(
        *("POST", f"{_SYNC}/records", "Take records in", "Syncing", "write", sync.take_records, sync.TAKEN),
        body=sync.SyncRecords,
        packed=True,
        max_values=MAX_VALUES_OF_MANY,
        slow=True,
    ),
)

_SDK, _SDK_TAG = memories_sdk.ROOT, "memories.sh SDK"
MEMORIES_SDK = (
    Endpoint(
        *("POST", f"{_SDK}/context/get", "Rules and relevant memories", _SDK_TAG, "read"),
        *(memories_sdk.get_context, shapes.SDK_CONTEXT),
        body=memories_sdk.SdkContext,
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/add", "Store a memory", _SDK_TAG, "write"),
        *(memories_sdk.add, shapes.SDK_CHANGED),
        body=memories_sdk.SdkAddition,
        status=201,
        also=(200,),
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/search", "Search memories", _SDK_TAG, "read"),
        *(memories_sdk.search, shapes.SDK_MEMORIES),
        body=memories_sdk.SdkSearch,
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/list", "List memories", _SDK_TAG, "read"),
        *(memories_sdk.list_memories, shapes.SDK_MEMORIES),
        body=memories_sdk.SdkListing,
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/edit", "Edit a memory", _SDK_TAG, "write"),
        *(memories_sdk.edit, shapes.SDK_CHANGED),
        body=memories_sdk.SdkChange,
        also=(404,),
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/forget", "Forget a memory", _SDK_TAG, "write"),
        *(memories_sdk.forget, shapes.SDK_FORGOTTEN),
        body=memories_sdk.SdkId,
        also=(404,),
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/bulk-forget", "Forget several memories", _SDK_TAG, "write"),
        *(memories_sdk.bulk_forget, shapes.SDK_ALL_FORGOTTEN),
        body=memories_sdk.SdkForgetting,
    ),
    Endpoint(
        *("POST", f"{_SDK}/memories/vacuum", "Purge what was forgotten", _SDK_TAG, "write"),
        *(memories_sdk.vacuum, shapes.SDK_PURGED),
        body=memories_sdk.SdkAnyScope,
    ),
)

LIBRARY = (
    Endpoint(
        *("POST", "/api/v1/verbs/{verb}", "Call a method of the library", "Library", "read"),
        *(verbs.call_verb, verbs.RESULT),
        body=verbs.Arguments,
        packed=True,
        also=(404, 409),
        slow=True,
    ),
)

WATCHING = (
    Endpoint(
        *("GET", "/api/v1/events", "What happens", "Watching", "read", events.events),
        query=events.Followed,
        media="text/event-stream",
        headers=("Last-Event-ID",),
    ),
    Endpoint(
        *("GET", "/metrics", "Metrics", "Watching", "read", metrics.metrics),
        media=metrics.MEDIA,
        json_reply=conversation_shapes.METRICS,
    ),
)

DOCS = (
    Endpoint(
        "GET", "/api/v1/openapi.json", "This document", "Documentation", None, openapi.openapi_document, shapes.DOCUMENT
    ),
    Endpoint("GET", "/api/v1/docs", "The page", "Documentation", None, openapi.docs_page, media="text/html"),
    Endpoint(
        "GET", "/api/v1/docs/docs.js", "Its script", "Documentation", None, openapi.docs_script, media="text/javascript"
    ),
    Endpoint("GET", "/api/v1/docs/docs.css", "Its style", "Documentation", None, openapi.docs_style, media="text/css"),
)

ENDPOINTS: tuple[Endpoint, ...] = (
    *ITEMS,
    *FINDING,
    *STREAMS,
    *conversation_table.ENDPOINTS,
    *PLACE,
    *SPACES,
    *SYNCING,
    *MEMORIES_SDK,
    *LIBRARY,
    *WATCHING,
    *DOCS,
)
