"""Namesakes: different repositories or folders that are one project by mistake, since they are called the same.

Known are the folders that sessions started in lately (prepared.py). A remote, or a name that was given, tells apart.
"""

from __future__ import annotations

from pathlib import Path

from commonplace.capture.hooks.places import Places
from commonplace.capture.hooks.prepared import lying
from commonplace.text.names import repository_of

ADVICE = "`git config commonplace.project NAME` in one of them tells them apart."


def namesakes(data: str) -> dict[str, list[str]]:
    """The roots of every project that has several, by its name."""
    roots: dict[str, dict[str, None]] = {}
    places = Places()
    for _path, _made_at, folder, _session in lying(data):
        project = places.of(folder).project if folder else None
        # A longer name is that of a remote, or was given on purpose.
        if project and "/" not in project:
            roots.setdefault(project, {})[_root(folder)] = None
    return {project: sorted(found) for project, found in roots.items() if len(found) > 1}


def warning(data: str, project: str | None) -> str:
    """A line for a session in one of them; empty in any other."""
    roots = namesakes(data).get(project, []) if project else []
    return f"Mixed up here, since both are called {project}: {', '.join(roots)}. {ADVICE}" if roots else ""


def _root(folder: str) -> str:
    """Worktrees have the root of their repository."""
    return str(repository_of(Path(folder)) or folder).removesuffix("/.git")
