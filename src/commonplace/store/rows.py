"""Rows as values: what every engine reads in the same order, and what a change keeps of what was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from commonplace.model import Item, Session

# Details of fewer letters are kept as they were read.
SHORT = 64


def item_of(row: Sequence[Any], tags: Sequence[str]) -> Item:
    """An item from its columns, which stand in the order of its fields; its tags are read by each engine."""
    id_, uid, kind, type_, title, body, details, meta, project, session, _tags, *rest = row
    return Item(
        id_,
        uid,
        kind,
        type_,
        title,
        body,
        _details(details) if len(details) < SHORT else json.loads(details),
        {} if meta == "{}" else json.loads(meta),
        project,
        session,
        tuple(tags),
        *rest,
    )


def session_of(row: Sequence[Any]) -> Session:
    """A session from its columns, which stand in the order of its fields."""
    id_, uid, key, source, project, label, folder, status, importance, meta = row[:10]
    kept = {} if meta == "{}" else json.loads(meta)
    return Session(id_, uid, key, source, project, label, folder, status, importance, kept, *row[10:])


def as_before(session: Session) -> Mapping[str, object]:
    """What a change keeps of a session as it was."""
    names = ("label", "folder", "status", "importance", "meta", "project", "forgotten_ms")
    return {name: getattr(session, name) for name in names}


@lru_cache(maxsize=256)
def _details(text: str) -> Mapping[str, str]:
    """Short details are much the same from message to message, and read once."""
    details: Mapping[str, str] = json.loads(text)
    return details
