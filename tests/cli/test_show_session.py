"""`reconstruct`: what happened in a session, in order, within a budget."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.capture.transcripts.corpus import Claude, write

from .conftest import Run
from .sessions_of_agents import LOGIN, furnish


@pytest.fixture(autouse=True)
def worked(run: Run, home: Path) -> Path:
    folder = furnish(home)
    run("ingest")
    return folder


def test_the_newest_session_is_told_in_order(run: Run) -> None:
    done = run("sessions", "show")
    assert done.code == 0 and done.out.startswith("# Add rate limiting to the public API\n")
    lines = ["## Asked 2026-03-16", "line 39 of the server", "token bucket", "And for the admin pages?", "by address"]
    places = [done.out.index(part) for part in lines]
    assert places == sorted(places)


def test_a_session_is_found_by_its_id_or_name(run: Run) -> None:
    data = run("sessions", "show", f"claude-code:{LOGIN}", "--json").data
    assert data["session"]["label"] == "Why does the login test fail?" and data["left_out"] == 0
    question, answer = data["messages"]
    assert (question["role"], answer["role"]) == ("user", "assistant") and answer["whole"]
    assert answer["commands"] == "pytest tests/test_login.py" and "TimeoutError" in answer["errors"]
    assert run("sessions", "show", data["session"]["short_id"], "--json").data == data


def test_the_session_of_the_current_project_comes_first(run: Run, folder: Path, worked: Path) -> None:
    claude = Claude("0a1b2c3d-1111-4222-8333-000000000001")
    claude.user("Something about here")
    for record in claude.records:
        record |= {"cwd": str(folder), "timestamp": "2026-03-01T10:00:00.000Z"}
    subprocess.run(["git", "init", "-q", "."], check=True)
    write(worked / "0a1b2c3d-1111-4222-8333-000000000001.jsonl", claude.records)
    run("ingest")
    assert "# Something about here" in run("sessions", "show").out


def test_only_the_last_messages(run: Run) -> None:
    data = run("sessions", "show", "--last", "1", "--json").data
    assert [one["content"] for one in data["messages"]] == ["They are limited by address: ten a minute."]
    assert data["left_out"] == 3
    assert "(3 earlier messages are left out.)" in run("sessions", "show", "--last", "1").out


def test_what_does_not_fit_is_told_more_shortly(run: Run) -> None:
    data = run("sessions", "show", "--budget", "300", "--json").data
    answer = data["messages"][1]
    assert not answer["whole"] and "[40 lines]" in answer["content"] and "token bucket" in answer["content"]
    assert answer["files"] == "/srv/code/my-api/src/server.py"
    assert "Files: /srv/code/my-api/src/server.py" in run("sessions", "show", "--budget", "300").out
    least = run("sessions", "show", "--budget", "100", "--json").data
    assert least["left_out"] > 0 and least["messages"][-1]["content"].startswith("They are limited")


def test_nothing_there_is_told(run: Run, tmp_path: Path) -> None:
    done = run("sessions", "show", "--json", "--data-dir", str(tmp_path / "empty"))
    assert done.code == 3 and done.error["code"] == "NO_RESULTS" and done.error["suggestion"]
    assert run("sessions", "show", "no-such-session").code == 3
    assert run("sessions", "show", "--budget", "5").code == 2


CAPTURED = "5f0b2c1e-1111-4222-8333-0000000000aa"


@pytest.fixture
def captured(spawn: Run, run: Run, folder: Path) -> None:
    """A session that the hooks of an editor captured, today."""
    tool = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_login.py"}}
    failed = {"stdout": "FAILED tests/test_login.py::test_login - TimeoutError", "exit_code": 1}
    events: list[tuple[str, dict[str, object]]] = [
        ("UserPromptSubmit", {"prompt": "Why is the login so slow today?"}),
        ("PostToolUse", {**tool, "tool_response": failed}),
        ("Stop", {"last_assistant_message": "The timeout was too short, so I raised it to 30 s."}),
    ]
    for event, fields in events:
        payload = {"session_id": CAPTURED, "cwd": str(folder), "hook_event_name": event, **fields}
        assert spawn("hook", "claude-code", event, stdin=json.dumps(payload)).code == 0
    assert run("drain").code == 0


def test_a_captured_session_shows_what_was_asked_run_and_answered(run: Run, captured: None) -> None:
    out = run("sessions", "show", CAPTURED).out
    parts = ["Why is the login so slow today?", "Ran pytest tests/test_login.py", "TimeoutError", "raised it to 30 s"]
    places = [out.rindex(part) for part in ["## Asked", *parts]]
    assert places == sorted(places)
    data = run("sessions", "show", f"claude-code:{CAPTURED}", "--json").data
    assert [one["role"] for one in data["messages"]] == ["user", "tool", "assistant"]
    assert run("sessions", "show", CAPTURED, "--last", "1", "--json").data["left_out"] == 2


def test_the_newest_session_is_the_one_where_something_happened_last(run: Run, captured: None) -> None:
    assert "# Why is the login so slow today?" in run("sessions", "show").out


def test_an_unknown_id_says_where_the_ids_are(run: Run) -> None:
    done = run("sessions", "show", "no-such-session")
    assert (done.code, done.err.splitlines()[-1]) == (3, "hint: `commonplace sessions` lists the ids.")
