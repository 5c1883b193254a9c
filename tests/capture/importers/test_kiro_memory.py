"""Kiro Memory: every kind of its rows is the same kind here, in its session, with its time and its number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from commonplace.capture.import_files import import_path
from commonplace.memory.conversations import open_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item

from .conftest import ImportDatabase
from .databases import AT, ISO, KIRO, Rows, observation

ItemsByTitle = Callable[..., dict[str, Item]]
SESSION = {"id": 3, "content_session_id": "s-77", "project": "my-api", "user_prompt": "Fix the login"}
ROWS: Rows = {
    "sessions": [SESSION | {"started_at_epoch": AT, "status": "completed"}],
    "prompts": [
        {"id": 1, "content_session_id": "s-77", "project": "my-api", "prompt_text": "Fix it", "created_at_epoch": AT},
        {
            "id": 2,
            "content_session_id": "s-78",
            "project": "other",
            "prompt_text": "Orphan",
            "created_at_epoch": AT + 1,
        },
    ],
    "observations": [
        observation(
            1,
            memory_session_id="s-77",
            text="Input and output",
            narrative="Changed the check.",
            concepts="auth, testing",
            files_modified="src/auth.ts",
            auto_category="debugging",
            is_stale=1,
            discovery_tokens=12,
        ),
        observation(
            2, type="decision", title="PostgreSQL over MongoDB", text="Chosen for ACID", facts='{"why": "ACID"}'
        ),
        observation(3, type="", title="", text=""),
    ],
    "summaries": [
        {"id": 1, "session_id": "3", "project": "my-api", "request": "Fix it", "learned": "Cookies come late"}
        | {"created_at": ISO}
    ],
    "checkpoints": [
        {"id": 1, "session_id": 3, "project": "my-api", "task": "Login", "relevant_files": "src/auth.ts"}
        | {"context_snapshot": "[]", "created_at_epoch": AT}
    ],
    "github_links": [
        {"id": 1, "observation_id": 1, "repo": "acme/my-api", "issue_number": 7, "title": "Flaky", "url": "https://x/7"}
        | {"event_type": "issues", "created_at_epoch": AT + 5}
    ],
    "observation_embeddings": [{"observation_id": 1, "embedding": b"\0\1"}],
}


def test_every_kind_comes_in_with_all_it_has(
    memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle
) -> None:
    summary = move_in(KIRO, ROWS)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (2, 2, 5)
    items = items_by_title()
    changed = items["Modified file 1"]
    assert (changed.kind, changed.type, changed.body) == ("observation", "file-write", "Input and output")
    assert changed.details == {
        "narrative": "Changed the check.",
        "concepts": "auth, testing",
        "files_modified": "src/auth.ts",
    }
    assert (changed.project, changed.session, changed.created_ms) == ("my-api", "kiro-memory:s-77", AT + 1000)
    assert changed.meta["source"] == "kiro-memory" and changed.meta["source_id"] == 1
    assert changed.meta["auto_category"] == "debugging"
    chosen = items["PostgreSQL over MongoDB"]
    assert (chosen.kind, chosen.type, chosen.session) == ("memory", "decision", None)
    assert chosen.meta["memory_session_id"] == f"sdk-{AT + 2000}"
    summed, point = items["Fix it"], items["Login"]
    assert {summed.kind, point.kind} <= {"summary", "message", "checkpoint"}
    assert point.details == {"task": "Login", "relevant_files": "src/auth.ts", "snapshot": "[]"}
    assert point.session == "kiro-memory:s-77"
    assert items["acme/my-api #7 Flaky"].meta["links"] == [{"to": changed.uid, "rel": "about"}]


def test_sessions_hold_their_prompts_and_what_happened_in_them(memory: LocalMemory, move_in: ImportDatabase) -> None:
    move_in(KIRO, ROWS)
    session, messages = open_conversation(memory, "kiro-memory:s-77")
    assert (session.label, session.project, session.source) == ("Fix the login", "my-api", "kiro-memory")
    assert session.meta["status"] == "completed" and session.started_ms == AT
    assert [(message.body, message.details["role"]) for message in messages] == [("Fix it", "user")]
    assert open_conversation(memory, "kiro-memory:s-78")[0].project == "other"


def test_what_had_no_place_is_counted_by_reason(move_in: ImportDatabase) -> None:
    summary = move_in(KIRO, ROWS)
    assert summary.reasons == {
        ("item", "it says nothing"): 1,
        ("column", "whether a file changed since is looked at whenever it is read"): 1,
        ("column", "it is rebuilt here"): 1,
        ("table", "it is rebuilt here"): 1,
    }
    named = {one.what for one in summary.examples}
    assert named >= {"theirs.db: observations.is_stale", "theirs.db: observation_embeddings"}


def test_a_table_and_a_column_that_nobody_knows_are_named(move_in: ImportDatabase) -> None:
    tables = KIRO | {"dreams": "id INTEGER", "summaries": KIRO["summaries"] + ", mood TEXT"}
    rows = {"dreams": [{"id": 1}, {"id": 2}], "summaries": [{"id": 1, "request": "Sleep", "mood": "calm"}]}
    reasons = move_in(tables, rows).reasons
    assert reasons == {
        ("table", "an unknown table"): 2,
        ("column", "an unknown column"): 1,
    }


def test_the_first_schema_and_the_last_are_read(move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    first = {
        name: columns.split(", last_accessed_epoch")[0]
        for name, columns in KIRO.items()
        if name in ("observations", "summaries", "prompts")
    }
    assert move_in(first, {"observations": [observation(1)]}).items.added == 1
    messages = (
        "id INTEGER PRIMARY KEY, content_session_id TEXT, project TEXT, role TEXT, message_index INTEGER,"
        " content TEXT, created_at TEXT, created_at_epoch INTEGER"
    )
    turns = [
        {
            "id": n,
            "content_session_id": "s-77",
            "role": role,
            "message_index": n,
            "content": text,
            "created_at_epoch": AT,
        }
        for n, (role, text) in enumerate([("user", "Why?"), ("assistant", "Because.")])
    ]
    summary = move_in(KIRO | {"conversation_messages": messages}, dict(ROWS) | {"conversation_messages": turns})
    assert (summary.conversations.added, summary.messages.added) == (2, 3)
    assert "Fix it" not in items_by_title(kinds=("message",))


def test_an_export_is_the_same_as_the_database_it_was_made_of(
    memory: LocalMemory, move_in: ImportDatabase, tmp_path: Path
) -> None:
    move_in(KIRO, ROWS)
    lines: list[dict[str, object]] = [{"_meta": {"version": "2.5.0"}}]
    lines += [{"_type": "observation", **dict(row)} for row in ROWS["observations"][:2]]
    lines += [{"_type": "prompt", **dict(row)} for row in ROWS["prompts"]]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    again = import_path(memory, path)
    assert (again.items.added, again.items.known, again.messages.added, again.messages.known) == (0, 2, 0, 2)
    path.write_text(json.dumps([dict(row) for row in ROWS["observations"][:2]]), encoding="utf-8")
    assert import_path(memory, path).items.known == 2


def test_an_export_that_tells_less_is_read_as_well_as_it_can_be(memory: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    lines = [{"_type": "prompt", "prompt_text": "Why?"}, {"_type": "summary", "request": "To know"}, {"_type": "dream"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    summary = import_path(memory, path)
    assert (summary.messages.added, summary.items.added) == (1, 1)
    assert summary.reasons == {("table", "what the export says about itself"): 1}


def test_two_machines_that_both_counted_from_one_are_both_kept(move_in: ImportDatabase) -> None:
    assert move_in(KIRO, {"observations": [observation(1)]}).items.added == 1
    assert move_in(KIRO, {"observations": [observation(1, created_at_epoch=AT)]}).items.added == 1
