"""Private projects: the setting `sync_private` names those that never leave this machine.

Every door asks here: hooks, the tools of a team's server, `connect`, sync and promote.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from commonplace.config import Settings, listed
from commonplace.errors import CommonplaceError
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.text.project_names import may_mean_project

# How many seconds the aliases are waited for while somebody writes.
_BUSY_SECONDS = 0.05


def is_private(private: Iterable[str], project: str | None) -> bool:
    """Whether a project is one of the private ones, given as names and patterns."""
    return any(may_mean_project(one, project) for one in private)


def private_projects(memory: LocalMemory) -> tuple[str, ...]:
    """The names and patterns of the setting, and the projects that have an alias which they mean."""
    private = listed(memory.settings.sync_private)
    return (*private, *_by_alias(memory, private)) if private else ()


def private_projects_of(settings: Settings) -> tuple[str, ...]:
    """The same where the memory is not open. If it cannot be read, its aliases are not known."""
    private = listed(settings.sync_private)
    if private and settings.has_store:
        with contextlib.suppress(CommonplaceError, OSError):
            quick = replace(settings, busy_timeout=_BUSY_SECONDS, embedder="off")
            with contextlib.closing(open_memory(quick, migrate=False)) as memory:
                return private_projects(memory)
    return private


def _by_alias(memory: LocalMemory, private: Sequence[str]) -> list[str]:
    return [
        project.name
        for project in memory.store.projects()
        if not is_private(private, project.name) and any(is_private(private, alias) for alias in project.aliases)
    ]
