"""claude-mem: its observations, summaries and prompts, from its database or its JSON export.

Written against the schemas 4 to 40 or so; the first ones used other names for sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from commonplace.capture.import_report import Entry, Stream, conversation_label
from commonplace.capture.importers.foreign_database import (
    BOOKKEEPING,
    REBUILT_HERE,
    SELF_DESCRIPTION,
    ForeignDatabase,
    Row,
    TableMapping,
    created_ms,
    first_prompt,
    fit_item,
    project_name,
    read_export_tables,
    split_conversation,
)
from commonplace.memory.conversations import NewConversation
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
        "tool_uses": "raw tool calls; their results are in the observations",
        "pending_messages": BOOKKEEPING,
        "schema_versions": BOOKKEEPING,
        "export": SELF_DESCRIPTION,
    },
)
_DETAILS = {"facts": "\n", "concepts": ", ", "files_read": ", ", "files_modified": ", "}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
# The names of a session in the agent and in claude-mem itself, the new one first.
_AGENT_IDS = ("content_session_id", "claude_session_id")
_OWN_IDS = ("memory_session_id", "sdk_session_id")

_EXPORTED = {
    "observations": "observations",
    "sessions": "sdk_sessions",
    "summaries": "session_summaries",
    "prompts": "user_prompts",
}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Sessions with their prompts, then observations and summaries."""
    keys = _session_keys(database)
    yield from _sessions(database, keys)
    for row in TABLES.rows(database, "observations", "ORDER BY rowid"):
        yield _observation(keys, row)
    for row in TABLES.rows(database, "session_summaries", "ORDER BY rowid"):
        yield _summary(keys, row)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.columns)


def _session_keys(database: ForeignDatabase) -> dict[str, str]:
    """The keys of sessions by the names that rows use for them."""
    keys: dict[str, str] = {}
    for row in TABLES.rows(database, "sdk_sessions"):
        key = TABLES.key(row.text(*_AGENT_IDS) or row.text(*_OWN_IDS))
        for name in (*_OWN_IDS, *_AGENT_IDS):
            keys.setdefault(row.text(name), key)
        keys.setdefault(f"row {row['id']}", key)
    keys.pop("", None)
    return keys


def _sessions(database: ForeignDatabase, keys: Mapping[str, str]) -> Iterator[Entry]:
    names = [name for name in _AGENT_IDS if database.has("user_prompts", name)]
    order = f"ORDER BY {names[0] if names else 'session_db_id'}, created_at_epoch, id"
    seen: set[str] = set()
    for key, rows in groupby(TABLES.rows(database, "user_prompts", order), key=lambda row: _key(keys, row)):
        prompts = [row for row in rows if row.text("prompt_text")]
        if prompts and key:
            seen.add(key)
            messages = (TABLES.message("prompt", row, "user", row.text("prompt_text")) for row in prompts)
            yield from split_conversation(_conversation(database, key, prompts[0]), messages)
    for row in TABLES.rows(database, "sdk_sessions", "ORDER BY rowid"):
        key = keys.get(f"row {row['id']}")
        if key and key not in seen and row.text("user_prompt"):
            yield from split_conversation(_conversation(database, key, row), [first_prompt(row)])


def _conversation(database: ForeignDatabase, key: str, row: Row) -> NewConversation:
    session = key.partition(":")[2]
    column = next((name for name in _AGENT_IDS if database.has("sdk_sessions", name)), "")
    found = TABLES.rows(database, "sdk_sessions", f"WHERE {column} = ?", (session,)) if column else iter(())
    about = next(found, row)
    return NewConversation(
        label=conversation_label(about.text("custom_title"), about.text("user_prompt") or row.text("prompt_text")),
        messages=(),
        folder="/imports/claude-mem",
        project=project_name(about.text("project") or row.text("project")),
        source=TABLES.source,
        key=key,
        meta=TABLES.meta(session, about, "status", "completed_at", "platform_source", "observed_model"),
        started_ms=created_ms(about),
    )


def _observation(keys: Mapping[str, str], row: Row) -> Entry:
    meta = ("prompt_number", "generated_by_model", "agent_type", "agent_id", "metadata")
    return fit_item(
        NewItem(
            content=row.text("text"),
            kind="memory" if row.get("type") in KNOWLEDGE_TYPES else "observation",
            type=row.text("type"),
            title=row.text("title"),
            details={"subtitle": row.text("subtitle"), "narrative": row.text("narrative")}
            | {name: separator.join(row.texts(name)) for name, separator in _DETAILS.items()},
            meta=TABLES.meta(row["id"], row, *meta, "merged_into_project", "origin_device_id"),
            project=row.text("merged_into_project", "project"),
            session=_key(keys, row),
            created_ms=created_ms(row),
            uid=TABLES.row_uid("observation", row),
        )
    )


def _summary(keys: Mapping[str, str], row: Row) -> Entry:
    files = {name: row.texts(name) for name in ("files_read", "files_edited")}
    return fit_item(
        NewItem(
            kind="summary",
            title=row.text("request"),
            details={name: row.text(name) for name in _SUMMARY},
            meta=TABLES.meta(row["id"], row, "prompt_number", "merged_into_project", "origin_device_id", **files),
            project=row.text("merged_into_project", "project"),
            session=_key(keys, row),
            created_ms=created_ms(row),
            uid=TABLES.row_uid("summary", row),
        )
    )


def _key(keys: Mapping[str, str], row: Row) -> str | None:
    """The session that a row belongs to; one without a row of its own still holds its rows together."""
    agent_id, own_id = row.text(*_AGENT_IDS), row.text(*_OWN_IDS)
    known = keys.get(own_id) or keys.get(agent_id) or keys.get(f"row {row.get('session_db_id')}")
    return known or (TABLES.key(agent_id or own_id) if agent_id or own_id else None)
