"""The shapes of Kiro Memory's replies, as JSON Schema: what the reference promises and our optional extras."""

from __future__ import annotations

from commonplace.dialects.schema import BOOLEAN, INTEGER, NUMBER, STRING, STRING_OR_NULL, Schema, array, record

_TIMES: Schema = {"created_at": STRING, "created_at_epoch": INTEGER}

_OBSERVATION: Schema = {
    "id": INTEGER,
    "type": STRING,
    "title": STRING,
    "subtitle": STRING_OR_NULL,
    "text": STRING_OR_NULL,
    "narrative": STRING_OR_NULL,
    "facts": STRING_OR_NULL,
    "concepts": STRING_OR_NULL,
    "files_read": STRING_OR_NULL,
    "files_modified": STRING_OR_NULL,
    "project": STRING,
    **_TIMES,
    "is_stale": INTEGER,
    "discovery_tokens": INTEGER,
}

_SUMMARY = record(
    {
        "id": INTEGER,
        "session_id": STRING,
        "project": STRING,
        "request": STRING_OR_NULL,
        "investigated": STRING_OR_NULL,
        "learned": STRING_OR_NULL,
        "completed": STRING_OR_NULL,
        "next_steps": STRING_OR_NULL,
        "notes": STRING_OR_NULL,
        **_TIMES,
    }
)

_CHECKPOINT: Schema = {
    "type": ["object", "null"],
    "properties": {
        "id": INTEGER,
        "session_id": STRING,
        "project": STRING,
        "task": STRING_OR_NULL,
        "progress": STRING_OR_NULL,
        "next_steps": STRING_OR_NULL,
        "open_questions": STRING_OR_NULL,
        "relevant_files": STRING_OR_NULL,
        **_TIMES,
    },
}

_SIGNALS = record({"semantic": NUMBER, "fts5": NUMBER, "recency": NUMBER, "projectMatch": NUMBER})

SEARCH = record(
    {
        "observations": array(record(_OBSERVATION)),
        "summaries": array(_SUMMARY),
        "notice": STRING,
    },
    optional=("notice",),
)

TIMELINE = record(
    {
        "timeline": array(
            record(
                {
                    "id": INTEGER,
                    "type": STRING,
                    "title": STRING,
                    "subtitle": STRING_OR_NULL,
                    "narrative": STRING_OR_NULL,
                    "project": STRING,
                    **_TIMES,
                    "position": INTEGER,
                }
            )
        )
    }
)

OBSERVATIONS = record(
    {
        "observations": array(
            record(
                {
                    **_OBSERVATION,
                    "uid": STRING,
                    "kind": STRING,
                    "session_id": STRING_OR_NULL,
                    "tags": array(STRING),
                }
            )
        ),
        "missing": array({"type": ["integer", "string"]}),
    }
)

CONTEXT = record(
    {
        "project": STRING,
        "items": array(
            record(
                {
                    "id": INTEGER,
                    "title": STRING,
                    "content": STRING,
                    "type": STRING,
                    "project": STRING,
                    **_TIMES,
                    "score": NUMBER,
                    "signals": _SIGNALS,
                }
            )
        ),
        "summaries": array(_SUMMARY),
        "checkpoint": _CHECKPOINT,
        "tokenBudget": INTEGER,
        "tokensUsed": INTEGER,
        "truncated": BOOLEAN,
        "totalCount": INTEGER,
        "returnedCount": INTEGER,
        "answers": array(INTEGER),
        "notice": STRING,
    },
    optional=("notice",),
)
