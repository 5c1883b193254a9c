"""`add --jsonl`: many things at once, and exactly what happened when one of them is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from commonplace.cli.add import BATCH, KNOWN_FIELDS
from commonplace.model import DETAIL_FIELDS

from .conftest import Run


def lines(*objects: object) -> str:
    return "\n".join(json.dumps(entry) for entry in objects) + "\n"


def test_a_file_is_remembered_line_by_line(run: Run, folder: Path) -> None:
    (folder / "notes.jsonl").write_text(
        "\ufeff" + lines({"content": "One"}, {"text": "Two"}) + "\n" + lines({"content": "One"}), encoding="utf-8"
    )
    done = run("add", "--jsonl", "notes.jsonl")
    assert done.code == 0 and done.out == "Remembered 2 of 3 lines, 1 already known.\n" and done.err == ""
    assert run("add", "--jsonl", "notes.jsonl", "--json").data == {"stored": 0, "duplicates": 3, "lines": 3}


def test_more_lines_than_a_batch(run: Run) -> None:
    many = lines(*({"content": f"Fact number {n}", "type": "fact"} for n in range(2 * BATCH + 1)))
    assert run("add", "--jsonl", "-", "--json", stdin=many).data["stored"] == 2 * BATCH + 1
    assert run("status", "--json").data["total"] == 2 * BATCH + 1


def test_a_line_may_have_every_field_of_its_kind(run: Run) -> None:
    every = {kind: {name: f"{name} of it" for name in names} for kind, names in DETAIL_FIELDS.items()}
    given = [{"kind": kind, "content": f"A {kind}", **fields} for kind, fields in every.items()]
    assert run("add", "--jsonl", "-", stdin=lines(*given)).code == 0
    for item in run("list", "--json").data["items"]:
        assert {name: item[name] for name in every[item["kind"]]} == every[item["kind"]]
    assert {name for names in DETAIL_FIELDS.values() for name in names} <= set(KNOWN_FIELDS)


def test_the_rest_of_a_line(run: Run) -> None:
    given = {
        "content": "x",
        "kind": "observation",
        "concepts": ["a", "b"],
        "files_modified": "one.py,two.py",
        "project": "p",
        "session_id": "s",
        "tags": ["t"],
        "importance": 3,
        "created_at": "2025-03-15T14:30:00",
        "metadata": {"source": "test"},
        "subtitle": None,
    }
    assert run("add", "--jsonl", "-", stdin=lines(given)).code == 0
    item = run("show", "1", "--json").data["items"][0]
    assert (item["concepts"], item["files_modified"], item["session"]) == ("a, b", "one.py, two.py", "s")
    assert (item["tags"], item["importance"], item["metadata"]) == (["t"], 3.0, {"source": "test"})
    assert item["created_at"] == "2025-03-15T14:30:00.000Z"


def test_kind_type_and_project_are_for_lines_without_their_own(run: Run) -> None:
    given = lines({"content": "a"}, {"content": "b", "kind": "memory", "type": "fact", "project": None})
    arguments = ("--kind", "observation", "--type", "command", "--project", "p")
    assert run("add", "--jsonl", "-", *arguments, stdin=given).code == 0
    second, first = sorted(run("list", "--json").data["items"], key=lambda item: -item["id"])
    assert (first["kind"], first["type"], first["project"]) == ("observation", "command", "p")
    assert (second["kind"], second["type"], second["project"]) == ("memory", "fact", None)


BAD = [
    '{"content": "x", "colour": "red"}',
    '{"content": "x", "text": "y"}',
    '{"content": ["x"]}',
    '{"content": "x", "kind": "dream"}',
    '{"content": "x", "type": "!!"}',
    '{"content": "x", "tags": "a", "importance": "high"}',
    '{"content": "x", "importance": NaN}',
    '{"content": "x", "importance": 11}',
    '{"content": "x", "tags": [1]}',
    '{"content": "x", "facts": {"a": 1}}',
    '{"content": "x", "metadata": "text"}',
    '{"content": "x", "created_at": "noon"}',
    '{"content": "x", "created_at_epoch": true}',
    '{"content": "x", "created_at_epoch": 1e400}',
    '{"content": "x", "created_at_epoch": 1e300}',
    '{"content": "x", "project": 5}',
    '{"content": "x", "project": "a/../b"}',
    '{"content": "x", "kind": "summary", "narrative": "not a field of summaries"}',
    "{}",
    "[]",
    "null",
    '"text"',
    "{",
    "not json",
    "[" * 100_000,
    '{"content": "' + "x" * 1_000_001 + '"}',
]


@pytest.mark.parametrize("bad", BAD, ids=lambda line: line[:40])
def test_a_bad_line_stops_it_and_the_lines_before_are_kept(run: Run, bad: str) -> None:
    text = lines({"content": "Good one"}, {"content": "Good two"}) + bad + "\n" + lines({"content": "Never"})
    done = run("add", "--jsonl", "-", "--json", stdin=text)
    assert done.code == 2, done
    assert (done.error["line"], done.error["stored"], done.error["duplicates"]) == (3, 2, 0)
    assert done.error["message"].startswith("Line 3: ")
    assert done.error["message"].endswith("Lines 1 to 2 are stored; from line 3 on nothing is.")
    assert {item["content"] for item in run("list", "--json").data["items"]} == {"Good one", "Good two"}


def test_a_bad_line_is_told_to_people(run: Run) -> None:
    done = run("add", "--jsonl", "-", stdin='{"content": "x", "colour": "red"}')
    assert done.code == 2 and done.out == ""
    assert "error: Line 1: Unknown fields: colour. No line is stored" in done.err
    assert "hint: Known fields: content, text, kind" in done.err


def test_bytes_that_are_not_utf8_name_their_line(run: Run) -> None:
    done = run("add", "--jsonl", "-", stdin=b'{"content": "x"}\n{"content": "\xff"}\n')
    assert done.code == 2 and "Line 2: It is not UTF-8 text." in done.err


def test_a_bad_line_after_a_full_batch(run: Run) -> None:
    text = lines(*({"content": f"Fact {n}"} for n in range(BATCH + 10))) + "nonsense\n"
    done = run("add", "--jsonl", "-", "--json", stdin=text)
    assert (done.code, done.error["line"], done.error["stored"]) == (2, BATCH + 11, BATCH + 10)


def test_an_empty_file_is_nothing_to_do(run: Run) -> None:
    assert run("add", "--jsonl", "-", "--json", stdin="\n\n").data == {"stored": 0, "duplicates": 0, "lines": 0}


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals")
def test_progress_is_shown_to_a_terminal_only(spawn_in_terminal: Run, folder: Path) -> None:
    (folder / "notes.jsonl").write_text(lines(*({"content": f"n{n}"} for n in range(700))), encoding="utf-8")
    done = spawn_in_terminal("add", "--jsonl", "notes.jsonl")
    assert done.code == 0 and "Remembering" in done.out and "Remembered 700 of 700 lines." in done.out


def test_a_line_that_is_too_long_or_holds_too_much_is_refused(run: Run) -> None:
    for line, says in (
        ('{"content": "' + "a" * (17 << 20) + '"}', "longer than 16,777,216 bytes"),
        ('{"content": "a", "metadata": {"a": [' + "1," * 60_000 + "1]}}", "more than 50,000 values"),
        ("[" * 5_000, "nested too deeply to parse"),
    ):
        done = run("add", "--jsonl", "-", "--json", stdin=lines({"content": "Good"}) + line)
        assert done.code == 2 and says in done.error["message"] and "Line 2" in done.error["message"]
    assert run("status", "--json").data["total"] == 1
