"""Export a conversation as JSON that can be imported again, or as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Session, SessionScope
from commonplace.text.dates import short_iso_time
from commonplace.text.redact import redact, redact_data

CONVERSATIONS_FORMAT, CONVERSATIONS_VERSION = "commonplace-conversations", 1
EXPORT_FORMATS = ("json", "markdown")
_PAGE = 200


def plain_score(importance: float) -> float | int:
    """An importance as references write it: 9 rather than 9.0."""
    return int(importance) if importance.is_integer() else importance


def message_data(item: Item) -> dict[str, Any]:
    """One message, with what is needed to write it again."""
    data = {
        "id": item.uid,
        "role": item.details.get("role", "user"),
        "content": item.body,
        "timestamp": short_iso_time(item.created_ms),
    }
    return data | {"metadata": dict(item.meta)} if item.meta else data


def conversation_data(session: Session, messages: Sequence[Item]) -> dict[str, Any]:
    """A conversation with its messages, as reading it shows it."""
    return {
        "id": session.uid,
        "label": session.label,
        "folder": session.folder,
        "status": session.status,
        "importance_score": plain_score(session.importance),
        "messages": [message_data(item) for item in messages],
        "message_count": session.messages,
        "word_count": session.words,
        "created_at": short_iso_time(session.started_ms),
        "updated_at": short_iso_time(session.updated_ms),
        "last_accessed": None if session.accessed_ms is None else short_iso_time(session.accessed_ms),
    }


def conversation_export(session: Session, messages: Sequence[Item], *, metadata: bool = True) -> dict[str, Any]:
    """A conversation that can be imported again without loss; without `metadata`, only its messages."""
    if not metadata:
        plain = [{name: m[name] for name in ("role", "content", "timestamp")} for m in map(message_data, messages)]
        return {"id": session.uid, "label": session.label, "folder": session.folder, "messages": plain}
    origin = {"key": session.key, "source": session.source, "project": session.project, "metadata": dict(session.meta)}
    return conversation_data(session, messages) | origin


def conversation_markdown(session: Session, messages: Sequence[Item], *, metadata: bool = True) -> str:
    """A conversation to read, or to give to someone who has no Commonplace."""
    lines = [f"# {session.label or session.key}", ""]
    if metadata:
        facts = {
            "Folder": session.folder,
            "Importance": f"{plain_score(session.importance)}/10",
            "Created": short_iso_time(session.started_ms)[:10],
            "Messages": session.messages,
            "Words": session.words,
        }
        lines += ["  \n".join(f"**{name}:** {value}" for name, value in facts.items()), "", "---", ""]
    lines.append("## Conversation")
    for item in messages:
        when = short_iso_time(item.created_ms)[:19].replace("T", " ")
        lines += ["", f"**{_speaker(item)}** ({when}):  ", item.body]
    return "\n".join(lines) + "\n"


def export_text(session: Session, messages: Sequence[Item], format_: str, *, metadata: bool = True) -> str:
    """A conversation as the text of a file, in one of FORMATS, with the secrets taken out."""
    if format_ == "json":
        data = redact_data(conversation_export(session, messages, metadata=metadata))
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    clean = [replace(item, body=redact(item.body)) for item in messages]
    return conversation_markdown(replace(session, label=redact(session.label)), clean, metadata=metadata)


def all_conversations(memory: LocalMemory, scope: SessionScope) -> Iterator[tuple[Session, list[Item]]]:
    """Every conversation of a scope with its messages, one at a time, the one with the newest message first.

    One that gets a message meanwhile moves to the front, so what is new there is looked for at the end.
    """
    seen: set[int] = set()
    before, fresh = None, True
    while fresh:
        page = memory.store.latest_sessions(scope, _PAGE, before)
        unseen = [session for session in page if session.id not in seen]
        for session in unseen:
            seen.add(session.id)
            yield session, memory.store.messages_of(session.id)
        fresh = bool(unseen) or before is not None
        before = (page[-1].ended_ms, page[-1].id) if unseen else None


def _speaker(item: Item) -> str:
    return item.details.get("role", "user").capitalize()
