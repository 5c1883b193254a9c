"""Unchanged: whether what is remembered is still what it was, told so quickly that a hook may ask."""

from __future__ import annotations


def content_mark(database: str) -> str | None:
    """A word for what the store at a path holds, which changes with it; None if it cannot be told at this moment."""
    from commonplace.store.sqlite.content_mark import content_mark

    return content_mark(database)
