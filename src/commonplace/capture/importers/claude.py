"""The export of Claude: conversations as lists of messages, each a list of blocks of text, tools and thinking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label
from commonplace.capture.importers.json_reader import (
    UnreadableMessage,
    collect_messages,
    read_conversations,
    skipped_messages,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.text.json_fields import objects_in, text_in, time_in

SOURCE = "claude"
ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# Blocks without anything that a reader would see.
_SILENT = frozenset({"token_budget", "flag"})


def read(stream: Stream, name: str) -> Iterator[Entry]:
    """Every conversation of a `conversations.json`, and what could not be read of it."""
    return read_conversations(stream, _conversation)


def _conversation(data: Any, where: str) -> Iterator[Entry]:
    if not isinstance(data, dict) or not isinstance(data.get("chat_messages"), list):
        yield Skipped(where, "it has no list of messages (chat_messages)")
        return
    title, started = text_in(data, "name"), time_in(data, "created_at")
    messages, skipped = collect_messages(data["chat_messages"], _message, started)
    yield from skipped_messages(f"{where} ({title[:60]})" if title else where, messages, skipped)
    if messages:
        summary = text_in(data, "summary")
        yield NewConversation(
            label=conversation_label(title, messages[0].content),
            messages=messages,
            folder=f"/imports/{SOURCE}",
            source=SOURCE,
            key=text_in(data, "uuid"),
            meta={"summary": summary} if summary else {},
            started_ms=started or messages[0].at_ms,
        )


def _message(data: Any, before_ms: int | None) -> NewMessage:
    """A message; one without a time gets that of the one before."""
    if not isinstance(data, dict):
        raise UnreadableMessage("a message that is no object")
    sender = text_in(data, "sender")
    if sender not in ROLES:
        raise UnreadableMessage(f"unknown sender {sender[:40]!r}" if sender else "no sender")
    # The blocks say more than `text`, which only mentions that there was something else.
    parts = list(filter(None, map(_block, objects_in(data, "content")))) or [text_in(data, "text")]
    text = "\n\n".join(part for part in (*parts, *_attachments(data)) if part)
    if not text:
        raise UnreadableMessage("no text in it")
    at_ms, parent = time_in(data, "created_at"), text_in(data, "parent_message_uuid")
    return NewMessage(
        role=ROLES[sender],
        content=text,
        at_ms=before_ms if at_ms is None else at_ms,
        meta={"parent": parent} if parent else {},
        identity=text_in(data, "uuid"),
    )


def _block(block: dict[str, Any]) -> str:
    kind = text_in(block, "type")
    if kind == "tool_use":
        return f"[tool: {text_in(block, 'name')}]\n{_tool_text(block.get('input'))}"
    if kind == "tool_result":
        failed = " failed" if block.get("is_error") is True else ""
        return f"[result: {text_in(block, 'name')}{failed}]\n{_tool_text(block.get('content'))}".rstrip()
    if kind == "thinking":
        thought = text_in(block, "thinking")
        return f"[thinking]\n{thought}" if thought else ""
    return text_in(block, "text") or ("" if kind in _SILENT | {"text", ""} else f"[{kind}]")


def _tool_text(value: object) -> str:
    """The input or output of a tool: texts as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(entry, dict) and "type" in entry for entry in value):
        return "\n\n".join(filter(None, map(_block, value)))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _attachments(data: dict[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    for one in objects_in(data, "attachments"):
        name, content = text_in(one, "file_name") or "unnamed", text_in(one, "extracted_content")
        seen.add(name)
        yield f"[file: {name}]\n{content}" if content else f"[file: {name}]"
    for one in (*objects_in(data, "files"), *objects_in(data, "files_v2")):
        name = text_in(one, "file_name") or "unnamed"
        if name not in seen:
            seen.add(name)
            yield f"[file: {name}]"
