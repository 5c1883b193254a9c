"""Which tools a server offers: one visible table, chosen by configuration and never by connection.

Two dialects have a tool called `search`; where both are offered it is Kiro Memory's. Two have one called `get_context`;
where both are offered, one tool stands for both (get_context.py). docs/reference/tools.md has the table.

In `core` and `all` the tools that search begin in the window's project, and say if nobody knows the project that was
named; those of a single reference look where that says (window_project.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from commonplace.dialects import chatgpt, ecm, get_context, kiro, memories, sekha
from commonplace.dialects.tool import Tool
from commonplace.errors import InvalidInput

DIALECTS: dict[str, tuple[Tool, ...]] = {
    "kiro": (*kiro.TOOLS, *get_context.TOOLS),
    "memories": memories.TOOLS,
    "ecm": ecm.TOOLS,
    "sekha": sekha.TOOLS,
    "chatgpt": chatgpt.TOOLS,
}

CORE = ("get_context", "search", "recall", "timeline", "get_observations", "add_memory", "edit_memory", "forget_memory")
"""What an agent needs day to day."""


_FROM_WINDOW = (*kiro.WINDOW_TOOLS, *ecm.WINDOW_TOOLS, *sekha.WINDOW_TOOLS)


def _all() -> tuple[Tool, ...]:
    by_name = {"get_context": get_context.merged_context_tool()}
    from_window = {tool.name: tool for tool in _FROM_WINDOW}
    for tools in DIALECTS.values():
        for tool in tools:
            by_name.setdefault(tool.name, from_window.get(tool.name, tool))
    add = by_name["add_memory"]
    by_name["add_memory"] = replace(add, call=partial(add.call, names_unknown=True))
    return tuple(by_name.values())


ALL = _all()
# Where no project is known, as over HTTP, agents of the everyday profile are told of none, and bind none by oversight.
_STRICT = ("search", "recall", "add_memory")


def _core() -> tuple[Tool, ...]:
    by_name = {tool.name: tool for tool in ALL}
    for name in _STRICT:
        by_name[name] = replace(by_name[name], call=partial(by_name[name].call, strict=True))
    return tuple(by_name[name] for name in CORE)


def tools_of(profile: str) -> tuple[Tool, ...]:
    """The tools of a profile, in a fixed order."""
    if profile == "all":
        return ALL
    if profile == "core":
        return _core()
    if profile not in DIALECTS:
        raise InvalidInput(f"There is no profile {profile!r}.", f"Choose all, core, {', '.join(DIALECTS)}.")
    return DIALECTS[profile]
