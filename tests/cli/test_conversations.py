"""`conversations`: listed, read like a chat, arranged with an undo."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import Run, write_chats
from .test_help import execute
from .test_terminal import HOSTILE, needs_terminal

PAGE = Path(__file__).parents[2] / "docs" / "use" / "conversations.md"


def keep(run: Run, label: str, *options: str, day: int = 1, words: str = "Some words") -> str:
    messages = [
        {"role": "user", "content": words, "timestamp": f"2026-01-{day:02}T10:00:00Z"},
        {"role": "assistant", "content": f"An answer to {label}", "timestamp": f"2026-01-{day:02}T10:01:00Z"},
    ]
    done = run("conversations", "add", label, *options, "--json", stdin=json.dumps(messages))
    assert done.code == 0, done
    return str(done.data["short_id"])


@pytest.fixture
def three(run: Run) -> list[str]:
    """Three conversations, the oldest first."""
    return [
        keep(run, "Colours", "--folder", "/work/design", day=1),
        keep(run, "Cache", "--folder", "/work", "--project", "my-api", "--importance", "8", day=2),
        keep(run, "Tomatoes", "--folder", "/home", "--status", "pinned", day=3),
    ]


def uncoloured(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "")


def labels(run: Run, *options: str) -> list[str]:
    return [one["label"] for one in run("conversations", *options, "--json").data["conversations"]]


def test_the_newest_message_comes_first(run: Run, three: list[str]) -> None:
    header, *lines = run("conversations").out.splitlines()
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert [row["id"] for row in rows] == three[::-1]
    assert rows[0] == {
        "id": three[2],
        "label": "Tomatoes",
        "folder": "/home",
        "messages": "2",
        "words": "6",
        "importance": "10",
        "status": "pinned",
        "when": "2026-01-03T10:01:00.000Z",
    }


def test_a_list_is_narrowed(run: Run, three: list[str]) -> None:
    assert labels(run, "--folder", "/work") == ["Cache", "Colours"]
    assert labels(run, "--label", "DESIGN", "--label", "tomatoes") == ["Tomatoes", "Colours"]
    assert labels(run, "--status", "pinned") == ["Tomatoes"]
    assert labels(run, "--project", "my-api") == ["Cache"]
    assert labels(run, "--source", "chatgpt") == []
    assert run("conversations", "--folder", "/nowhere").err == "No conversations match.\n"


def test_pages_follow_each_other(run: Run, three: list[str]) -> None:
    first = run("conversations", "--limit", "2", "--json").data
    assert labels(run, "--limit", "2", "--cursor", first["next_cursor"]) == ["Colours"]
    assert f"--cursor {first['next_cursor']}" in run("conversations", "--limit", "2").err
    assert run("conversations", "--cursor", "nonsense", "--json").error["code"] == "VALIDATION_ERROR"


def test_it_is_read_like_a_chat(run: Run) -> None:
    id_ = keep(run, "Chat", words=f"Hi {HOSTILE}\n\n    indented")
    out = run("conversations", "show", id_).out
    assert out.startswith(f"Chat\n{id_} · / · active · importance 5 · 2 messages\n")
    assert "\nUser  2026-01-01 10:00\nHi red " in out and "\n    indented\n" in out
    assert "\nAssistant  2026-01-01 10:01\nAn answer to Chat\n" in out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out)


def test_a_long_one_is_read_in_parts(run: Run, three: list[str]) -> None:
    done = run("conversations", "show", three[0], "--limit", "1")
    assert "Some words" in done.out and "An answer" not in done.out and "1 more: --from 2" in done.err
    data = run("conversations", "show", three[0], "--limit", "1", "--from", "2", "--json").data
    assert ([one["role"] for one in data["messages"]], data["next"]) == (["assistant"], None)
    assert run("conversations", "show", three[0], "--from", "9", "--json").data["messages"] == []


def test_any_spelling_of_an_id_is_taken(run: Run, three: list[str]) -> None:
    data = run("conversations", "show", three[0], "--json").data
    for id_ in (data["id"], "1", data["messages"][1]["id"]):
        assert run("conversations", "show", id_, "--json").data["short_id"] == three[0]
    missing = run("conversations", "show", "0123456789ab", "--json")
    assert (missing.code, missing.error["code"]) == (3, "NOT_FOUND")


def test_one_is_moved_renamed_and_rated_with_a_history(run: Run, three: list[str]) -> None:
    id_ = three[0]
    assert run("conversations", "move", id_, "new/place").out == "Colours is now in /new/place.\n"
    assert run("conversations", "rename", id_, "Hues {0}").out == f"Conversation {id_} is now called Hues {{0}}.\n"
    assert run("conversations", "rate", id_, "7.5", "--json").data["importance_score"] == 7.5
    rows = run("conversations", "history", id_).out.splitlines()
    assert rows[0].split("\t") == ["rev", "op", "when", "label", "folder", "importance", "status"]
    assert [row.split("\t")[3:5] for row in rows[1:]] == [
        ["Colours", "/work/design"],
        ["Colours", "/new/place"],
        ["Hues {0}", "/new/place"],
    ]
    assert len(run("conversations", "history", id_, "--json").data["changes"]) == 3
    assert "has not been changed" in run("conversations", "history", three[1]).out
    for command in (("move", id_, "a/../b"), ("rename", id_, " "), ("rate", id_, "11")):
        assert run("conversations", *command, "--json").error["code"] == "VALIDATION_ERROR"


def test_archiving_and_pinning_are_undone(run: Run, three: list[str]) -> None:
    colours, cache, tomatoes = three

    def standing(id_: str) -> tuple[str, float]:
        data = run("conversations", "show", id_, "--json").data
        return data["status"], data["importance_score"]

    assert run("conversations", "archive", *three).out.count("Archived ") == 3
    assert run("conversations", "archive", colours).out.startswith("Unchanged: ")
    run("conversations", "unarchive", *three)
    assert [standing(id_) for id_ in three] == [("active", 5), ("active", 8), ("pinned", 10)]
    run("conversations", "pin", cache)
    assert standing(cache) == ("pinned", 10)
    data = run("conversations", "unpin", cache, tomatoes, colours, "--json").data
    assert [one["status"] for one in data["conversations"]] == ["active"] * 3
    assert (standing(cache), standing(colours)) == (("active", 8), ("active", 5))
    run("conversations", "archive", cache)
    assert run("conversations", "unpin", cache).out.startswith("Unchanged: ")
    assert standing(cache) == ("archived", 8)


def test_forgetting_is_undone_as_told(run: Run, three: list[str]) -> None:
    done = run("conversations", "forget", *three[:2])
    assert done.out.count("Forgot ") == 2
    assert labels(run) == ["Tomatoes"] and run("search", "Cache", "--json").data["results"] == []
    result = done.err.strip().removeprefix("Undo: commonplace ")
    assert run("conversations", "show", three[0]).code == 3
    assert execute(f"commonplace {result}", run).code == 0
    assert labels(run) == ["Tomatoes", "Cache", "Colours"]


def test_options_of_the_list_are_not_swallowed_by_a_command(run: Run, three: list[str]) -> None:
    done = run("conversations", "--limit", "1", "show", three[0], "--json")
    assert (done.code, done.error["message"]) == (2, "--limit is for the list, not for show.")
    assert run("conversations", "--json", "show", three[0]).data["label"] == "Colours"


@pytest.mark.parametrize("verb", ["archive", "pin", "forget"])
def test_all_of_them_exist_or_nothing_happens(run: Run, three: list[str], verb: str) -> None:
    before = run("conversations", "--json").data
    assert run("conversations", verb, three[0], "0123456789ab").code == 3
    assert run("conversations", "--json").data == before


def test_folders_are_a_tree_with_counts(run: Run, three: list[str]) -> None:
    keep(run, "Tokyo", "--folder", "/日本/東京")
    lines = run("conversations", "folders").out.splitlines()
    assert [line.split("\t") for line in lines] == [
        ["folder", "conversations", "total"],
        ["/", "0", "4"],
        ["/home", "1", "1"],
        ["/work", "1", "2"],
        ["/work/design", "1", "1"],
        ["/日本", "0", "1"],
        ["/日本/東京", "1", "1"],
    ]
    data = run("conversations", "folders", "--folder", "/work", "--json").data["folders"]
    assert data[-1] == {"folder": "/work/design", "conversations": 1, "total": 1}


@needs_terminal
def test_a_terminal_gets_a_table_a_tree_and_colours(run: Run, spawn_in_terminal: Run, three: list[str]) -> None:
    keep(run, "A title that is much longer than any table of eighty columns could show at all", day=4)
    bare = spawn_in_terminal("conversations", TERM="xterm-256color").out
    assert "imp." in bare and "…" in bare and three[0] in bare and "words" not in bare
    assert all(len(line.rstrip()) <= 80 for line in uncoloured(bare).splitlines())
    assert "words" in spawn_in_terminal("conversations", TERM="xterm-256color", COLUMNS="120").out
    tree = uncoloured(spawn_in_terminal("conversations", "folders").out)
    assert "├── home" in tree and "    └── design" in tree and "(1 here)" in tree
    shown = spawn_in_terminal("conversations", "show", three[0], NO_COLOR="", TERM="xterm-256color").out
    assert "\x1b[36m" in shown and "\x1b[32m" in shown


def test_the_subcommands_explain_themselves(run: Run) -> None:
    out = run("conversations", "--help").out
    for name in ("show", "move", "rename", "rate", "archive", "unarchive", "pin", "unpin", "forget", "restore"):
        assert f"\n  {name} " in out
        inner = run("conversations", name, "--help").out
        assert "--json" in inner and f"$ commonplace conversations {name} " in inner


def test_the_examples_of_the_page_run_in_order(run: Run, folder: Path) -> None:
    write_chats(folder)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert len(lines) > 20
    for line in lines:
        done = execute(line, run)
        assert done.code == 0, f"{line}: {done}"
