"""`commonplace review`: a list for programs, and one key for each proposal at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run, wait_for_output

from commonplace import Memory
from commonplace.config import Settings
from commonplace.memory.authors import for_agent
from commonplace.memory.edit_and_forget import Changes, edit_item, mark_superseded
from commonplace.memory.remember import NewItem, remember_item


@pytest.fixture
def store(folder: Path, settings: Settings) -> Settings:
    """A store with three proposals."""
    with Memory(settings.data_dir, embedder="off") as memory:
        for text in ("Deploy on Mondays", "Use tabs everywhere", "Never log bodies"):
            memory.remember(text, type="rule", proposed=True)
    return settings


def test_a_key_for_each_and_one_to_take_it_back(spawn_in_terminal: Run, store: Settings) -> None:
    done = spawn_in_terminal("review", typed="audas")
    assert done.code == 0 and "1 accepted, 1 dismissed, 1 skipped" in done.out, done.out
    with Memory(store.data_dir, embedder="off") as memory:
        states = {item.body: item.review for item in memory.get_many([1, 2, 3], forgotten=True)}
    assert states == {
        "Never log bodies": "dismissed",
        "Use tabs everywhere": "accepted",
        "Deploy on Mondays": "proposed",
    }


def test_it_is_shown_with_what_it_goes_against(spawn_in_terminal: Run, store: Settings) -> None:
    with Memory(store.data_dir, embedder="off") as memory:
        memory.remember("MongoDB for orders: transactions were too slow", type="rejected")
        memory.remember("We decided to use MongoDB for orders", type="decision", proposed=True)
    done = spawn_in_terminal("review", typed="sq")
    against = [line for line in done.out.splitlines() if "seems to go against" in line]
    assert len(against) == 1 and "transactions were too slow" in against[0], done.out


def test_it_is_listed_accepted_and_dismissed_by_id(run: Run, store: Settings) -> None:
    listed = run("review", "--json").data["proposals"]
    assert [one["title"] for one in listed] == ["Never log bodies", "Use tabs everywhere", "Deploy on Mondays"]
    assert "Use tabs everywhere" in run("review", "--list").out
    first, second, third = (str(one["id"]) for one in listed)
    run("review", "accept", first, "--content", "Log no bodies")
    run("review", "dismiss", second)
    assert [one["id"] for one in run("review", "--json").data["proposals"]] == [int(third)]
    run("review", "undo", second)
    assert len(run("review", "--json").data["proposals"]) == 2
    again = run("review", "accept", first)
    assert again.code == 4 and "not waiting" in again.err


def test_the_history_names_who_accepted_and_whose_it_was(run: Run, folder: Path, settings: Settings) -> None:
    with Memory(settings.data_dir, embedder="off", author="anna via claude-code") as memory:
        id_ = str(memory.remember("Deploy on Mondays", type="rule", proposed=True).id)
    run("review", "accept", id_)
    head, line = run("history", id_).out.splitlines()
    shown = dict(zip(head.split("\t"), line.split("\t"), strict=False))
    accepted = run("show", id_, "--json").data["items"][0]["author"]
    assert (shown["op"], shown["author"], shown["was_by"]) == ("accept", accepted, "anna via claude-code")


def test_an_agent_in_a_shell_is_an_agent(run: Run, store: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = run("review", "accept", "1")
    assert refused.code == 8 and "Only a person can review" in refused.err
    (added,) = run("show", str(run("add", "Zebras are striped", "--json").data["id"]), "--json").data["items"]
    assert added["origin"] == "agent" and added["author"].endswith("via claude-code")


def test_search_marks_a_proposal_and_says_why(run: Run, store: Settings) -> None:
    found = run("search", "deploy", "--why").out
    assert "rule (proposed)" in found and "words +" in found and "trust -" in found


def test_what_is_accepted_is_what_was_read(run: Run, spawn_in_terminal: Run, folder: Path, settings: Settings) -> None:
    """A title of its own, and what it replaces, are shown with the text."""
    with Memory(settings.data_dir, embedder="off", agent_memories="proposed") as memory:
        old = memory.remember("Never push to main without a review", type="rule")
        person = memory.local
        by_agent = for_agent(person, "codex")
        note = NewItem("We like short meetings", title="Push to main whenever CI is green", type="rule")
        proposal = remember_item(by_agent, note).item
        mark_superseded(by_agent, old.id, by=proposal.id)
    assert "Push to main whenever CI is green We like short meetings" in run("review", "--list").out
    shown = spawn_in_terminal("review", typed="q").out
    assert "title: Push to main whenever CI is green" in shown
    assert f"replaces rule {old.short_id}: Never push to main without a review" in shown


def test_what_changed_after_it_was_read_is_not_accepted(folder: Path, settings: Settings) -> None:
    """Its agent edits a proposal while a person reads it in a terminal."""
    leader, follower = pty.openpty()
    with (
        Memory(settings.data_dir, embedder="off", agent_memories="proposed") as memory,
        os.fdopen(leader, "rb", 0) as said,
    ):
        by_agent = for_agent(memory.local, "codex")
        proposal = remember_item(by_agent, NewItem("Deploy on Mondays", type="rule")).item
        command = [sys.executable, "-m", "commonplace", "review"]
        with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower) as process:
            os.close(follower)
            try:
                wait_for_output(said, b"quit]")
                edit_item(by_agent, proposal.id, Changes(content="Deploy whenever you like"))
                os.write(leader, b"a")
                # Both may be said at once.
                wait_for_output(said, b"changed since you read it", b"quit]")
                assert memory.get(proposal.id).review == "proposed"
                os.write(leader, b"a")
                wait_for_output(said, b"1 accepted")
                assert process.wait(timeout=60) == 0
            finally:
                process.kill()
        assert memory.get(proposal.id).review == "accepted"
