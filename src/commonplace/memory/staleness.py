"""Staleness: an observation is stale when a file that it says was modified has changed since.

Computed when read, never stored, so it heals when the file is put back or observed anew.
"""

from __future__ import annotations

import os
import re

from commonplace.model import Item

ROOT = "root"
"""The metadata key for the folder that an item's relative paths start from."""

MAX_FILES = 50
_SEPARATORS = re.compile(r"[,\n]")


def is_stale(item: Item) -> bool:
    """Whether any file the item modified is newer than the item."""
    return changed_file(item) is not None


def changed_file(item: Item) -> str | None:
    """The first file that the item modified and that is newer than it. What cannot be looked at does not count."""
    listed = item.details.get("files_modified", "")
    if not listed:
        return None
    root = item.meta.get(ROOT)
    for name in _SEPARATORS.split(listed)[:MAX_FILES]:
        path = _located(name.strip(), root if isinstance(root, str) else None)
        if path is not None and _changed_ms(path) > item.created_ms:
            return name.strip()
    return None


def _located(name: str, root: str | None) -> str | None:
    # Plain strings: of each hit of a search its files are looked at.
    if not name:
        return None
    path = os.path.expanduser(name) if name.startswith("~") else name
    if os.path.isabs(path):
        return path
    return os.path.join(root, path) if root and not path.startswith("~") else None


def _changed_ms(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return -1
