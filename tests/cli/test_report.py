"""`report`: for a person, as Markdown, to a file, and for programs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli.report import format_minutes

from .conftest import Run
from .test_conversations import uncoloured
from .test_terminal import needs_terminal

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def week(run: Run) -> None:
    """A session with a failing command, a decision and what is left to do; five minutes ago."""
    lines: list[dict[str, Any]] = [
        {"content": "Keep sessions in Redis [really]", "type": "decision"},
        {"kind": "observation", "type": "file-write", "title": "Modified auth.ts", "files_modified": "src/auth.ts"},
        {
            "kind": "observation",
            "type": "command",
            "title": "npm test",
            "facts": f"npm test --token {SECRET}",
            "metadata": {"error": "2 failed"},
        },
        {"kind": "summary", "request": "Add <b>login</b>", "next_steps": "Write the docs"},
    ]
    now = time.time_ns() // 1_000_000
    for number, line in enumerate(lines):
        line |= {"project": "my-api", "session": "s1", "created_at_epoch": now - 300_000 + number * 1000}
    assert run("add", "--jsonl", "-", stdin="\n".join(map(json.dumps, lines))).code == 0


def test_programs_get_everything(run: Run, week: None) -> None:
    data = run("report", "--project", "my-api", "--json").data
    assert (data["project"], data["items"], data["complete"], data["left_out"]) == ("my-api", 4, True, {})
    (session,) = data["sessions"]
    assert (session["request"], session["minutes"], session["items"]) == ("Add <b>login</b>", 0, 4)
    assert [one["title"] for one in data["decisions"]] == ["Keep sessions in Redis [really]"]
    assert data["files"][0]["path"] == "src/auth.ts"
    (failure,) = data["failures"]
    assert failure["why"] == "2 failed" and failure["mended"] is None and failure["session"] == session["id"]
    assert [one["text"] for one in data["open_ends"] if one["what"] == "next step"] == ["Write the docs"]
    assert SECRET not in json.dumps(data)


def test_a_pipe_gets_markdown_that_says_what_was_said(run: Run, week: None) -> None:
    done = run("report", "--project", "my-api")
    assert done.code == 0
    assert done.out.startswith("# my-api\n")
    for part in ("## Sessions", "## Decisions and rules", "## Files", "## What failed", "## Open ends", "## Topics"):
        assert part in done.out
    assert r"Add \<b\>login\</b\>" in done.out
    assert r"Keep sessions in Redis \[really\]" in done.out
    assert "- `src/auth.ts`: changed 1, read 0" in done.out
    assert "not fixed: 2 failed" in done.out
    assert "- [ ] next step: Write the docs" in done.out
    assert SECRET not in done.out


def test_a_file_is_written_once_and_for_its_owner_only(run: Run, week: None, folder: Path) -> None:
    assert run("report", "--project", "my-api", "--output", "week.md").code == 0
    assert "- [ ] next step: Write the docs" in (folder / "week.md").read_text(encoding="utf-8")
    if os.name == "posix":
        assert (folder / "week.md").stat().st_mode & 0o077 == 0
    refused = run("report", "-o", "week.md", "--json")
    assert refused.code == 4 and "exists" in refused.error["message"]
    assert run("report", "-o", "week.md", "--force", "--json").data["path"] == "week.md"
    wrong = run("report", "-o", "other.md", "--format", "terminal", "--json")
    assert wrong.code == 2 and not (folder / "other.md").exists()


def test_an_empty_week_says_so(run: Run, week: None) -> None:
    run("add", "Long ago", "--project", "nobody")
    run("forget", run("list", "--project", "nobody", "--json").data["items"][0]["short_id"])
    done = run("report", "--project", "nobody")
    assert done.code == 0 and "Nothing was captured in this time." in done.out and "## " not in done.out
    assert "commonplace connect" in run("report", "--project", "nobody", "--format", "terminal").out
    assert run("report", "--global", "--json").data["items"] == 0
    assert run("report", "--project", "my-api", "--until", "1d", "--json").data["items"] == 0


def test_all_projects_outside_of_any(run: Run, week: None) -> None:
    data = run("report", "--json").data
    assert data["project"] is None and data["sessions"][0]["project"] == "my-api"
    assert "# All projects" in run("report").out


@pytest.mark.parametrize("options", [("--since", "soon"), ("--until", "someday"), ("--since", "1d", "--until", "3d")])
def test_a_wrong_time_is_refused(run: Run, options: tuple[str, ...]) -> None:
    done = run("report", *options, "--json")
    assert done.code == 2 and done.error["code"] == "VALIDATION_ERROR"


def test_how_long_it_took() -> None:
    assert [format_minutes(minutes) for minutes in (0, 59, 60, 135, 3000)] == [
        "0 min",
        "59 min",
        "1 h 0 min",
        "2 h 15 min",
        "2 d",
    ]


@needs_terminal
def test_a_person_gets_tables(spawn_in_terminal: Run, week: None) -> None:
    shown = uncoloured(spawn_in_terminal("report", "--project", "my-api", NO_COLOR="").out)
    assert "Sessions" in shown and "Modified" not in shown
    assert "not fixed" in shown and "src/auth.ts" in shown and "Write the docs" in shown
    assert SECRET not in shown


def test_a_proposal_says_that_nobody_accepted_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT_MEMORIES", "proposed")
    monkeypatch.setenv("CLAUDECODE", "1")
    run("add", "Use Rust", "-t", "decision", "-p", "my-api")
    assert "- **decision (proposed)** Use Rust" in run("report", "-p", "my-api").out
    assert "decision (proposed)\tUse Rust" in run("report", "-p", "my-api", "--format", "terminal").out
    assert "decision (proposed)\tUse Rust" in run("list", "-p", "my-api").out
    assert run("report", "-p", "my-api", "--json").data["decisions"][0]["review"] == "proposed"


def test_no_title_is_cut_in_a_pipe(run: Run) -> None:
    said = (
        "Offline data is stored with op-sqlite, encrypted with a key from the keychain, and synced when the app starts"
    )
    run("add", said, "-t", "decision", "-p", "my-api")
    for command in (("list",), ("search", "offline data"), ("report", "-p", "my-api")):
        out = run(*command).out
        assert said in out and "…" not in out
