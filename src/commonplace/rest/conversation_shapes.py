"""What replies about conversations look like, as JSON schemas: every field that one of the clients reads."""

from __future__ import annotations

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
from commonplace.dialects.sekha_records import Statistics
from commonplace.memory.conversations import STATUSES
from commonplace.memory.summarise_and_label import DIGEST_LEVELS

STATUS: Schema = {"enum": list(STATUSES)}
RELEVANCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
TIME: Schema = {"type": "string", "description": "2025-03-15T14:30:00Z"}
_TOLD: Schema = {
    "id": STRING,
    "conversation_id": STRING,
    "label": STRING,
    "folder": STRING,
    "status": STATUS,
    "archived": BOOLEAN,
    "importance_score": NUMBER,
    "message_count": INTEGER,
    "word_count": INTEGER,
    "created_at": TIME,
    "updated_at": TIME,
    "timestamp": TIME,
    "last_accessed": STRING_OR_NULL,
    "metadata": OBJECT,
    "short_id": STRING,
    "project": STRING_OR_NULL,
    "source": STRING,
    "key": STRING,
    "last_message_at": TIME,
    "last_message_at_epoch": INTEGER,
    "bytes": INTEGER,
    "rev": INTEGER,
    "forgotten_at": STRING_OR_NULL,
}
_LISTED: Schema = {**_TOLD, "message_id": {"type": "null"}, "score": NUMBER, "content": STRING}
MESSAGE = record(
    {"id": STRING, "role": STRING, "content": STRING, "timestamp": TIME, "metadata": OBJECT}, optional=("metadata",)
)
CONVERSATION = record(_TOLD)
WITH_MESSAGES = record({**_TOLD, "messages": array(MESSAGE)}, optional=("messages",))
STORED = record({**_TOLD, "duplicate": {"type": "boolean", "description": "The same was stored before."}})
GROWN = record({**_TOLD, "added": INTEGER})
_PAGE: Schema = {"total": INTEGER, "page": INTEGER, "page_size": INTEGER}
LISTED = record(_LISTED)
LIST = record(
    {
        "results": array(LISTED),
        "conversations": array(LISTED),
        **_PAGE,
        "next_cursor": STRING_OR_NULL,
    }
)
_BY_STATUS = record(dict.fromkeys(STATUSES, INTEGER))
COUNT = record({"count": INTEGER, "total": INTEGER, "by_status": _BY_STATUS})
MESSAGES = record({"messages": array(MESSAGE), "next_cursor": STRING_OR_NULL})
CHANGES = record(
    {
        "id": STRING,
        "conversation_id": STRING,
        "rev": INTEGER,
        "changes": array(record({"rev": INTEGER, "op": STRING, "at": TIME, "at_epoch": INTEGER, "before": OBJECT})),
    }
)
_ANSWER: Schema = {
    "id": STRING,
    "message_id": STRING,
    "conversation_id": {"type": "string", "description": "Empty for what is in no conversation."},
    "conversationId": STRING,
    "label": STRING,
    "folder": STRING,
    "status": {"enum": [*STATUSES, None]},
    "role": STRING_OR_NULL,
    "content": STRING,
    "score": RELEVANCE,
    "similarity": RELEVANCE,
    "importance_score": NUMBER,
    "message_count": INTEGER,
    "created_at": TIME,
    "timestamp": TIME,
    "metadata": OBJECT,
}
ANSWER = record(_ANSWER)
_FOUND: Schema = {
    "results": array(ANSWER),
    **_PAGE,
    "query": STRING,
    "limit": INTEGER,
    "offset": INTEGER,
    "by_meaning": BOOLEAN,
    "waiting_for_vectors": INTEGER,
}
ANSWERS = record(_FOUND)
_RANKED = record({**_ANSWER, "rank": {"type": "integer", "description": "1 is the best."}})
WORDS_FOUND = record({**_FOUND, "results": array(_RANKED)})
CITED = record(
    {
        "id": STRING,
        "conversation_id": STRING,
        "role": STRING,
        "content": STRING,
        "timestamp": TIME,
        "metadata": record(
            {
                "citation": record({"label": STRING, "folder": STRING, "timestamp": TIME}),
                "score": RELEVANCE,
                "whole": BOOLEAN,
            }
        ),
    }
)
_ASSEMBLY: Schema = {
    "messages": array(CITED),
    "assembled_context": STRING,
    "formattedContext": STRING,
    **dict.fromkeys(("estimated_tokens", "estimatedTokens", "token_count", "tokens_used"), INTEGER),
    "conversations_used": INTEGER,
    "conversation_ids": array(STRING),
    "labels": array(STRING),
}
SMART = record({**_FOUND, **_ASSEMBLY})
ASSEMBLED: Schema = {
    "anyOf": [array(CITED), record(_ASSEMBLY)],
    "description": "A list of messages; to Sekha's SDKs, by their User-Agent, an object that has them as `messages`.",
}
SUMMARY = record(
    {
        "conversation_id": STRING,
        "level": {"enum": list(DIGEST_LEVELS)},
        "summary": STRING,
        "method": {"const": "extractive", "description": "Sentences of the conversation itself; no model writes it."},
        "model": {"type": "string", "description": "The method again, for clients that name the model here."},
        "tokens_used": {"type": "integer", "description": "By a language model: none."},
        "message_count": INTEGER,
        "token_count": INTEGER,
        "created_at": TIME,
        "generated_at": TIME,
    }
)
_SUGGESTION = record(
    {
        "label": STRING,
        "folder": STRING,
        "confidence": RELEVANCE,
        "is_existing": BOOLEAN,
        "reason": STRING,
        "reasoning": STRING,
    }
)
SUGGESTIONS = array(_SUGGESTION)
LABELS = record(
    {
        "conversation_id": {"type": "string", "description": "Empty where messages were given instead."},
        "suggestions": SUGGESTIONS,
        "top_suggestion": {"anyOf": [_SUGGESTION, {"type": "null"}]},
    }
)
_CANDIDATE = record(
    {
        "id": STRING,
        "conversation_id": STRING,
        "label": STRING,
        "conversation_label": STRING,
        "folder": STRING,
        "age_days": INTEGER,
        "days_since_access": INTEGER,
        "last_accessed": TIME,
        "message_count": INTEGER,
        "token_estimate": INTEGER,
        "importance_score": NUMBER,
        "preview": STRING,
        "recommendation": {"enum": ["archive", "review"]},
        "reason": STRING,
        "duplicate_of": STRING_OR_NULL,
    }
)
CANDIDATES = array(_CANDIDATE)
PRUNING = record(
    {
        "suggestions": CANDIDATES,
        "total": INTEGER,
        "estimated_token_savings": INTEGER,
        "total_reviewed": INTEGER,
        "recommended_archive": INTEGER,
        "recommended_keep": INTEGER,
        "estimated_space_saved_mb": NUMBER,
    }
)
ARCHIVED = record({"archived": array(CONVERSATION), "count": INTEGER})
IMPORTANCE = record(
    {
        "message_id": STRING,
        "importance_score": NUMBER,
        "score": {"type": "number", "minimum": 1, "maximum": 10, "description": "The same, but at least 1."},
        "model": {"type": "string", "description": "How it was found: no language model is asked."},
        "factors": {"type": "object", "additionalProperties": NUMBER},
        "reasoning": STRING,
    }
)
STATISTICS = record(
    {
        **schema_of(Statistics)["properties"],
        "total_tokens": {"type": "integer", "description": "Estimated: four bytes each."},
        "success": {"const": True},
        "data": OBJECT,
    }
)
REBUILDING = record({"success": BOOLEAN, "status": STRING, "queued": INTEGER, "model": STRING, "message": STRING})
EXPORTED = record({"format": STRING, "content": STRING, "conversation_count": INTEGER})
_TALLY = record({"added": INTEGER, "known": INTEGER, "skipped": INTEGER})
IMPORTED = record(
    {
        "dry_run": BOOLEAN,
        "conversations": _TALLY,
        "messages": _TALLY,
        "items": _TALLY,
        "files": record({"read": INTEGER, "skipped": INTEGER}),
        "skipped": array(record({"unit": STRING, "why": STRING, "count": INTEGER})),
        "examples": array(record({"what": STRING, "why": STRING})),
        "conflicts": record(
            {"count": INTEGER, "named": array(record({"what": STRING, "name": STRING, "stands": STRING}))}
        ),
    }
)
TOOL_ANSWER = record({"success": {"const": True}, "data": OBJECT, "error": {"type": "null"}})
TOOLS = array(record({"name": STRING, "title": STRING, "description": STRING, "input_schema": OBJECT}))

