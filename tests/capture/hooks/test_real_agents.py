"""Real sessions of Codex CLI 0.166, Gemini CLI 0.61 and Claude Code 2.1.325, shortened: what they told hooks and wrote.

`make judge` ran them with a scripted model: a test fails, the memory is asked, a file is written, the test passes, and
the agent explains it. Codex is there twice: with tools, and with scripts that call the tools, as newer models do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.capture.ingest_helpers import ingest
from tests.capture.transcripts.corpus import reading

from commonplace.capture.hooks.drain import read_event
from commonplace.capture.hooks.drain_all import drain_all
from commonplace.capture.hooks.tool_calls import command_line, command_outcome, named_files, output_and_error
from commonplace.config import Settings
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.hosts.host import hooks_of
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.tool_hints import failure_hints

from .hook_runner import put
from .hook_sessions import items

PAYLOADS = Path(__file__).parent / "payloads"
SESSION = "3f2c9a10-5b7e-4c1d-9a35-0e6f1d2b7c84"
PROMPT = "The tests of orders fail with a deadlock. Find out why, and fix it."
CAUSE = "The deadlock came from two carts that locked the same rows in opposite order, so each waited for the other."
COMMAND = "sh run-tests.sh"
FAILURE = "FAILED test_orders.py::test_two_carts - psycopg.errors.DeadlockDetected: deadlock detected"
DECISION = "Prices are kept in cents"
# The host, the beginning of the names of its files, and where the host keeps its sessions below the home.
RECORDED = (
    ("codex", "codex", f".codex/sessions/2026/11/17/rollout-2026-11-17T03-28-04-{SESSION}.jsonl"),
    ("codex", "codex_scripts", f".codex/sessions/2026/11/17/rollout-2026-11-17T03-28-04-{SESSION}.jsonl"),
    ("gemini", "gemini", ".gemini/tmp/shop/chats/session-2026-11-17T03-28-3f2c9a10.jsonl"),
)
TRANSCRIPTS = (*RECORDED, ("claude-code", "claude_code_2_1_325", f".claude/projects/-folder/{SESSION}.jsonl"))
each = pytest.mark.parametrize(("host", "name", "file"), RECORDED, ids=[name for _host, name, _file in RECORDED])
each_transcript = pytest.mark.parametrize(
    ("host", "name", "file"), TRANSCRIPTS, ids=[name for _host, name, _file in TRANSCRIPTS]
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return tmp_path


def recorded(home: Path, name: str, file: str) -> str:
    """A recording as if it had been made in this home."""
    text = (PAYLOADS / name).read_text(encoding="utf-8").replace("SESSION_FILE", (home / file).as_posix())
    return text.replace("FOLDER", (home / "shop").as_posix()).replace("HOME", home.as_posix())


def write_session(home: Path, name: str, file: str) -> Path:
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_text(recorded(home, f"{name}_transcript.jsonl", file), encoding="utf-8")
    return path


def payloads(home: Path, name: str, file: str) -> list[tuple[str, dict[str, Any]]]:
    lines = map(json.loads, recorded(home, f"{name}.jsonl", file).splitlines())
    return [(line["event"], line["payload"]) for line in lines]


def events(home: Path, host: str, name: str, file: str) -> list[Event]:
    lines = []
    for number, (event, payload) in enumerate(payloads(home, name, file)):
        content = json.dumps(payload).encode()
        lines.append(read_event(HookRecord(f"{number:04}", host, event, 1, "", "", len(content), "whole", content)))
    return [event for event in lines if event is not None]


@each
def test_hooks_are_told_prompts_commands_files_and_answers(home: Path, host: str, name: str, file: str) -> None:
    write_session(home, name, file)
    result = events(home, host, name, file)
    assert {event.session for event in result} == {SESSION}
    assert [event.kind for event in result if event.kind != "tool"] == [
        "session-start",
        "prompt",
        "stop",
        "session-end",
    ]
    # What a hook showed at the start of the session is no part of the prompt.
    assert next(event.text for event in result if event.kind == "prompt") == PROMPT
    assert next(event.text for event in result if event.kind == "stop").startswith(CAUSE)
    ran = [event for event in result if command_line(event) == COMMAND]
    assert [command_outcome(event, COMMAND, output_and_error(event, shell=True)[0]) for event in ran] == [
        "failed",
        "success",
    ]
    text, error = output_and_error(ran[0], shell=True)
    assert text.startswith(FAILURE) and FAILURE in error
    assert any((home / "shop" / "orders.py").as_posix() in named_files(event) for event in result)


@each
def test_every_event_that_is_connected_was_told(home: Path, host: str, name: str, file: str) -> None:
    hooks = hooks_of(host)
    assert hooks is not None
    # A session that is never compacted and has no sub-agents does not tell of them.
    rare = {"PreCompact", "SubagentStart", "SubagentStop"}
    assert {event for event, _payload in payloads(home, name, file)} - {"PreCompress"} == {*hooks.events} - rare


@each
def test_the_same_failure_later_is_told_what_helped(
    settings: Settings, memory: LocalMemory, home: Path, host: str, name: str, file: str
) -> None:
    write_session(home, name, file)
    for event, payload in payloads(home, name, file):
        put(settings, payload, event, host)
    drain_all(settings)
    (hint,) = failure_hints(memory, "shop", f"{FAILURE}\n1 failed, 1 passed in 0.01s", ())
    assert "Fixed before" in hint.line and CAUSE in hint.line and "orders.py" in hint.line
    assert not [item for item in items(memory, "observation") if "hook_context" in item.text]


@each_transcript
def test_a_transcript_is_one_turn_with_its_tools(home: Path, host: str, name: str, file: str) -> None:
    turns, read = reading(write_session(home, name, file), host)
    assert not read.counts.unknown
    (turn,) = turns
    assert [block.text for block in turn.blocks if block.kind == "text" and block.who == "user"] == [PROMPT]
    ran = [block for block in turn.blocks if block.kind == "tool_call" and block.command == COMMAND]
    assert len(ran) == 2
    (failed,) = (block for block in turn.blocks if block.kind == "tool_result" and FAILURE in block.text)
    assert FAILURE in failed.error
    assert any((home / "shop" / "orders.py").as_posix() in block.files for block in turn.blocks)
    assert turn.blocks[-1].text.startswith(CAUSE)
    calls = [block.call_id for block in turn.blocks if block.kind == "tool_call"]
    assert calls == [block.call_id for block in turn.blocks if block.kind == "tool_result"]


@each_transcript
def test_what_was_recalled_is_not_stored_again(
    memory: LocalMemory, home: Path, host: str, name: str, file: str
) -> None:
    path = write_session(home, name, file)
    ingest(memory, path)
    messages = items(memory, "message")
    assert [message.details["role"] for message in messages] == ["user", "assistant"]
    text = "\n".join(message.text for message in messages)
    assert "RECALLED" in path.read_text(encoding="utf-8") or name == "codex_scripts"
    assert "RECALLED" not in text and DECISION not in text and CAUSE in text
