"""Which tools a server offers: one visible table, chosen by configuration and never by connection.

Two dialects have a tool called `get_context`. Where both are offered, one tool stands for both: with `project` or
`token_budget` it is Kiro's and answers JSON, otherwise it is memories.sh's and answers Markdown. Without a query that
one tells, after the rules, what a session is told when it starts: it is the first thing that agents ask.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from commonplace.dialects import ecm, kiro, memories, sekha
from commonplace.dialects.schema import STRING
from commonplace.dialects.tool import Arguments, Reply, Tool
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.opening import opening

DIALECTS: dict[str, tuple[Tool, ...]] = {
    "kiro": kiro.TOOLS,
    "memories": memories.TOOLS,
    "ecm": ecm.TOOLS,
    "sekha": sekha.TOOLS,
}

CORE = ("get_context", "search", "recall", "timeline", "get_observations", "add_memory", "edit_memory", "forget_memory")
"""What an agent needs day to day."""

_KIRO_CONTEXT = next(tool for tool in kiro.TOOLS if tool.name == "get_context")
_MEMORIES_CONTEXT = next(tool for tool in memories.TOOLS if tool.name == "get_context")


def get_context(book: Book, arguments: Arguments) -> Reply:
    """Kiro's context if its arguments are there, else memories.sh's. Each refuses what only the other has."""
    given = {name: value for name, value in arguments.items() if value is not None}
    for_kiro = "project" in given or "token_budget" in given
    chosen = _KIRO_CONTEXT if for_kiro else _MEMORIES_CONTEXT
    reply = chosen.call(book, chosen.checked(given))
    return reply if for_kiro or (given.get("query") or "").strip() else _with_opening(book, given, reply)


def _with_opening(book: Book, given: Arguments, reply: Reply) -> Reply:
    project = (given.get("project_id") or "").strip() or book.settings.project or None
    tokens = book.settings.opening_tokens
    told = opening(book, project, tokens, rules=False).strip() if tokens else ""
    return Reply(reply.data | {"opening": told}, f"{reply.text}\n\n{told}") if told else reply


def _either_context() -> Tool:
    own = {param.name for param in _KIRO_CONTEXT.params}
    params = [replace(param, required=False, default=None) for param in _KIRO_CONTEXT.params]
    params += [replace(param, default=None) for param in _MEMORIES_CONTEXT.params if param.name not in own]
    shapes: list[Any] = [tool.output["properties"] for tool in (_MEMORIES_CONTEXT, _KIRO_CONTEXT)]
    return replace(
        _KIRO_CONTEXT,
        title="Context for a task",
        description="What to know before a task. With project: decisions, rules, recent or relevant observations,"
        " summaries and checkpoint as JSON within token_budget. Without: rules, and relevant memories or where work"
        " stopped, as Markdown.",
        params=tuple(params),
        output={"type": "object", "properties": shapes[0] | shapes[1] | {"opening": STRING}},
        call=get_context,
    )


ALL: tuple[Tool, ...] = (
    _either_context(),
    *(tool for tools in DIALECTS.values() for tool in tools if tool.name != "get_context"),
)


def tools_of(profile: str) -> tuple[Tool, ...]:
    """The tools of a profile, in a fixed order."""
    if profile == "all":
        return ALL
    if profile == "core":
        return tuple(tool for name in CORE for tool in ALL if tool.name == name)
    if profile not in DIALECTS:
        raise InvalidInput(f"There is no profile {profile!r}.", f"Choose all, core, {', '.join(DIALECTS)}.")
    return DIALECTS[profile]
