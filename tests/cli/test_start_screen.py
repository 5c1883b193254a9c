"""`commonplace` alone says where a user stands and what to do next, whatever the state of things is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace.config import Settings
from commonplace.fast.spool import count_failure, spool_folder
from commonplace.memory.local_memory import wall_clock
from commonplace.memory.status_and_stats import Fault, save_check_result

from .conftest import Run

GIT = shutil.which("git") or "git"


def commands(run: Run) -> list[str]:
    return [one["command"] for one in run("--json").data["next"]]


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here, the tests do not find it."""
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def repository(folder: Path) -> str:
    """The current folder is a clone of my-api."""
    for arguments in (("init", "-q"), ("remote", "add", "origin", "https://github.com/acme/my-api.git")):
        subprocess.run([GIT, *arguments], check=True, cwd=folder)
    return "github.com/acme/my-api"


@pytest.mark.no_store
def test_a_new_user_is_told_to_connect_and_nothing_is_created(run: Run, settings: Settings) -> None:
    (Path.home() / ".cursor").mkdir()
    (Path.home() / ".codex").mkdir()
    done = run()
    assert done.code == 0 and done.err == ""
    assert "No editor is connected yet, and nothing is remembered." in done.out
    assert re.search(
        r"\n  commonplace connect --dry-run +show what connecting cursor and codex would change\n", done.out
    )
    assert "commonplace demo" in done.out and "`commonplace --help` lists all commands." in done.out
    assert not settings.database.exists()
    assert run("--json").data["not_connected"] == ["cursor", "codex"]


@pytest.mark.no_store
def test_without_any_editor_one_is_named(run: Run) -> None:
    assert commands(run)[0] == "commonplace connect claude-code"


def test_once_connected_earlier_sessions_come_next_and_other_editors(run: Run) -> None:
    (Path.home() / ".codex").mkdir()
    assert run("connect", "cursor").code == 0
    done = run()
    assert "Nothing is remembered yet." in done.out and "Connected: Cursor." in done.out
    assert commands(run)[0] == "commonplace ingest"
    run("add", "We use PostgreSQL 16", "--global")
    assert "commonplace connect codex" in commands(run) and "commonplace ingest" not in commands(run)
    assert "Remembered: 1 item." in run().out


def test_in_a_project_it_says_what_is_known_open_and_waiting(run: Run, repository: str) -> None:
    run("add", "Deploy on Fridays", "-t", "rule")
    run("add", "Never deploy on Fridays", "-t", "rule")
    steps = "\n".join(f"Write test {number}" for number in range(1, 8))
    run("add", "--kind", "summary", "--session", "monday", "--field", f"next_steps={steps}")
    data = run("--json").data
    assert data["project"]["name"] == repository and data["project"]["items"] == 3 and data["items"] == 3
    assert data["contradictions"] == 1 and len(data["open_steps"]) == 7
    done = run()
    assert done.code == 0 and re.search(r"github\.com/acme/my-api: 3 items, last used ", done.out)
    assert "\nOpen steps\n  - Write test 1\n" in done.out and "  and 2 more: commonplace report\n" in done.out
    assert re.search(r"commonplace contradictions +settle 1 recent contradiction\n", done.out)
    assert re.search(r"commonplace context --start +show what a session in my-api starts with\n", done.out)
    assert len(done.out.splitlines()) < 20


def test_known_faults_and_a_broken_store_lead_to_the_doctor(run: Run, settings: Settings) -> None:
    run("add", "We use PostgreSQL 16")
    save_check_result(settings, "quick", [Fault("words", "items are not indexed", 1, (), True, "")], wall_clock())
    done = run()
    assert "The last check of the stored data found problems." in done.out
    assert commands(run)[0] == "commonplace doctor --fix"
    settings.database.write_bytes(b"not a database at all" * 1000)
    broken = run()
    assert broken.code == 0 and "commonplace doctor --fix" in broken.out
    assert run("--json").data["problems"]


def test_what_is_stored_cannot_take_over_the_terminal(run: Run, repository: str) -> None:
    run("add", "--kind", "summary", "--session", "s", "--field", "next_steps=\x1b[31mred\x07")
    done = run()
    assert "  - red\n" in done.out and "\x1b" not in done.out and "\x07" not in done.out


def test_a_session_without_memories_lost_nothing(run: Run, settings: Settings) -> None:
    for _ in range(6):
        count_failure(spool_folder(str(settings.data_dir)), "hook", "opening-too-slow")
    said = "6 sessions started without memories: reading them took over a second. Nothing was lost."
    assert said in run().out and "could not be stored" not in run().out
    assert run("status", "--json").data["hooks"]["failed"] == 0
    count_failure(spool_folder(str(settings.data_dir)), "hook", "not-writable")
    assert run("--json").data["problems"] == ["1 captured event could not be stored.", said]


def test_the_demo_ends_with_what_is_left_to_do_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`commonplace connect claude-code` connects an editor" in run("demo").err
    (Path.home() / ".codex").mkdir()
    assert "shows what connecting Codex CLI would change" in run("demo").err
    assert run("connect", "codex").code == 0
    assert run("demo").err.endswith("Next: `commonplace` shows where you stand.\n")
