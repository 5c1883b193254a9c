"""`store`: a conversation from JSON or from a text with speakers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

MESSAGES = [
    {"role": "user", "content": "Which cache?", "timestamp": "2026-01-20T10:00:00Z"},
    {"role": "assistant", "content": "Redis.", "metadata": {"model": "m1"}},
]


def messages_of(run: Run, id_: str) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in run("conversations", "show", id_, "--json").data["messages"]]


@pytest.mark.parametrize("value", [MESSAGES, {"messages": MESSAGES}], ids=["list", "object"])
def test_json_is_kept_with_times_and_metadata(run: Run, value: object) -> None:
    done = run(
        "conversations", "add", "Cache", "--folder", "work//x/", "--importance", "8", "--json", stdin=json.dumps(value)
    )
    assert (done.code, done.data["folder"], done.data["importance_score"]) == (0, "/work/x", 8)
    assert (done.data["duplicate"], done.data["message_count"], done.data["word_count"]) == (False, 2, 3)
    first, second = run("conversations", "show", done.data["short_id"], "--json").data["messages"]
    assert first["timestamp"] == "2026-01-20T10:00:00Z" and second["metadata"] == {"model": "m1"}


def test_a_text_with_speakers_becomes_turns(run: Run, folder: Path) -> None:
    text = "User: Name a colour\nAI: Blue,\nor green\n"
    (folder / "chat.txt").write_text(text, encoding="utf-8")
    done = run("conversations", "add", "Colours", "chat.txt")
    assert done.out.startswith("Stored conversation ") and "2 messages, 6 words" in done.out
    assert messages_of(run, done.out.split()[2]) == [("user", "Name a colour"), ("assistant", "Blue,\nor green")]


def test_markdown_with_speakers_becomes_turns(run: Run, folder: Path) -> None:
    (folder / "chat.md").write_text("# Title\n\n## User\n\nHi\n\n## Assistant\n\nHello\n", encoding="utf-8")
    data = run("conversations", "add", "Mine", "chat.md", "--json").data
    assert data["label"] == "Mine" and messages_of(run, data["id"]) == [("user", "Hi"), ("assistant", "Hello")]


def test_a_text_without_speakers_is_one_message_and_says_so(run: Run) -> None:
    done = run("conversations", "add", "Thoughts", "-", stdin="[draft] Just thoughts, { and braces")
    assert done.code == 0 and "It was stored as one message" in done.err
    assert messages_of(run, done.out.split()[2]) == [("user", "[draft] Just thoughts, { and braces")]


def test_the_same_again_is_known(run: Run) -> None:
    first = run("conversations", "add", "Cache", stdin=json.dumps(MESSAGES)).out.split()[2]
    again = run("conversations", "add", "Cache", stdin=json.dumps(MESSAGES))
    assert again.out.startswith(f"Already known: conversation {first} ")
    other = run("conversations", "add", "Cache", "--folder", "/elsewhere", "--json", stdin=json.dumps(MESSAGES)).data
    assert other["short_id"] != first and other["duplicate"] is False


def test_an_exported_conversation_is_stored_as_another(run: Run) -> None:
    run("conversations", "add", "Cache", stdin=json.dumps(MESSAGES))
    exported = run("export", "1").out
    data = run("conversations", "add", "Copy", "--json", stdin=exported).data
    assert (data["label"], data["duplicate"], data["message_count"]) == ("Copy", False, 2)


def test_status_project_and_secrets(run: Run) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    text = json.dumps([{"role": "user", "content": f"the token is {secret}"}])
    data = run("conversations", "add", "Keys", "--status", "pinned", "--project", "my-api", "--json", stdin=text).data
    assert (data["status"], data["importance_score"], data["project"]) == ("pinned", 10, "my-api")
    assert "[REDACTED:" in messages_of(run, data["id"])[0][1] and secret not in run("export", "1").out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"role": "user", "content": "cut', "not JSON"),
        ('[{"role": "nobody", "content": "x"}]', "nobody"),
        ('[{"role": "user"}]', "messages[0]"),
        ('[{"role": "user", "content": "x", "mood": "good"}]', "mood"),
        ('[{"role": "user", "content": "x", "timestamp": "soon"}]', "soon"),
        ('{"title": "no messages"}', "no list of messages"),
        ('{"conversations": []}', "several conversations"),
        ("[]", "no messages"),
        ("", "nothing in it"),
        ("a\0b", "neither"),
    ],
)
def test_what_is_no_conversation_is_refused_and_nothing_kept(run: Run, text: str, expected: str) -> None:
    done = run("conversations", "add", "X", "-", "--json", stdin=text)
    assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR")
    assert expected in done.error["message"]
    assert run("conversations", "--json").data["conversations"] == []


def test_bad_options_are_refused(run: Run) -> None:
    for options in (("--importance", "11"), ("--importance", "nan"), ("--folder", "a/../b"), ("--status", "gone")):
        done = run("conversations", "add", "X", *options, "--json", stdin=json.dumps(MESSAGES))
        assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR"), options
    missing = run("conversations", "add", "X", "nowhere.txt", "--json")
    assert missing.code == 2 and "nowhere.txt" in missing.error["message"]
    assert run("conversations", "add", "  ", "--json", stdin=json.dumps(MESSAGES)).code == 2


def test_it_works_as_its_own_process(spawn: Run) -> None:
    done = spawn("conversations", "add", "日本", "--json", stdin=json.dumps(MESSAGES))
    assert (done.code, done.data["label"]) == (0, "日本")
