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
    "title": _STRING,
    "content": _STRING,
    "scope": _STRING,
    "project_id": nullable("string"),
    "tags": _STRINGS,
    "paths": _STRINGS,
    "category": nullable("string"),
    "metadata": {"type": "object"},
    "truncated": {"type": "boolean"},
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
_RULES: dict[str, object] = {
    "project_rules": _MEMORIES,
    "global_rules": _MEMORIES,
    "rules_for_other_files": _COUNT,
    "rules_left_out": _COUNT,
}

_STORED: dict[str, object] = {
    "duplicate": {"type": "boolean"},
    "contradicts": {
        "type": "array",
        "items": _object({"id": _STRING, "reason": _STRING, "content": _STRING}),
    },
}

MEMORY = _object(_MEMORY | _STORED | {"supersedes": _STRING}, optional=("duplicate", "contradicts", "supersedes"))
LIST = _object({"memories": _MEMORIES, "notice": _STRING}, optional=("notice",))
RULES = _object(_RULES)
CONTEXT = _object(_RULES | {"memories": _MEMORIES, "notice": _STRING}, optional=("notice",))
FORGOTTEN = _object({"id": _STRING, "forgotten": {"type": "boolean"}, "restore": _STRING})
STREAM = _object(
    {
        "stream_id": _STRING,
        "status": _STRING,
        "chunks": _COUNT,
        "characters": _COUNT,
        "memory": _object(_MEMORY | _STORED),
    },
    optional=("memory",),
)
