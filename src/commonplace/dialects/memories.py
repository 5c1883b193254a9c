"""memories.sh: rules, decisions, facts, notes and skills that every agent should know."""

from __future__ import annotations

from typing import Any

from commonplace.dialects.memories_schemas import CONTEXT, FORGOTTEN, LIST, MEMORY, RULES, STREAM
from commonplace.dialects.memories_text import (
    label,
    line,
    listing,
    relevant_text,
    row,
    rules_text,
    said,
    scope,
    warning,
)
from commonplace.dialects.tool import Arguments, Param, Reply, Tool
from commonplace.errors import InvalidInput
from commonplace.memory import streams
from commonplace.memory.book import Book
from commonplace.memory.contradictions import contradictions
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.memory.rules import Rules, rules
from commonplace.memory.supersede import supersede
from commonplace.model import KINDS, MEMORY_TYPES, Item, Scope

TYPES = ("rule", "decision", "fact", "note", "skill")
MAX_LIMIT, MAX_LIST = 50, 100
# Everything but rules, which are told anyway, and checkpoints, which are about a session.
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")


def get_context(book: Book, arguments: Arguments) -> Reply:
    """Active rules, and what is relevant to the query."""
    project, files = _project(book, arguments), arguments["files"] or ()
    active = rules(book, project, files)
    relevant: list[Item] = []
    query = (arguments["query"] or "").strip()
    if query:
        # A few more than asked for: rules among the hits are shown above already.
        hits = recall(book, query, _around(project, kinds=_FOUND), arguments["limit"] + MAX_LIMIT).hits
        relevant = [hit.item for hit in hits if hit.item.type != "rule"][: arguments["limit"]]
    text = "\n\n".join(part for part in (rules_text(active, files), relevant_text(relevant)) if part)
    return Reply(_rules_data(active) | {"memories": [row(item) for item in relevant]}, text)


def add_memory(book: Book, arguments: Arguments) -> Reply:
    """Store a statement; the same one again in the same scope is found, not repeated."""
    _said_something(arguments["content"])
    details = {"category": arguments["category"] or "", "paths": "\n".join(arguments["paths"] or ())}
    stored = remember(
        book,
        Note(
            content=arguments["content"].strip(),
            type=arguments["type"],
            project=arguments["project_id"],
            tags=arguments["tags"] or (),
            details=details,
            meta=arguments["metadata"] or {},
        ),
    )
    item = fetch_one(book, stored.id)
    verb = "Already stored" if stored.duplicate else "Stored"
    text = f"{verb} {item.type} ({scope(item)}): {said(item)}\nid: {item.short_id}"
    found = [] if stored.duplicate else contradictions(book, item)
    data = row(item) | {
        "duplicate": stored.duplicate,
        "contradicts": [{"id": one.item.short_id, "reason": one.reason, "content": said(one.item)} for one in found],
    }
    return Reply(data, "\n\n".join(part for part in (text, warning(found, item)) if part))


def search_memories(book: Book, arguments: Arguments) -> Reply:
    """Memories that answer a query, best first."""
    if not arguments["query"].strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    types = (arguments["type"],) if arguments["type"] else ()
    asked = _around(_project(book, arguments), kinds=_FOUND, types=types)
    found = [hit.item for hit in recall(book, arguments["query"], asked, arguments["limit"]).hits]
    opening = f"Found {len(found)} {_noun(len(found))}{':' if found else '.'}"
    return Reply({"memories": [row(item) for item in found]}, listing(opening, found))


def get_rules(book: Book, arguments: Arguments) -> Reply:
    """All active rules."""
    files = arguments["files"] or ()
    active = rules(book, _project(book, arguments), files)
    return Reply(_rules_data(active), rules_text(active, files))


def list_memories(book: Book, arguments: Arguments) -> Reply:
    """The most recent memories."""
    types = (arguments["type"],) if arguments["type"] else MEMORY_TYPES
    asked = _around(_project(book, arguments), kinds=("memory",), types=types, tag=arguments["tags"] or "")
    found = book.store.newest(asked, arguments["limit"])
    opening = f"{len(found)} {_noun(len(found))}{':' if found else '.'}"
    return Reply({"memories": [row(item) for item in found]}, listing(opening, found))


def edit_memory(book: Book, arguments: Arguments) -> Reply:
    """Change a memory, or say which other one it replaces."""
    details = {}
    if arguments["category"] is not None:
        details["category"] = arguments["category"]
    if arguments["paths"] is not None:
        details["paths"] = "\n".join(arguments["paths"])
    if arguments["content"] is not None:
        _said_something(arguments["content"])
    changes = Changes(
        content=arguments["content"],
        type=arguments["type"],
        tags=arguments["tags"],
        details=details or None,
        meta=arguments["metadata"],
    )
    old = arguments["supersedes"]
    if old is None or changes != Changes():
        edit(book, arguments["id"], changes)
    if old is not None:
        supersede(book, old, by=arguments["id"])
    item = fetch_one(book, arguments["id"])
    return Reply(row(item), f"Updated {line(item)}" + (f"\nIt supersedes {old}." if old is not None else ""))


