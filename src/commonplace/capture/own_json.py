"""Our own export, read back without loss: `{"format": "commonplace-conversations", ...}` or one conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from commonplace.capture.foreign import Found, Skipped, Stream, label_of, object_in, text_in, time_in
from commonplace.capture.json_stream import conversations
from commonplace.identity import ref
from commonplace.memory.conversations import ROLES, Conversation, Said

SOURCE = "json"


def read(stream: Stream, name: str) -> Iterator[Found]:
    """Every conversation of an export, and what could not be read of it."""
    return conversations(stream, lambda data, where: (_conversation(data, where),))


def _conversation(data: Any, where: str) -> Found:
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        return Skipped(where, "it has no list of messages")
    messages = []
    for number, entry in enumerate(data["messages"], 1):
        said = _said(entry)
        if isinstance(said, str):
            return Skipped(where, f"message {number}: {said}")
        messages.append(said)
    if not messages:
        return Skipped(where, "it has no messages")
    score = data.get("importance_score")
    id_ = text_in(data, "id", "conversation_id")
    return Conversation(
        label=label_of(text_in(data, "label"), messages[0].content),
        messages=messages,
        folder=text_in(data, "folder") or f"/imports/{SOURCE}",
        importance=score if isinstance(score, (int, float)) and not isinstance(score, bool) else None,
        status=text_in(data, "status") or None,
        project=text_in(data, "project") or None,
        source=text_in(data, "source") if "source" in data else SOURCE,
        key=text_in(data, "key") or id_,
        meta=object_in(data, "metadata"),
        started_ms=time_in(data, "created_at"),
        accessed_ms=time_in(data, "last_accessed"),
        updated_ms=time_in(data, "updated_at"),
        uid=_uid(id_),
    )


def _said(data: Any) -> Said | str:
    """The message, or what is wrong with it."""
    if not isinstance(data, dict):
        return "it is no object"
    role, content, id_ = text_in(data, "role"), text_in(data, "content"), text_in(data, "id")
    if role not in ROLES:
        return f"unknown role {role[:40]!r}" if role else "no role"
    if not content:
        return "no content"
    return Said(role, content, time_in(data, "timestamp"), object_in(data, "metadata"), identity=id_, uid=_uid(id_))


def _uid(id_: str) -> str | None:
    """The id where it is one of ours; others only tell things apart."""
    return ref(id_).uid if id_ else None
