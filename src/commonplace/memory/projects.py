"""Projects: list them, give them other names, and find the one that a name or a folder means.

A folder outside any repository has the project that hooks file its work under: the one of the folder's name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, Conflict, NotFound
from commonplace.memory.detect_project import detect_project
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.model import Item, Project, Scope
from commonplace.text.project_names import (
    base_name,
    normalise_project,
    same_project,
    short_names,
)

# How many seconds a project is waited for while somebody writes.
_BUSY_SECONDS = 0.05


def detect_known_project(settings: Settings, folder: Path) -> str | None:
    """The project of a folder; None outside any."""
    found = detect_project(folder)
    if found is not None or not settings.has_store:
        return found
    with contextlib.suppress(CommonplaceError, OSError):
        name = normalise_project(str(folder.absolute()))
        quick = replace(settings, busy_timeout=_BUSY_SECONDS, embedder="off")
        with contextlib.closing(open_memory(quick, migrate=False)) as memory:
            return name if memory.store.find_project(name) == name else None
    return None


def list_projects(memory: LocalMemory) -> list[Project]:
    """Every project, the one used last first."""
    return memory.store.projects()


def short_project_names(projects: Iterable[Project]) -> dict[str, str]:
    """What people call each project: the end of its name, as long as it takes to mean no other one."""
    return short_names((project.name, project.aliases) for project in projects)


def require_project(memory: LocalMemory, name: str | None) -> None:
    """Raise NotFound if a project was named that is not there, or Conflict if the name may mean several."""
    if name is not None:
        resolve_project(memory, name)


def unknown_project(memory: LocalMemory, name: str) -> CommonplaceError | None:
    """Why a name means no project, with the nearest one; None if it means one. For a caller who is told and goes on."""
    try:
        require_project(memory, name)
    except (NotFound, Conflict) as unknown:
        return unknown
    return None


def is_in_scope(memory: LocalMemory, scope: Scope) -> Callable[[Item], bool]:
    """Whether an item is in the projects of a scope: for what was found by other ways than a search in it."""
    project = None if scope.project is None else memory.store.find_project(scope.project)
    named = () if project is None else (project,)
    return lambda item: scope.has_place_of(item, named)


def alias_project(memory: LocalMemory, project: str, alias: str) -> str:
    """Let a project answer to another name as well; returns its canonical name."""
    memory.maintenance.alias_project(project, alias)
    return memory.store.find_project(alias) or project


def resolve_project(memory: LocalMemory, name: str) -> str:
    """The canonical name of a project that someone named; a typing error must not empty their rule files."""
    found = memory.store.find_project(name)
    if found is not None:
        return found
    projects = list_projects(memory)
    alike = [known.name for known in projects if any(same_project(name, one) for one in (known.name, *known.aliases))]
    if len(alike) > 1:
        raise Conflict(f"{name!r} may mean {' or '.join(sorted(alike))}.", "Name the project in full.")
    known_by = {base_name(project.name).casefold(): base_name(project.name) for project in projects}
    near = get_close_matches(base_name(name).casefold(), known_by, 1)
    hint = f"Did you mean {known_by[near[0]]!r}?" if near else "`commonplace projects` lists those that are known."
    raise NotFound(f"There is no project {name!r}.", hint)
