"""The shapes of Kiro Memory's replies, as JSON Schema: what the reference promises and our optional extras."""

from __future__ import annotations

from commonplace.dialects.tool import nullable

_TIMES: dict[str, object] = {"created_at": {"type": "string"}, "created_at_epoch": {"type": "integer"}}


def _object(properties: dict[str, object], optional: tuple[str, ...] = ()) -> dict[str, object]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(of: dict[str, object]) -> dict[str, object]:
    return {"type": "array", "items": of}


_OBSERVATION: dict[str, object] = {
    "id": {"type": "integer"},
    "type": {"type": "string"},
    "title": {"type": "string"},
    "subtitle": nullable("string"),
    "text": nullable("string"),
    "narrative": nullable("string"),
    "facts": nullable("string"),
    "concepts": nullable("string"),
    "files_read": nullable("string"),
    "files_modified": nullable("string"),
    "project": {"type": "string"},
    **_TIMES,
    "is_stale": {"type": "integer"},
    "discovery_tokens": {"type": "integer"},
}

_SUMMARY = _object(
    {
        "id": {"type": "integer"},
        "session_id": {"type": "string"},
        "project": {"type": "string"},
        "request": nullable("string"),
        "investigated": nullable("string"),
        "learned": nullable("string"),
        "completed": nullable("string"),
        "next_steps": nullable("string"),
        "notes": nullable("string"),
        **_TIMES,
    }
)

_CHECKPOINT: dict[str, object] = {
    "type": ["object", "null"],
    "properties": {
        "id": {"type": "integer"},
        "session_id": {"type": "string"},
        "project": {"type": "string"},
        "task": nullable("string"),
        "progress": nullable("string"),
        "next_steps": nullable("string"),
        "open_questions": nullable("string"),
        "relevant_files": nullable("string"),
        **_TIMES,
    },
}

_NUMBER: dict[str, object] = {"type": "number"}
_SIGNALS = _object({"semantic": _NUMBER, "fts5": _NUMBER, "recency": _NUMBER, "projectMatch": _NUMBER})

SEARCH = _object(
    {
        "observations": _list(_object(_OBSERVATION)),
        "summaries": _list(_SUMMARY),
        "notice": {"type": "string"},
    },
    optional=("notice",),
)

TIMELINE = _object(
    {
        "timeline": _list(
            _object(
                {
                    "id": {"type": "integer"},
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "subtitle": nullable("string"),
                    "narrative": nullable("string"),
                    "project": {"type": "string"},
                    **_TIMES,
                    "position": {"type": "integer"},
                }
            )
        )
    }
)

OBSERVATIONS = _object(
    {
        "observations": _list(
            _object(
                {
                    **_OBSERVATION,
                    "uid": {"type": "string"},
                    "kind": {"type": "string"},
                    "session_id": nullable("string"),
                    "tags": _list({"type": "string"}),
                }
            )
        ),
        "missing": _list({"type": "integer"}),
    }
)

CONTEXT = _object(
    {
        "project": {"type": "string"},
        "items": _list(
            _object(
                {
                    "id": {"type": "integer"},
                    "title": {"type": "string"},
                    "content": {"type": "string"},
                    "type": {"type": "string"},
                    "project": {"type": "string"},
                    **_TIMES,
                    "score": _NUMBER,
                    "signals": _SIGNALS,
                }
            )
        ),
        "summaries": _list(_SUMMARY),
        "checkpoint": _CHECKPOINT,
        "tokenBudget": {"type": "integer"},
        "tokensUsed": {"type": "integer"},
        "truncated": {"type": "boolean"},
        "totalCount": {"type": "integer"},
        "returnedCount": {"type": "integer"},
        "notice": {"type": "string"},
    },
    optional=("notice",),
)
