"""`about` and `profile`: their pages' examples run, and what they print is for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import Run
from .test_help import execute

DOCS = Path(__file__).parents[2] / "docs" / "use"


@pytest.mark.parametrize("page", ["about.md", "profile.md"])
def test_the_examples_of_the_pages_run_in_order(run: Run, page: str) -> None:
    blocks = re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        done = execute(line, run)
        assert done.code == 0, f"{line}: {done}"


def test_an_entity_is_printed_as_its_page_shows_it(run: Run) -> None:
    run("add", "Anna Schmidt maintains checkout-api", "--type", "fact", "--global")
    run("add", "checkout-api is our payment service", "--type", "fact", "--global")
    run("add", "checkout-api uses Redis for its sessions", "--type", "decision", "--global")
    shown = run("about", "checkout-api").out
    page = (DOCS / "about.md").read_text(encoding="utf-8")
    printed = [line for line in shown.splitlines() if not line.startswith("Known since")]
    assert all(line in page for line in printed), shown
    assert "Known since" in shown and "Said by" in shown
    assert run("about", "anna").out.startswith("Anna Schmidt (person)\n")
    known = json.loads(run("about", "checkout-api", "--json").out)
    assert known["kind"] == "service" and [one["relation"] for one in known["related"]] == ["maintains", "uses"]
    assert "Anna Schmidt\tperson" in run("about", "--kind", "person").out


def test_what_is_not_known_has_its_exit_code(run: Run) -> None:
    done = run("about", "Nemo")
    assert done.code == 3 and "Nothing is known about" in done.err and "commonplace about" in done.err
    assert run("about").code == 0 and "No names yet" in run("about").err
    assert run("about", "Nemo", "--kind", "person").code == 2
    assert run("profile", "--project", "nosuch").code == 3


def test_the_profile_says_what_is_pinned_hidden_and_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Nothing is known yet" in run("profile").err
    run("add", "I prefer tabs", "--type", "note", "--global")
    run("add", "Foam is white", "--type", "fact", "--global")
    run("add", "We use uv", "--type", "fact", "--global")
    run("profile", "pin", "2")
    run("profile", "hide", "3")
    done = run("profile")
    assert done.out == "Preferences\n1  I prefer tabs\n\nWays of working\n2  Foam is white (pinned)\n"
    assert "Hidden: 3." in done.err
    monkeypatch.setenv("COMMONPLACE_USER_PROFILE", "off")
    assert 'user_profile is "off"' in run("profile").err
    assert json.loads(run("profile", "--json").out)["offered"] is False
