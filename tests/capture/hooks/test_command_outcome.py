"""How commands went, as each host tells it; what nobody tells is not made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commonplace.capture.hooks.drain import read_event
from commonplace.capture.hooks.observations import Observation, observe
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.hooks.working_folder import WorkingFolder
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.report import report
from commonplace.model import Scope

from .hook_sessions import Telling, only_item

HERE = WorkingFolder("/srv/code/my-api", "my-api", "/srv/code/my-api")
KIRO = {"exit_status": "1", "stdout": "", "stderr": "TS2304"}
GEMINI = "Command: npm run docs\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: (none)\n"
GEMINI += "Background PIDs: (none)\nProcess Group PGID: 123"


def notes(host: str, event: str, **payload: Any) -> Event:
    text = json.dumps(payload).encode()
    found = read_event(HookRecord("1", host, event, 1_742_049_000_000, "/here", "", len(text), "whole", text))
    assert found is not None
    return found


def ran(host: str, command: str, answer: object, tool: str = "Bash") -> Observation:
    name = "AfterTool" if host == "gemini" else "PostToolUse"
    return observe(notes(host, name, tool_name=tool, tool_input={"command": command}, tool_response=answer), HERE)


def in_cursor(command: str, **answer: object) -> Observation:
    return observe(notes("cursor", "afterShellExecution", conversation_id="c", command=command, **answer), HERE)


@pytest.mark.parametrize(
    "seen",
    [
        ran("kiro", "npm run build", {"success": True, "result": [KIRO]}),
        ran("kiro", "npm run build", {"success": True, "result": [{**KIRO, "exit_status": 1}]}),
        ran("kiro", "npm run build", {"success": True, "result": [json.dumps(KIRO)]}),
        ran("codex", "cargo test", "error: test failed\ntest result: FAILED. 1 passed; 2 failed"),
        ran("codex", "ls nowhere", {"output": "no such file", "metadata": {"exit_code": 2}}),
        ran("codex", "ls nowhere", json.dumps({"output": "no such file", "metadata": {"exit_code": 2}})),
        ran("codex", "cargo build", "Exit code: 101\nWall time: 1 seconds\nOutput:\nerror[E0382]: moved value"),
        ran("claude-code", "pytest", {"stdout": "E assert 1 == 2\n1 failed, 3 passed in 0.2s", "stderr": ""}),
        ran("claude-code", "npx tsc", {"stdout": "a.ts(1,2): error TS2304: Cannot find x", "stderr": ""}),
        ran("claude-code", "./gradlew build | tail -3", {"stdout": "BUILD FAILED in 3s", "stderr": ""}),
        ran("gemini", "npm run docs", {"llmContent": GEMINI.format("npm ERR! missing script", 1)}),
        in_cursor("pnpm test", output="Tests 3 failed | 4 passed"),
        in_cursor("deploy now", output="no", exit_code=3),
    ],
)
def test_a_failure_is_seen_wherever_it_is_told(seen: Observation) -> None:
    assert seen.title.startswith("Failed: ") and seen.narrative.endswith("(failed)") and seen.error
    assert not seen.succeeded and "(none)" not in seen.narrative and "{" not in seen.narrative


@pytest.mark.parametrize(
    "seen",
    [
        ran("kiro", "npm run build", {"success": True, "result": [{**KIRO, "exit_status": "0"}]}),
        ran("codex", "make", json.dumps({"output": "built", "metadata": {"exit_code": 0}})),
        ran("codex", "make", "Exit code: 0\nWall time: 1 seconds\nOutput:\nbuilt"),
        ran("codex", "cargo test | tail -3", "test result: ok. 12 passed; 0 failed; 0 ignored"),
        ran("claude-code", "make", {"stdout": "built", "stderr": "", "interrupted": False}),
        ran("gemini", "npm run docs", {"llmContent": GEMINI.format("docs built in 2s", 0)}),
        in_cursor("pnpm test", output="Tests  47 passed (47)"),
        in_cursor("deploy now", output="live", exit_code=0),
    ],
)
def test_a_success_is_told_if_it_is_known(seen: Observation) -> None:
    assert seen.narrative.endswith("(success)") and seen.succeeded and not seen.error


@pytest.mark.parametrize(
    "seen",
    [
        ran("codex", "npm run build", "bundling"),
        ran("kiro", "npm run build", {"success": True, "result": ["bundling"]}),
        ran("claude-code", "npm run build | tail -5", {"stdout": "bundling", "stderr": ""}),
        ran("claude-code", "npm run build", {"stdout": "bundling", "stderr": "", "interrupted": True}),
        ran("codex", "grep -rn failed logs", "logs/a: 3 failed logins"),
        in_cursor("npm run build", output="bundling"),
    ],
)
def test_what_is_not_known_is_not_told(seen: Observation) -> None:
    assert not seen.narrative.endswith(")") and not (seen.error or seen.succeeded)


def test_a_command_of_unknown_outcome_is_no_feat(memory: LocalMemory) -> None:
    telling = Telling("codex")
    telling.asks("Build it")
    telling.uses("shell", "bundling", command="npm run build")
    telling.stops("Done.")
    remember_events(memory, telling.events)
    assert "completed" not in only_item(memory).details and "next_steps" not in only_item(memory).details


@pytest.mark.parametrize(
    ("failing", "well"),
    [
        ("npm test", "cd /tmp && npm test"),
        ("npm test", "npm test 2>&1 | tail -5"),
        ("cd /srv/code/my-api && cargo build", "cargo build"),
        ("pytest tests/a.py", "CI=1 pytest tests/a.py -x"),
    ],
)
def test_what_was_mended_in_another_dress_does_not_fail_still(memory: LocalMemory, failing: str, well: str) -> None:
    telling = Telling()
    telling.asks("Mend it please")
    telling.fails("Bash", "Error: boom", command=failing)
    telling.uses("Bash", {"stdout": "47 passed", "stderr": ""}, command=well)
    telling.stops("Fixed.")
    remember_events(memory, telling.events)
    assert "next_steps" not in only_item(memory).details
    (failure,) = report(memory, Scope(), telling.events[0].at_ms, telling.at_ms + 1).failures
    assert failure.fixed_ms is not None
