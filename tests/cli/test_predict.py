"""`predict`: what came next in situations like this one, from words or from a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run
from .sessions_of_agents import furnish

NOW = "the login test fails again with TimeoutError: no answer in 30 s"


@pytest.fixture(autouse=True)
def worked(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")


def test_what_helped_before_is_suggested(run: Run) -> None:
    data = run("predict", NOW, "--json").data["suggestions"]
    assert {"title", "relevance", "summary", "chunkId", "session"} == data[0].keys()
    assert data[0]["session"] == "my-api-2026-03-15" and "login" in data[0]["title"]
    assert len(run("predict", NOW, "--limit", "1", "--json").data["suggestions"]) == 1


def test_a_pipe_is_read(run: Run) -> None:
    done = run("predict", "-", stdin=NOW)
    assert done.code == 0 and "  my-api-2026-03-15 · " in done.out and run("predict", stdin=NOW).out == done.out


def test_nothing_alike_or_nothing_said_is_told(run: Run) -> None:
    done = run("predict", "zeppelins over the harbour", "--json")
    assert done.code == 3 and done.error["code"] == "NO_RESULTS" and done.error["suggestion"]
    assert run("predict", stdin="").code == 2
