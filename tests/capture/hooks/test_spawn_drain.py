"""The end of a turn has remembered what waits: by one process at a time, that ends by itself and hurts nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.polling import until

from commonplace.capture.hooks.drain_all import drain_all
from commonplace.config import Settings
from commonplace.fast.drain_process import DRAIN_VARIABLE, spawn_drain
from commonplace.memory.local_memory import open_memory
from commonplace.model import Scope

from .hook_runner import SECONDS, argv, fire, is_drain_running, names, put

PROMPT = {"prompt": "Move the session cookie to the new signing key, please"}
ANSWER = {"last_assistant_message": "The cookie is signed by the new key; old ones are read until Friday."}


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DRAIN_VARIABLE)
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def renaming(number: int) -> dict[str, str]:
    return {"prompt": f"Please rename part {number} of the shop"}


def idle(settings: Settings) -> bool:
    return not is_drain_running(str(settings.data_dir))


def test_the_next_session_is_told_what_the_last_one_did_though_no_server_runs(settings: Settings, work: Path) -> None:
    about = {"session_id": "a", "cwd": str(work)}
    for event, more in (("SessionStart", {}), ("UserPromptSubmit", PROMPT), ("Stop", ANSWER), ("SessionEnd", {})):
        fire(settings, event=event, payload={**about, **more})
    until(lambda: idle(settings) and not names(settings))
    ready = list((settings.data_dir / "openings").glob("*"))
    outcome = fire(settings, event="SessionStart", payload={"session_id": "b", "cwd": str(work)})
    assert ready and "signing key" in json.loads(outcome.stdout)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(
    ("host", "event"), [("gemini", "AfterAgent"), ("cursor", "stop"), ("kiro", "stop"), ("codex", "PreCompact")]
)
def test_every_host_has_an_end(settings: Settings, work: Path, host: str, event: str) -> None:
    put(settings, {"session_id": "a", "cwd": str(work), **PROMPT}, "UserPromptSubmit")
    fire(settings, host, event, {"session_id": "a", "conversation_id": "a", "cwd": str(work)})
    until(lambda: not names(settings))
    until(lambda: idle(settings))


def test_nothing_is_started_by_other_events_trials_and_those_who_want_none(settings: Settings) -> None:
    put(settings, {"session_id": "a", **PROMPT}, "UserPromptSubmit")
    fire(settings, event="PostToolUse")
    fire(settings, event="Stop", env={**os.environ, "COMMONPLACE_HOOK_SAMPLE": "sample-1"})
    fire(settings, event="Stop", env={**os.environ, DRAIN_VARIABLE: "off"})
    assert not list((settings.data_dir / "spool").glob("*.lock")) and len(names(settings)) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lends no lock to another process")
def test_there_is_one_at_a_time_and_the_host_does_not_wait_for_it(settings: Settings, work: Path) -> None:
    """The first cannot go on, since somebody writes; the hooks end all the same, and start no second."""
    open_memory(settings).close()
    writer = apsw.Connection(str(settings.database))
    try:
        writer.execute("BEGIN IMMEDIATE")
        stop = {"session_id": "a", "cwd": str(work)}
        put(settings, {**stop, **PROMPT}, "UserPromptSubmit")
        hooks = [
            subprocess.Popen(argv(settings, "claude-code", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(5)
        ]
        for hook in hooks:
            # Returns when every end of its output is closed, also one that a child might have.
            assert hook.communicate(json.dumps(stop).encode(), timeout=SECONDS)[0] == b"" and hook.returncode == 0
        assert is_drain_running(str(settings.data_dir)) and not spawn_drain(str(settings.data_dir), {})
        assert len(processes(settings)) <= 1
        writer.execute("ROLLBACK")
    finally:
        writer.close()
    until(lambda: idle(settings) and not processes(settings))
    assert names(settings) == []


def processes(settings: Settings) -> list[str]:
    """Those that drain this folder, where the system tells."""
    lines = [path / "cmdline" for path in Path("/proc").glob("[0-9]*")]
    return [
        str(path)
        for path in lines
        if b"drain\0" in file_content(path) and os.fsencode(settings.data_dir) in file_content(path)
    ]


def file_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_start_waits_a_moment_for_it_and_no_longer(settings: Settings, work: Path) -> None:
    """Whoever holds the store for good holds up neither."""
    open_memory(settings).close()
    writer = apsw.Connection(str(settings.database))
    writer.execute("BEGIN IMMEDIATE")
    try:
        fire(settings, event="Stop", payload={"session_id": "a", "cwd": str(work)})
        assert fire(settings, event="SessionStart", payload={"cwd": str(work)}).returncode == 0
    finally:
        writer.close()
    until(lambda: idle(settings))


def test_all_of_it_is_remembered_unless_its_time_is_over(settings: Settings, work: Path) -> None:
    for number in range(300):
        put(settings, {"session_id": "a", "cwd": str(work), **renaming(number)}, "UserPromptSubmit")
    put(settings, {"session_id": "a", "cwd": str(work), **PROMPT}, "UserPromptSubmit")
    assert drain_all(settings, 1e-6).left > 0
    drain_all(settings)
    memory = open_memory(settings)
    stored = memory.store.newest(Scope(kinds=("observation",)), 1000)
    memory.close()
    assert names(settings) == [] and len(stored) == 301
