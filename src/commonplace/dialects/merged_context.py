"""The one `get_context` of the profiles that offer both Kiro Memory's and memories.sh's tool of that name.

A call that either reference knows is answered exactly as there. Any mix of the arguments is answered too: `project` or
`token_budget` asks for Kiro's JSON, everything else for memories.sh's Markdown. docs/mcp.md has the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from commonplace.dialects import kiro, memories
from commonplace.dialects.tool import Arguments, Reply, Tool
from commonplace.memory.book import Book

_KIRO = next(tool for tool in kiro.TOOLS if tool.name == "get_context")
_MEMORIES = next(tool for tool in memories.TOOLS if tool.name == "get_context")
_KIRO_NAMES = {param.name for param in _KIRO.params}
_MEMORIES_NAMES = {param.name for param in _MEMORIES.params}


def get_context(book: Book, arguments: Arguments) -> Reply:
    """The answer to a mix of arguments. A blank text or an empty list among them counts as omitted."""
    named = {name: value for name, value in arguments.items() if value is not None}
    given = {name: value for name, value in named.items() if not _is_blank(value)}
    if "project" in given or "token_budget" in given:
        for_kiro = {
            "project": given.get("project") or given.get("project_id") or book.settings.project or kiro.NO_PROJECT,
            "query": given.get("query"),
            "token_budget": given.get("token_budget", kiro.DEFAULT_BUDGET),
            "files": given.get("files"),
            "limit": given.get("limit"),
        }
        return kiro.get_context(book, for_kiro)
    if "project" in named and named.keys() <= _KIRO_NAMES:
        # Kiro's own call, with a project that names none.
        return _KIRO.call(book, _KIRO.checked(named))
    return _MEMORIES.call(book, _MEMORIES.checked({name: given[name] for name in given.keys() & _MEMORIES_NAMES}))


def _is_blank(value: object) -> bool:
    return (isinstance(value, str) and not value.strip()) or value == []


def merged_tool() -> Tool:
    """Both tools as one, with the arguments of both, all of them optional."""
    params = [replace(param, required=False, default=None) for param in _KIRO.params]
    params += [replace(param, default=None) for param in _MEMORIES.params if param.name not in _KIRO_NAMES]
    shapes: list[Any] = [tool.output["properties"] for tool in (_MEMORIES, _KIRO)]
    return replace(
        _KIRO,
        title="Context for a task",
        description="What to know before a task. With project or token_budget: decisions, rules, recent or relevant"
        " observations, summaries and checkpoint as JSON within token_budget. Otherwise: rules, and the memories"
        " relevant to query, as Markdown.",
        params=tuple(params),
        output={"type": "object", "properties": shapes[0] | shapes[1]},
        call=get_context,
        ignored=_MEMORIES.ignored,
    )
