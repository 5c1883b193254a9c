"""Which tools a server offers: one visible table, chosen by configuration and never by connection.

Two dialects have a tool called `search`; where both are offered it is Kiro Memory's. Two have one called `get_context`;
where both are offered, one tool stands for both: a call that either reference knows is answered exactly as there. Of
any other mix of arguments, `project` or `token_budget` asks for Kiro's JSON, everything else for memories.sh's
Markdown. docs/reference/tools.md has the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from commonplace.dialects import chatgpt, ecm, kiro, kiro_context, memories, sekha
from commonplace.dialects.tool import Reply, Tool
from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory

(_KIRO,) = kiro_context.TOOLS
_MEMORIES = next(tool for tool in memories.TOOLS if tool.name == "get_context")
_KIRO_NAMES = {param.name for param in _KIRO.params}
_MEMORIES_NAMES = {param.name for param in _MEMORIES.params}


def merged_get_context(memory: LocalMemory, **arguments: Any) -> Reply[Any]:
    """The answer to a mix of arguments. A blank text or an empty list among them counts as omitted."""
    named = {name: value for name, value in arguments.items() if value is not None}
    given = {name: value for name, value in named.items() if not _is_blank(value)}
    if "project" in given or "token_budget" in given:
        project = given.get("project") or given.get("project_id") or memory.settings.project or kiro.NO_PROJECT
        budget = given.get("token_budget", kiro_context.DEFAULT_BUDGET)
        more = {name: given.get(name) for name in ("query", "files", "limit", "as_of")}
        return kiro_context.get_context(memory, project, budget, **more)
    if "project" in named and named.keys() <= _KIRO_NAMES:
        # Kiro's own call, with a project that names none.
        return kiro_context.get_context(memory, **_KIRO.checked(named))
    checked = _MEMORIES.checked({name: given[name] for name in given.keys() & _MEMORIES_NAMES})
    return memories.get_context(memory, **checked)


def _is_blank(value: object) -> bool:
    return (isinstance(value, str) and not value.strip()) or value == []


def merged_context_tool() -> Tool:
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
        call=merged_get_context,
        ignored=_MEMORIES.ignored,
    )


DIALECTS: dict[str, tuple[Tool, ...]] = {
    "kiro": (*kiro.TOOLS, *kiro_context.TOOLS),
    "memories": memories.TOOLS,
    "ecm": ecm.TOOLS,
    "sekha": sekha.TOOLS,
    "chatgpt": chatgpt.TOOLS,
}

CORE = ("get_context", "search", "recall", "timeline", "get_observations", "add_memory", "edit_memory", "forget_memory")
"""What an agent needs day to day."""


def _all() -> tuple[Tool, ...]:
    by_name = {"get_context": merged_context_tool()}
    for tools in DIALECTS.values():
        for tool in tools:
            by_name.setdefault(tool.name, tool)
    return tuple(by_name.values())


ALL = _all()


def tools_of(profile: str) -> tuple[Tool, ...]:
    """The tools of a profile, in a fixed order."""
    if profile == "all":
        return ALL
    if profile == "core":
        return tuple(tool for name in CORE for tool in ALL if tool.name == name)
    if profile not in DIALECTS:
        raise InvalidInput(f"There is no profile {profile!r}.", f"Choose all, core, {', '.join(DIALECTS)}.")
    return DIALECTS[profile]
