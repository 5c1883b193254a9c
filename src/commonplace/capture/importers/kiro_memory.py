"""Kiro Memory (Total Recall since 4.0): observations, summaries, checkpoints, sessions and prompts, as the same here.

Written against the schemas 1 to 14, and what `kiro-memory export` writes as JSON.
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
    field_text,
    fit_item,
    project_name,
    row_created_ms,
    split_conversation,
)
from commonplace.memory.conversations import ROLES, NewConversation, NewMessage
from commonplace.memory.remember import NewItem
from commonplace.model import KNOWLEDGE_TYPES

TABLES = TableMapping(
    "kiro-memory",
    {
        "sessions": "id content_session_id project user_prompt memory_session_id status started_at started_at_epoch"
        " completed_at completed_at_epoch",
        "observations": "id memory_session_id project type title subtitle text narrative facts concepts files_read"
        " files_modified prompt_number created_at created_at_epoch auto_category",
        "summaries": "id session_id project request investigated learned completed next_steps notes created_at"
        " created_at_epoch",
        "checkpoints": "id session_id project task progress next_steps open_questions relevant_files context_snapshot"
        " created_at created_at_epoch",
        "prompts": "id content_session_id project prompt_number prompt_text created_at created_at_epoch",
        "conversation_messages": "id content_session_id project role message_index content created_at created_at_epoch",
        "github_links": "id observation_id session_id repo issue_number pr_number event_type action title url author"
        " created_at created_at_epoch",
    },
    {
        "observations.content_hash": REBUILT_HERE,
        "observations.discovery_tokens": REBUILT_HERE,
        "observations.is_stale": "whether a file changed since is looked at whenever it is read",
        "observations.last_accessed_epoch": "when it was last read there",
        "summaries.discovery_tokens": REBUILT_HERE,
        "observation_embeddings": REBUILT_HERE,
        "project_aliases": "names for showing a project only",
        "pending_messages": BOOKKEEPING,
        "job_queue": BOOKKEEPING,
        "schema_versions": BOOKKEEPING,
        "export": "what the export says of itself",
    },
)
_DETAILS = ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified")
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_CHECKPOINT = ("task", "progress", "next_steps", "open_questions", "relevant_files")

_EXPORTED = {"observation": "observations", "summary": "summaries", "prompt": "prompts", "": "observations"}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Everything that was remembered, sessions first, since the rest belongs to them."""
    yield from _sessions(database)
    keys = _keys(database)
    for row in TABLES.rows(database, "observations", "ORDER BY rowid"):
        yield _observation(keys, row)
    for row in TABLES.rows(database, "summaries", "ORDER BY rowid"):
        yield _detailed(keys, row, "summary", _SUMMARY)
    for row in TABLES.rows(database, "checkpoints", "ORDER BY rowid"):
        yield _detailed(keys, row, "checkpoint", _CHECKPOINT)
    for row in TABLES.rows(database, "github_links", "ORDER BY rowid"):
        yield _github(database, keys, row)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.taken)


def _sessions(database: ForeignDatabase) -> Iterator[Entry]:
    """What was said in each session: the whole conversation where it was kept, else its prompts, else the first."""
    whole = "conversation_messages"
    for session, rows in _by_session(database, whole, "message_index, id"):
        yield from split_conversation(_conversation(database, session, rows[0]), map(_message, rows))
    told = _but(database, "content_session_id", whole)
    for session, rows in _by_session(database, "prompts", "created_at_epoch, id", told):
        yield from split_conversation(_conversation(database, session, rows[0]), map(_prompt, rows))
    for row in TABLES.rows(database, "sessions", _but(database, "content_session_id", whole, "prompts")):
        if field_text(row, "user_prompt"):
            said = NewMessage(
                "user", field_text(row, "user_prompt"), row_created_ms(row), identity=f"session {row['id']}"
            )
            yield from split_conversation(_conversation(database, field_text(row, "content_session_id"), row), [said])


def _by_session(database: ForeignDatabase, table: str, order: str, where: str = "") -> Iterator[tuple[str, list[Row]]]:
    rows = TABLES.rows(database, table, f"{where} ORDER BY content_session_id, {order}")
    said = (row for row in rows if field_text(row, "prompt_text", "content"))
    for session, group in groupby(said, key=lambda row: field_text(row, "content_session_id")):
        yield session, list(group)


def _but(database: ForeignDatabase, column: str, *tables: str) -> str:
    """The condition that a session has nothing in these tables."""
    there = [table for table in tables if database.has(table, column)]
    return "WHERE 1" + "".join(f" AND {column} NOT IN (SELECT {column} FROM {table})" for table in there)


