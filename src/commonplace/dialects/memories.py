"""memories.sh's tools: rules, decisions, facts, notes and skills that every agent should know, and streams of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from commonplace.dialects.memories_records import (
    LAYER_FIELD,
    WAITS,
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
    proposed_text,
    relevant_text,
    rules_text,
    scope_label,
    type_label,
)
from commonplace.dialects.tool import SEARCHED_KINDS, Param, Reply, Tool, search_notice
from commonplace.dialects.window_project import NO_PROJECT, project_here, unknown_named, unknown_notice
from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.memory import streamed_memories
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, parse_validity, with_validity
from commonplace.memory.items import browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.memory.recall import RecallResult, recall
from commonplace.memory.remember import NewItem, Remembered, remember_item
from commonplace.memory.rules import ActiveRules, active_rules, rules_within
from commonplace.memory.told_to_agents import that_may_be_told
from commonplace.model import BINDING_TYPES, PROPOSED, Item, Scope, Stream
from commonplace.text.paths import check_glob
from commonplace.text.validity import parse_as_of

MAX_LIMIT, MAX_LIST = 50, 100
MAX_RULES_LENGTH = 200_000
DEFAULT_TYPE: MemoryType = "note"
# How many are looked through for those of one layer.
LAYER_CANDIDATES = 200
# What every session is told at its start if it is global.
_TOLD_AT_STARTS = (*BINDING_TYPES, "decision")

_Text = str | None
_ProjectId = Annotated[
    _Text, Param("Project such as github.com/user/repo, besides what is global; by default this window's")
]
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
    *,
    names_unknown: bool = False,
) -> Reply[ContextReply]:
    """Active rules, and what is relevant to the query. With `names_unknown` it says that there is no such project."""
    project, files = project_here(memory, project_id), files or []
    unknown = unknown_notice(memory, project_id) if names_unknown else ""
    active = active_rules(memory, project, files)
    shown = rules_within(active, MAX_RULES_LENGTH)
    if not query or not query.strip():
        return _with_notice(_context_data(shown, ()), rules_text(shown, files), unknown)
    # So many more than asked for that all of them could be rules, which are shown above; and as many again, as what
    # was only asked before is nothing to know.
    surplus = len(active.project) + len(active.everywhere) + active.elsewhere + limit
    found = recall(memory, query.strip(), Scope.around(project, kinds=SEARCHED_KINDS), limit + surplus)
    told = that_may_be_told(memory, (hit.item for hit in found.hits))
    relevant = [item for item in told if item.type not in ("rule", "prompt")][:limit]
    data = _context_data(shown, relevant)
    text = f"{rules_text(shown, files)}\n\n{relevant_text(memory, relevant)}"
    return _with_notice(data, text, unknown or _about_search(memory, found))


def add_memory(
    memory: LocalMemory,
    content: Annotated[str, Param("The memory content")],
    type_: Annotated[MemoryType, Param("Memory type")] = DEFAULT_TYPE,
    project_id: Annotated[
        _Text, Param('Project it belongs to, by default this window\'s, such as github.com/user/repo; "global" for all')
    ] = None,
    tags: Annotated[list[str] | None, Param("Tags for categorization")] = None,
    paths: Annotated[list[str] | None, Param('Glob patterns for path-scoped rules, such as "src/api/**"')] = None,
    category: Annotated[_Text, Param("Grouping key: rule file name or skill directory")] = None,
    metadata: Annotated[dict[str, Any] | None, Param("Extended attributes")] = None,
    valid_from: _From = None,
    valid_until: _Until = None,
    expires: _Expires = None,
    layer: _Layer = None,
    *,
    strict: bool = False,
    names_unknown: bool = False,
) -> Reply[MemoryReply]:
    """Store a statement. The same one again in the same scope is found, and gets what tags and metadata are new.

    With `strict` a rule or a decision whose project nobody knows is refused, and the reply says what else is global: it
    would be told in every project by oversight. With `names_unknown` it says which project is new.
    """
    _require_content(content)
    project = project_here(memory, project_id)
    if layer == "rule" and type_ == DEFAULT_TYPE:
        type_ = "rule"
    nobody_said = project is None and not (project_id or "").strip()
    if strict and nobody_said and type_ in _TOLD_AT_STARTS:
        raise InvalidInput(
            f"It is not known for which project this {type_} is.",
            f'Give project_id: the name of your git repository, or "{NO_PROJECT}" if it is for every project.',
        )
    new = NewItem(
        content=content.strip(),
        type=type_,
        project=project,
        tags=tags or (),
        details={"category": category or "", "paths": _globs(paths or ())},
        meta=_in_metadata(layer, metadata or {}),
    )
    unknown = unknown_named(memory, project_id) if names_unknown else None
    stored = remember_item(memory, with_validity(new, memory.clock(), valid_from, valid_until, expires))
    if is_only_proposed(stored.item):
        return Reply(cast(MemoryReply, _stored_data(stored)), proposed_text(memory, stored.item))
    notice = "" if unknown is None else _new_project(stored.item, unknown)
    data = cast(MemoryReply, _stored_data(stored))
    if notice:
        data["notice"] = notice
    remarks = []
    if strict and nobody_said and stored.item.project is None:
        remarks.append("Global: every project sees this. Name project_id to keep it to one.")
    if strict and notice:
        # Otherwise the text is exactly that of the reference.
        remarks.append(notice)
    return Reply(data, _stored_text(memory, stored, remarks))


def _in_metadata(layer: Layer | None, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    return metadata if layer is None else {**metadata, LAYER_FIELD: layer}


def _stored_text(memory: LocalMemory, stored: Remembered, remarks: Sequence[str]) -> str:
    """What was stored, what else is to be said of it, and what it may contradict."""
    item = stored.item
    if stored.duplicate:
        verb = "Already stored"
    elif item.review == PROPOSED:
        verb = "Proposed"
    else:
        verb = "Stored"
    lines = [
        f"{verb} {item.type} ({scope_label(item)}): {one_line(item)}",
        f"id: {item.short_id} ({type_label(item.type)})",
        *remarks,
    ]
    if item.review == PROPOSED:
        lines.append(WAITS)
    warning = contradiction_warning(memory, stored.contradictions, item)
    if warning:
        lines += ["", warning]
    return "\n".join(lines)


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
    scope = Scope.around(project_here(memory, project_id), kinds=SEARCHED_KINDS, types=(type_,) if type_ else ())
    scope = replace(scope, at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    result = recall(memory, query, scope, limit if layer is None else LAYER_CANDIDATES)
    found = _in_layer([hit.item for hit in result.hits], layer)[:limit]
    text = list_text(memory, f"Found {_count_text(found)}", found)
    return _with_notice(ListReply(memories=memory_rows(found)), text, _about_search(memory, result))


def get_rules(memory: LocalMemory, project_id: _ProjectId = None, files: _Files = None) -> Reply[RulesReply]:
    """All active rules."""
    shown = rules_within(active_rules(memory, project_here(memory, project_id), files or ()), MAX_RULES_LENGTH)
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
    project, types = project_here(memory, project_id), (type_,) if type_ else ()
    scope = Scope.around(project, kinds=("memory",), types=types, tag=(tags or "").strip())
    scope = replace(scope, at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    found = _in_layer(browse_items(memory, scope, limit if layer is None else LAYER_CANDIDATES).items, layer)[:limit]
    return Reply({"memories": memory_rows(found)}, list_text(memory, _count_text(found), found))


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
        meta = _in_metadata(layer, get_item(memory, id_).meta if meta is None else meta)
    changes = Changes(
        content=None if content is None else content.strip(),
        type=type_,
        tags=tags,
        details=details or None,
        meta=meta,
        **parse_validity(memory.clock(), valid_from, valid_until, expires),
    )
    item = edit_item(memory, id_, changes, supersedes=supersedes)
    if is_only_proposed(item):
        return Reply(cast(MemoryReply, memory_row(item)), proposed_text(memory, item))
    if supersedes is None:
        return Reply(cast(MemoryReply, memory_row(item)), f"Updated {memory_line(memory, item)}")
    replaced = get_item(memory, supersedes)
    undo = f"To undo: commonplace restore {replaced.id}"
    text = f"Updated {memory_line(memory, item)}\nIt supersedes {memory_line(memory, replaced)}\n{undo}"
    return Reply({**memory_row(item), "supersedes": replaced.short_id}, text)  # type: ignore[typeddict-item]


def forget_memory(memory: LocalMemory, id_: Annotated[str, Param("Memory id")]) -> Reply[ForgottenReply]:
    """Take a memory out of every answer; it can be restored."""
    item = get_item(memory, id_, forgotten=True)
    again = item.forgotten_ms is not None
    (forgotten,) = forget_items(memory, [item.id])
    if forgotten.id != item.id:
        data: ForgottenReply = {"id": item.short_id, "forgotten": False, "proposed": forgotten.short_id}
        return Reply(data, proposed_text(memory, forgotten))
    undo = f"commonplace restore {item.id}"
    text = f"{'Already forgotten' if again else 'Forgot'} {memory_line(memory, item)}\nTo undo: {undo}"
    return Reply({"id": item.short_id, "forgotten": True, "restore": undo}, text)


def start_memory_stream(
    memory: LocalMemory,
    type_: Annotated[MemoryType, Param("Memory type")] = DEFAULT_TYPE,
    tags: Annotated[list[str] | None, Param("Tags")] = None,
    global_: Annotated[bool, Param("Global scope instead of this project")] = False,
    *,
    strict: bool = False,
) -> Reply[StreamReply]:
    """Open a stream, in the server's own project unless it is to be global. `strict` is as for add_memory."""
    project = None if global_ else project_here(memory, None)
    if strict and project is None and not global_ and type_ in _TOLD_AT_STARTS:
        raise InvalidInput(
            f"It is not known for which project this {type_} is.",
            "Say global: true if it is for every project; otherwise call add_memory with project_id.",
        )
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
    proposed = item.review == PROPOSED
    verb = "Already stored" if remembered.duplicate else "Proposed" if proposed else "Created"
    text = f"{verb} {type_label(item.type)} {item.short_id} from {_chunk_count(stream)} ({stream.characters} chars)"
    if proposed:
        text += f"\n{WAITS}"
    data = _stream_data(stream)
    data["memory"] = _stored_data(remembered)
    warning = contradiction_warning(memory, remembered.contradictions, item)
    return Reply(data, "\n\n".join(part for part in (text, warning) if part))


