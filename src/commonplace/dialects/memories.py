"""memories.sh: rules, decisions, facts, notes and skills. Its writing tool; the reading ones follow."""

from __future__ import annotations

from commonplace.dialects.tool import Arguments, Param, Reply, Tool
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, remember
from commonplace.text.names import base_name

TYPES = ("rule", "decision", "fact", "note", "skill")


def add_memory(book: Book, arguments: Arguments) -> Reply:
    """Store a statement; the same one again in the same scope is found, not repeated."""
    if not arguments["content"].strip():
        raise InvalidInput("content is empty.", "Say what to remember.")
    details = {"category": arguments["category"] or "", "paths": ", ".join(arguments["paths"] or ())}
    stored = remember(
        book,
        Note(
            content=arguments["content"],
            type=arguments["type"],
            project=arguments["project_id"],
            tags=arguments["tags"] or (),
            details={name: value for name, value in details.items() if value},
            meta=arguments["metadata"] or {},
        ),
    )
    item = fetch_one(book, stored.id)
    scope = "global" if item.project is None else f"@{base_name(item.project)}"
    verb = "Already stored" if stored.duplicate else "Stored"
    data = {
        "id": item.short_id,
        "uid": item.uid,
        "number": item.id,
        "type": item.type,
        "scope": scope,
        "project_id": item.project,
        "content": item.body,
        "duplicate": stored.duplicate,
    }
    return Reply(data, f"{verb} {item.type} ({scope}): {item.body}\nid: {item.short_id}")


TOOLS = (
    Tool(
        "memories",
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
        {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "uid": {"type": "string"},
                "number": {"type": "integer"},
                "type": {"type": "string"},
                "scope": {"type": "string"},
                "project_id": {"type": ["string", "null"]},
                "content": {"type": "string"},
                "duplicate": {"type": "boolean"},
            },
            "required": ["id", "type", "scope", "content"],
        },
        add_memory,
        read_only=False,
    ),
)
