"""Kiro Memory (Total Recall since 4.0): observations, summaries, checkpoints, sessions and prompts, as the same here.

Written against the schemas 1 to 14, and what `kiro-memory export` writes as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from commonplace.capture.foreign import Found, Stream, label_of
from commonplace.capture.move_in.arriving import (
    BOOKKEEPING,
    MADE_ANEW,
    Plan,
    arrived,
    noted,
    project_of,
    sliced,
    text,
)
from commonplace.capture.move_in.database import Database, Row
from commonplace.capture.move_in.exports import read_as
from commonplace.memory.conversations import ROLES, Conversation, Said
from commonplace.memory.remember import Note
from commonplace.model import KNOWLEDGE_TYPES

PLAN = Plan(
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
        "observations.content_hash": MADE_ANEW,
        "observations.discovery_tokens": MADE_ANEW,
        "observations.is_stale": "whether a file changed since is looked at whenever it is read",
        "observations.last_accessed_epoch": "when it was last read there",
        "summaries.discovery_tokens": MADE_ANEW,
        "observation_embeddings": MADE_ANEW,
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


def read(database: Database) -> Iterator[Found]:
    """Everything that was remembered, sessions first, since the rest belongs to them."""
    yield from _sessions(database)
    keys = _keys(database)
    for row in PLAN.rows(database, "observations", "ORDER BY rowid"):
        yield _observation(keys, row)
    for row in PLAN.rows(database, "summaries", "ORDER BY rowid"):
        yield _detailed(keys, row, "summary", _SUMMARY)
    for row in PLAN.rows(database, "checkpoints", "ORDER BY rowid"):
        yield _detailed(keys, row, "checkpoint", _CHECKPOINT)
    for row in PLAN.rows(database, "github_links", "ORDER BY rowid"):
        yield _github(database, keys, row)
    yield from PLAN.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Found]:
    return read_as(stream, _EXPORTED, read, PLAN.taken)


def _sessions(database: Database) -> Iterator[Found]:
    """What was said in each session: the whole conversation where it was kept, else its prompts, else the first."""
    whole = "conversation_messages"
    for session, rows in _by_session(database, whole, "message_index, id"):
        yield from sliced(_conversation(database, session, rows[0]), map(_message, rows))
    told = _but(database, "content_session_id", whole)
    for session, rows in _by_session(database, "prompts", "created_at_epoch, id", told):
        yield from sliced(_conversation(database, session, rows[0]), map(_prompt, rows))
    for row in PLAN.rows(database, "sessions", _but(database, "content_session_id", whole, "prompts")):
        if text(row, "user_prompt"):
            said = Said("user", text(row, "user_prompt"), noted(row), identity=f"session {row['id']}")
            yield from sliced(_conversation(database, text(row, "content_session_id"), row), [said])


def _by_session(database: Database, table: str, order: str, where: str = "") -> Iterator[tuple[str, list[Row]]]:
    rows = PLAN.rows(database, table, f"{where} ORDER BY content_session_id, {order}")
    said = (row for row in rows if text(row, "prompt_text", "content"))
    for session, group in groupby(said, key=lambda row: text(row, "content_session_id")):
        yield session, list(group)


def _but(database: Database, column: str, *tables: str) -> str:
    """The condition that a session has nothing in these tables."""
    there = [table for table in tables if database.has(table, column)]
    return "WHERE 1" + "".join(f" AND {column} NOT IN (SELECT {column} FROM {table})" for table in there)


def _conversation(database: Database, session: str, row: Row) -> Conversation:
    about = next(PLAN.rows(database, "sessions", "WHERE content_session_id = ?", (session,)), row)
    first = text(about, "user_prompt") or text(row, "prompt_text", "content")
    return Conversation(
        label=label_of("", first),
        messages=(),
        folder="/imports/kiro-memory",
        project=project_of(text(row, "project")),
        source=PLAN.source,
        key=PLAN.key(session),
        meta=PLAN.meta(session, about, "status", "completed_at"),
        started_ms=noted(about),
    )


def _message(row: Row) -> Said:
    role = text(row, "role")
    uid = PLAN.numbered("message", row)
    meta = PLAN.meta(row["id"], row)
    return Said(role if role in ROLES else "assistant", text(row, "content"), noted(row), meta, f"message {uid}", uid)


def _prompt(row: Row) -> Said:
    uid = PLAN.numbered("prompt", row)
    return Said("user", text(row, "prompt_text"), noted(row), PLAN.meta(row["id"], row), f"prompt {uid}", uid)


def _observation(keys: Mapping[str, str], row: Row) -> Found:
    session = text(row, "memory_session_id")
    key = keys.get(session)
    lost = {} if key else {"memory_session_id": session}
    return arrived(
        Note(
            content=text(row, "text"),
            kind="memory" if row.get("type") in KNOWLEDGE_TYPES else "observation",
            type=text(row, "type"),
            title=text(row, "title"),
            details={name: text(row, name) for name in _DETAILS},
            meta=PLAN.meta(row["id"], row, "prompt_number", "auto_category", **lost),
            project=text(row, "project"),
            session=key,
            created_ms=noted(row),
            uid=PLAN.numbered("observation", row),
        )
    )


def _detailed(keys: Mapping[str, str], row: Row, kind: str, names: tuple[str, ...]) -> Found:
    """A summary or a checkpoint, which consist of their fields."""
    details = {name: text(row, name) for name in names}
    if kind == "checkpoint":
        details["snapshot"] = text(row, "context_snapshot")
    session = text(row, "session_id")
    key = keys.get(session)
    return arrived(
        Note(
            kind="summary" if kind == "summary" else "checkpoint",
            title=text(row, "request", "task"),
            details=details,
            meta=PLAN.meta(row["id"], row, **({} if key else {"session": session})),
            project=text(row, "project"),
            session=key,
            created_ms=noted(row),
            uid=PLAN.numbered(kind, row),
        )
    )


def _github(database: Database, keys: Mapping[str, str], row: Row) -> Found:
    """What happened on GitHub, linked to the observation that told of it."""
    about = "WHERE id = ?", (row.get("observation_id"),)
    linked = [PLAN.numbered("observation", one) for one in database.rows("observations", "id created_at_epoch", *about)]
    number = text(row, "issue_number", "pr_number")
    return arrived(
        Note(
            content=text(row, "url"),
            kind="observation",
            type="github",
            title=" ".join(part for part in (text(row, "repo"), number and f"#{number}", text(row, "title")) if part),
            meta=PLAN.meta(
                row["id"], row, "event_type", "action", "author", links=[{"to": uid, "rel": "about"} for uid in linked]
            ),
            session=keys.get(text(row, "session_id")),
            created_ms=noted(row),
            uid=PLAN.numbered("github link", row),
        )
    )


def _keys(database: Database) -> dict[str, str]:
    """The keys of sessions by each of the three names that rows call them by."""
    keys: dict[str, str] = {}
    for row in PLAN.rows(database, "sessions"):
        key = PLAN.key(text(row, "content_session_id"))
        for name in ("content_session_id", "memory_session_id", "id"):
            keys.setdefault(text(row, name), key)
    for row in database.rows("prompts", "content_session_id", "GROUP BY content_session_id"):
        keys.setdefault(text(row, "content_session_id"), PLAN.key(text(row, "content_session_id")))
    keys.pop("", None)
    return keys
