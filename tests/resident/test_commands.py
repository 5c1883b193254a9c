"""Commands print the same and end in the same way, whether the resident process or their own process runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.polling import until

from commonplace.fast.ask_resident import ask
from commonplace.fast.find_or_start import SECONDS_VARIABLE
from commonplace.fast.settings import RESIDENT_VARIABLE

from .conftest import Status

Resident = Callable[[], Status]

SEARCHES = (
    ("search", "sessions"),
    ("search", "sessions", "--json"),
    ("search", "nothing like this", "--project", "my-api"),
    ("recall", "sessions", "--min-score", "0"),
    ("recall", "unheard of"),
    ("explain", "sessions", "--json"),
    ("predict", "sessions are slow"),
    ("context", "my-api"),
    ("context",),
    ("timeline", "1", "--json"),
    ("show", "1", "99"),
    ("list",),
    ("list", "--limit", "1", "--json"),
    ("rules", "--file", "src/x.ts"),
    ("history", "1"),
    ("search",),
    ("search", "--no-such-option"),
    ("show", "not an id", "--json"),
    ("add", "Sessions are kept in Redis", "--project", "my-api"),
)
IN_THE_SHELL = (("search", "-"), ("search", "--help"), ("add",), ("status",), ("predict",))


def run(*arguments: str, resident: str = "on", stdin: bytes = b"", **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, RESIDENT_VARIABLE: resident, **env},
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def commands_run() -> int:
    return int((ask("status", timeout_s=60) or {})["commands"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with something stored about it, and a rule."""
    here = tmp_path / "my-api" / "src"
    (here.parent / ".git").mkdir(parents=True)
    (here.parent / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def test_commands_answer_the_same_both_ways(data: str, resident: Resident, folder: Path) -> None:
    assert run("add", "Sessions are kept in Redis", "--project", "my-api", resident="off")[0] == 0
    assert run("add", "Never log sessions", "--type", "rule", resident="off")[0] == 0
    resident()
    for number, arguments in enumerate(SEARCHES, 1):
        assert run(*arguments) == run(*arguments, resident="off"), arguments
        assert commands_run() == number, arguments
    for arguments in IN_THE_SHELL:
        here = run(*arguments, stdin=b"Sessions are short\n", resident="off")
        assert run(*arguments, stdin=b"Sessions are short\n")[0] == here[0], arguments


def test_a_command_has_the_settings_and_the_folder_of_its_shell(
    data: str, resident: Resident, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident()
    assert run("add", "Deploy on Tuesdays")[0] == 0
    assert '"project": "my-api"' in run("list", "--json")[1]
    wrong = run("search", "x", COMMONPLACE_RERANKER="none")
    assert wrong == run("search", "x", COMMONPLACE_RERANKER="none", resident="off")
    assert wrong[0] == 2
    other = str(tmp_path / "other")
    assert "Nothing" in run("search", "deploy", "--data-dir", other)[2]
    assert commands_run() == 2


def test_a_terminal_shows_the_same(
    data: str, resident: Resident, folder: Path, spawn_in_terminal: Callable[..., object]
) -> None:
    # Of half a day ago: what was said just now would be older at each look.
    stored: dict[str, object] = {"content": "Sessions are kept in Redis for thirty days " * 5}
    stored |= {"project": "my-api", "created_at_epoch": time.time_ns() // 1_000_000 - 12 * 3_600_000 - 1_800_000}
    assert run("add", "--jsonl", "-", resident="off", stdin=json.dumps(stored).encode())[0] == 0
    resident()
    for columns in ("80", "120"):
        both = [
            spawn_in_terminal("search", "sessions", COLUMNS=columns, **{RESIDENT_VARIABLE: on}) for on in ("on", "off")
        ]
        assert both[0] == both[1]
    assert commands_run() == 2


def test_without_one_or_with_one_that_hangs_the_shell_does_it(
    data: str, resident: Resident, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("add", "Deploy on Tuesdays")[0] == 0
    pid = resident()["pid"]
    monkeypatch.setenv(SECONDS_VARIABLE, "0.5")
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "Deploy on Tuesdays" in run("search", "deploy")[1]
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: commands_run() >= 0)
