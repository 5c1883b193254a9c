"""The shapes of memories.sh's structured replies, as JSON Schema."""

from __future__ import annotations

from commonplace.dialects.tool import nullable

_STRING: dict[str, object] = {"type": "string"}
_COUNT: dict[str, object] = {"type": "integer"}
_STRINGS: dict[str, object] = {"type": "array", "items": _STRING}

_MEMORY: dict[str, object] = {
    "id": _STRING,
    "uid": _STRING,
    "number": _COUNT,
    "type": _STRING,
    "content": _STRING,
    "scope": _STRING,
    "project_id": nullable("string"),
    "tags": _STRINGS,
    "paths": _STRINGS,
    "category": nullable("string"),
    "metadata": {"type": "object"},
    "created_at": _STRING,
    "updated_at": _STRING,
}


def _object(properties: dict[str, object], optional: tuple[str, ...] = ()) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


_MEMORIES: dict[str, object] = {"type": "array", "items": _object(_MEMORY)}
_RULES: dict[str, object] = {"project_rules": _MEMORIES, "global_rules": _MEMORIES, "rules_for_other_files": _COUNT}

MEMORY = _object(
    _MEMORY
    | {
        "duplicate": {"type": "boolean"},
        "contradicts": {
            "type": "array",
            "items": _object({"id": _STRING, "reason": _STRING, "content": _STRING}),
        },
    },
    optional=("duplicate", "contradicts"),
)
LIST = _object({"memories": _MEMORIES})
RULES = _object(_RULES)
CONTEXT = _object(_RULES | {"memories": _MEMORIES})
FORGOTTEN = _object({"id": _STRING, "forgotten": {"type": "boolean"}, "restore": _STRING})
STREAM = _object(
    {"stream_id": _STRING, "status": _STRING, "chunks": _COUNT, "characters": _COUNT, "memory": _object(_MEMORY)},
    optional=("memory",),
)
