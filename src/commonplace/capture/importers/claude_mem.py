"""claude-mem: what its worker observed and summed up, and what was asked, from its database or its JSON export.

Written against the schemas 4 to 40 or so; the first ones called sessions by other names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from commonplace.capture.import_report import Entry, Stream, conversation_label
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row, read_export_tables
from commonplace.capture.importers.row_mapping import (
    BOOKKEEPING,
    REBUILT_HERE,
    TableMapping,
    field_list,
    field_text,
    fit_item,
    project_name,
    row_created_ms,
    split_conversation,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.remember import NewItem
from commonplace.model import KNOWLEDGE_TYPES

_SYNC = "it belongs to syncing with other machines"
_IDS = "content_session_id claude_session_id memory_session_id sdk_session_id"
_BY_DEVICE = " origin_device_id origin_local_id"
TABLES = TableMapping(
    "claude-mem",
    {
        "sdk_sessions": f"id {_IDS} project platform_source user_prompt started_at started_at_epoch completed_at"
        " completed_at_epoch status custom_title observed_model",
        "observations": f"id {_IDS} project text type title subtitle facts narrative concepts files_read files_modified"
        f" prompt_number created_at created_at_epoch generated_by_model agent_type agent_id metadata"
        f" merged_into_project{_BY_DEVICE}",
        "session_summaries": f"id {_IDS} project request investigated learned completed next_steps files_read"
        f" files_edited notes prompt_number created_at created_at_epoch merged_into_project{_BY_DEVICE}",
        "user_prompts": f"id session_db_id {_IDS} project prompt_number prompt_text created_at"
        f" created_at_epoch{_BY_DEVICE}",
    },
    {
        "observations.content_hash": REBUILT_HERE,
        "observations.discovery_tokens": REBUILT_HERE,
        "observations.relevance_count": "how often it was shown there",
        "observations.synced_at": _SYNC,
        "observations.sync_rev": _SYNC,
        "session_summaries.discovery_tokens": REBUILT_HERE,
        "session_summaries.synced_at": _SYNC,
        "session_summaries.sync_rev": _SYNC,
        "user_prompts.synced_at": _SYNC,
        "user_prompts.sync_rev": _SYNC,
        "sdk_sessions.worker_port": BOOKKEEPING,
        "sdk_sessions.prompt_counter": REBUILT_HERE,
        "tool_uses": "raw calls of tools; what they came to is in the observations",
        "pending_messages": BOOKKEEPING,
        "schema_versions": BOOKKEEPING,
        "export": "what the export says of itself",
    },
)
_DETAILS = {"facts": "\n", "concepts": ", ", "files_read": ", ", "files_modified": ", "}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")

_EXPORTED = {
    "observations": "observations",
    "sessions": "sdk_sessions",
    "summaries": "session_summaries",
    "prompts": "user_prompts",
}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Sessions with what was asked in them, then what was observed and summed up."""
    keys = _keys(database)
    yield from _sessions(database, keys)
    for row in TABLES.rows(database, "observations", "ORDER BY rowid"):
        yield _observation(keys, row)
    for row in TABLES.rows(database, "session_summaries", "ORDER BY rowid"):
        yield _summary(keys, row)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.taken)


def _keys(database: ForeignDatabase) -> dict[str, str]:
    """The keys of sessions by the names that rows call them by."""
    keys: dict[str, str] = {}
    for row in TABLES.rows(database, "sdk_sessions"):
        key = TABLES.key(_outer(row) or field_text(row, "memory_session_id", "sdk_session_id"))
        for name in ("memory_session_id", "sdk_session_id", "content_session_id", "claude_session_id"):
            keys.setdefault(field_text(row, name), key)
        keys.setdefault(f"row {row['id']}", key)
    keys.pop("", None)
    return keys


