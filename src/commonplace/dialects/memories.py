"""memories.sh: rules, decisions, facts, notes and skills that every agent should know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.dialects.memories_schemas import CONTEXT, FORGOTTEN, LIST, MEMORY, RULES
from commonplace.dialects.memories_sdk import LAYER, LAYERS, layer_of
from commonplace.dialects.memories_streams import STREAM_TOOLS
from commonplace.dialects.memories_text import (
    TYPES,
    contradicted,
    label,
    line,
    listing,
    on_one_line,
    relevant_text,
    row,
    rows,
    rules_text,
    scope,
    warning,
)
from commonplace.dialects.schema import Schema
from commonplace.dialects.tool import Arguments, Param, Reply, Run, Tool, notice
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.browse import browse
from commonplace.memory.contradictions import contradictions
from commonplace.memory.edit import Changes, edit
from commonplace.memory.enrich import enrich
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.memory.rules import Rules, rules, within
from commonplace.model import KINDS, Item, Scope
from commonplace.text.globs import checked_glob

MAX_LIMIT, MAX_LIST = 50, 100
ROOM_OF_RULES = 200_000
DEFAULT_TYPE = "note"
# So many are looked through for those of one layer.
WIDE = 200
# Everything but checkpoints, which are about a session.
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")


def get_context(book: Book, arguments: Arguments) -> Reply:
    """Active rules, and what is relevant to the query."""
    project, files = _project(book, arguments), arguments["files"] or ()
    active = rules(book, project, files)
    told = within(active, ROOM_OF_RULES)
    query = (arguments["query"] or "").strip()
    if not query:
        return Reply(_rules_data(told) | {"memories": []}, rules_text(told, files))
    # So many more than asked for that all of them could be rules, which are told above.
    surplus = len(active.project) + len(active.everywhere) + active.elsewhere
    found = recall(book, query, Scope.around(project, kinds=_FOUND), arguments["limit"] + surplus)
    relevant = [hit.item for hit in found.hits if hit.item.type != "rule"][: arguments["limit"]]
    text = f"{rules_text(told, files)}\n\n{relevant_text(relevant)}"
    return _told_once(book, _rules_data(told) | {"memories": rows(relevant)}, text, found.waiting)


def add_memory(book: Book, arguments: Arguments) -> Reply:
    """Store a statement. The same one again in the same scope is found, and gets what tags and metadata are new."""
    _said_something(arguments["content"])
    tags, meta, layer = arguments["tags"] or (), arguments["metadata"] or {}, arguments["layer"]
    if layer is not None:
        meta = {**meta, LAYER: layer}
    stored = remember(
        book,
        Note(
            content=arguments["content"].strip(),
            type="rule" if layer == "rule" and arguments["type"] == DEFAULT_TYPE else arguments["type"],
            project=(arguments["project_id"] or "").strip() or None,
            tags=tags,
            details={"category": arguments["category"] or "", "paths": _globs(arguments["paths"] or ())},
            meta=meta,
        ),
    )
    item = fetch_one(book, stored.id)
    if stored.duplicate:
        item = enrich(book, item, tags, meta)
    found = contradictions(book, item)
    verb = "Already stored" if stored.duplicate else "Stored"
    text = f"{verb} {item.type} ({scope(item)}): {on_one_line(item)}\nid: {item.short_id} ({label(item.type)})"
    data = row(item) | {"duplicate": stored.duplicate, "contradicts": contradicted(found)}
    return Reply(data, "\n\n".join(part for part in (text, warning(found, item)) if part))


def search_memories(book: Book, arguments: Arguments) -> Reply:
    """Memories that answer a query, best first."""
    if not arguments["query"].strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    types = (arguments["type"],) if arguments["type"] else ()
    asked = Scope.around(_project(book, arguments), kinds=_FOUND, types=types)
    layer, limit = arguments["layer"], arguments["limit"]
    recalled = recall(book, arguments["query"], asked, limit if layer is None else WIDE)
    found = _in_layer([hit.item for hit in recalled.hits], layer)[:limit]
    return _told_once(book, {"memories": rows(found)}, listing(f"Found {_counted(found)}", found), recalled.waiting)


def get_rules(book: Book, arguments: Arguments) -> Reply:
    """All active rules."""
    files = arguments["files"] or ()
    told = within(rules(book, _project(book, arguments), files), ROOM_OF_RULES)
    return Reply(_rules_data(told), rules_text(told, files))


def list_memories(book: Book, arguments: Arguments) -> Reply:
    """The most recent memories."""
    types = (arguments["type"],) if arguments["type"] else ()
    tag = (arguments["tags"] or "").strip()
    asked = Scope.around(_project(book, arguments), kinds=("memory",), types=types, tag=tag)
    layer, limit = arguments["layer"], arguments["limit"]
    found = _in_layer(browse(book, asked, limit if layer is None else WIDE).items, layer)[:limit]
    return Reply({"memories": rows(found)}, listing(_counted(found), found))


def edit_memory(book: Book, arguments: Arguments) -> Reply:
    """Change a memory, or say which other one it replaces: both or neither."""
    details = {}
    if arguments["category"] is not None:
        details["category"] = arguments["category"].strip()
    if arguments["paths"] is not None:
        details["paths"] = _globs(arguments["paths"])
    content = arguments["content"]
    if content is not None:
        _said_something(content)
    meta = arguments["metadata"]
    if arguments["layer"] is not None:
        meta = {**(fetch_one(book, arguments["id"]).meta if meta is None else meta), LAYER: arguments["layer"]}
    changes = Changes(
        content=None if content is None else content.strip(),
        type=arguments["type"],
        tags=arguments["tags"],
        details=details or None,
        meta=meta,
    )
    old = arguments["supersedes"]
    item = edit(book, arguments["id"], changes, supersedes=old)
    if old is None:
        return Reply(row(item), f"Updated {line(item)}")
    replaced = fetch_one(book, old)
    undo = f"To undo: commonplace restore {replaced.id}"
    return Reply(
        row(item) | {"supersedes": replaced.short_id}, f"Updated {line(item)}\nIt supersedes {line(replaced)}\n{undo}"
    )


def forget_memory(book: Book, arguments: Arguments) -> Reply:
    """Take a memory out of every answer; it can be restored."""
    item = fetch_one(book, arguments["id"], forgotten=True)
    again = item.forgotten_ms is not None
    forget(book, [item.id])
    text = f"{'Already forgotten' if again else 'Forgot'} {line(item)}\nTo undo: commonplace restore {item.id}"
    return Reply({"id": item.short_id, "forgotten": True, "restore": f"commonplace restore {item.id}"}, text)


_PROJECT_ID = Param("project_id", str, "Project such as github.com/user/repo, besides what is global")
_FILES = Param("files", list, "Files at hand: path rules then apply only if they match", items=str, max_items=1000)
_TYPE = Param("type", str, "Only this type", choices=TYPES)
# What memories.sh's own SDK sends besides.
_LAYER = Param("layer", str, "Layer of memories.sh", choices=LAYERS, listed=False)
_SIGNALS = (
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
    call: Run,
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
        ignored=_SIGNALS,
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


def _project(book: Book, arguments: Arguments) -> str | None:
    """The project asked about: the one named, else the one the server runs in."""
    return (arguments["project_id"] or "").strip() or book.settings.project or None


def _in_layer(items: Sequence[Item], layer: str | None) -> list[Item]:
    return [item for item in items if layer is None or layer_of(item.type, item.meta) == layer]


def _rules_data(told: Rules) -> dict[str, Any]:
    return {
        "project_rules": rows(told.project),
        "global_rules": rows(told.everywhere),
        "rules_for_other_files": told.elsewhere,
        "rules_left_out": told.left_out,
    }


def _told_once(book: Book, data: dict[str, Any], text: str, waiting: int) -> Reply:
    """The reply, and if meaning is incomplete or has stopped working since anybody was told, why."""
    told = notice(book, waiting)
    return Reply(data | {"notice": told}, f"{text}\n\n({told})") if told else Reply(data, text)


def _globs(paths: Sequence[str]) -> str:
    return "\n".join(map(checked_glob, paths))


def _said_something(content: str) -> None:
    if not content.strip():
        raise InvalidInput("content is empty.", "Say what to remember.")


def _counted(found: Sequence[Item]) -> str:
    return f"{len(found)} {'memory' if len(found) == 1 else 'memories'}"
