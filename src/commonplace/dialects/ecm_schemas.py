"""The shapes of ECM's replies, as JSON Schema."""

from __future__ import annotations

from commonplace.dialects.schema import BOOLEAN, INTEGER, NUMBER, STRING, STRING_OR_NULL, Schema, array, record

_COUNTED: Schema = {"truncated": BOOLEAN, "totalCount": INTEGER, "returnedCount": INTEGER, "notice": STRING}
_CHUNK = record({"chunkId": STRING, "content": STRING, "score": NUMBER, "session": STRING, "cluster": STRING_OR_NULL})

RECALL = record(
    {
        "results": array(_CHUNK),
        "graphContext": array(
            record(
                {
                    "chunkId": STRING,
                    "content": STRING,
                    "relation": {"type": "string", "enum": ["backward", "forward"]},
                    "hops": INTEGER,
                }
            )
        ),
        **_COUNTED,
    },
    optional=("notice",),
)
EXPLAIN = record(
    {
        "summary": STRING,
        "timeline": array(record({"date": STRING, "session": STRING, "event": STRING})),
        "relatedClusters": array(STRING),
        "keyChunks": array(_CHUNK),
        **_COUNTED,
    },
    optional=("timeline", "notice"),
)
PREDICT = record(
    {
        "suggestions": array(record({"title": STRING, "relevance": NUMBER, "summary": STRING, "chunkId": STRING})),
        **_COUNTED,
    },
    optional=("notice",),
)
