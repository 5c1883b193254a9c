"""What a hook was given is stored, whatever happens meanwhile: slow hosts, signals, servers that come and go."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.polling import until
from tests.rest.conftest import Site, running, settings_in

from commonplace.capture.hooks.drain import drain
from commonplace.capture.hooks.spool_reader import read_record, spool_path
from commonplace.capture.hooks.team_server import EVERY_FOLDER, save_server, team_server
from commonplace.config import Settings
from commonplace.fast.drain_process import DRAIN_VARIABLE
from commonplace.fast.spool import SECONDS_VARIABLE, encode_record, spool_folder, write_event
from commonplace.memory.local_memory import open_memory

from .hook_runner import COMMAND, SECONDS, argv, fire, is_drain_running, names
from .hook_sessions import items
from .server_gate import Gate

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="what only POSIX has")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
ANSWER = "Two carts locked the same rows in opposite order."
PROMPT = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "Why do two carts lock each other?"}
STOP = {"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": ANSWER}


@pytest.fixture
def draining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks start a process that drains, as for a user."""
    monkeypatch.delenv(DRAIN_VARIABLE)
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    return made


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(settings_in(tmp_path / "server")) as site:
        yield site


def answers(site: Site) -> list[str]:
    return [item.body for item in items(site.memory, "observation")]


@POSIX
@pytest.mark.usefixtures("draining")
def test_a_turn_that_ends_while_the_last_one_is_being_sent_is_sent_too(
    site: Site, settings: Settings, folder: Path
) -> None:
    gate = Gate(int(site.url.rpartition(":")[2]))
    server = team_server(
        settings.data_dir, f"http://127.0.0.1:{gate.port}/mcp", site.secrets["write"], shared=[EVERY_FOLDER]
    )
    save_server(server)
    there = replace(settings, data_dir=server.folder)
    fire(there, "codex", "UserPromptSubmit", {**PROMPT, "cwd": str(folder)})
    fire(there, "codex", "Stop", {"session_id": "s1", "cwd": str(folder), "last_assistant_message": ""})
    # The process that sends has read the spool, and waits for the server.
    assert gate.somebody_waits.wait(SECONDS)
    fire(there, "codex", "Stop", {**STOP, "cwd": str(folder)})
    assert is_drain_running(str(server.folder))
    gate.open()
    until(lambda: ANSWER in answers(site))
    until(lambda: not is_drain_running(str(server.folder)))
    gate.close()
    assert names(there) == [] and answers(site) == [PROMPT["prompt"], ANSWER]


