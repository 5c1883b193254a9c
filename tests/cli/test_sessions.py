"""`sessions`: all sessions, page by page."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run
from .sessions_of_agents import LIMITS, LOGIN, furnish


def test_sessions_of_agents_and_of_people_are_listed_newest_first(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")
    run("conversations", "add", "Colours", "-", "--folder", "/fun", stdin="User: Name a colour\nAI: Blue\n")
    run("add", "Tests pass", "--kind", "observation", "--session", "s1")
    records = run("sessions", "--json").data["sessions"]
    assert {record["label"] for record in records} >= {"Colours", "Why does the login test fail?"}
    assert any(record["key"] == "s1" for record in records)
    coding = run("sessions", "--source", "claude-code", "--project", "my-api", "--json").data["sessions"]
    assert [record["key"] for record in coding] == [f"claude-code:{LIMITS}", f"claude-code:{LOGIN}"]
    assert [record["message_count"] for record in coding] == [4, 2]


def test_people_get_a_table(run: Run, home: Path) -> None:
    assert "No sessions." in run("sessions").err
    furnish(home)
    run("ingest")
    done = run("sessions")
    head, first, second = done.out.splitlines()
    assert head == "id\tsource\tproject\tlabel\tmessages\twhen"
    assert first.split("\t")[1:5] == ["claude-code", "my-api", "Add rate limiting to the public API", "4"]
    assert second.split("\t")[3] == "Why does the login test fail?"


def test_pages_follow_each_other(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")
    first = run("sessions", "--limit", "1", "--json").data
    second = run("sessions", "--limit", "1", "--cursor", first["next_cursor"], "--json").data
    assert first["sessions"] != second["sessions"] and second["next_cursor"] is None
    assert "--cursor" in run("sessions", "--limit", "1").err
    assert run("sessions", "--cursor", "nonsense").code == 2
