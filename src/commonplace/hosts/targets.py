"""The table of hosts that rule files are written for and learned from, and what a project uses of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from commonplace.errors import InvalidInput
from commonplace.hosts.agents import AGENTS
from commonplace.hosts.claude import CLAUDE
from commonplace.hosts.cline import CLINE
from commonplace.hosts.copilot import COPILOT
from commonplace.hosts.cursor import CURSOR
from commonplace.hosts.gemini import GEMINI
from commonplace.hosts.host import Host
from commonplace.hosts.kiro import KIRO
from commonplace.hosts.roo import ROO
from commonplace.hosts.windsurf import WINDSURF

TARGETS: tuple[Host, ...] = (AGENTS, CLAUDE, CURSOR, WINDSURF, COPILOT, GEMINI, KIRO, CLINE, ROO)
NAMES = tuple(host.name for host in TARGETS)


def chosen(names: Sequence[str], root: Path) -> list[Host]:
    """The hosts of these names; without any, those that the project uses; AGENTS.md if it uses none."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise InvalidInput(f"There is no target {', '.join(map(repr, unknown))}.", f"Targets: {', '.join(NAMES)}.")
    if names:
        return [host for host in TARGETS if host.name in names]
    return [host for host in TARGETS if host.used_in(root)] or [AGENTS]
