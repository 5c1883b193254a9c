"""What replies look like, as JSON schemas: the shapes of `dialects/records.py` and what is made of them."""

from __future__ import annotations

from commonplace.dialects.kiro_records import ContextReply
from commonplace.dialects.memories_records import LAYERS
from commonplace.dialects.schema import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    STRING_OR_NULL,
    Schema,
    array,
    record,
    schema_of,
)
from commonplace.model import DETAIL_FIELDS, KINDS
from commonplace.rest.conversation_shapes import ANSWERS
from commonplace.rest.conversation_shapes import NAMED as CONVERSATIONS

INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
KIND: Schema = {"enum": list(KINDS)}
TIME: Schema = {"type": "string", "description": "2025-03-15T14:30:00.000Z"}
DETAILS: tuple[str, ...] = tuple(dict.fromkeys(name for names in DETAIL_FIELDS.values() for name in names))

# Of a damaged item: the fields that could not be read as they should be, and what was found there.
DAMAGED: Schema = {"damaged": OBJECT}
OPTIONAL = (*DETAILS, *DAMAGED)

_HEAD: Schema = {
    "id": INTEGER,
    "uid": STRING,
    "short_id": STRING,
    "kind": KIND,
    "type": STRING,
    "title": STRING,
}
_BORN: Schema = {"created_at": TIME, "created_at_epoch": INTEGER}
_ITEM: Schema = {
    **_HEAD,
    "content": STRING,
    **dict.fromkeys(DETAILS, STRING),
    "project": STRING_OR_NULL,
    "session": STRING_OR_NULL,
    "tags": array(STRING),
    "importance": NUMBER_OR_NULL,
    **_BORN,
    "updated_at": TIME,
    "updated_at_epoch": INTEGER,
    "rev": INTEGER,
    "is_stale": BOOLEAN,
    "forgotten_at": STRING_OR_NULL,
    "superseded_by": INTEGER_OR_NULL,
    "metadata": OBJECT,
    **DAMAGED,
}

ITEM = record(_ITEM, optional=OPTIONAL)
BRIEF = record({**_HEAD, "project": STRING_OR_NULL})
PAGE = record({"items": array(ITEM), "next_cursor": STRING_OR_NULL})
CREATED = record(
    {
        **_ITEM,
        "duplicate": {"type": "boolean", "description": "The same was remembered before."},
        "contradicts": array(record({**_HEAD, "project": STRING_OR_NULL, "reason": STRING})),
    },
    optional=OPTIONAL,
)
BATCH = record(
    {
        "items": array(record({"id": INTEGER, "uid": STRING, "short_id": STRING, "duplicate": BOOLEAN})),
        "stored": INTEGER,
        "duplicates": INTEGER,
    }
)
FORGOTTEN = record({"forgotten": BRIEF})
SUPERSEDED = record({"superseded": BRIEF, "by": BRIEF})
HISTORY = record(
    {
        "id": INTEGER,
        "uid": STRING,
        "rev": INTEGER,
        "changes": array(record({"rev": INTEGER, "op": STRING, "at": TIME, "at_epoch": INTEGER, "before": OBJECT})),
    }
)
TIMELINE = record({"timeline": array(record({**_ITEM, "position": INTEGER}, optional=OPTIONAL))})
FOUND = record(
    {
        "results": array(
            record(
                {
                    **_HEAD,
                    "content": STRING,
                    "project": STRING_OR_NULL,
                    **_BORN,
                    "relevance": {"type": "number", "minimum": 0, "maximum": 1},
                    "semantic": NUMBER,
                    "lexical": NUMBER,
                    "is_stale": BOOLEAN,
                }
            )
        ),
        "total": INTEGER,
        "by_meaning": BOOLEAN,
        "waiting_for_vectors": INTEGER,
    }
)
FOUND_EITHER: Schema = {"anyOf": [FOUND, ANSWERS]}
RULES = record(
    {
        "project": STRING_OR_NULL,
        "project_rules": array(ITEM),
        "global_rules": array(ITEM),
        "rules_for_other_files": INTEGER,
        "rules_left_out": INTEGER,
    }
)
_STREAM: Schema = {
    "stream_id": STRING,
    "status": {"enum": ["open", "finalized", "cancelled"]},
    "type": STRING,
    "tags": array(STRING),
    "project": STRING_OR_NULL,
    "chunks": INTEGER,
    "characters": INTEGER,
    "created_at": TIME,
    "touched_at": TIME,
    "touched_at_epoch": INTEGER,
}
STREAM = record(_STREAM)
STREAMS = record({"streams": array(STREAM)})
FINALIZED = record({**_STREAM, "item": CREATED})
PROJECTS = record(
    {
        "projects": array(
            record(
                {
                    "name": STRING,
                    "aliases": array(STRING),
                    "items": INTEGER,
                    "last_at": STRING_OR_NULL,
                    "last_at_epoch": INTEGER_OR_NULL,
                }
            )
        )
    }
)
ALIAS = record({"project": STRING, "alias": STRING})
STATUS = record(
    {
        "version": STRING,
        "space": STRING,
        "store": OBJECT,
        "counts": OBJECT,
        "total": INTEGER,
        "pending": INTEGER,
        "model": OBJECT,
        "search": STRING,
    }
)
_KEY: Schema = {
    "id": INTEGER,
    "name": STRING,
    "prefix": STRING,
    "scope": STRING,
    "role": {"enum": ["reader", "writer", "admin"]},
    "project": STRING_OR_NULL,
    "state": {"enum": ["works", "expired", "revoked"]},
    "created_at": TIME,
    "expires_at": STRING_OR_NULL,
    "revoked_at": STRING_OR_NULL,
    "used_at": STRING_OR_NULL,
    "used_at_epoch": INTEGER_OR_NULL,
}
KEY = record(_KEY)
KEYS = record({"keys": array(KEY)})
NEW_KEY = record(
    {
        **_KEY,
        "secret": {"type": ["string", "null"], "description": "Told this once; null where the answer is repeated."},
    }
)
SPACE = record(
    {
        "name": STRING,
        "created_at": TIME,
        "items": INTEGER,
        "bytes": INTEGER,
        "keys": INTEGER,
        "max_items": INTEGER_OR_NULL,
        "max_bytes": INTEGER_OR_NULL,
    }
)
SPACES = record({"spaces": array(SPACE)})
ERROR = record(
    {
        "error": record({"code": STRING, "message": STRING, "details": STRING}),
        "code": {"type": "integer", "description": "The HTTP status."},
    }
)

