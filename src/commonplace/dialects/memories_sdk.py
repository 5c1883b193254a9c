"""memories.sh's SDK: memories in the fields that it reads, over HTTP and from a tool's reply.

A memory's layer is `rule` for rules and `long_term` for everything else, unless it was stored with another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAYERS = ("rule", "working", "long_term")
LAYER = "layer"
"""Where the metadata of a memory tells its layer."""


def layer_of(type_: str, metadata: Mapping[str, Any]) -> str:
    stored = metadata.get(LAYER)
    return stored if stored in LAYERS else "rule" if type_ == "rule" else "long_term"


def memory_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of one of our replies, as the SDK reads it."""
    return {
        "id": row["id"],
        "content": row["content"],
        "type": row["type"],
        "layer": layer_of(row["type"], row["metadata"]),
        "expiresAt": None,
        "scope": row["scope"],
        "projectId": row["project_id"],
        "tags": row["tags"],
        "paths": row["paths"],
        "category": row["category"],
        "metadata": row["metadata"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
    }


def sdk_reply(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's reply with the rules and memories that are in it under the names that the SDK reads."""
    more: dict[str, Any] = {}
    if "project_rules" in data:
        more["rules"] = [memory_record(row) for row in (*data["project_rules"], *data["global_rules"])]
    if "memories" in data:
        more["memories"] = [dict(row) | memory_record(row) for row in data["memories"]]
    return {**data, **more}


def sdk_failure(body: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's error in the envelope that the SDK reads; without one it would take the error for an empty reply."""
    return {"ok": False, "data": None, "error": {"type": "tool_error", **body["error"]}}