SEKHA_ERROR = record(
    {
        "error": {"type": "string", "description": "What is wrong, and what to do about it."},
        "code": {"type": "integer", "description": "The HTTP status."},
        "error_code": STRING,
        "message": STRING,
        "details": STRING,
    }
)
METRICS = record({"metrics": {"type": "string", "description": "The same text that Prometheus gets."}})

# Under these names the document tells them once.
NAMED: dict[str, Schema] = {
    "Conversation": CONVERSATION,
    "ConversationWithMessages": WITH_MESSAGES,
    "ConversationStored": STORED,
    "ConversationGrown": GROWN,
    "ConversationListed": LISTED,
    "ConversationList": LIST,
    "Message": MESSAGE,
    "Messages": MESSAGES,
    "ConversationChanges": CHANGES,
    "ConversationAnswer": ANSWER,
    "ConversationAnswers": ANSWERS,
    "SekhaError": SEKHA_ERROR,
    "MessageCited": CITED,
    "Summary": SUMMARY,
    "Labels": LABELS,
    "Pruning": PRUNING,
    "ConversationsArchived": ARCHIVED,
    "Importance": IMPORTANCE,
    "Statistics": STATISTICS,
    "Exported": EXPORTED,
    "Imported": IMPORTED,
    "ToolAnswer": TOOL_ANSWER,
}