def _sessions(database: ForeignDatabase, keys: Mapping[str, str]) -> Iterator[Entry]:
    names = [name for name in ("content_session_id", "claude_session_id") if database.has("user_prompts", name)]
    order = f"ORDER BY {names[0]}, created_at_epoch, id" if names else "ORDER BY session_db_id, created_at_epoch, id"
    told: set[str] = set()
    for key, rows in groupby(TABLES.rows(database, "user_prompts", order), key=lambda row: _key(keys, row)):
        prompts = [row for row in rows if field_text(row, "prompt_text")]
        if prompts and key:
            told.add(key)
            yield from split_conversation(_conversation(database, key, prompts[0]), map(_prompt, prompts))
    for row in TABLES.rows(database, "sdk_sessions", "ORDER BY rowid"):
        key = keys.get(f"row {row['id']}")
        if key and key not in told and field_text(row, "user_prompt"):
            said = NewMessage(
                "user", field_text(row, "user_prompt"), row_created_ms(row), identity=f"session {row['id']}"
            )
            yield from split_conversation(_conversation(database, key, row), [said])


def _conversation(database: ForeignDatabase, key: str, row: Row) -> NewConversation:
    session = key.partition(":")[2]
    column = "content_session_id" if database.has("sdk_sessions", "content_session_id") else "claude_session_id"
    known = database.has("sdk_sessions", column)
    found = TABLES.rows(database, "sdk_sessions", f"WHERE {column} = ?", (session,)) if known else iter(())
    about = next(found, row)
    return NewConversation(
        label=conversation_label(
            field_text(about, "custom_title"), field_text(about, "user_prompt") or field_text(row, "prompt_text")
        ),
        messages=(),
        folder="/imports/claude-mem",
        project=project_name(field_text(about, "project") or field_text(row, "project")),
        source=TABLES.source,
        key=key,
        meta=TABLES.meta(session, about, "status", "completed_at", "platform_source", "observed_model"),
        started_ms=row_created_ms(about),
    )


def _prompt(row: Row) -> NewMessage:
    uid = TABLES.numbered("prompt", row)
    return NewMessage(
        "user", field_text(row, "prompt_text"), row_created_ms(row), TABLES.meta(row["id"], row), f"prompt {uid}", uid
    )


def _observation(keys: Mapping[str, str], row: Row) -> Entry:
    key = _key(keys, row)
    return fit_item(
        NewItem(
            content=field_text(row, "text"),
            kind="memory" if row.get("type") in KNOWLEDGE_TYPES else "observation",
            type=field_text(row, "type"),
            title=field_text(row, "title"),
            details={"subtitle": field_text(row, "subtitle"), "narrative": field_text(row, "narrative")}
            | {name: between.join(field_list(row.get(name))) for name, between in _DETAILS.items()},
            meta=TABLES.meta(
                *(row["id"], row, "prompt_number", "generated_by_model", "agent_type", "agent_id", "metadata"),
                *("merged_into_project", "origin_device_id"),
            ),
            project=field_text(row, "merged_into_project", "project"),
            session=key,
            created_ms=row_created_ms(row),
            uid=TABLES.numbered("observation", row),
        )
    )


def _summary(keys: Mapping[str, str], row: Row) -> Entry:
    files = {name: field_list(row.get(name)) for name in ("files_read", "files_edited")}
    return fit_item(
        NewItem(
            kind="summary",
            title=field_text(row, "request"),
            details={name: field_text(row, name) for name in _SUMMARY},
            meta=TABLES.meta(row["id"], row, "prompt_number", "merged_into_project", "origin_device_id", **files),
            project=field_text(row, "merged_into_project", "project"),
            session=_key(keys, row),
            created_ms=row_created_ms(row),
            uid=TABLES.numbered("summary", row),
        )
    )


def _key(keys: Mapping[str, str], row: Row) -> str | None:
    """The session a row belongs to; one that is written down nowhere still holds its rows together."""
    inner = field_text(row, "memory_session_id", "sdk_session_id")
    number = row.get("session_db_id")
    known = keys.get(inner) or keys.get(_outer(row)) or keys.get(f"row {number}")
    return known or (TABLES.key(_outer(row) or inner) if _outer(row) or inner else None)


def _outer(row: Row) -> str:
    return field_text(row, "content_session_id", "claude_session_id")
