"""With the built-in model the command line finds by meaning, without any server."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from benchmarks.asked_at_once import facts

from .conftest import Run


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")


def test_meaning_works_right_after_add(run: Run) -> None:
    run("add", "After logging in, people get a signed JWT that is refreshed silently for 30 days")
    run("add", "The office coffee machine is cleaned on Fridays")
    assert run("status", "--json").data["pending"] == 2
    data = run("search", "how do users stay authenticated", "--json").data
    assert data["by_meaning"] is True and data["results"][0]["id"] == 1 and data["results"][0]["semantic"] > 0.3
    assert run("status", "--json").data["pending"] == 0
    people = run("search", "how do users stay authenticated")
    assert "keywords only" not in people.err


@pytest.mark.parametrize("command", ["search", "recall"])
def test_where_nothing_clearly_answers_people_and_programs_are_told(run: Run, command: str) -> None:
    run("add", "The restore test of the backups takes place on the first Monday of a month")
    run("add", "The office coffee machine is cleaned on Fridays")
    known, unknown = "when is the restore test of the backups?", "when was the last penetration test of the office?"
    arguments = ("--min-score", "0") if command == "recall" else ()
    assert "Nothing clearly answers" not in run(command, known, *arguments).err
    assert run(command, known, *arguments, "--json").data["note"] == ""
    assert "Nothing clearly answers" in run(command, unknown, *arguments).err
    assert "Nothing clearly answers" in run(command, unknown, *arguments, "--json").data["note"]


def test_recall_and_explain_give_scores_and_no_shares(run: Run) -> None:
    run("add", "After logging in, people get a signed JWT that is refreshed silently for 30 days")
    assert "%" in run("search", "how do users stay authenticated").out
    for command in ("recall", "explain"):
        assert "%" not in run(command, "how do users stay authenticated").out


def test_demo_finds_by_meaning(run: Run) -> None:
    report = run("demo", "--json").data
    logged_in, nosql, strict = report["searches"]
    assert "JWT" in logged_in["results"][0]["content"] and logged_in["by_meaning"]
    assert "MongoDB" in nosql["results"][0]["content"]
    assert {hit["type"] for hit in strict["results"]} == {"file-write", "command"}
    assert report["context"]["items"][0]["type"] in ("decision", "constraint", "rejected")
    people = run("demo")
    assert people.code == 0 and "loading the model" in people.out


def test_a_search_does_not_wait_for_whoever_writes(run: Run, data_dir: Path) -> None:
    run("add", "Sessions are kept by a signed token")
    writer = apsw.Connection(str(data_dir / "commonplace.db"))
    try:
        writer.execute("BEGIN IMMEDIATE")
        found = run("search", "token", "--json")
        writer.execute("ROLLBACK")
    finally:
        writer.close()
    assert found.code == 0 and [hit["id"] for hit in found.data["results"]] == [1]
    assert found.data["by_meaning"] is False
    assert run("search", "token", "--json").data["by_meaning"] is True


def test_a_search_right_after_many_lines_were_added_finds_the_right_one(run: Run, tmp_path: Path) -> None:
    pairs = facts(228)
    lines = tmp_path / "facts.jsonl"
    lines.write_text("".join(json.dumps({"content": fact, "type": "fact"}) + "\n" for fact, _question in pairs))
    run("add", "--jsonl", str(lines))
    assert run("status", "--json").data["pending"] == len(pairs)
    for fact, question in pairs[100::40]:
        data = run("search", question, "--json").data
        assert data["results"][0]["content"] == fact and data["results"][0]["semantic"] > 0
        assert data["waiting_for_vectors"] == run("status", "--json").data["pending"]


def test_a_search_says_how_much_has_no_vector_yet(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.memory.search_candidates.QUESTION_PASSAGES", 4)
    lines = tmp_path / "remarks.jsonl"
    lines.write_text("".join(json.dumps({"content": f"Remark number {n}"}) + "\n" for n in range(400)))
    run("add", "--jsonl", str(lines))
    for command in (
        ("search", "remark 7"),
        ("recall", "remark 7", "--min-score", "0"),
        ("context", "--query", "remark 7"),
    ):
        assert "Search by meaning is incomplete" in run(*command).err
