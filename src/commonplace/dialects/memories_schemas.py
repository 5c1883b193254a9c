"""The shapes of memories.sh's structured replies, as JSON Schema."""

from __future__ import annotations

from commonplace.dialects.schema import BOOLEAN, INTEGER, OBJECT, STRING, STRING_OR_NULL, Schema, array, record

_MEMORY: Schema = {
    "id": STRING,
    "uid": STRING,
    "number": INTEGER,
    "type": STRING,
    "title": STRING,
    "content": STRING,
    "scope": STRING,
    "project_id": STRING_OR_NULL,
    "tags": array(STRING),
    "paths": array(STRING),
    "category": STRING_OR_NULL,
    "metadata": OBJECT,
    "truncated": BOOLEAN,
    "created_at": STRING,
    "updated_at": STRING,
}

_MEMORIES: Schema = array(record(_MEMORY))
_RULES: Schema = {
    "project_rules": _MEMORIES,
    "global_rules": _MEMORIES,
    "rules_for_other_files": INTEGER,
    "rules_left_out": INTEGER,
}

_STORED: Schema = {
    "duplicate": BOOLEAN,
    "contradicts": array(record({"id": STRING, "reason": STRING, "content": STRING})),
}

MEMORY = record(_MEMORY | _STORED | {"supersedes": STRING}, optional=("duplicate", "contradicts", "supersedes"))
LIST = record({"memories": _MEMORIES, "notice": STRING}, optional=("notice",))
RULES = record(_RULES)
CONTEXT = record(_RULES | {"memories": _MEMORIES, "notice": STRING}, optional=("notice",))
FORGOTTEN = record({"id": STRING, "forgotten": BOOLEAN, "restore": STRING})
STREAM = record(
    {
        "stream_id": STRING,
        "status": STRING,
        "chunks": INTEGER,
        "characters": INTEGER,
        "memory": record(_MEMORY | _STORED),
    },
    optional=("memory",),
)
