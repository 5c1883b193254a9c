"""Kiro Memory (Total Recall since 4.0): observations, summaries, checkpoints, sessions and prompts, as the same here.

Written against the schemas 1 to 14, and the JSON of `kiro-memory export`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Literal

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
    link_to,
    project_name,
    read_export_tables,
    split_conversation,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.remember import NewItem
from commonplace.model import KNOWLEDGE_TYPES, MESSAGE_ROLES

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
        "export": SELF_DESCRIPTION,
    },
)
_DETAILS = ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified")
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_CHECKPOINT = ("task", "progress", "next_steps", "open_questions", "relevant_files")

_EXPORTED = {"observation": "observations", "summary": "summaries", "prompt": "prompts", "": "observations"}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Everything in the database, sessions first, since the rest belongs to them."""
    yield from _sessions(database)
    keys = _session_keys(database)
    for row in TABLES.rows(database, "observations", "ORDER BY rowid"):
        yield _observation(keys, row)
    for row in TABLES.rows(database, "summaries", "ORDER BY rowid"):
        yield _note(keys, row, "summary", {name: row.text(name) for name in _SUMMARY})
    for row in TABLES.rows(database, "checkpoints", "ORDER BY rowid"):
        details = {name: row.text(name) for name in _CHECKPOINT} | {"snapshot": row.text("context_snapshot")}
        yield _note(keys, row, "checkpoint", details)
    for row in TABLES.rows(database, "github_links", "ORDER BY rowid"):
        yield _github_link(database, keys, row)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.columns)


def _sessions(database: ForeignDatabase) -> Iterator[Entry]:
    """The messages of each session: the whole conversation if it is stored, else its prompts, else the first one."""
    for session, rows in _by_session(database, "conversation_messages", "message_index, id"):
        yield from split_conversation(_conversation(database, session, rows[0]), map(_message, rows))
    others = _not_in(database, "conversation_messages")
    for session, rows in _by_session(database, "prompts", "created_at_epoch, id", others):
        prompts = (TABLES.message("prompt", row, "user", row.text("prompt_text")) for row in rows)
        yield from split_conversation(_conversation(database, session, rows[0]), prompts)
    for row in TABLES.rows(database, "sessions", _not_in(database, "conversation_messages", "prompts")):
        if row.text("user_prompt"):
            conversation = _conversation(database, row.text("content_session_id"), row)
            yield from split_conversation(conversation, [first_prompt(row)])


def _by_session(database: ForeignDatabase, table: str, order: str, where: str = "") -> Iterator[tuple[str, list[Row]]]:
    rows = TABLES.rows(database, table, f"{where} ORDER BY content_session_id, {order}")
    filled = (row for row in rows if row.text("prompt_text", "content"))
    for session, group in groupby(filled, key=lambda row: row.text("content_session_id")):
        yield session, list(group)


def _not_in(database: ForeignDatabase, *tables: str) -> str:
    """The condition that a session has nothing in these tables."""
    column = "content_session_id"
    existing = [table for table in tables if database.has(table, column)]
    return "WHERE 1" + "".join(f" AND {column} NOT IN (SELECT {column} FROM {table})" for table in existing)


def _conversation(database: ForeignDatabase, session: str, row: Row) -> NewConversation:
    about = next(TABLES.rows(database, "sessions", "WHERE content_session_id = ?", (session,)), row)
    return NewConversation(
        label=conversation_label("", about.text("user_prompt") or row.text("prompt_text", "content")),
        messages=(),
        folder="/imports/kiro-memory",
        project=project_name(row.text("project")),
        source=TABLES.source,
        key=TABLES.key(session),
        meta=TABLES.meta(session, about, "status", "completed_at"),
        started_ms=created_ms(about),
    )


def _message(row: Row) -> NewMessage:
    role = row.text("role")
    return TABLES.message("message", row, role if role in MESSAGE_ROLES else "assistant", row.text("content"))


def _observation(keys: Mapping[str, str], row: Row) -> Entry:
    session = row.text("memory_session_id")
    key = keys.get(session)
    unknown = {} if key else {"memory_session_id": session}
    return fit_item(
        NewItem(
            content=row.text("text"),
            kind="memory" if row.get("type") in KNOWLEDGE_TYPES else "observation",
            type=row.text("type"),
            title=row.text("title"),
            details={name: row.text(name) for name in _DETAILS},
            meta=TABLES.meta(row["id"], row, "prompt_number", "auto_category", **unknown),
            project=row.text("project"),
            session=key,
            created_ms=created_ms(row),
            uid=TABLES.row_uid("observation", row),
        )
    )


def _note(
    keys: Mapping[str, str], row: Row, kind: Literal["summary", "checkpoint"], details: Mapping[str, str]
) -> Entry:
    """A summary or a checkpoint, which consist of their fields."""
    session = row.text("session_id")
    key = keys.get(session)
    return fit_item(
        NewItem(
            kind=kind,
            title=row.text("request", "task"),
            details=details,
            meta=TABLES.meta(row["id"], row, **({} if key else {"session": session})),
            project=row.text("project"),
            session=key,
            created_ms=created_ms(row),
            uid=TABLES.row_uid(kind, row),
        )
    )


def _github_link(database: ForeignDatabase, keys: Mapping[str, str], row: Row) -> Entry:
    """An event on GitHub, linked to its observation."""
    columns, where = "id created_at_epoch", "WHERE id = ?"
    observations = database.rows("observations", columns, where, (row.get("observation_id"),))
    links = [link_to(TABLES.row_uid("observation", one), "about") for one in observations]
    number = row.text("issue_number", "pr_number")
    title = (row.text("repo"), number and f"#{number}", row.text("title"))
    return fit_item(
        NewItem(
            content=row.text("url"),
            kind="observation",
            type="github",
            title=" ".join(part for part in title if part),
            meta=TABLES.meta(row["id"], row, "event_type", "action", "author", links=links),
            session=keys.get(row.text("session_id")),
            created_ms=created_ms(row),
            uid=TABLES.row_uid("github link", row),
        )
    )


def _session_keys(database: ForeignDatabase) -> dict[str, str]:
    """The keys of sessions by each of the three names that rows use for them."""
    keys: dict[str, str] = {}
    for row in TABLES.rows(database, "sessions"):
        key = TABLES.key(row.text("content_session_id"))
        for name in ("content_session_id", "memory_session_id", "id"):
            keys.setdefault(row.text(name), key)
    for row in database.rows("prompts", "content_session_id", "GROUP BY content_session_id"):
        keys.setdefault(row.text("content_session_id"), TABLES.key(row.text("content_session_id")))
    keys.pop("", None)
    return keys
