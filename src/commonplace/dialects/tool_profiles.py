"""Which tools a server offers: one visible table, chosen by configuration and never by connection.

Two dialects have a tool called `search`; where both are offered it is Kiro Memory's. Two have one called `get_context`;
where both are offered, one tool stands for both (get_context.py). docs/reference/tools.md has the table.
"""

from __future__ import annotations

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


def _all() -> tuple[Tool, ...]:
    by_name = {"get_context": get_context.merged_context_tool()}
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
