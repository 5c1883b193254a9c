"""Which part of the memory a tool of `core` and `all` is about: what it names, else the project of its window.

What belongs to another project is told only to who asks for it by name, or for all. The profile of a single reference
keeps what that promises (tool_profiles.py).
"""

from __future__ import annotations

from typing import Annotated

from commonplace.dialects.tool import Param
from commonplace.errors import CommonplaceError
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import unknown_project
from commonplace.model import Scope
from commonplace.text.project_names import same_project

NO_PROJECT = "global"
ALL_PROJECTS = ("all", "*")
WhichProject = Annotated[
    str | None,
    Param('Only this project; "all" for every project. By default this window\'s, and what applies everywhere'),
]


def project_here(memory: LocalMemory, named: str | None) -> str | None:
    """The project that is meant: the one named, else that of the window; None for what applies everywhere."""
    name = (named or "").strip() or memory.settings.project
    return None if not name or is_global(name) else name


def is_global(name: str) -> bool:
    """Whether a name stands for no project."""
    return name.strip().casefold() == NO_PROJECT


def named_scope(project: str | None) -> Scope:
    """Exactly the project that is named; everything if none is."""
    if project is None or not project.strip():
        return Scope()
    return Scope(only_global=True) if is_global(project) else Scope(project=project)


def window_scope(memory: LocalMemory, project: str | None, *, strict: bool) -> Scope:
    """What a question of an agent is about: what it names, else its window's project and what applies everywhere.

    In a window without a project that is everything, unless `strict`: the caller may well work on a project.
    """
    if project is not None and project.strip():
        return Scope() if project.strip().casefold() in ALL_PROJECTS else named_scope(project)
    if not memory.settings.project and not strict:
        return Scope()
    return Scope.around(memory.settings.project or None)


def unknown_named(memory: LocalMemory, named: str | None) -> CommonplaceError | None:
    """Why the project that a caller named is not known. The window's own may well be new, and is none of these."""
    name = (named or "").strip()
    if not name or is_global(name) or name.casefold() in ALL_PROJECTS:
        return None
    return None if same_project(name, memory.settings.project or "") else unknown_project(memory, name)


def unknown_notice(memory: LocalMemory, named: str | None) -> str:
    """The same as a sentence; empty if the project is known."""
    unknown = unknown_named(memory, named)
    return f"{unknown.message} {unknown.hint}" if unknown else ""


def scope_notice(memory: LocalMemory, project: str | None, *, strict: bool) -> str:
    """Where it was looked, if nobody said where; and that there is no project of the name that somebody said."""
    if project is not None and project.strip():
        return unknown_notice(memory, project)
    if not memory.settings.project and not strict:
        return ""
    if not memory.settings.project:
        return 'Only what applies everywhere was searched: name your project, or "all" for every project.'
    return f'Searched {memory.settings.project} and what applies everywhere; project "all" searches every project.'
