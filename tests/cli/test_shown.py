"""`shown` and `context --start`: what an agent saw, word for word, and what the next one will see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.config import Settings

from .conftest import Run

SESSION = "5f0b2c1e-1111-4222-8333-0000000000aa"


def fire(spawn: Run, folder: Path, event: str, session: str = SESSION, **fields: Any) -> str:
    """Run a hook as the editor does; what it printed for the agent."""
    payload = {"session_id": session, "cwd": str(folder), "hook_event_name": event, **fields}
    done = spawn("hook", "claude-code", event, stdin=json.dumps(payload))
    assert done.code == 0
    return "" if not done.out else str(done.data["hookSpecificOutput"]["additionalContext"])


@pytest.fixture
def rule(run: Run) -> None:
    run("add", "Never log IBANs in this project", "-t", "rule")
    run("add", "A managed database at AWS RDS was rejected", "-t", "rejected")


def test_what_a_session_was_shown_is_told_word_for_word(run: Run, spawn: Run, folder: Path, rule: None) -> None:
    started = fire(spawn, folder, "SessionStart", source="startup")
    assert "Never log IBANs" in started
    # As it will be for the next session, with one line for the end.
    assert run("context", "--start").out.strip() == started.strip()
    assert run("context", "--start", "--json").data["text"] == started
    for name in ((), (SESSION,), (f"claude-code:{SESSION}",)):
        out = run("shown", *name).out
        assert out.startswith(f"# What claude-code:{SESSION} was shown\n")
        assert "## At the start, " in out and started.strip() in out
    run("edit", "1", "-c", "Something else by now")
    (one,) = run("shown", "--json").data["shown"]
    assert one["text"] == started and one["moment"] == "session-start" and len(one["ids"]) == 2


def test_what_a_prompt_was_shown_is_told_too(run: Run, spawn: Run, folder: Path, rule: None) -> None:
    hint = fire(spawn, folder, "UserPromptSubmit", prompt="Shall we move to a managed database at AWS RDS?")
    assert "AWS RDS was rejected" in hint
    assert hint.strip() in run("shown", SESSION).out and "## At a prompt, " in run("shown", SESSION).out
    run("drain")
    known = run("sessions", "--json").data["sessions"][0]["short_id"]
    assert run("shown", known).out == run("shown").out


def test_a_session_that_was_shown_nothing_says_so(run: Run, spawn: Run, folder: Path) -> None:
    nothing = run("shown")
    assert (nothing.code, nothing.out) == (0, "") and "Nothing was shown to any session yet." in nothing.err
    fire(spawn, folder, "UserPromptSubmit", prompt="What is the plan for today, please?")
    assert "Nothing was shown to that session." in run("shown", SESSION).err
    assert "`commonplace sessions` lists the ids" in run("shown", "no-such-session").err


def test_of_an_encrypted_memory_no_text_is_kept(
    run: Run, spawn: Run, folder: Path, settings: Settings, rule: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file that is not in the clear begins with anything else.
    started = fire(spawn, folder, "SessionStart", source="startup")
    database = settings.database.read_bytes()
    settings.database.write_bytes(b"\x8a" * 16 + database[16:])
    from commonplace.fast.session_hints import note_start

    note_start(str(settings.data_dir), "claude-code:other", started)
    settings.database.write_bytes(database)
    out = run("shown", "claude-code:other").out
    assert "the text is not kept" in out and "IBANs" not in out
    kept = [path.read_text(encoding="utf-8") for path in (settings.data_dir / "hints").iterdir()]
    assert sum("IBANs" in text for text in kept) == 1


def test_a_scrubbed_text_is_gone_from_what_is_kept(run: Run, spawn: Run, folder: Path, rule: None) -> None:
    fire(spawn, folder, "SessionStart", source="startup")
    assert run("scrub", "--text", "--dry-run", stdin="IBANs").code == 0 and "IBANs" in run("shown").out
    assert run("scrub", "--text", stdin="IBANs").code == 0
    assert "IBANs" not in run("shown").out


def test_the_text_of_a_start_is_not_for_another_project(run: Run, folder: Path) -> None:
    assert run("context", "my-api", "--start").code == 2
    done = run("context", "--start")
    assert (done.code, done.out) == (0, "") and "nothing is known here" in done.err
