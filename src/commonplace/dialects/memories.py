"""memories.sh's tools: rules, decisions, facts, notes and skills that every agent should know, and streams of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from commonplace.dialects.memories_records import (
    LAYER_FIELD,
    ContextReply,
    ForgottenReply,
    Layer,
    ListReply,
    MemoryReply,
    MemoryType,
    RulesReply,
    StoredMemory,
    StreamReply,
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
from commonplace.dialects.tool import SEARCHED_KINDS, Param, Reply, Tool, search_notice
from commonplace.errors import InvalidInput
from commonplace.memory import streamed_memories
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, parse_validity, with_validity
from commonplace.memory.items import browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, Remembered, remember_item
from commonplace.memory.rules import ActiveRules, active_rules, rules_within
from commonplace.model import Item, Scope, Stream
from commonplace.text.paths import check_glob
from commonplace.text.validity import parse_as_of

MAX_LIMIT, MAX_LIST = 50, 100
MAX_RULES_LENGTH = 200_000
DEFAULT_TYPE: MemoryType = "note"
# How many are looked through for those of one layer.
LAYER_CANDIDATES = 200

_Text = str | None
_ProjectId = Annotated[_Text, Param("Project such as github.com/user/repo, besides what is global")]
_Files = Annotated[list[str] | None, Param("Files at hand: path rules then apply only if they match", max_items=1000)]
# Extras that the reference does not have: when a memory holds, and what was held true at a moment.
_From = Annotated[_Text, Param("Valid from", listed=False)]
_Until = Annotated[_Text, Param("Last day it is valid", listed=False)]
_Expires = Annotated[_Text, Param("Last day it is shown", listed=False)]
_AsOf = Annotated[_Text, Param("What was believed then", listed=False)]
_OnlyType = Annotated[MemoryType | None, Param("Only this type")]
_StreamId = Annotated[str, Param("Stream id from start")]
# What memories.sh's own SDK sends besides.
_Layer = Annotated[Layer | None, Param("Layer of memories.sh", listed=False)]
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


def get_context(
    memory: LocalMemory,
    query: Annotated[_Text, Param("What you are working on; rules only if omitted")] = None,
    project_id: _ProjectId = None,
    limit: Annotated[int, Param("Most memories, 1-50; rules are always included", least=1, most=MAX_LIMIT)] = 5,
    files: _Files = None,
) -> Reply[ContextReply]:
    """Active rules, and what is relevant to the query."""
    project, files = _project(memory, project_id), files or []
    active = active_rules(memory, project, files)
    shown = rules_within(active, MAX_RULES_LENGTH)
    if not query or not query.strip():
        return Reply(_context_data(shown, ()), rules_text(shown, files))
    # So many more than asked for that all of them could be rules, which are shown above.
    surplus = len(active.project) + len(active.everywhere) + active.elsewhere
    found = recall(memory, query.strip(), Scope.around(project, kinds=SEARCHED_KINDS), limit + surplus)
    relevant = [hit.item for hit in found.hits if hit.item.type != "rule"][:limit]
    data = _context_data(shown, relevant)
    return _with_notice(memory, data, f"{rules_text(shown, files)}\n\n{relevant_text(relevant)}", found.waiting)


def add_memory(
    memory: LocalMemory,
    content: Annotated[str, Param("The memory content")],
    type_: Annotated[MemoryType, Param("Memory type")] = DEFAULT_TYPE,
    project_id: Annotated[
        _Text, Param("Project it belongs to, such as github.com/user/repo; global if omitted")
    ] = None,
    tags: Annotated[list[str] | None, Param("Tags for categorization")] = None,
    paths: Annotated[list[str] | None, Param('Glob patterns for path-scoped rules, such as "src/api/**"')] = None,
    category: Annotated[_Text, Param("Grouping key: rule file name or skill directory")] = None,
    metadata: Annotated[dict[str, Any] | None, Param("Extended attributes")] = None,
    valid_from: _From = None,
    valid_until: _Until = None,
    expires: _Expires = None,
    layer: _Layer = None,
) -> Reply[MemoryReply]:
    """Store a statement. The same one again in the same scope is found, and gets what tags and metadata are new."""
    _require_content(content)
    meta = metadata or {}
    new = NewItem(
        content=content.strip(),
        type="rule" if layer == "rule" and type_ == DEFAULT_TYPE else type_,
        project=(project_id or "").strip() or None,
        tags=tags or (),
        details={"category": category or "", "paths": _globs(paths or ())},
        meta=meta if layer is None else {**meta, LAYER_FIELD: layer},
    )
    stored = remember_item(memory, with_validity(new, memory.clock(), valid_from, valid_until, expires))
    item, found = stored.item, stored.contradictions
    verb = "Already stored" if stored.duplicate else "Stored"
    text = f"{verb} {item.type} ({scope_label(item)}): {one_line(item)}\nid: {item.short_id} ({type_label(item.type)})"
    return Reply(
        cast(MemoryReply, _stored_data(stored)),
        "\n\n".join(part for part in (text, contradiction_warning(found, item)) if part),
    )


def search_memories(
    memory: LocalMemory,
    query: Annotated[str, Param("Search query")],
    project_id: _ProjectId = None,
    type_: _OnlyType = None,
    limit: Annotated[int, Param("Most results, 1-50", least=1, most=MAX_LIMIT)] = 10,
    as_of: _AsOf = None,
    layer: _Layer = None,
) -> Reply[ListReply]:
    """Memories that answer a query, best first."""
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    scope = Scope.around(_project(memory, project_id), kinds=SEARCHED_KINDS, types=(type_,) if type_ else ())
    scope = replace(scope, at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    result = recall(memory, query, scope, limit if layer is None else LAYER_CANDIDATES)
    found = _in_layer([hit.item for hit in result.hits], layer)[:limit]
    text = list_text(f"Found {_count_text(found)}", found)
    return _with_notice(memory, ListReply(memories=memory_rows(found)), text, result.waiting)


def get_rules(memory: LocalMemory, project_id: _ProjectId = None, files: _Files = None) -> Reply[RulesReply]:
    """All active rules."""
    shown = rules_within(active_rules(memory, _project(memory, project_id), files or ()), MAX_RULES_LENGTH)
    return Reply(_rules_data(shown), rules_text(shown, files or ()))


def list_memories(
    memory: LocalMemory,
    type_: _OnlyType = None,
    tags: Annotated[_Text, Param("Only with a tag that contains this; any of several, comma separated")] = None,
    project_id: _ProjectId = None,
    limit: Annotated[int, Param("Most results, 1-100", least=1, most=MAX_LIST)] = 20,
    as_of: _AsOf = None,
    layer: _Layer = None,
) -> Reply[ListReply]:
    """The most recent memories."""
    project, types = _project(memory, project_id), (type_,) if type_ else ()
    scope = Scope.around(project, kinds=("memory",), types=types, tag=(tags or "").strip())
    scope = replace(scope, at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    found = _in_layer(browse_items(memory, scope, limit if layer is None else LAYER_CANDIDATES).items, layer)[:limit]
    return Reply({"memories": memory_rows(found)}, list_text(_count_text(found), found))


def edit_memory(
    memory: LocalMemory,
    id_: Annotated[str, Param("Memory id")],
    content: Annotated[_Text, Param("New content")] = None,
    type_: Annotated[MemoryType | None, Param("New type")] = None,
    tags: Annotated[list[str] | None, Param("New tags, replacing the old")] = None,
    paths: Annotated[list[str] | None, Param("New glob patterns")] = None,
    category: Annotated[_Text, Param("New grouping key")] = None,
    metadata: Annotated[dict[str, Any] | None, Param("New extended attributes")] = None,
    supersedes: Annotated[_Text, Param("Id of an earlier memory that this one replaces")] = None,
    valid_from: _From = None,
    valid_until: _Until = None,
    expires: _Expires = None,
    layer: _Layer = None,
) -> Reply[MemoryReply]:
    """Change a memory, or say which other one it replaces: both or neither."""
    details = {}
    if category is not None:
        details["category"] = category.strip()
    if paths is not None:
        details["paths"] = _globs(paths)
    if content is not None:
        _require_content(content)
    meta: Mapping[str, Any] | None = metadata
    if layer is not None:
        meta = {**(get_item(memory, id_).meta if meta is None else meta), LAYER_FIELD: layer}
    changes = Changes(
        content=None if content is None else content.strip(),
        type=type_,
        tags=tags,
        details=details or None,
        meta=meta,
        **parse_validity(memory.clock(), valid_from, valid_until, expires),
    )
    item = edit_item(memory, id_, changes, supersedes=supersedes)
    if supersedes is None:
        return Reply(cast(MemoryReply, memory_row(item)), f"Updated {memory_line(item)}")
    replaced = get_item(memory, supersedes)
    undo = f"To undo: commonplace restore {replaced.id}"
    text = f"Updated {memory_line(item)}\nIt supersedes {memory_line(replaced)}\n{undo}"
    return Reply({**memory_row(item), "supersedes": replaced.short_id}, text)  # type: ignore[typeddict-item]


def forget_memory(memory: LocalMemory, id_: Annotated[str, Param("Memory id")]) -> Reply[ForgottenReply]:
    """Take a memory out of every answer; it can be restored."""
    item = get_item(memory, id_, forgotten=True)
    again = item.forgotten_ms is not None
    forget_items(memory, [item.id])
    undo = f"commonplace restore {item.id}"
    text = f"{'Already forgotten' if again else 'Forgot'} {memory_line(item)}\nTo undo: {undo}"
    return Reply({"id": item.short_id, "forgotten": True, "restore": undo}, text)


def start_memory_stream(
    memory: LocalMemory,
    type_: Annotated[MemoryType, Param("Memory type")] = DEFAULT_TYPE,
    tags: Annotated[list[str] | None, Param("Tags")] = None,
    global_: Annotated[bool, Param("Global scope instead of this project")] = False,
) -> Reply[StreamReply]:
    """Open a stream, in the server's own project unless it is to be global."""
    project = None if global_ else memory.settings.project or None
    stream = streamed_memories.start_stream(memory, type_, tags or (), project)
    return Reply(_stream_data(stream), stream.id)


