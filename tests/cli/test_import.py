"""`import` from the command line: counts that add up, reasons that are true, and a second run that goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.polling import until

from .conftest import Run, write_chats, write_graph


def exported(count: int, **more: Any) -> list[dict[str, Any]]:
    """Conversations as ChatGPT exports them, of one message each."""
    return [
        {
            "id": f"c{n}",
            "title": f"Talk {n}",
            "current_node": "m",
            "mapping": {
                "m": {
                    "message": {
                        "id": f"m{n}",
                        "author": {"role": "user"},
                        "content": {"content_type": "text", "parts": [f"Question {n}"]},
                    }
                }
            },
            **more,
        }
        for n in range(count)
    ]


def test_what_came_in_was_known_and_was_skipped(run: Run, folder: Path) -> None:
    (folder / "conversations.json").write_text(json.dumps([*exported(2), {"title": "Broken"}]), encoding="utf-8")
    first = run("import", "conversations.json", "--json").data
    assert first["conversations"] == {"added": 2, "known": 0, "skipped": 1}
    assert first["messages"] == {"added": 2, "known": 0, "skipped": 0} and first["files"]["read"] == 1
    assert first["skipped"] == [{"unit": "conversation", "why": "it has no tree of messages (mapping)", "count": 1}]
    assert first["examples"][0]["what"].startswith("conversations.json: conversation 3 at character ")
    again = run("import", "conversations.json", "--json").data
    assert again["conversations"] == {"added": 0, "known": 2, "skipped": 1}


def test_people_get_a_table_and_the_reasons(run: Run, folder: Path) -> None:
    (folder / "conversations.json").write_text(json.dumps([*exported(2), None]), encoding="utf-8")
    done = run("import", "conversations.json")
    assert done.code == 0
    assert "conversations\t2\t0\t1" in done.out and "messages\t2\t0\t0" in done.out
    assert "1\tconversation\tit has no tree of messages (mapping)" in done.out
    assert "conversation 3 at character" in done.err


def test_every_reason_is_named_with_a_place_however_common_another_is(run: Run, folder: Path) -> None:
    (folder / "many").mkdir()
    broken = json.dumps([*exported(1), *[{"title": "Broken"}] * 300])
    (folder / "many" / "a.json").write_text(broken, encoding="utf-8")
    (folder / "many" / "b.txt").write_bytes(b"User: caf\xe9")
    done = run("import", "many")
    assert "300\tconversation\tit has no tree" in done.out and "skipped\twhat\twhy" in done.out
    assert "b.txt: not UTF-8 text" in done.err and len(done.err.splitlines()) < 10
    assert "b.txt" in [one["what"] for one in run("import", "many", "--json").data["examples"]]


def test_several_paths_at_once_and_where_they_go(run: Run, folder: Path) -> None:
    write_chats(folder)
    done = run("import", "chatgpt-export.zip", "chats", "--folder", "/old", "--project", "my-api", "--json")
    assert done.data["conversations"]["added"] == 2 and done.data["files"]["read"] == 2
    items = run("list", "--kind", "message", "--json").data["items"]
    assert {item["project"] for item in items} == {"my-api"} and len(items) == 3


@pytest.mark.no_store
def test_a_dry_run_keeps_nothing(run: Run, folder: Path, data_dir: Path) -> None:
    write_chats(folder)
    done = run("import", "chats", "--dry-run")
    assert done.code == 0 and "conversations\t1\t0" in done.out and "Nothing was stored" in done.err
    assert not data_dir.exists()


def test_a_pipe_is_read_and_recognised_by_its_content(run: Run) -> None:
    done = run("import", "-", "--json", stdin=json.dumps(exported(3)))
    assert done.data["conversations"]["added"] == 3
    assert run("import", "-", "--json", stdin="## User\nHi\n## Assistant\nHello").data["messages"]["added"] == 2


def test_the_format_can_be_said(run: Run, folder: Path) -> None:
    (folder / "talk.md").write_text("User: Hi\nAI: Hello\n", encoding="utf-8")
    assert run("import", "talk.md", "--json", "--dry-run").data["messages"]["added"] == 1
    assert run("import", "talk.md", "--json", "--format", "text").data["messages"]["added"] == 2


def test_when_nothing_can_be_read_the_command_fails_and_says_why(run: Run, folder: Path) -> None:
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\0")
    done = run("import", "photo.jpg")
    assert done.code == 2 and "photo.jpg: it is not text" in done.err and "commonplace help import" in done.err
    outcome = run("import", "photo.jpg", "--json")
    assert outcome.code == 2 and outcome.error["files"] == {"read": 0, "skipped": 1}


@pytest.mark.parametrize("arguments", [(), ("missing.zip",), ("chats", "missing.zip"), ("--format", "pdf", "chats")])
@pytest.mark.no_store
def test_wrong_arguments_are_refused_before_anything_is_read(
    run: Run, folder: Path, data_dir: Path, arguments: tuple[str, ...]
) -> None:
    write_chats(folder)
    assert run("import", *arguments).code == 2
    assert not data_dir.exists()


def test_names_and_reasons_cannot_write_to_the_terminal(run: Run, folder: Path) -> None:
    (folder / "conversations.json").write_text(
        json.dumps([*exported(1), *exported(1, title="\x1b[31mred", mapping={"x": {}})]), encoding="utf-8"
    )
    done = run("import", "conversations.json")
    assert done.code == 0 and "\x1b" not in done.out + done.err


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals")
def test_progress_is_shown_to_a_terminal(spawn_in_terminal: Run, folder: Path) -> None:
    (folder / "conversations.json").write_text(json.dumps(exported(900)), encoding="utf-8")
    done = spawn_in_terminal("import", "conversations.json")
    assert done.code == 0 and "Importing" in done.out and "900" in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process")
def test_an_interruption_says_what_is_stored_and_the_same_command_goes_on(run: Run, folder: Path) -> None:
    (folder / "conversations.json").write_text(json.dumps(exported(500)), encoding="utf-8")
    command = [sys.executable, "-u", "-m", "commonplace", "import", "-"]
    pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    assert pipe.stdin is not None
    # More than is looked at before anything is kept, and no end: it waits for the rest when it is interrupted.
    pipe.stdin.write(json.dumps(exported(6_000)).encode()[:-1])
    pipe.stdin.flush()
    pipe.send_signal(signal.SIGINT)
    _out, err = pipe.communicate(timeout=60)
    assert pipe.returncode == 130 and b"the same command continues" in err
    done = run("import", "conversations.json", "--json").data
    assert done["conversations"]["added"] + done["conversations"]["known"] == 500


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_server_imports_what_is_put_into_its_folder(run: Run, folder: Path) -> None:
    write_chats(folder)
    command = [sys.executable, "-m", "commonplace", "serve", "--port", "0", "--import-dir", "chats"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: not (folder / "chats" / "colours.txt").exists())
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert len(list((folder / "chats" / "imported").iterdir())) == 1
    assert {item["content"] for item in run("list", "--kind", "message", "--json").data["items"]} == {
        "Name a colour",
        "Blue",
    }


def test_a_product_is_imported_by_its_name(run: Run, home: Path) -> None:
    write_graph(home / ".npm" / "_npx" / "1" / "node_modules" / "@modelcontextprotocol" / "server-memory")
    first = run("import", "--from", "server-memory", "--json").data
    assert first["items"] == {"added": 2, "known": 0, "skipped": 0}
    done = run("import", "--from", "server-memory")
    assert done.code == 0 and "items\t0\t2\t0" in done.out


def test_what_cannot_be_imported_by_its_name_is_told(run: Run, folder: Path) -> None:
    assert run("import", "--json").error["message"] == "There is nothing to import."
    lost = run("import", "--from", "sekha", "--json")
    assert lost.code == 2 and lost.error["message"] == "sekha has no files in its usual places."
    write_chats(folder)
    assert run("import", "--from", "sekha", "--format", "text", "chats", "--json").code == 2
    other = run("import", "--from", "sekha", "chats/colours.txt", "--json")
    assert other.code == 2 and "colours.txt" in other.error["message"]


def test_an_import_is_taken_back_as_a_whole_and_brought_back(run: Run, folder: Path) -> None:
    run("add", "Something of our own", "--global")
    (folder / "conversations.json").write_text(json.dumps(exported(3)), encoding="utf-8")
    (folder / "notes").mkdir()
    fact = {"id": "a", "memory": "Prefers green tea", "created_at": "2025-03-15T14:30:00+00:00"}
    (folder / "notes" / "mem0.json").write_text(json.dumps({"results": [fact]}), encoding="utf-8")
    first = run("import", "conversations.json", "notes", "--json").data["import_id"]
    assert run("import", "conversations.json", "--json").data["import_id"] is None
    (listed,) = run("import", "--list", "--json").data["imports"]
    assert (listed["id"], listed["files"]) == (first, ["conversations.json", "notes"])
    assert (listed["conversations"], listed["messages"], listed["items"]) == (3, 3, 1)
    done = run("import", "--undo", first)
    assert done.out == "Took back 3 conversations and 1 other item.\n" and f"--redo {first}" in done.err
    assert [one["content"] for one in run("list", "--json").data["items"]] == ["Something of our own"]
    assert run("conversations", "--json").data["conversations"] == []
    assert run("import", "--undo", first).code == 4
    assert "taken back" in run("import", "--list").out
    assert run("import", "--redo", first).code == 0
    assert len(run("list", "--json").data["items"]) == 5
    assert len(run("conversations", "--json").data["conversations"]) == 3
    assert run("import", "--undo", "nothing").code == 3


def test_messages_that_joined_an_older_conversation_are_taken_back_alone(run: Run, folder: Path) -> None:
    chat = folder / "conversations.json"
    whole = exported(1, conversation_id="c1")
    chat.write_text(json.dumps(whole), encoding="utf-8")
    run("import", "conversations.json")
    later = {"message": {"id": "later", "author": {"role": "user"}, "content": {"parts": ["And now?"]}}, "parent": "a"}
    whole[0]["mapping"]["later"] = later
    chat.write_text(json.dumps(whole), encoding="utf-8")
    second = run("import", "conversations.json", "--json").data
    assert second["messages"]["added"] == 1
    run("import", "--undo", second["import_id"])
    assert [one["content"] for one in run("list", "--json").data["items"]] == ["Question 0"]


def test_broken_json_is_told_with_its_line(run: Run, folder: Path) -> None:
    (folder / "bad.json").write_text('{"a": 1,\n "b": }', encoding="utf-8")
    done = run("import", "bad.json")
    assert done.code == 2 and "bad.json: it is not valid JSON (line 2: expecting value)" in done.err
    assert "commonplace help import" in done.err and len(done.err) < 300