def forget_memory(book: Book, arguments: Arguments) -> Reply:
    """Take a memory out of every answer; it can be restored."""
    item = fetch_one(book, arguments["id"], forgotten=True)
    again = item.forgotten_ms is not None
    forget(book, [item.id])
    text = f"{'Already forgotten' if again else 'Forgot'} {line(item)}\nTo undo: commonplace restore {item.id}"
    return Reply({"id": item.short_id, "forgotten": True, "restore": f"commonplace restore {item.id}"}, text)


def start_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Open a stream, in the server's own project unless it is to be global."""
    project = None if arguments["global"] else book.settings.project or None
    stream = streams.start(book, arguments["type"], arguments["tags"] or (), project)
    return Reply(_stream(stream.id, "open", 0, 0), stream.id)


def append_memory_chunk(book: Book, arguments: Arguments) -> Reply:
    """Add to a stream."""
    stream = streams.append(book, arguments["stream_id"], arguments["chunk"])
    counted = f"{stream.chunks} chunk{'' if stream.chunks == 1 else 's'}, {stream.characters} chars"
    return Reply(_stream(stream.id, stream.status, stream.chunks, stream.characters), counted)


def finalize_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Make one memory of a stream."""
    item, stream = streams.finalize(book, arguments["stream_id"])
    counted = f"{stream.chunks} chunk{'' if stream.chunks == 1 else 's'} ({stream.characters} chars)"
    data = _stream(stream.id, stream.status, stream.chunks, stream.characters) | {"memory": row(item)}
    return Reply(data, f"Created {label(item.type)} {item.short_id} from {counted}")


def cancel_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Drop a stream."""
    stream = streams.cancel(book, arguments["stream_id"])
    text = f"Cancelled {stream.id}: {stream.chunks} chunks dropped"
    return Reply(_stream(stream.id, "cancelled", stream.chunks, stream.characters), text)


_PROJECT_ID = Param("project_id", str, "Project such as github.com/user/repo, besides what is global")
_FILES = Param("files", list, "Files at hand: path rules then apply only if they match", items=str, max_items=1000)
_TYPE = Param("type", str, "Only this type", choices=TYPES)
_STREAM_ID = Param("stream_id", str, "Stream id from start", required=True)


def _tool(
    name: str, title: str, description: str, params: tuple[Param, ...], output: Any, call: Any, **more: Any
) -> Tool:
    return Tool("memories", name, title, description, params, output, call, **more)


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
    ),
    _tool(
        "add_memory",
        "Remember",
        "Store a rule (always to follow), decision (with its reason), fact, note or skill for later sessions.",
        (
            Param("content", str, "The memory content", required=True),
            Param("type", str, "Memory type", default="note", choices=TYPES),
            Param("project_id", str, "Project it belongs to, such as github.com/user/repo; global if omitted"),
            Param("tags", list, "Tags for categorization", items=str),
            Param("paths", list, 'Glob patterns for path-scoped rules, such as "src/api/**"', items=str),
            Param("category", str, "Grouping key: rule file name or skill directory"),
            Param("metadata", dict, "Extended attributes"),
        ),
        MEMORY,
        add_memory,
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
        ),
        LIST,
        search_memories,
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
            Param("tags", str, "Only with a tag that contains this"),
            _PROJECT_ID,
            Param("limit", int, "Most results, 1-100", default=20, least=1, most=MAX_LIST),
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
        ),
        MEMORY,
        edit_memory,
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
    _tool(
        "start_memory_stream",
        "Start a stream",
        "Start collecting a memory in chunks; returns the stream id.",
        (
            Param("type", str, "Memory type", default="note", choices=TYPES),
            Param("tags", list, "Tags", items=str),
            Param("global", bool, "Global scope instead of this project", default=False),
        ),
        STREAM,
        start_memory_stream,
        read_only=False,
        idempotent=False,
    ),
    _tool(
        "append_memory_chunk",
        "Append to a stream",
        "Append a chunk to an open stream.",
        (_STREAM_ID, Param("chunk", str, "Content chunk", required=True)),
        STREAM,
        append_memory_chunk,
        read_only=False,
        idempotent=False,
    ),
    _tool(
        "finalize_memory_stream",
        "Finalize a stream",
        "Make one memory of a stream's chunks.",
        (_STREAM_ID,),
        STREAM,
        finalize_memory_stream,
        read_only=False,
        idempotent=False,
    ),
    _tool(
        "cancel_memory_stream",
        "Cancel a stream",
        "Drop a stream and its chunks without creating a memory.",
        (_STREAM_ID,),
        STREAM,
        cancel_memory_stream,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
)


def _project(book: Book, arguments: Arguments) -> str | None:
    """The project asked about: the one named, else the one the server runs in."""
    return (arguments["project_id"] or "").strip() or book.settings.project or None


def _around(project: str | None, **narrower: Any) -> Scope:
    return Scope(project=project, with_global=project is not None, only_global=project is None, **narrower)


def _rules_data(active: Rules) -> dict[str, Any]:
    return {
        "project_rules": [row(item) for item in active.project],
        "global_rules": [row(item) for item in active.everywhere],
        "rules_for_other_files": active.elsewhere,
    }


def _stream(stream_id: str, status: str, chunks: int, characters: int) -> dict[str, Any]:
    return {"stream_id": stream_id, "status": status, "chunks": chunks, "characters": characters}


def _said_something(content: str) -> None:
    if not content.strip():
        raise InvalidInput("content is empty.", "Say what to remember.")


def _noun(count: int) -> str:
    return "memory" if count == 1 else "memories"