def cancel_memory_stream(memory: LocalMemory, stream_id: _StreamId) -> Reply[StreamReply]:
    """Drop a stream."""
    stream = streamed_memories.cancel_stream(memory, stream_id)
    return Reply(_stream_data(stream), f"Cancelled {stream.id}: {_chunk_count(stream)} dropped")


_tool = partial(Tool.of, dialect="memories")
# A stream becomes a memory: each of its steps needs what adding one needs.
_streaming = partial(_tool, verb="add", idempotent=False)

TOOLS = (
    _tool(
        get_context,
        verb="context",
        title="Rules and relevant memories",
        description="Active rules and the memories relevant to what you are working on. Call at the start of a task.",
        ignored=_IGNORED_BY_CONTEXT,
    ),
    _tool(
        add_memory,
        verb="add",
        title="Remember",
        description="Store a rule (always to follow), decision (with its reason), fact, note or skill for later"
        " sessions.",
        ignored=("embedding_model",),
    ),
    _tool(
        search_memories,
        verb="search",
        title="Search memories",
        description="Search memories by words and meaning, best first.",
        ignored=("retrieval_strategy",),
    ),
    _tool(get_rules, verb="rules", title="Rules", description="All active rules, of the project and global."),
    _tool(
        list_memories,
        verb="list",
        title="Recent memories",
        description="The most recent memories, optionally by type or tag.",
    ),
    _tool(
        edit_memory,
        verb="edit",
        title="Edit a memory",
        description="Change a memory by id; at least one field besides the id. Its history is kept.",
        destructive=True,
        ignored=("embedding_model",),
    ),
    _tool(
        forget_memory,
        verb="forget",
        title="Forget a memory",
        description="Soft-delete a memory by id; it can be restored.",
        destructive=True,
    ),
    _streaming(
        start_memory_stream,
        title="Start a stream",
        description="Start collecting a memory in chunks; returns the stream id.",
    ),
    _streaming(append_memory_chunk, title="Append to a stream", description="Append a chunk to an open stream."),
    _streaming(finalize_memory_stream, title="Finalize a stream", description="Make one memory of a stream's chunks."),
    _streaming(
        cancel_memory_stream,
        title="Cancel a stream",
        description="Drop a stream and its chunks without creating a memory.",
        destructive=True,
    ),
)


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


def _new_project(item: Item, unknown: CommonplaceError) -> str:
    """That a memory is the first of its project, which may be a slip in the name of another one."""
    said = unknown.hint if isinstance(unknown, NotFound) else f"{unknown.message} {unknown.hint}"
    return f"{scope_label(item)} is a new project. {said}"


def _about_search(memory: LocalMemory, found: RecallResult) -> str:
    """That embedding failed since the last notice, or something has no vector yet."""
    return search_notice(memory, found.waiting, found.note)


def _with_notice(data: Any, text: str, notice: str) -> Reply[Any]:
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
