"""`prune`: shows what could go, and archives only what a person confirms."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.prune_and_stats import parse_selection
from commonplace.errors import InvalidInput

from .conftest import Run
from .test_conversations import keep, uncoloured
from .test_help import execute
from .test_terminal import needs_terminal


@pytest.fixture
def old(run: Run) -> list[str]:
    """Four conversations that could go, in the order they are proposed, and two that could not."""
    keep(run, "Pinned", "--status", "pinned")
    keep(run, "Important", "--importance", "9")
    return [
        keep(run, f"Old {n}", "--folder", "/work" if n < 3 else "/home", "--importance", str(n), words=f"Question {n}")
        for n in (1, 2, 3, 4)
    ]


def archived(run: Run) -> set[str]:
    listed = run("conversations", "--status", "archived", "--json").data["conversations"]
    return {one["short_id"] for one in listed}


def test_a_pipe_sees_the_candidates_and_nothing_changes(run: Run, old: list[str]) -> None:
    done = run("conversations", "prune")
    header, *lines = done.out.splitlines()
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert [(row["number"], row["id"]) for row in rows] == list(zip("1234", old, strict=True))
    assert "Low importance (1 of 10)" in rows[0]["reason"] and int(rows[0]["bytes"]) > 0
    assert "Nothing was changed. --yes archives" in done.err and archived(run) == set()


def test_yes_archives_all_and_tells_how_to_undo_it(run: Run, old: list[str]) -> None:
    done = run("conversations", "prune", "--folder", "/work", "--yes")
    assert "Archived 2 conversations. Nothing was removed." in done.out and archived(run) == set(old[:2])
    result = done.err.strip().splitlines()[-1].removeprefix("Undo: ")
    assert execute(result, run).code == 0 and archived(run) == set()


def test_a_dry_run_changes_nothing(run: Run, old: list[str]) -> None:
    assert run("conversations", "prune", "--dry-run", "--yes").code == 0 and archived(run) == set()


def test_json_lists_without_asking(run: Run, old: list[str]) -> None:
    data = run("conversations", "prune", "--importance", "3", "--json").data
    assert [one["label"] for one in data["candidates"]] == ["Old 1", "Old 2"]
    assert (data["total_candidates"], data["archived"]) == (2, [])
    assert data["estimated_space_saved_mb"] > 0 and archived(run) == set()
    assert len(run("conversations", "prune", "--yes", "--json").data["archived"]) == 4 and archived(run) == set(old)


def test_no_suggestions(run: Run) -> None:
    assert run("conversations", "prune").err == "No conversation is old and unimportant enough to suggest.\n"
    assert run("conversations", "prune", "--json").data["candidates"] == []


def test_bad_limits_are_refused(run: Run) -> None:
    for options in (("--days", "-1"), ("--importance", "11"), ("--importance", "nan"), ("--folder", "..")):
        assert run("conversations", "prune", *options, "--json").error["code"] == "VALIDATION_ERROR", options


@needs_terminal
@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("all\n", (0, 1, 2, 3)), ("none\n", ()), ("\n", ()), ("2, 4\n", (1, 3)), ("9\nx\n1-2\n", (0, 1))],
    ids=["all", "none", "enter", "some", "after mistakes"],
)
def test_a_person_is_asked(
    run: Run, spawn_in_terminal: Run, old: list[str], typed: str, chosen: tuple[int, ...]
) -> None:
    done = spawn_in_terminal("conversations", "prune", typed=typed, TERM="xterm-256color")
    assert done.code == 0 and "Archive which?" in done.out
    assert archived(run) == {old[n] for n in chosen}
    shown = uncoloured(done.out)
    assert "1  Old 1  /work · 2 messages" in shown and "4 conversations with " in shown
    assert ("Undo: commonplace conversations unarchive" in shown) == bool(chosen)
    assert ("Nothing was changed." in shown) != bool(chosen)


@needs_terminal
def test_leaving_the_question_changes_nothing(run: Run, spawn_in_terminal: Run, old: list[str]) -> None:
    assert spawn_in_terminal("conversations", "prune", typed="\x04").code == 130
    assert archived(run) == set()


@needs_terminal
def test_long_labels_fit_the_terminal(run: Run, spawn_in_terminal: Run) -> None:
    keep(run, "日本語の長い題名 " * 12, "--folder", "/a/long/way/down/to/it" * 4, "--importance", "1")
    shown = uncoloured(spawn_in_terminal("conversations", "prune", "--dry-run").out)
    assert "…" in shown and len(shown.splitlines()) == 5


@given(st.integers(1, 50), st.data())
def test_numbers_and_ranges_are_read(count: int, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(1, count), min_size=1))
    assert parse_selection(", ".join(map(str, wanted)), count) == sorted(set(wanted))
    low, high = min(wanted), max(wanted)
    assert parse_selection(f" {low} - {high} ", count) == list(range(low, high + 1))
    for wrong in (f"{count + 1}", "0", f"{high}-{low - 1}", "one", "1-", "²", json.dumps(wanted)):
        with pytest.raises(InvalidInput):
            parse_selection(wrong, count)
