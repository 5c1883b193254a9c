"""Items as Kiro Memory writes them: observations, summaries, checkpoints and the entries of a context."""

from __future__ import annotations

from typing import Any

from commonplace.memory.context import ContextItem
from commonplace.memory.staleness import is_stale
from commonplace.memory.timeline import Moment
from commonplace.model import DETAIL_FIELDS, Item
from commonplace.text.names import base_name
from commonplace.text.redacted_data import redacted
from commonplace.text.summarise import cut, shorten
from commonplace.text.times import iso

NO_PROJECT = "global"

# A search result is for choosing; what is longer is had in full by its id.
LONGEST_FOUND = 4_000
LONGEST_TOLD = 300


def observation(item: Item) -> dict[str, Any]:
    """The fifteen fields of the reference. A field that an item does not have is null."""
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "text": item.body or None,
        "narrative": _detail(item, "narrative") or _told(item),
        "facts": _detail(item, "facts"),
        "concepts": _detail(item, "concepts") or (", ".join(item.tags) or None),
        "files_read": _detail(item, "files_read"),
        "files_modified": _detail(item, "files_modified") or _detail(item, "relevant_files"),
        "project": project_name(item),
        **_times(item),
        "is_stale": int(is_stale(item)),
        "discovery_tokens": item.tokens,
    }


def found(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a search result: long texts cut."""
    return {name: cut(value, LONGEST_FOUND) if isinstance(value, str) else value for name, value in record.items()}


def full_observation(item: Item) -> dict[str, Any]:
    """A whole record, with what the other dialects know of it."""
    more = {"uid": item.uid, "kind": item.kind, "session_id": item.session, "tags": list(item.tags)}
    # Only where something is damaged, so that whole items are as the reference says.
    return observation(item) | more | ({"damaged": sorted(item.damaged)} if item.damaged else {})


def summary(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["summary"]}
    fields["notes"] = fields["notes"] or item.body or None
    fields["request"] = fields["request"] or item.title
    return _of_session(item) | fields | _times(item)


def checkpoint(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["checkpoint"] if name != "snapshot"}
    fields["task"] = fields["task"] or item.title
    fields["progress"] = fields["progress"] or item.body or None
    return _of_session(item) | fields | _times(item)


def moment(entry: Moment) -> dict[str, Any]:
    """A line of a timeline: what it was and where it stands, not all that it says."""
    item = entry.item
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "narrative": cut(item.details.get("narrative", ""), LONGEST_FOUND) or shorten(item.body, LONGEST_TOLD) or None,
        "project": project_name(item),
        **_times(item),
        "position": entry.position,
    }


def context_item(entry: ContextItem) -> dict[str, Any]:
    """An entry of a context, without secrets: its length is counted before the reply is cleaned as a whole."""
    item, signals = entry.item, entry.signals
    row: dict[str, Any] = redacted({"id": item.id, "title": item.title, "content": entry.content, "type": item.type})
    return row | {
        "project": project_name(item),
        **_times(item),
        "score": round(entry.score, 4),
        "signals": {
            "semantic": round(signals.semantic, 4),
            "fts5": round(signals.fts5, 4),
            "recency": round(signals.recency, 4),
            "projectMatch": signals.project_match,
        },
    }


def context_entry(entry: ContextItem | Item) -> dict[str, Any]:
    """Anything that a context can hold, as it is written there."""
    if isinstance(entry, ContextItem):
        return context_item(entry)
    row: dict[str, Any] = redacted(checkpoint(entry) if entry.kind == "checkpoint" else summary(entry))
    return row


def project_name(item: Item) -> str:
    return base_name(item.project) if item.project else NO_PROJECT


def _of_session(item: Item) -> dict[str, Any]:
    return {"id": item.id, "session_id": item.session or "", "project": project_name(item)}


def _told(item: Item) -> str | None:
    """Summaries and checkpoints asked for by id: their fields, told in order."""
    return item.told() or None if item.kind in ("summary", "checkpoint") else None


def _detail(item: Item, name: str) -> str | None:
    return item.details.get(name) or None


def _times(item: Item) -> dict[str, Any]:
    return {"created_at": iso(item.created_ms), "created_at_epoch": item.created_ms}