MEMORIES_ERROR = record(
    {
        "ok": {"const": False},
        "data": {"type": "null"},
        "error": record(
            {
                "type": STRING,
                "code": STRING,
                "message": STRING,
                "details": STRING,
                "status": {"type": "integer", "description": "The HTTP status."},
                "retryable": BOOLEAN,
            }
        ),
    }
)
SDK_MEMORY = record(
    {
        **dict.fromkeys(("id", "content", "type"), STRING),
        "layer": {"enum": [*LAYERS]},
        "expiresAt": {"type": "null"},
        "scope": {"enum": ["global", "project"]},
        "projectId": STRING_OR_NULL,
        "tags": array(STRING),
        "paths": array(STRING),
        "category": STRING_OR_NULL,
        "metadata": OBJECT,
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)


def _sdk(data: Schema, optional: tuple[str, ...] = ()) -> Schema:
    """The envelope of memories.sh's SDK around data."""
    meta = record({"endpoint": STRING, "version": STRING, "notice": STRING}, optional=("notice",))
    return record({"ok": {"const": True}, "data": record(data, optional), "error": {"type": "null"}, "meta": meta})


_SDK_MEMORIES = array(SDK_MEMORY)
SDK_CONTEXT = _sdk(
    {
        "mode": STRING,
        "query": STRING,
        **dict.fromkeys(("rules", "memories", "workingMemories", "longTermMemories"), _SDK_MEMORIES),
        "skillFiles": array(OBJECT),
        "conflicts": array(OBJECT),
    }
)
SDK_MEMORIES = _sdk({"memories": _SDK_MEMORIES, "count": INTEGER})
SDK_CHANGED = _sdk(
    {"id": STRING, "message": STRING, "memory": SDK_MEMORY, "duplicate": BOOLEAN}, optional=("duplicate",)
)
SDK_FORGOTTEN = _sdk({"id": STRING, "message": STRING})
SDK_ALL_FORGOTTEN = _sdk(
    {
        "count": INTEGER,
        "ids": array(STRING),
        "memories": array(record({"id": STRING, "type": STRING, "contentPreview": STRING})),
        "message": STRING,
    }
)
SDK_PURGED = _sdk({"purged": INTEGER, "message": STRING})

# The document about all of this.
DOCUMENT = record({"openapi": STRING, "info": OBJECT, "paths": OBJECT})

# Under these names the document tells them once.
NAMED: dict[str, Schema] = {
    "Item": ITEM,
    "Brief": BRIEF,
    "Page": PAGE,
    "Created": CREATED,
    "Batch": BATCH,
    "Forgotten": FORGOTTEN,
    "Superseded": SUPERSEDED,
    "History": HISTORY,
    "Timeline": TIMELINE,
    "Found": FOUND,
    "Context": schema_of(ContextReply),
    "Rules": RULES,
    "Stream": STREAM,
    "Streams": STREAMS,
    "Finalized": FINALIZED,
    "Projects": PROJECTS,
    "Aliased": ALIAS,
    "Status": STATUS,
    "Key": KEY,
    "Keys": KEYS,
    "KeyWithSecret": NEW_KEY,
    "Space": SPACE,
    "Spaces": SPACES,
    "Error": ERROR,
    "MemoriesError": MEMORIES_ERROR,
    "SdkMemory": SDK_MEMORY,
    **CONVERSATIONS,
}