@POSIX
def test_a_payload_that_comes_late_is_waited_for_without_the_agent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS_VARIABLE, "0.05")
    late, stalled = (
        subprocess.Popen(argv(settings, "codex", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    )
    whole = json.dumps(STOP).encode()
    assert late.stdin is not None and stalled.stdin is not None
    stalled.stdin.write(whole[:30])
    stalled.stdin.flush()
    for hook in (late, stalled):
        # Nothing that the agent waits for is left open.
        assert hook.stdout is not None and hook.stdout.read() == b"" and hook.wait(SECONDS) == 0
    assert names(settings) == []
    late.stdin.write(whole)
    stalled.stdin.write(whole[30:])
    for hook in (late, stalled):
        assert hook.stdin is not None and hook.stdout is not None
        hook.stdin.close()
        hook.stdout.close()
    until(lambda: len(names(settings)) == 2)
    kept = [read_record(spool_path(settings), name) for name in names(settings)]
    assert [(one.payload, one.ended) for one in kept] == [(whole, "whole")] * 2


@LINUX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_agent_does_not_take_its_event_away(settings: Settings, number: signal.Signals) -> None:
    hook = subprocess.Popen(argv(settings, "codex", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ignores_it() -> bool:
        lines = Path(f"/proc/{hook.pid}/status").read_text().splitlines()
        ignored = next(line for line in lines if line.startswith("SigIgn:"))
        return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)

    until(ignores_it)
    hook.send_signal(number)
    hook.communicate(json.dumps(STOP).encode(), timeout=SECONDS)
    (name,) = names(settings)
    assert json.loads(read_record(spool_path(settings), name).payload) == STOP


@POSIX
@pytest.mark.usefixtures("draining")
def test_whoever_ends_the_agents_processes_does_not_end_the_one_that_stores(settings: Settings, folder: Path) -> None:
    hook = subprocess.Popen(
        argv(settings, "codex", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    hook.communicate(json.dumps({**STOP, "cwd": str(folder)}).encode(), timeout=SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(hook.pid, signal.SIGKILL)
    until(lambda: not names(settings) and not is_drain_running(str(settings.data_dir)))


@POSIX
@pytest.mark.usefixtures("draining")
def test_a_host_that_closes_its_end_does_not_keep_the_event_from_being_stored(settings: Settings, folder: Path) -> None:
    fire(settings, "gemini", "BeforeAgent", {**PROMPT, "cwd": str(folder)})
    hook = subprocess.Popen(argv(settings, "gemini", "AfterAgent"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert hook.stdout is not None
    hook.stdout.close()
    asked = {"session_id": "s1", "cwd": str(folder), "prompt_response": ANSWER}
    hook.communicate(json.dumps(asked).encode(), timeout=SECONDS)
    until(lambda: not names(settings) and not is_drain_running(str(settings.data_dir)))
    with contextlib.closing(open_memory(settings)) as memory:
        assert ANSWER in [item.body for item in items(memory, "observation")]


@POSIX
def test_a_hook_that_is_killed_while_the_disk_is_busy_has_left_its_event(settings: Settings) -> None:
    spool = spool_folder(str(settings.data_dir))
    script = (
        "import os, signal; os.fsync = lambda _file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from commonplace.fast.spool import write_event\n"
        f"write_event({spool!r}, b'all of it')"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert [(Path(spool) / name).read_bytes() for name in names(settings)] == [b"all of it"]


def test_a_stop_waits_for_the_answer_that_its_transcript_does_not_have_yet(settings: Settings, folder: Path) -> None:
    transcript = folder / "session.jsonl"
    prompt = {"type": "user", "message": {"role": "user", "content": "Why do carts lock?"}}
    transcript.write_text(json.dumps(prompt) + "\n")
    payload = {"session_id": "s1", "cwd": str(folder), "transcript_path": str(transcript)}
    fire(settings, "claude-code", "UserPromptSubmit", {**PROMPT, "cwd": str(folder)})
    fire(settings, "claude-code", "Stop", payload)
    fire(settings, "claude-code", "SessionEnd", payload)
    with contextlib.closing(open_memory(settings)) as memory:
        assert drain(memory, settings).left == 2
        said = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}}
        with transcript.open("a") as file:
            file.write(json.dumps(said) + "\n")
        assert drain(memory, settings).left == 0
        assert [item.body for item in items(memory, "observation")] == [PROMPT["prompt"], ANSWER]


def test_a_stop_without_any_answer_is_not_waited_for_forever(settings: Settings, folder: Path) -> None:
    transcript = folder / "session.jsonl"
    transcript.write_text("")
    payload = json.dumps({"session_id": "s1", "cwd": str(folder), "transcript_path": str(transcript)}).encode()
    before = str(time.time_ns() // 1_000_000 - 6_000)
    fields = ("claude-code", "Stop", before, str(folder), "", str(len(payload)), "whole")
    write_event(spool_folder(str(settings.data_dir)), encode_record(fields, payload))
    with contextlib.closing(open_memory(settings)) as memory:
        assert drain(memory, settings).left == 0


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_what_waits_is_sent_when_the_server_is_back_without_another_event(
    settings: Settings, folder: Path, site: Site
) -> None:
    """A server that restarts is asked again and again for a while."""
    port = free_port()
    server = team_server(
        settings.data_dir, f"http://127.0.0.1:{port}/mcp", site.secrets["write"], shared=[EVERY_FOLDER]
    )
    save_server(server)
    there = replace(settings, data_dir=server.folder)
    fire(there, "codex", "UserPromptSubmit", {**PROMPT, "cwd": str(folder)})
    fire(there, "codex", "Stop", {**STOP, "cwd": str(folder)})
    sending = subprocess.Popen([COMMAND, "drain", "--seconds", "60", "--data-dir", str(server.folder)])
    try:
        until(lambda: (server.folder / "spool" / "drain.lock").exists())
        gate = Gate(int(site.url.rpartition(":")[2]), port)
        gate.open()
        until(lambda: ANSWER in answers(site))
        assert sending.wait(SECONDS) == 0
        gate.close()
    finally:
        sending.kill()
        sending.wait(SECONDS)
    assert names(there) == []
