"""What hooks captured is found through every dialect, by its words, its files and its time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.dialects.conftest import Call, Memories, calling

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Scope

from .hook_sessions import FOLDER, Telling, a_fix, items


@pytest.fixture
def captured(memory: LocalMemory) -> Call:
    """A session of a fix, one of other work in the project, and one elsewhere."""
    remember_events(memory, a_fix().events)
    other = Telling(session="s2")
    other.asks("Add a dark theme to the settings page")
    other.uses("Write", {"type": "create"}, file_path=f"{FOLDER}/src/theme.css", content="body { color: white }")
    other.stops("Added the dark theme.")
    elsewhere = replace(Telling(session="s3", cwd="/srv/code/shop").asks("Sell more penguins"))
    remember_events(memory, [*other.events, elsewhere])
    return calling(memory)


def test_kiro_search_finds_observations_and_summaries(captured: Call) -> None:
    found = captured("search", query="login timeout", project="my-api")
    first = next(row for row in found["observations"] if row["type"] == "command")
    assert first["title"] == "Failed: pytest tests/test_login.py" and "TimeoutError" in first["narrative"]
    assert [row["request"] for row in found["summaries"]] == ["Why does the login test fail?"]
    assert [row["title"] for row in captured("search", query="concepts:styling")["observations"]] == [
        "Created theme.css"
    ]
    by_file = captured("search", query="files_modified:login.py")["observations"]
    assert [row["files_modified"] for row in by_file] == ["src/login.py"] and by_file[0]["discovery_tokens"] > 5


def test_kiro_timeline_tells_what_came_before_and_after(memory: LocalMemory, captured: Call) -> None:
    edit = next(item for item in items(memory, "observation") if item.title == "Modified login.py")
    around = captured("timeline", anchor_id=edit.id, depth_before=3, depth_after=1)["timeline"]
    assert {row["type"] for row in around} <= {"prompt", "command", "file-read", "file-write", "answer"}
    assert [row["position"] for row in around] == [-3, -2, -1, 0, 1] and around[3]["subtitle"] == "edit src/login.py"
    (whole,) = captured("get_observations", ids=[edit.id])["observations"]
    assert whole["text"].startswith("Input: src/login.py") and whole["session_id"] == "claude-code:s1"


def test_kiro_context_has_the_last_checkpoint_and_summaries(captured: Call) -> None:
    context = captured("get_context", project="my-api", token_budget=4000)
    assert context["checkpoint"]["task"] in ("Why does the login test fail?", "Add a dark theme to the settings page")
    assert {row["session_id"] for row in context["summaries"]} == {"claude-code:s1", "claude-code:s2"}
    assert "Sell more penguins" not in repr(context["items"])
    edit = next(item for item in context["items"] if item["title"] == "Modified login.py")
    assert edit["content"] == "Modified login.py at src/login.py — replacing 1 line with 1 line"


def test_the_other_dialects_find_it_too(memory: LocalMemory, captured: Call) -> None:
    memories = Memories(memory).contents("search_memories", query="dark theme", project_id="my-api")
    assert any("dark theme" in content for content in memories)
    chunks = captured("recall", query="why does the login test fail", minScore=0.0)["results"]
    assert any("login" in chunk["content"] for chunk in chunks)
    results = captured("memory_search", query="login test fail")["results"]
    assert any("login" in row["content"].lower() for row in results)


def test_prompt_summary_and_checkpoint_of_a_session_are_one_hit(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Why do carts lock up at night?")
    telling.uses("Edit", file_path=f"{FOLDER}/src/carts.py", old_string="a", new_string="b")
    telling.stops("The sweeper held the lock. I release it now.\n\nNext steps:\n- Tell the mobile team about carts")
    telling.asks("Now add a retry to the importer")
    telling.uses("Edit", file_path=f"{FOLDER}/src/importer.py", old_string="a", new_string="b")
    telling.stops("I added a retry to the importer of carts.")
    remember_events(memory, telling.events)
    for question in (
        "tell the mobile team about carts",
        "why do carts lock up at night",
        "add a retry to the importer",
    ):
        hits = [hit.item for hit in recall(memory, question, Scope(), 10).hits]
        same = [item for item in hits if item.kind in ("summary", "checkpoint") or item.type == "prompt"]
        assert len([item for item in same if item.kind != "observation"]) <= 1, question
        assert len({item.title for item in same}) == len(same), question
    # Each is still found where only its kind is looked for.
    for kind in ("summary", "checkpoint"):
        assert len(recall(memory, "mobile team", Scope(kinds=(kind,)), 10).hits) == 1
