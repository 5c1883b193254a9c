"""The scrub command: it counts, cleans, names backups, and never shows what it found."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.capture.hooks.hook_runner import fire, put
from tests.cli.conftest import Run

from commonplace.config import Settings

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
NAME = "Rumpelstilzchen"


@pytest.fixture
def stored_secret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that was kept before anyone knew its kind, and a name."""
    with monkeypatch.context() as patched:
        patched.setattr("commonplace.memory.draft.redact", lambda text: text)
        assert run("add", f"Deploy with {TOKEN}").code == 0
    assert run("add", f"My name is {NAME}").code == 0


def in_files(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.usefixtures("stored_secret")
def test_a_dry_run_counts_and_changes_nothing(run: Run, data_dir: Path) -> None:
    outcome = run("scrub", "--dry-run", "--json")
    assert outcome.code == 0
    assert outcome.data["kinds"] == {"github-token": 2}
    assert outcome.data["places"] == {"items": ["item 1"]}
    assert not outcome.data["wiped"]
    assert in_files(data_dir, TOKEN)
    assert TOKEN not in outcome.out + outcome.err


@pytest.mark.usefixtures("stored_secret")
def test_it_cleans_and_says_where_but_not_what(run: Run, data_dir: Path) -> None:
    outcome = run("scrub")
    assert outcome.code == 0
    assert "github-token" in outcome.out and "Cleaned: item 1." in outcome.out
    assert TOKEN not in outcome.out + outcome.err
    assert in_files(data_dir, TOKEN) == []
    assert "[REDACTED:github-token]" in run("show", "1").out
    assert "No secrets in" in run("scrub").out


@pytest.mark.usefixtures("stored_secret")
def test_a_text_is_read_from_a_pipe_and_removed(run: Run, data_dir: Path) -> None:
    outcome = run("scrub", "--text", "--json", stdin=f"{NAME}\n")
    assert outcome.data["kinds"] == {"named": 2, "github-token": 2}
    assert outcome.data["wiped"] and outcome.data["still_holding"] == []
    assert NAME not in outcome.out + outcome.err
    assert in_files(data_dir, NAME) == in_files(data_dir, NAME.lower()) == []


@pytest.mark.usefixtures("stored_secret")
def test_backups_are_named_and_deleted_only_if_asked(run: Run, data_dir: Path) -> None:
    backup = data_dir / "backups" / "commonplace-schema1-x.db"
    backup.parent.mkdir()
    backup.write_text(f"once {NAME}", encoding="utf-8")
    outcome = run("scrub", "--text", stdin=NAME)
    assert str(backup) in outcome.err and backup.exists()
    assert f"still be read in {backup}" in outcome.err
    assert "Deleted 1 backup." in run("scrub", "--backups").out
    assert not backup.exists()


def test_what_hooks_left_is_cleaned_too(run: Run, data_dir: Path, folder: Path) -> None:
    assert run("add", "--type", "rule", f"Ask {NAME} first").code == 0
    spool, settings = data_dir / "spool", Settings(data_dir)
    assert NAME in fire(settings, "kiro", "agentSpawn", {"cwd": str(folder)}).stdout.decode()
    assert len(in_files(data_dir / "openings", NAME)) == 1
    put(settings, {"session_id": "s", "cwd": str(folder), "prompt": f"Call {NAME} today"}, "UserPromptSubmit")
    put(settings, f"{NAME} is no event".encode())
    half = spool / "1.part"
    half.write_text(f"half of {NAME}", encoding="utf-8")
    os.utime(half, ns=(old := time.time_ns() - 600 * 10**9, old))
    outcome = run("scrub", "--text", "--dry-run", "--json", stdin=NAME)
    assert len(outcome.data["places"]["spool"]) == 2, "what was refused, and the half of one; the rest is remembered"
    outcome = run("scrub", "--text", "--json", stdin=NAME)
    assert outcome.data["still_holding"] == [] and outcome.data["waiting"] == 0
    assert in_files(data_dir, NAME) == []
    (refused,) = (spool / "refused").iterdir()
    assert "[REDACTED:named] is no event" in refused.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "abc", "\n"])
def test_too_short_a_text_is_refused(run: Run, text: str) -> None:
    outcome = run("scrub", "--text", "--json", stdin=text)
    assert outcome.code == 2
    assert outcome.error["code"] == "VALIDATION_ERROR"
