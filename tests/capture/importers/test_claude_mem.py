"""claude-mem: what was asked, observed and summed up, of its first versions and its last, and of its export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from commonplace.capture.import_files import import_path
from commonplace.memory.conversations import open_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item

from .conftest import ImportDatabase
from .databases import AT, CLAUDE_MEM, OLD_CLAUDE_MEM, Rows

ItemsByTitle = Callable[..., dict[str, Item]]
SESSION = {"id": 1, "content_session_id": "c1", "memory_session_id": "m1", "project": "my-api", "status": "completed"}
ROWS: Rows = {
    "sdk_sessions": [
        SESSION | {"user_prompt": "Fix the login", "started_at_epoch": AT, "platform_source": "claude"},
        {"id": 2, "content_session_id": "c2", "project": "web", "user_prompt": "Only this", "started_at_epoch": AT},
    ],
    "user_prompts": [
        {
            "id": 1,
            "session_db_id": 1,
            "content_session_id": "c1",
            "prompt_text": "Fix the login",
            "created_at_epoch": AT,
        },
        {
            "id": 2,
            "session_db_id": 1,
            "content_session_id": "c1",
            "prompt_text": "And test",
            "created_at_epoch": AT + 1,
        },
    ],
    "observations": [
        {
            "id": 1,
            "memory_session_id": "m1",
            "project": "my-api",
            "type": "bugfix",
            "title": "The test waits for the cookie",
            "subtitle": "No more sleeps",
            "narrative": "It polled too early.",
            "facts": '["Set by middleware", "Sleep removed"]',
            "concepts": '["gotcha", "problem-solution"]',
            "files_modified": '["tests/login.ts"]',
            "discovery_tokens": 7,
            "created_at_epoch": AT,
        },
        {"id": 2, "memory_session_id": "unknown", "type": "decision", "title": "Keep cookies", "created_at_epoch": AT},
    ],
    "session_summaries": [
        {
            "id": 1,
            "memory_session_id": "m1",
            "project": "my-api",
            "request": "Make it pass",
            "learned": "Cookies are late",
        }
        | {"files_edited": '["tests/login.ts"]', "created_at_epoch": AT}
    ],
    "tool_uses": [{"id": 1, "tool_name": "Bash"}],
}


def test_everything_comes_in_in_its_session(
    memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle
) -> None:
    summary = move_in(CLAUDE_MEM, ROWS)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (2, 3, 3)
    items = items_by_title()
    fixed = items["The test waits for the cookie"]
    assert (fixed.kind, fixed.type, fixed.session, fixed.created_ms) == ("observation", "bugfix", "claude-mem:c1", AT)
    assert fixed.details == {
        "subtitle": "No more sleeps",
        "narrative": "It polled too early.",
        "facts": "Set by middleware\nSleep removed",
        "concepts": "gotcha, problem-solution",
        "files_modified": "tests/login.ts",
    }
    summed = items["Make it pass"]
    assert (summed.kind, summed.session) == ("summary", "claude-mem:c1")
    assert summed.meta["files_edited"] == ["tests/login.ts"]
    chosen = items["Keep cookies"]
    assert (chosen.kind, chosen.session) == ("memory", "claude-mem:unknown")
    session, messages = open_conversation(memory, "claude-mem:c1")
    assert [message.body for message in messages] == ["Fix the login", "And test"]
    assert session.meta["platform_source"] == "claude"
    assert summary.reasons == {
        ("column", "it is rebuilt here"): 1,
        ("table", "raw tool calls; their results are in the observations"): 1,
    }


def test_its_first_version_is_read(memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    rows: Rows = {
        "sdk_sessions": [
            {"id": 1, "claude_session_id": "c1", "sdk_session_id": "m1", "project": "web", "user_prompt": "Hi"}
            | {"started_at_epoch": AT}
        ],
        "observations": [
            {"id": 1, "sdk_session_id": "m1", "project": "web", "text": "Found it", "created_at_epoch": AT}
        ],
    }
    assert move_in(OLD_CLAUDE_MEM, rows).items.added == 1
    assert items_by_title()["Found it"].session == "claude-mem:c1"


def test_an_export_is_the_same_as_the_database(memory: LocalMemory, move_in: ImportDatabase, tmp_path: Path) -> None:
    export = {
        "exportedAt": "2025-03-15T14:30:00Z",
        "query": "login",
        "totalObservations": 2,
        "observations": ROWS["observations"],
        "sessions": ROWS["sdk_sessions"],
        "summaries": ROWS["session_summaries"],
        "prompts": ROWS["user_prompts"],
    }
    path = tmp_path / "memories.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    first = import_path(memory, path)
    assert (first.conversations.added, first.messages.added, first.items.added) == (2, 3, 3)
    again = move_in(CLAUDE_MEM, ROWS)
    assert (again.messages.added, again.items.added, again.items.known) == (0, 0, 3)
