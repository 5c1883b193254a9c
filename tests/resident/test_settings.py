"""Every setting of the file holds while a resident process runs, also for what it does by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.capture.hooks.hook_runner import fire, names
from tests.polling import until

from commonplace.config import Settings, load
from commonplace.fast.ask_resident import ask
from commonplace.fast.context_cache import cached_contexts
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_item
from commonplace.model import Item, Scope
from commonplace.resident_process.memories_and_commands import OF_THE_CALLER

from .conftest import Status
from .test_stdio_front_end import Window

LIKES = "I prefer small pull requests over big ones"
PREFERS = "I prefer a table of what the importer did"
RULE = "Always run the migrations before the tests of the importer"
FILE = """
author = "Ada Lovelace"
profile = "core"
project = "billing"
agent_memories = "proposed"
mcp_max_response = 2048
opening_tokens = {tokens}
hooks_recall = "off"
user_profile = "off"
max_body_mb = 1
"""


@pytest.fixture
def settings(data: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    folder = Path(data)
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(FILE.format(tokens=600), encoding="utf-8")
    return load()


@pytest.fixture
def window(settings: Settings, resident: Callable[[], Status]) -> Iterator[Window]:
    resident()
    one = Window()
    one.greet()
    yield one
    one.kill()


@pytest.fixture
def memory(settings: Settings) -> Iterator[LocalMemory]:
    opened = open_memory(settings)
    yield opened
    opened.close()


def captured(memory: LocalMemory) -> list[Item]:
    return memory.store.newest(Scope(kinds=("observation", "summary")), 100)


def a_turn(settings: Settings, folder: Path, session: str) -> None:
    def tell(event: str, **more: Any) -> None:
        fire(settings, "claude-code", event, {"session_id": session, "cwd": str(folder), **more})

    tell("SessionStart", source="startup")
    tell("UserPromptSubmit", prompt=f"Make the importer of the billing module faster. {RULE}.")
    ran = {"stdout": "done in 3 s", "stderr": "", "interrupted": False}
    tell("PostToolUse", tool_name="Bash", tool_input={"command": "make bench"}, tool_response=ran)
    tell("Stop", last_assistant_message="The importer was slow because it read the file twice. I made it read it once.")
    until(lambda: not names(settings))


def shown_at_start(settings: Settings, folder: Path, session: str) -> str:
    payload = {"session_id": session, "cwd": str(folder), "source": "startup"}
    output = fire(settings, "claude-code", "SessionStart", payload).stdout
    return json.loads(output)["hookSpecificOutput"]["additionalContext"] if output else ""


def test_what_it_does_by_itself_follows_the_file(
    settings: Settings, window: Window, memory: LocalMemory, tmp_path: Path
) -> None:
    said = window.call("add_memory", content=LIKES, type="heuristic")
    assert said
    remember_item(memory, NewItem(PREFERS, type="heuristic"))
    folder = tmp_path / "billing"
    folder.mkdir()
    a_turn(settings, folder, "s1")

    # author
    until(lambda: bool(captured(memory)))
    assert {item.author for item in captured(memory)} == {"Ada Lovelace via claude-code"}
    # user_profile: the context was made by the resident process, before anybody asked
    until(lambda: any(of == str(folder) for _path, _stamp, of, _session in cached_contexts(str(settings.data_dir))))
    start = shown_at_start(settings, folder, "s2")
    assert "importer" in start and PREFERS not in start
    assert PREFERS not in str(window.call("get_context", query="What do I prefer in the importer?"))

    # opening_tokens, changed while it runs
    Path(settings.data_dir, "config.toml").write_text(FILE.format(tokens=0), encoding="utf-8")
    a_turn(settings, folder, "s3")
    until(lambda: shown_at_start(settings, folder, "s4") == "")


def test_what_a_caller_asks_follows_the_file(settings: Settings, window: Window, memory: LocalMemory) -> None:
    window.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    tools = {tool["name"] for tool in window.read()["result"]["tools"]}
    # profile
    assert len(tools) < 20
    # agent_memories
    window.call("add_memory", content=RULE, type="rule")
    (rule,) = memory.store.newest(Scope(kinds=("memory",)), 5)
    assert rule.review == "proposed"
    assert (rule.author or "").startswith("Ada Lovelace via")
    # hooks_recall
    payload = {"session_id": "s9", "cwd": "/src/billing", "prompt": "What has to run before the tests of the importer?"}
    assert fire(settings, "claude-code", "UserPromptSubmit", payload).stdout == b""
    # max_body_mb
    window.send(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x", "arguments": "x" * (2 << 20)}}
    )
    assert "error" in window.read()
    assert ask("status", timeout_s=60) is not None


def test_each_setting_of_a_caller_is_tried_here() -> None:
    """`mcp_max_response` only matters to the profile `ecm`, the log's settings to `serve`, a project to its window."""
    tried = {"author", "user_profile", "opening_tokens", "profile", "agent_memories", "hooks_recall", "max_body_mb"}
    assert set(OF_THE_CALLER) == tried | {"project", "mcp_max_response", "log_format", "log_level"}