def append_memory_chunk(
    memory: LocalMemory, stream_id: _StreamId, chunk: Annotated[str, Param("Content chunk")]
) -> Reply[StreamReply]:
    """Add to a stream."""
    stream = streamed_memories.append_to_stream(memory, stream_id, chunk)
    return Reply(_stream_data(stream), f"{_chunk_count(stream)}, {stream.characters} chars")


def finalize_memory_stream(memory: LocalMemory, stream_id: _StreamId) -> Reply[StreamReply]:
    """Make one memory of a stream."""
    stream, remembered = streamed_memories.finalize_stream(memory, stream_id)
    item = remembered.item
    verb = "Already stored" if remembered.duplicate else "Created"
    text = f"{verb} {type_label(item.type)} {item.short_id} from {_chunk_count(stream)} ({stream.characters} chars)"
    data = _stream_data(stream)
    data["memory"] = _stored_data(remembered)
    warning = contradiction_warning(remembered.contradictions, item)
    return Reply(data, "\n\n".join(part for part in (text, warning) if part))


def cancel_memory_stream(memory: LocalMemory, stream_id: _StreamId) -> Reply[StreamReply]:
    """Drop a stream."""
    stream = streamed_memories.cancel_stream(memory, stream_id)
    return Reply(_stream_data(stream), f"Cancelled {stream.id}: {_chunk_count(stream)} dropped")


