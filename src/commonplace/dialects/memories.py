"""memories.sh's streams: a memory that arrives in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.dialects.memories_records import (
    CONTEXT,
    FORGOTTEN,
    LAYER_FIELD,
    LAYERS,
    LIST,
    MEMORY,
    RULES,
    STREAM,
    TYPES,
    contradiction_rows,
    contradiction_warning,
    layer_of,
    list_text,
    memory_line,
    memory_row,
    memory_rows,
    one_line,
    relevant_text,
    rules_text,
    scope_label,
    type_label,
)
from commonplace.dialects.schema import Schema
from commonplace.dialects.tool import Arguments, Param, Reply, Tool, ToolFunction, search_notice
from commonplace.errors import InvalidInput
from commonplace.memory import streams
from commonplace.memory.contradictions import find_contradictions
from commonplace.memory.edit_and_forget import Changes, edit_item, enrich_item, forget_items
from commonplace.memory.items import browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.rules import ActiveRules, active_rules, rules_within
from commonplace.model import KINDS, Item, Scope, Stream
from commonplace.text.paths import check_glob


def start_memory_stream(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Open a stream, in the server's own project unless it is to be global."""
    project = None if arguments["global"] else memory.settings.project or None
    stream = streams.start_stream(memory, arguments["type"], arguments["tags"] or (), project)
    return Reply(_stream_data(stream), stream.id)


