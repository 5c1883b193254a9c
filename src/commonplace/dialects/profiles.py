"""Which tools a server offers: one visible table, chosen by configuration and never by connection."""

from __future__ import annotations

from commonplace.dialects import kiro, memories
from commonplace.dialects.tool import Tool
from commonplace.errors import InvalidInput

ALL: tuple[Tool, ...] = (*kiro.TOOLS, *memories.TOOLS)

CORE = ("get_context", "search", "timeline", "get_observations", "add_memory")
"""What an agent needs day to day; `connect` writes this profile."""


def tools_of(profile: str) -> tuple[Tool, ...]:
    """The tools of a profile, in a fixed order."""
    if profile == "all":
        return ALL
    if profile == "core":
        return tuple(tool for tool in ALL if tool.name in CORE)
    chosen = tuple(tool for tool in ALL if tool.dialect == profile)
    if not chosen:
        raise InvalidInput(
            f"Profile {profile!r} has no tools in this version.",
            f"Choose all, core, {', '.join(sorted({tool.dialect for tool in ALL}))}.",
        )
    return chosen