_reading = partial(Tool.of, "memories")
_writing = partial(Tool.of, "memories", read_only=False)
_streaming = partial(Tool.of, "memories", read_only=False, idempotent=False)

TOOLS = (
    _reading(
        get_context,
        "Rules and relevant memories",
        "Active rules and the memories relevant to what you are working on. Call at the start of a task.",
        ignored=_IGNORED_BY_CONTEXT,
    ),
    _writing(
        add_memory,
        "Remember",
        "Store a rule (always to follow), decision (with its reason), fact, note or skill for later sessions.",
        ignored=("embedding_model",),
    ),
    _reading(
        search_memories,
        "Search memories",
        "Search memories by words and meaning, best first.",
        ignored=("retrieval_strategy",),
    ),
    _reading(get_rules, "Rules", "All active rules, of the project and global."),
    _reading(list_memories, "Recent memories", "The most recent memories, optionally by type or tag."),
    _writing(
        edit_memory,
        "Edit a memory",
        "Change a memory by id; at least one field besides the id. Its history is kept.",
        destructive=True,
        ignored=("embedding_model",),
    ),
    _writing(forget_memory, "Forget a memory", "Soft-delete a memory by id; it can be restored.", destructive=True),
    _streaming(start_memory_stream, "Start a stream", "Start collecting a memory in chunks; returns the stream id."),
    _streaming(append_memory_chunk, "Append to a stream", "Append a chunk to an open stream."),
    _streaming(finalize_memory_stream, "Finalize a stream", "Make one memory of a stream's chunks."),
    _streaming(
        cancel_memory_stream,
        "Cancel a stream",
        "Drop a stream and its chunks without creating a memory.",
        destructive=True,
    ),
)


