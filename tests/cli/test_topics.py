"""`clusters`: the topics of the memory on the command line, with and without meaning."""

from __future__ import annotations

import json

import pytest
from benchmarks.planted_topics import notes

from .conftest import Run


@pytest.fixture
def stored_notes(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sixty notes about known subjects, of one project."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    texts = list(dict.fromkeys(text for _subject, text in notes(60, asides=0.0)))
    lines = [json.dumps({"content": text, "project": "github.com/acme/my-api"}) for text in texts]
    assert run("add", "--jsonl", "-", stdin="\n".join(lines)).code == 0
    return texts


def test_topics_are_built_when_first_asked_for(run: Run, stored_notes: list[str]) -> None:
    people = run("topics")
    assert people.code == 0 and "Building topics for the first time" in people.err
    header, *lines = people.out.splitlines()
    assert header.split("\t") == ["id", "name", "size", "project", "when"]
    found = run("topics", "--json")
    clusters = found.data["topics"]
    assert found.err == "" and len(clusters) == len(lines) >= 3
    assert [line.split("\t")[1] for line in lines] == [cluster["name"] for cluster in clusters]
    assert set(clusters[0]) == {"id", "name", "size", "project", "built_at"}
    assert clusters[0]["project"] == "github.com/acme/my-api"
    assert sum(cluster["size"] for cluster in clusters) <= len(stored_notes)


def test_what_was_added_since_is_in_them(run: Run, stored_notes: list[str]) -> None:
    before = run("topics", "--json").data["topics"]
    central = run("topics", "show", str(before[0]["id"]), "--json").data["passages"][0]["text"]
    run("add", central + " Again.", "--project", "my-api")
    after = run("topics", "--json").data["topics"]
    assert {one["id"]: one["size"] for one in after}[before[0]["id"]] == before[0]["size"] + 1


def test_one_topic_shows_its_most_central_passages(run: Run, stored_notes: list[str]) -> None:
    first = run("topics", "--json").data["topics"][0]
    shown = run("topics", "show", first["name"].upper(), "--limit", "3", "--json").data
    assert shown["id"] == first["id"] and len(shown["passages"]) == 3
    assert all(passage["text"] in stored_notes for passage in shown["passages"])
    people = run("topics", "show", str(first["id"]))
    assert people.code == 0 and first["name"] in people.out and shown["passages"][0]["text"][:40] in people.out


def test_an_unknown_topic_is_not_found(run: Run, stored_notes: list[str]) -> None:
    done = run("topics", "show", "zebras", "--json")
    assert done.code == 3 and done.error["code"] == "NOT_FOUND"


def test_without_meaning_there_are_none_and_it_says_why(run: Run) -> None:
    run("add", "Something")
    done = run("topics")
    assert done.code == 0 and done.out == "" and "the setting `embedder` is off" in done.err
    assert run("topics", "--json").data == {"topics": []}


def test_with_little_to_group_it_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    run("add", "Something")
    done = run("topics")
    assert done.code == 0 and "No topics yet" in done.err


def test_what_was_stored_cannot_speak_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    for number in range(6):
        run("add", f"Zebra \x1b[31mcrossing\x1b[0m number {number} was painted", "--project", "p")
    done = run("topics", "show", run("topics", "--json").data["topics"][0]["name"])
    assert done.code == 0 and "\x1b" not in done.out and "Zebra" in done.out
