"""Where a question is asked on the command line: in the project of the folder, in a named one, or everywhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .conftest import Run

OURS, THEIRS = "field-app", "platform"
CHAT = '[{"role": "user", "content": "Where do customers store data privately?"}]'


@pytest.fixture
def repository(run: Run, folder: Path) -> Path:
    """A repository of ours, with memories of another project, of every project, and a private chat."""
    assert run("add", "Customers store data at Hartmann", "-t", "fact", "-p", THEIRS).code == 0
    subprocess.run(f"git init -q . && git config commonplace.project {OURS}", shell=True, cwd=folder, check=True)
    run("add", "Customers store data offline", "-t", "decision")
    run("add", "Customers store data in English", "-t", "rule", "-g")
    (folder / "chat.json").write_text(CHAT, encoding="utf-8")
    return folder


ASKING = [
    ("search", "where do customers store data"),
    ("recall", "where do customers store data", "--min-score", "0"),
    ("explain", "customers store data"),
    ("predict", "customers store data"),
]


@pytest.mark.parametrize("asking", ASKING, ids=lambda one: one[0])
def test_a_question_begins_in_the_project_of_the_folder(run: Run, repository: Path, asking: tuple[str, ...]) -> None:
    here, everywhere, there = run(*asking), run(*asking, "--everywhere"), run(*asking, "-p", THEIRS)
    assert here.code == 0 and "Hartmann" not in here.out, here
    assert f"Searched {OURS} and what applies everywhere; --everywhere searches every project." in " ".join(
        here.err.split()
    )
    assert "Hartmann" in everywhere.out and "--everywhere" not in everywhere.err
    assert "Hartmann" in there.out and "offline" not in there.out


def test_what_applies_everywhere_is_part_of_it(run: Run, repository: Path) -> None:
    assert {one["content"] for one in run("search", "customers data", "--json").data["results"]} == {
        "Customers store data offline",
        "Customers store data in English",
    }
    found = run("search", "customers data", "-g", "--json").data["results"]
    assert [one["content"] for one in found] == ["Customers store data in English"]


def test_outside_a_project_everything_is_searched(run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = repository.parent / "outside"
    outside.mkdir()
    monkeypatch.chdir(outside)
    found = run("search", "customers data")
    assert "Hartmann" in found.out and "offline" in found.out and "--everywhere" not in found.err


def test_a_context_is_of_one_project(run: Run, repository: Path) -> None:
    told = run("context", "-q", "where do customers store data")
    assert "offline" in told.out and "Hartmann" not in told.out


@pytest.mark.parametrize("command", ["overview", "context"])
def test_a_project_may_be_an_argument_or_an_option(run: Run, repository: Path, command: str) -> None:
    assert run(command, "-p", THEIRS).out == run(command, THEIRS).out
    assert run(command, "--project", THEIRS).out != run(command).out
    assert run(command, THEIRS, "-p", OURS).code == 2
    for asked in ((command, "-p", "plattform"), ("search", "x", "-p", "plattform"), ("topics", "-p", "plattform")):
        refused = run(*asked)
        assert refused.code == 3 and "There is no project 'plattform'" in refused.err, asked


def test_one_says_where_to_search_once(run: Run, repository: Path) -> None:
    assert run("search", "x", "-p", THEIRS, "--everywhere").code == 2
