"""`stats`: totals, and a small chart of when people talked."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.prune_and_stats import BLOCKS, chart

from .conftest import Run
from .test_conversations import keep, uncoloured
from .test_terminal import needs_terminal


def say_now(run: Run, label: str, count: int, *options: str) -> None:
    now = datetime.fromtimestamp(time.time() - 60, UTC).isoformat()
    messages = [{"role": "user", "content": f"{label} {n}", "timestamp": now} for n in range(count)]
    assert run("conversations", "add", label, *options, stdin=json.dumps(messages)).code == 0


@pytest.fixture
def talk(run: Run) -> None:
    say_now(run, "Colours", 3, "--folder", "/work/design", "--importance", "9")
    say_now(run, "Colours", 2, "--folder", "/work")
    say_now(run, "Tomatoes", 1, "--folder", "/日本", "--status", "archived")


def test_programs_get_everything(run: Run, talk: None) -> None:
    data = run("conversations", "stats", "--json").data
    assert (data["total_conversations"], data["total_messages"], data["total_words"]) == (3, 6, 12)
    assert data["folders"] == {"/work": 1, "/work/design": 1, "/日本": 1}
    assert data["labels"] == {"Colours": 2, "Tomatoes": 1}
    assert data["status_breakdown"] == {"active": 2, "archived": 1, "pinned": 0}
    assert data["average_importance"] == pytest.approx(6.33)
    activity = data["activity"]
    assert (activity["unit"], activity["earlier"], len(activity["messages"])) == ("week", 0, 26)
    assert sum(week["messages"] for week in activity["messages"]) == 6
    assert sum(week["messages"] for week in activity["messages"][-2:]) == 6


def test_a_folder_means_its_tree(run: Run, talk: None) -> None:
    data = run("conversations", "stats", "--folder", "/work", "--json").data
    assert (data["total_conversations"], data["total_messages"]) == (2, 5)
    assert sum(week["messages"] for week in data["activity"]["messages"]) == 5
    assert run("conversations", "stats", "--folder", "..", "--json").error["code"] == "VALIDATION_ERROR"


def test_a_pipe_gets_numbers(run: Run, talk: None) -> None:
    totals, folders, labels, weeks = run("conversations", "stats").out.strip().split("\n\n")
    assert "messages\t6" in totals and "archived\t1" in totals
    assert folders.splitlines()[0] == "folder\tconversations" and "/日本\t1" in folders
    assert "Colours\t2" in labels
    header, *rows, earlier = weeks.splitlines()
    assert (header, len(rows), earlier) == ("week\tmessages", 26, "earlier\t0")
    assert not set(BLOCKS[1:]) & set(totals + folders + labels + weeks)


def test_nothing_is_there(run: Run) -> None:
    assert run("conversations", "stats").err == "No conversations.\n"
    assert run("conversations", "stats", "--json").data["total_messages"] == 0


@needs_terminal
def test_a_terminal_gets_a_chart(run: Run, talk: None, spawn_in_terminal: Run) -> None:
    shown = uncoloured(spawn_in_terminal("conversations", "stats").out)
    assert "conversations: 3 (2 active, 1 archived)" in shown and "Messages per week  at most 6" in shown
    assert "█" in shown and all(len(line) <= 80 for line in shown.splitlines())
    keep(run, "Long ago")
    older = uncoloured(spawn_in_terminal("conversations", "stats").out)
    assert "Messages per month" in older


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30), st.integers(1, 8))
def test_bars_are_as_high_as_their_numbers(values: list[int], height: int) -> None:
    lines = chart(values, height)
    assert len(lines) == height

    def blocks(bar: int) -> int:
        column = [line[2 * bar] if 2 * bar < len(line) else " " for line in lines]
        return sum(BLOCKS.index(block) for block in column)

    heights = [blocks(bar) for bar in range(len(values))]
    assert all((value == 0) == (high == 0) for value, high in zip(values, heights, strict=True))
    assert max(heights) == (height * 8 if any(values) else 0)
    by_value = [high for _value, high in sorted(zip(values, heights, strict=True))]
    assert by_value == sorted(by_value)