def _conversation(database: ForeignDatabase, session: str, row: Row) -> NewConversation:
    about = next(TABLES.rows(database, "sessions", "WHERE content_session_id = ?", (session,)), row)
    first = field_text(about, "user_prompt") or field_text(row, "prompt_text", "content")
    return NewConversation(
        label=conversation_label("", first),
        messages=(),
        folder="/imports/kiro-memory",
        project=project_name(field_text(row, "project")),
        source=TABLES.source,
        key=TABLES.key(session),
        meta=TABLES.meta(session, about, "status", "completed_at"),
        started_ms=row_created_ms(about),
    )


def _message(row: Row) -> NewMessage:
    role = field_text(row, "role")
    uid = TABLES.numbered("message", row)
    meta = TABLES.meta(row["id"], row)
    return NewMessage(
        role if role in ROLES else "assistant",
        field_text(row, "content"),
        row_created_ms(row),
        meta,
        f"message {uid}",
        uid,
    )


def _prompt(row: Row) -> NewMessage:
    uid = TABLES.numbered("prompt", row)
    return NewMessage(
        "user", field_text(row, "prompt_text"), row_created_ms(row), TABLES.meta(row["id"], row), f"prompt {uid}", uid
    )


def _observation(keys: Mapping[str, str], row: Row) -> Entry:
    session = field_text(row, "memory_session_id")
    key = keys.get(session)
    lost = {} if key else {"memory_session_id": session}
    return fit_item(
        NewItem(
            content=field_text(row, "text"),
            kind="memory" if row.get("type") in KNOWLEDGE_TYPES else "observation",
            type=field_text(row, "type"),
            title=field_text(row, "title"),
            details={name: field_text(row, name) for name in _DETAILS},
            meta=TABLES.meta(row["id"], row, "prompt_number", "auto_category", **lost),
            project=field_text(row, "project"),
            session=key,
            created_ms=row_created_ms(row),
            uid=TABLES.numbered("observation", row),
        )
    )


def _detailed(keys: Mapping[str, str], row: Row, kind: str, names: tuple[str, ...]) -> Entry:
    """A summary or a checkpoint, which consist of their fields."""
    details = {name: field_text(row, name) for name in names}
    if kind == "checkpoint":
        details["snapshot"] = field_text(row, "context_snapshot")
    session = field_text(row, "session_id")
    key = keys.get(session)
    return fit_item(
        NewItem(
            kind="summary" if kind == "summary" else "checkpoint",
            title=field_text(row, "request", "task"),
            details=details,
            meta=TABLES.meta(row["id"], row, **({} if key else {"session": session})),
            project=field_text(row, "project"),
            session=key,
            created_ms=row_created_ms(row),
            uid=TABLES.numbered(kind, row),
        )
    )


def _github(database: ForeignDatabase, keys: Mapping[str, str], row: Row) -> Entry:
    """What happened on GitHub, linked to the observation that told of it."""
    about = "WHERE id = ?", (row.get("observation_id"),)
    linked = [
        TABLES.numbered("observation", one) for one in database.rows("observations", "id created_at_epoch", *about)
    ]
    number = field_text(row, "issue_number", "pr_number")
    return fit_item(
        NewItem(
            content=field_text(row, "url"),
            kind="observation",
            type="github",
            title=" ".join(
                part for part in (field_text(row, "repo"), number and f"#{number}", field_text(row, "title")) if part
            ),
            meta=TABLES.meta(
                row["id"], row, "event_type", "action", "author", links=[{"to": uid, "rel": "about"} for uid in linked]
            ),
            session=keys.get(field_text(row, "session_id")),
            created_ms=row_created_ms(row),
            uid=TABLES.numbered("github link", row),
        )
    )


def _keys(database: ForeignDatabase) -> dict[str, str]:
    """The keys of sessions by each of the three names that rows call them by."""
    keys: dict[str, str] = {}
    for row in TABLES.rows(database, "sessions"):
        key = TABLES.key(field_text(row, "content_session_id"))
        for name in ("content_session_id", "memory_session_id", "id"):
            keys.setdefault(field_text(row, name), key)
    for row in database.rows("prompts", "content_session_id", "GROUP BY content_session_id"):
        keys.setdefault(field_text(row, "content_session_id"), TABLES.key(field_text(row, "content_session_id")))
    keys.pop("", None)
    return keys
