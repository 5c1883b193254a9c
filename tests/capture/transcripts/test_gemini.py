"""Gemini's log of changes becomes turns: messages in their last form, rewound ones beside the path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.capture.transcripts.corpus import Record, reading, texts, write

META = {"sessionId": "g1", "projectHash": "abc", "startTime": "2026-03-15T10:00:00Z", "kind": "main"}


def message(name: str, kind: str, content: Any, **more: Any) -> Record:
    return {"id": name, "timestamp": "2026-03-15T10:01:00Z", "type": kind, "content": content, **more}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "abc" / "chats" / "session-2026-03-15T10-00-g1.jsonl"


def test_a_message_comes_again_when_it_grew(path: Path) -> None:
    used = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}, "status": "executing"}
    answer = [{"functionResponse": {"id": "c1", "name": "x", "response": {"output": "error: no rule"}}}]
    done = {**used, "status": "error", "result": answer, "agentId": "sub1"}
    thoughts = [{"subject": "Build", "description": "Run make first."}]
    records = [
        META,
        message("m1", "user", [{"text": "Build it"}]),
        message("m2", "gemini", "", toolCalls=[used], thoughts=thoughts, model="gemini-x"),
        message("m2", "gemini", "No rule.", toolCalls=[done], thoughts=thoughts, model="gemini-x"),
        message("m3", "info", "Update available"),
        {"$set": {"summary": "Building", "directories": ["/srv/code/my-api"]}},
        message("m4", "user", "Thanks"),
    ]
    (first, second), pass_ = reading(write(path, records), "gemini")
    assert texts(first) == [
        ("text", "Build it"),
        ("thinking", "Build\nRun make first."),
        ("text", "No rule."),
        ("tool_call", "make"),
        ("tool_result", "error: no rule"),
    ]
    assert (first.blocks[3].command, first.blocks[4].error) == ("make", "error: no rule")
    assert (first.model, first.spawned) == ("gemini-x", (("c1", "sub1"),))
    assert second.parent == first.identity
    about = pass_.transcript
    assert (about.session, about.title, about.folder) == ("g1", "Building", "/srv/code/my-api")
    assert about.started_ms == 1_773_568_800_000 and not pass_.counts.unknown


def test_what_was_rewound_stays_beside_the_path(path: Path) -> None:
    records = [META]
    for number, words in enumerate(("One", "Two", "Three")):
        records += [message(f"u{number}", "user", words), message(f"g{number}", "gemini", words.lower())]
    records += [{"$rewindTo": "u1"}, message("u9", "user", "Two again"), message("g9", "gemini", "two again")]
    turns, pass_ = reading(write(path, records), "gemini")
    assert [texts(turn)[0][1] for turn in turns] == ["One", "Two", "Three", "Two again"]
    assert turns[3].parent == turns[0].identity
    assert pass_.off_path == {turns[1].identity, turns[2].identity}


def test_an_unknown_rewind_goes_back_to_the_beginning(path: Path) -> None:
    records = [META, message("u1", "user", "One"), {"$rewindTo": "nowhere"}, message("u2", "user", "Two")]
    turns, _ = reading(write(path, records), "gemini")
    assert [turn.parent for turn in turns] == [None, None]


def test_a_compression_forgets_nothing_that_was_said(path: Path) -> None:
    snapshot = message("s1", "user", "<state_snapshot>We built it.</state_snapshot>")
    records = [META, message("u1", "user", "Build it"), message("g1", "gemini", "Built.")]
    records += [{"$set": {"messages": [snapshot, records[2]]}}, message("u2", "user", "Test it")]
    turns, _ = reading(write(path, records), "gemini")
    assert [(turn.role, texts(turn)[0][0]) for turn in turns] == [
        ("user", "text"),
        ("system", "summary"),
        ("user", "text"),
    ]
    assert texts(turns[0]) == [("text", "Build it"), ("text", "Built.")]


def test_commands_and_injected_context_are_no_turns(path: Path) -> None:
    setup = "This is the Gemini CLI. We are setting up the context for our chat."
    records = [META, message("u0", "user", setup), message("u1", "user", "/stats"), message("u2", "user", "Go")]
    records.append(message("u3", "user", [{"text": "Look\n--- Content from referenced files ---\nx = 1"}]))
    turns, _ = reading(write(path, records), "gemini")
    assert [texts(turn) for turn in turns] == [[("text", "Go")], [("text", "Look")]]
    assert turns[0].parent is None


def test_a_sub_agent_lies_in_the_folder_of_its_session(path: Path) -> None:
    (path.parent.parent).mkdir(parents=True)
    (path.parent.parent / ".project_root").write_text("/srv/code/my-api\n", encoding="utf-8")
    records = [{**META, "sessionId": "sub1", "kind": "subagent"}, message("u1", "user", "Search")]
    (turn,), pass_ = reading(write(path.parent / "g1" / "sub1.jsonl", records), "gemini")
    about = pass_.transcript
    assert (about.parent_session, about.agent_id, about.folder) == ("g1", "sub1", "/srv/code/my-api")
    assert turn.agent_id == "sub1"


@pytest.mark.parametrize("indent", [2, None])
def test_the_older_form_is_one_object(path: Path, indent: int | None) -> None:
    whole = {**META, "messages": [message("u1", "user", "Go"), message("g1", "gemini", "Gone.")]}
    path.parent.mkdir(parents=True)
    older = path.with_suffix(".json")
    older.write_text(json.dumps(whole, indent=indent), encoding="utf-8")
    (turn,), _ = reading(older, "gemini")
    assert texts(turn) == [("text", "Go"), ("text", "Gone.")]


def test_unknown_records_are_counted(path: Path) -> None:
    records = [META, message("u1", "user", "Go"), message("x", "dream", "?"), {"type": "smell"}]
    (turn,), pass_ = reading(write(path, records), "gemini")
    assert texts(turn) == [("text", "Go")] and pass_.counts.unknown == {"dream": 1, "smell": 1}
