"""Hooks ask the resident process what to show: it answers for their settings, and its hints are told once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.capture.hooks.hook_runner import environment, fire
from tests.polling import until

from commonplace import Memory
from commonplace.config import Settings, load
from commonplace.fast.ask_resident import ask
from commonplace.fast.find_or_start import is_running
from commonplace.memory.remember import NewItem

from .conftest import Status

FACT = "Orders are retried with the same idempotency key for 24 hours."
PROMPT = "why are orders retried with the same idempotency key"


@pytest.fixture
def settings(data: str) -> Settings:
    """What a person and an agent kept before the session."""
    with Memory(data) as memory:
        memory.add(NewItem(FACT, "memory", "fact", project="my-api"))
        paths = {"paths": "src/api/**"}
        memory.add(NewItem("Handlers are async.", "memory", "rule", project="my-api", details=paths))
    return load()


def payload(folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "my-api" / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "my-api" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return {"session_id": "s1", "cwd": str(folder / "my-api"), **more}


def test_a_hook_asks_it_what_to_show(
    settings: Settings, resident: Callable[[], Status], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident()
    prompt = payload(tmp_path, prompt=PROMPT)
    first = fire(settings, "claude-code", "UserPromptSubmit", prompt)
    output = json.loads(first.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit" and FACT in output["additionalContext"]
    assert fire(settings, "claude-code", "UserPromptSubmit", prompt).stdout == b""
    off = environment(COMMONPLACE_HOOKS_RECALL="off")
    other = {**prompt, "session_id": "s2"}
    assert fire(settings, "claude-code", "UserPromptSubmit", other, env=off).stdout == b""
    # Nobody reads the store but the resident process.
    assert FACT in fire(settings, "kiro", "UserPromptSubmit", other).stdout.decode()


def test_hosts_that_are_shown_nothing_before_a_tool_are_shown_it_after(
    settings: Settings, resident: Callable[[], Status], tmp_path: Path
) -> None:
    resident()
    used = payload(tmp_path, tool_name="write_file", tool_input={"file_path": "src/api/a.py", "content": "x"})
    used["tool_response"] = {"llmContent": "written"}
    gemini = json.loads(fire(settings, "gemini", "AfterTool", used).stdout)["hookSpecificOutput"]
    assert "Handlers are async." in gemini["additionalContext"]
    assert fire(settings, "gemini", "AfterTool", used).stdout == b"{}\n"
    cursor = {**used, "conversation_id": "c", "workspace_roots": [used["cwd"]], "tool_name": "Write"}
    assert (
        "Handlers are async."
        in json.loads(fire(settings, "cursor", "postToolUse", cursor).stdout)["additional_context"]
    )


def test_hooks_start_one_for_the_next_hook(settings: Settings, data: str, tmp_path: Path) -> None:
    prompt = payload(tmp_path, prompt=PROMPT)
    assert FACT.encode() in fire(settings, "claude-code", "UserPromptSubmit", prompt).stdout
    until(lambda: ask("status", timeout_s=60))


def test_a_session_starts_one_too(settings: Settings, data: str, tmp_path: Path) -> None:
    fire(settings, "claude-code", "SessionStart", payload(tmp_path, source="startup"))
    until(lambda: ask("status", timeout_s=60))


def test_where_it_is_off_hooks_search_by_themselves(settings: Settings, data: str, tmp_path: Path) -> None:
    (Path(data) / "config.toml").write_text('resident = "off"\n', encoding="ascii")
    fire(settings, "claude-code", "SessionStart", payload(tmp_path, source="startup"))
    rule = payload(tmp_path, tool_name="Write", tool_input={"file_path": "src/api/a.py", "content": "x"})
    assert b"Handlers are async." in fire(settings, "claude-code", "PreToolUse", rule).stdout
    assert not is_running(data)
