"""`recall`: passages of past sessions that answer, and what stands next to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run
from .sessions_of_agents import furnish


@pytest.fixture(autouse=True)
def worked(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")


def test_what_was_done_is_recalled(run: Run) -> None:
    data = run("recall", "why", "did", "the", "login", "test", "fail", "--json").data
    assert data["total"] >= 1 and data["results"][0]["project"] == "my-api"
    assert {"chunkId", "content", "score", "session", "cluster"} <= data["results"][0].keys()
    assert data["results"][0]["session"] == "my-api-2026-03-15"
    assert all(result["score"] >= 0.5 for result in data["results"])


def test_people_read_it(run: Run) -> None:
    done = run("recall", "login test", "--min-score", "0", "--limit", "1")
    assert done.code == 0 and "my-api-2026-03-15" in done.out and "Linked to these:" in done.out
    assert "meaning is off" in done.err
    assert run("recall", "-", "--min-score", "0", stdin="login test").code == 0


def test_a_question_about_time_is_answered_by_the_newest(run: Run) -> None:
    data = run("recall", "what did we do last?", "--json").data
    assert data["results"] and all(result["session"] == "my-api-2026-03-16" for result in data["results"][:2])


def test_no_results_are_exit_code_3_with_a_suggestion(run: Run) -> None:
    done = run("recall", "zeppelin", "--json")
    assert done.code == 3 and done.error["code"] == "NO_RESULTS"
    assert done.error["suggestion"] == "Try a broader query or check if sessions were ingested"
    told = run("recall", "zeppelin").err
    assert "Nothing in earlier sessions answers this." in told and "commonplace search" in told


@pytest.mark.parametrize("arguments", [("",), ("x", "--limit", "0"), ("x", "--min-score", "2"), ()])
def test_bad_input_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("recall", *arguments).code == 2
