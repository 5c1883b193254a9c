"""`overview`: where a project stands, for a person and for programs, and a step that is done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Run


@pytest.fixture
def work(run: Run) -> None:
    lines: list[dict[str, Any]] = [
        {"content": "Keep sessions in Redis because restarts lost them.", "type": "decision"},
        {"kind": "summary", "session": "s1", "request": "Add login", "next_steps": "Write the docs\nShip it"},
    ]
    for line in lines:
        line["project"] = "github.com/acme/my-api"
    lines.append({"content": "Use Hugo", "type": "decision", "project": "blog"})
    assert run("add", "--jsonl", "-", stdin="\n".join(map(json.dumps, lines))).code == 0


def test_a_project_is_shown_by_its_short_name(run: Run, work: None) -> None:
    out = run("overview", "my-api").out
    assert out.startswith("my-api\n") and "- Write the docs" in out
    assert "Keep sessions in Redis because restarts lost them." in out and "- Add login" in out
    data = run("overview", "my-api", "--json").data
    assert data["project"] == "github.com/acme/my-api" and len(data["open"]) == 2


def test_all_projects_are_shown_in_short(run: Run, work: None) -> None:
    for arguments in (("overview", "--all"), ("overview",)):
        out = run(*arguments).out
        assert "my-api" in out and "- Ship it" in out and "Decided: Use Hugo" in out
    assert {one["name"] for one in run("overview", "--all", "--json").data["projects"]} == {"my-api", "blog"}


def test_a_step_is_done(run: Run, work: None) -> None:
    assert run("overview", "my-api", "--done", "ship it").out == "Done: ship it\n"
    assert [one["text"] for one in run("overview", "my-api", "--json").data["open"]] == ["Write the docs"]
    again = run("overview", "my-api", "--done", "Ship it")
    assert again.code == 3 and "No such step" in again.err


def test_what_cannot_be_meant_is_refused(run: Run, work: None) -> None:
    assert run("overview", "nosuch").code == 3
    assert run("overview", "my-api", "--all").code == 2
    assert run("overview", "--done", "Ship it").code == 2


def test_an_empty_memory_says_what_to_do(run: Run) -> None:
    done = run("overview")
    assert done.code == 0 and "commonplace connect" in done.err


def test_what_was_rejected_is_not_listed_as_decided(run: Run) -> None:
    run("add", "GraphQL for the public API. Partners asked for plain REST.", "-t", "rejected", "-p", "my-api")
    run("add", "I prefer small pull requests", "-t", "heuristic", "-p", "my-api")
    out = run("overview", "my-api").out
    assert "Decided" not in out and "decision" not in out.partition("Rejected")[0]
    assert "GraphQL for the public API. Partners asked for plain REST." in out.partition("Rejected")[2]
    data = run("overview", "my-api", "--json").data
    assert data["decisions"] == [] and [one["type"] for one in data["rejected"]] == ["rejected"]
    assert run("overview", "--all", "--json").data["projects"][0]["decision"] is None


def test_what_was_decided_is_told_in_its_own_words(run: Run) -> None:
    said = "Production runs on Hetzner Cloud in Falkenstein, because of the price and German data centres"
    run("add", said, "-t", "decision", "-p", "my-api")
    run("add", "Two lock files broke the build.", "--title", "Use pnpm only", "-t", "decision", "-p", "my-api")
    out = run("overview", "my-api").out
    assert f"{said}\n" in out and "Use pnpm only: Two lock files broke the build.\n" in out
