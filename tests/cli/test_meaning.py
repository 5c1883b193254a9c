"""With the built-in model the command line finds by meaning, without any server."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

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
