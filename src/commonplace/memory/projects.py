"""Whereabouts: the project of a folder. Its repository's, else one that is known by the name of the folder itself.

Hooks file what happens outside a repository under the folder's name, so whoever asks there is told about that.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import CommonplaceError
from commonplace.memory.local_memory import open_memory
from commonplace.text.project_names import detect_project, normalise_project

# Whoever wants to know where he is does not wait for whoever writes.
_PATIENCE = 0.05


def detect_known_project(settings: Settings, folder: Path) -> str | None:
    """The project of a folder; None outside any."""
    found = detect_project(folder)
    if found is not None or not settings.has_store:
        return found
    with contextlib.suppress(CommonplaceError, OSError):
        name = normalise_project(str(folder.absolute()))
        quick = replace(settings, busy_timeout=_PATIENCE, embedder="off")
        with contextlib.closing(open_memory(quick, migrate=False)) as memory:
            return name if memory.store.find_project(name) == name else None
    return None