def append_memory_chunk(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Add to a stream."""
    stream = streams.append_to_stream(memory, arguments["stream_id"], arguments["chunk"])
    return Reply(_stream_data(stream), f"{_chunk_count(stream)}, {stream.characters} chars")


def finalize_memory_stream(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Make one memory of a stream."""
    done = streams.finalize_stream(memory, arguments["stream_id"])
    item, stream = done.item, done.stream
    found = find_contradictions(memory, item)
    verb = "Already stored" if done.duplicate else "Created"
    text = f"{verb} {type_label(item.type)} {item.short_id} from {_chunk_count(stream)} ({stream.characters} chars)"
    stored = memory_row(item) | {"duplicate": done.duplicate, "contradicts": contradiction_rows(found)}
    return Reply(
        _stream_data(stream) | {"memory": stored},
        "\n\n".join(part for part in (text, contradiction_warning(found, item)) if part),
    )


def cancel_memory_stream(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Drop a stream."""
    stream = streams.cancel_stream(memory, arguments["stream_id"])
    return Reply(_stream_data(stream), f"Cancelled {stream.id}: {_chunk_count(stream)} dropped")


_STREAM_ID = Param("stream_id", str, "Stream id from start", required=True)


def _stream_tool(
    name: str, title: str, description: str, params: tuple[Param, ...], call: ToolFunction, **more: Any
) -> Tool:
    more = {"read_only": False, "idempotent": False} | more
    return Tool("memories", name, title, description, params, STREAM, call, **more)


STREAM_TOOLS = (
    _stream_tool(
        "start_memory_stream",
        "Start a stream",
        "Start collecting a memory in chunks; returns the stream id.",
        (
            Param("type", str, "Memory type", default="note", choices=TYPES),
            Param("tags", list, "Tags", items=str),
            Param("global", bool, "Global scope instead of this project", default=False),
        ),
        start_memory_stream,
    ),
    _stream_tool(
        "append_memory_chunk",
        "Append to a stream",
        "Append a chunk to an open stream.",
        (_STREAM_ID, Param("chunk", str, "Content chunk", required=True)),
        append_memory_chunk,
    ),
    _stream_tool(
        "finalize_memory_stream",
        "Finalize a stream",
        "Make one memory of a stream's chunks.",
        (_STREAM_ID,),
        finalize_memory_stream,
    ),
    _stream_tool(
        "cancel_memory_stream",
        "Cancel a stream",
        "Drop a stream and its chunks without creating a memory.",
        (_STREAM_ID,),
        cancel_memory_stream,
        destructive=True,
    ),
)


def _stream_data(stream: Stream) -> dict[str, Any]:
    return {
        "stream_id": stream.id,
        "status": stream.status,
        "chunks": stream.chunks,
        "characters": stream.characters,
    }


def _chunk_count(stream: Stream) -> str:
    return f"{stream.chunks} chunk{'' if stream.chunks == 1 else 's'}"


MAX_LIMIT, MAX_LIST = 50, 100
MAX_RULES_LENGTH = 200_000
DEFAULT_TYPE = "note"
# So many are looked through for those of one layer.
LAYER_CANDIDATES = 200
# Everything but checkpoints, which are about a session.
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")


def get_context(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Active rules, and what is relevant to the query."""
    project, files = _project(memory, arguments), arguments["files"] or ()
    active = active_rules(memory, project, files)
    told = rules_within(active, MAX_RULES_LENGTH)
    query = (arguments["query"] or "").strip()
    if not query:
        return Reply(_rules_data(told) | {"memories": []}, rules_text(told, files))
    # So many more than asked for that all of them could be rules, which are told above.
    surplus = len(active.project) + len(active.everywhere) + active.elsewhere
    found = recall(memory, query, Scope.around(project, kinds=_FOUND), arguments["limit"] + surplus)
    relevant = [hit.item for hit in found.hits if hit.item.type != "rule"][: arguments["limit"]]
    text = f"{rules_text(told, files)}\n\n{relevant_text(relevant)}"
    return _with_notice(memory, _rules_data(told) | {"memories": memory_rows(relevant)}, text, found.waiting)


def add_memory(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Store a statement. The same one again in the same scope is found, and gets what tags and metadata are new."""
    _require_content(arguments["content"])
    tags, meta, layer = arguments["tags"] or (), arguments["metadata"] or {}, arguments["layer"]
    if layer is not None:
        meta = {**meta, LAYER_FIELD: layer}
    stored = remember(
        memory,
        NewItem(
            content=arguments["content"].strip(),
            type="rule" if layer == "rule" and arguments["type"] == DEFAULT_TYPE else arguments["type"],
            project=(arguments["project_id"] or "").strip() or None,
            tags=tags,
            details={"category": arguments["category"] or "", "paths": _globs(arguments["paths"] or ())},
            meta=meta,
        ),
    )
    item = get_item(memory, stored.id)
    if stored.duplicate:
        item = enrich_item(memory, item, tags, meta)
    found = find_contradictions(memory, item)
    verb = "Already stored" if stored.duplicate else "Stored"
    text = f"{verb} {item.type} ({scope_label(item)}): {one_line(item)}\nid: {item.short_id} ({type_label(item.type)})"
    data = memory_row(item) | {"duplicate": stored.duplicate, "contradicts": contradiction_rows(found)}
    return Reply(data, "\n\n".join(part for part in (text, contradiction_warning(found, item)) if part))


def search_memories(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Memories that answer a query, best first."""
    if not arguments["query"].strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    types = (arguments["type"],) if arguments["type"] else ()
    asked = Scope.around(_project(memory, arguments), kinds=_FOUND, types=types)
    layer, limit = arguments["layer"], arguments["limit"]
    recalled = recall(memory, arguments["query"], asked, limit if layer is None else LAYER_CANDIDATES)
    found = _in_layer([hit.item for hit in recalled.hits], layer)[:limit]
    return _with_notice(
        memory, {"memories": memory_rows(found)}, list_text(f"Found {_count_text(found)}", found), recalled.waiting
    )


def get_rules(memory: LocalMemory, arguments: Arguments) -> Reply:
    """All active rules."""
    files = arguments["files"] or ()
    told = rules_within(active_rules(memory, _project(memory, arguments), files), MAX_RULES_LENGTH)
    return Reply(_rules_data(told), rules_text(told, files))


def list_memories(memory: LocalMemory, arguments: Arguments) -> Reply:
    """The most recent memories."""
    types = (arguments["type"],) if arguments["type"] else ()
    tag = (arguments["tags"] or "").strip()
    asked = Scope.around(_project(memory, arguments), kinds=("memory",), types=types, tag=tag)
    layer, limit = arguments["layer"], arguments["limit"]
    found = _in_layer(browse_items(memory, asked, limit if layer is None else LAYER_CANDIDATES).items, layer)[:limit]
    return Reply({"memories": memory_rows(found)}, list_text(_count_text(found), found))


def edit_memory(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Change a memory, or say which other one it replaces: both or neither."""
    details = {}
    if arguments["category"] is not None:
        details["category"] = arguments["category"].strip()
    if arguments["paths"] is not None:
        details["paths"] = _globs(arguments["paths"])
    content = arguments["content"]
    if content is not None:
        _require_content(content)
    meta = arguments["metadata"]
    if arguments["layer"] is not None:
        meta = {**(get_item(memory, arguments["id"]).meta if meta is None else meta), LAYER_FIELD: arguments["layer"]}
    changes = Changes(
        content=None if content is None else content.strip(),
        type=arguments["type"],
        tags=arguments["tags"],
        details=details or None,
        meta=meta,
    )
    old = arguments["supersedes"]
    item = edit_item(memory, arguments["id"], changes, supersedes=old)
    if old is None:
        return Reply(memory_row(item), f"Updated {memory_line(item)}")
    replaced = get_item(memory, old)
    undo = f"To undo: commonplace restore {replaced.id}"
    return Reply(
        memory_row(item) | {"supersedes": replaced.short_id},
        f"Updated {memory_line(item)}\nIt supersedes {memory_line(replaced)}\n{undo}",
    )


def forget_memory(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Take a memory out of every answer; it can be restored."""
    item = get_item(memory, arguments["id"], forgotten=True)
    again = item.forgotten_ms is not None
    forget_items(memory, [item.id])
    text = f"{'Already forgotten' if again else 'Forgot'} {memory_line(item)}\nTo undo: commonplace restore {item.id}"
    return Reply({"id": item.short_id, "forgotten": True, "restore": f"commonplace restore {item.id}"}, text)


_PROJECT_ID = Param("project_id", str, "Project such as github.com/user/repo, besides what is global")
_FILES = Param("files", list, "Files at hand: path rules then apply only if they match", items=str, max_items=1000)
_TYPE = Param("type", str, "Only this type", choices=TYPES)
# What memories.sh's own SDK sends besides.
_LAYER = Param("layer", str, "Layer of memories.sh", choices=LAYERS, listed=False)
_IGNORED_BY_CONTEXT = (
    "mode",
    "retrieval_strategy",
    "graph_depth",
    "graph_limit",
    "session_id",
    "budget_tokens",
    "turn_count",
    "turn_budget",
    "last_activity_at",
    "inactivity_threshold_minutes",
    "task_completed",
    "include_session_summary",
)


def _tool(
    name: str,
    title: str,
    description: str,
    params: tuple[Param, ...],
    output: Schema,
    call: ToolFunction,
    ignored: tuple[str, ...] = (),
    **more: bool,
) -> Tool:
    return Tool("memories", name, title, description, params, output, call, ignored=ignored, **more)


TOOLS = (
    _tool(
        "get_context",
        "Rules and relevant memories",
        "Active rules and the memories relevant to what you are working on. Call at the start of a task.",
        (
            Param("query", str, "What you are working on; rules only if omitted"),
            _PROJECT_ID,
            Param("limit", int, "Most memories, 1-50; rules are always included", default=5, least=1, most=MAX_LIMIT),
            _FILES,
        ),
        CONTEXT,
        get_context,
        ignored=_IGNORED_BY_CONTEXT,
    ),
    _tool(
        "add_memory",
        "Remember",
        "Store a rule (always to follow), decision (with its reason), fact, note or skill for later sessions.",
        (
            Param("content", str, "The memory content", required=True),
            Param("type", str, "Memory type", default=DEFAULT_TYPE, choices=TYPES),
            Param("project_id", str, "Project it belongs to, such as github.com/user/repo; global if omitted"),
            Param("tags", list, "Tags for categorization", items=str),
            Param("paths", list, 'Glob patterns for path-scoped rules, such as "src/api/**"', items=str),
            Param("category", str, "Grouping key: rule file name or skill directory"),
            Param("metadata", dict, "Extended attributes"),
            _LAYER,
        ),
        MEMORY,
        add_memory,
        ignored=("embedding_model",),
        read_only=False,
    ),
    _tool(
        "search_memories",
        "Search memories",
        "Search memories by words and meaning, best first.",
        (
            Param("query", str, "Search query", required=True),
            _PROJECT_ID,
            _TYPE,
            Param("limit", int, "Most results, 1-50", default=10, least=1, most=MAX_LIMIT),
            _LAYER,
        ),
        LIST,
        search_memories,
        ignored=("retrieval_strategy",),
    ),
    _tool(
        "get_rules", "Rules", "All active rules, of the project and global.", (_PROJECT_ID, _FILES), RULES, get_rules
    ),
    _tool(
        "list_memories",
        "Recent memories",
        "The most recent memories, by type or tag if wanted.",
        (
            _TYPE,
            Param("tags", str, "Only with a tag that contains this; any of several, comma separated"),
            _PROJECT_ID,
            Param("limit", int, "Most results, 1-100", default=20, least=1, most=MAX_LIST),
            _LAYER,
        ),
        LIST,
        list_memories,
    ),
    _tool(
        "edit_memory",
        "Edit a memory",
        "Change a memory by id; at least one field besides the id. Its history is kept.",
        (
            Param("id", str, "Memory id", required=True),
            Param("content", str, "New content"),
            Param("type", str, "New type", choices=TYPES),
            Param("tags", list, "New tags, replacing the old", items=str),
            Param("paths", list, "New glob patterns", items=str),
            Param("category", str, "New grouping key"),
            Param("metadata", dict, "New extended attributes"),
            Param("supersedes", str, "Id of an earlier memory that this one replaces"),
            _LAYER,
        ),
        MEMORY,
        edit_memory,
        ignored=("embedding_model",),
        read_only=False,
        destructive=True,
    ),
    _tool(
        "forget_memory",
        "Forget a memory",
        "Soft-delete a memory by id; it can be restored.",
        (Param("id", str, "Memory id", required=True),),
        FORGOTTEN,
        forget_memory,
        read_only=False,
        destructive=True,
    ),
    *STREAM_TOOLS,
)


def _project(memory: LocalMemory, arguments: Arguments) -> str | None:
    """The project asked about: the one named, else the one the server runs in."""
    return (arguments["project_id"] or "").strip() or memory.settings.project or None


def _in_layer(items: Sequence[Item], layer: str | None) -> list[Item]:
    return [item for item in items if layer is None or layer_of(item.type, item.meta) == layer]


def _rules_data(told: ActiveRules) -> dict[str, Any]:
    return {
        "project_rules": memory_rows(told.project),
        "global_rules": memory_rows(told.everywhere),
        "rules_for_other_files": told.elsewhere,
        "rules_left_out": told.left_out,
    }


def _with_notice(memory: LocalMemory, data: dict[str, Any], text: str, waiting: int) -> Reply:
    """The reply, and if meaning is incomplete or has stopped working since anybody was told, why."""
    told = search_notice(memory, waiting)
    return Reply(data | {"notice": told}, f"{text}\n\n({told})") if told else Reply(data, text)


def _globs(paths: Sequence[str]) -> str:
    return "\n".join(map(check_glob, paths))


def _require_content(content: str) -> None:
    if not content.strip():
        raise InvalidInput("content is empty.", "Say what to remember.")


def _count_text(found: Sequence[Item]) -> str:
    return f"{len(found)} {'memory' if len(found) == 1 else 'memories'}"
