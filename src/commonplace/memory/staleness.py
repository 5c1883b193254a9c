"""Staleness: an observation is stale when a file that it says was modified has changed since.

Computed when read, never stored, so it heals when the file is put back or observed anew.
"""

from __future__ import annotations

import re
from pathlib import Path

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


def _located(name: str, root: str | None) -> Path | None:
    if not name:
        return None
    try:
        path = Path(name).expanduser() if name.startswith("~") else Path(name)
    except RuntimeError:
        return None
    if path.is_absolute():
        return path
    return Path(root) / path if root else None


def _changed_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return -1