def _project(memory: LocalMemory, project_id: str | None) -> str | None:
    """The project that is meant: the one named, else the one the server runs in."""
    return (project_id or "").strip() or memory.settings.project or None


def _in_layer(items: Sequence[Item], layer: str | None) -> list[Item]:
    return [item for item in items if layer is None or layer_of(item.type, item.meta) == layer]


def _rules_data(rules: ActiveRules) -> RulesReply:
    return {
        "project_rules": memory_rows(rules.project),
        "global_rules": memory_rows(rules.everywhere),
        "rules_for_other_files": rules.elsewhere,
        "rules_left_out": rules.left_out,
    }


def _context_data(rules: ActiveRules, relevant: Sequence[Item]) -> ContextReply:
    return {**_rules_data(rules), "memories": memory_rows(relevant)}  # type: ignore[typeddict-item]


def _with_notice(memory: LocalMemory, data: Any, text: str, waiting: int) -> Reply[Any]:
    """The reply, and if embedding failed since the last notice or something has no vector yet, that."""
    notice = search_notice(memory, waiting)
    return Reply(data | {"notice": notice}, f"{text}\n\n({notice})") if notice else Reply(data, text)


def _globs(paths: Sequence[str]) -> str:
    return "\n".join(map(check_glob, paths))


def _require_content(content: str) -> None:
    if not content.strip():
        raise InvalidInput("content is empty.", "Say what to remember.")


def _count_text(found: Sequence[Item]) -> str:
    return f"{len(found)} {'memory' if len(found) == 1 else 'memories'}"


def _stored_data(stored: Remembered) -> StoredMemory:
    contradicts = contradiction_rows(stored.contradictions)
    return {**memory_row(stored.item), "duplicate": stored.duplicate, "contradicts": contradicts}


def _stream_data(stream: Stream) -> StreamReply:
    return {
        "stream_id": stream.id,
        "status": stream.status,
        "chunks": stream.chunks,
        "characters": stream.characters,
    }


def _chunk_count(stream: Stream) -> str:
    return f"{stream.chunks} chunk{'' if stream.chunks == 1 else 's'}"
