"""`explain`: how something came about, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run
from .sessions_of_agents import furnish


@pytest.fixture(autouse=True)
def worked(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")


def test_a_topic_is_explained(run: Run) -> None:
    data = run("explain", "rate", "limiting", "--json").data
    assert data["summary"] and data["keyChunks"]
    assert {"date": "2026-03-16", "session": "my-api"}.items() <= data["timeline"][0].items()
    assert "timeline" not in run("explain", "rate limiting", "--no-timeline", "--json").data


def test_people_read_it(run: Run) -> None:
    done = run("explain", "rate limiting")
    assert done.code == 0 and "date\tsession\tevent\n2026-03-16\tmy-api" in done.out and "Most relevant:" in done.out
    assert "2026-03-16\tmy-api" not in run("explain", "rate limiting", "--no-timeline").out
    assert run("explain", "-", stdin="rate limiting").out == done.out


def test_what_is_unknown_or_wrong_is_told(run: Run) -> None:
    assert run("explain", "zeppelin", "--json").error["code"] == "NO_RESULTS"
    assert run("explain", "zeppelin").code == 3
    assert run("explain", " ").code == 2 and run("explain", "x", "--depth", "51").code == 2
