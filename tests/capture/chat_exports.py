"""Exports like those that products send, made by hand: small, and wrong in exactly one way when they are wrong."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

THEN = 1_742_049_000.0


def node(key: str, parent: str | None, role: str = "user", text: str = "", **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's tree. `content`, `metadata`, `create_time` and the like replace what it would have."""
    message = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": THEN,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
        "recipient": "all",
        **more,
    }
    return {"id": key, "message": message, "parent": parent, "children": []}


def tree(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Nodes as ChatGPT keeps them, below a root without a message, each listed by its parent."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    mapping |= {one["id"]: one for one in nodes}
    for one in nodes:
        if one["parent"] in mapping:
            mapping[one["parent"]]["children"].append(one["id"])
    return mapping


def chatgpt(*nodes: dict[str, Any], key: str = "c1", title: str | None = "Rate limits", **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT; where it stands is its last node."""
    given = nodes or (
        node("m1", "root", "user", "How do we limit rates?"),
        node("m2", "m1", "assistant", "With a token bucket in Redis.", create_time=THEN + 5.25),
    )
    return {
        "title": title,
        "create_time": THEN,
        "update_time": THEN + 60,
        "mapping": tree(*given),
        "current_node": given[-1]["id"],
        "conversation_id": key,
        "id": key,
        **more,
    }


def claude_message(uuid: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}] if text else [],
        "sender": sender,
        "created_at": "2025-03-15T14:30:00.123456Z",
        "updated_at": "2025-03-15T14:30:00.123456Z",
        "attachments": [],
        "files": [],
        **more,
    }


def claude(*messages: Any, uuid: str = "u1", name: str = "Database choice", **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "name": name,
        "created_at": "2025-03-15T14:30:00.123456Z",
        "updated_at": "2025-03-15T14:40:00.123456Z",
        "account": {"uuid": "a1"},
        "chat_messages": list(messages)
        or [
            claude_message("n1", "human", "Which database?"),
            claude_message("n2", "assistant", "PostgreSQL 16.", created_at="2025-03-15T14:31:00Z"),
        ],
        **more,
    }


def as_bytes(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


def stream(data: Any) -> io.BytesIO:
    return io.BytesIO(data if isinstance(data, bytes) else as_bytes(data))


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    """A zip of these files, compressed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
