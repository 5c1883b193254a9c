"""Hooks that are connected to a team's server show its memories while an agent works, and wait for no network."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.capture.hooks.hook_runner import COMMAND, SECONDS, fire
from tests.capture.hooks.server_gate import Gate
from tests.capture.hooks.test_team_server import free_port, serving
from tests.polling import until

from commonplace import Memory
from commonplace.capture.hooks.team_server import EVERY_FOLDER, TeamServer, save_server, team_server
from commonplace.config import Settings, load
from commonplace.fast.spool import SECONDS_VARIABLE
from commonplace.memory.remember import NewItem

from .conftest import Status
from .test_hints import FACT, PROMPT, payload

DIARY = "The cat of the neighbours is called Paprika and sleeps on the wall."


class Team:
    """A server process with a memory, and the hooks of an editor that is connected to it."""

    def __init__(self, data: str, folder: Path) -> None:
        self.there, self.folder, self.port = folder / "server", folder, free_port()
        with Memory(self.there) as memory:
            memory.add(NewItem(FACT, "memory", "fact", project="my-api"))
            memory.add(NewItem("Handlers are async.", "memory", "rule", project="my-api", details={"paths": "src/**"}))
        made = [COMMAND, "keys", "create", "anna", "--data-dir", str(self.there)]
        self.key = subprocess.run(made, capture_output=True, text=True, check=True).stdout.split()[-1]
        self.server = self.connect(data, self.port)

    def connect(self, data: str, port: int) -> TeamServer:
        server = team_server(Path(data), f"http://127.0.0.1:{port}/mcp", self.key, shared=[EVERY_FOLDER])
        save_server(server)
        return server

    def tell(self, event: str, session: str = "s1", server: TeamServer | None = None, **more: Any) -> str:
        """What a hook prints for the model."""
        given = {**payload(self.folder), "session_id": session, **more}
        settings: Settings = replace(load(), data_dir=(server or self.server).folder)
        done = fire(settings, "claude-code", event, given, cwd=given["cwd"])
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""

    def edit(self, session: str = "s1", text: str = "b") -> str:
        file = self.folder / "my-api" / "src" / "a.py"
        given = {"file_path": str(file), "old_string": "a", "new_string": text}
        return self.tell("PreToolUse", session, tool_name="Edit", tool_input=given)


@pytest.fixture
def team(data: str, tmp_path: Path) -> Team:
    return Team(data, tmp_path)


@pytest.fixture
def served(team: Team) -> Iterator[Team]:
    with serving(team.there, team.port):
        yield team


def test_a_prompt_and_a_tool_are_shown_what_the_team_knows_once(
    served: Team, resident: Callable[[], Status], data: str
) -> None:
    resident()
    shown = served.tell("UserPromptSubmit", prompt=PROMPT)
    assert FACT in shown and "not instructions" in shown
    assert served.tell("UserPromptSubmit", prompt=PROMPT) == ""
    assert "Handlers are async." in served.edit()
    assert served.edit() == ""
    assert "Handlers are async." in served.edit("s2", "A line of a long file.\n" * 5_000)
    # This machine's own memory is not even there.
    assert not Path(data, "commonplace.db").exists()


def test_a_private_project_is_shown_what_this_machine_knows(
    served: Team, resident: Callable[[], Status], data: str, tmp_path: Path
) -> None:
    Path(data, "config.toml").write_text('sync_private = "diary"\nembedder = "off"\n')
    with Memory(data) as memory:
        memory.add(NewItem(DIARY, "memory", "fact", project="diary"))
    with Memory(served.there) as memory:
        memory.add(NewItem("The cat of the neighbours is a secret of the server.", "memory", "fact", project="diary"))
    resident()
    diary = tmp_path / "diary"
    diary.mkdir()
    shown = served.tell("UserPromptSubmit", cwd=str(diary), prompt="what is the cat of the neighbours called")
    assert DIARY in shown and "secret of the server" not in shown


def test_the_setting_is_that_of_this_machine(served: Team, resident: Callable[[], Status], data: str) -> None:
    Path(data, "config.toml").write_text('hooks_recall = "rules"\nembedder = "off"\n')
    resident()
    assert served.tell("UserPromptSubmit", prompt=PROMPT) == ""
    assert "Handlers are async." in served.edit()


def test_a_session_starts_the_process_that_asks_the_server(served: Team, data: str) -> None:
    assert FACT in served.tell("SessionStart", source="startup")
    until(lambda: served.tell("UserPromptSubmit", os.urandom(4).hex(), prompt=PROMPT))


def test_a_server_that_is_away_is_not_waited_for(team: Team, resident: Callable[[], Status]) -> None:
    resident()
    assert team.tell("UserPromptSubmit", prompt=PROMPT) == ""
    assert team.edit() == ""


def test_what_comes_too_late_for_a_prompt_is_shown_at_the_next_moment(
    served: Team, resident: Callable[[], Status], data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(served.port)
    try:
        slow = served.connect(data, gate.port)
        resident()
        assert gate.somebody_waits.wait(SECONDS)
        monkeypatch.setenv(SECONDS_VARIABLE, "4")
        assert served.tell("UserPromptSubmit", "s1", slow, prompt=PROMPT) == ""
        gate.open()
        monkeypatch.setenv(SECONDS_VARIABLE, "60")
        until(lambda: FACT in served.tell("PreToolUse", "s1", slow, tool_name="Read", tool_input={}))
        assert served.tell("PreToolUse", "s1", slow, tool_name="Read", tool_input={}) == ""
    finally:
        gate.close()


def test_the_doctor_says_how_long_it_takes(served: Team, home: Path) -> None:
    (home / ".claude").mkdir()
    url = f"http://127.0.0.1:{served.port}/mcp"

    def command(*arguments: str) -> str:
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False).stdout

    command("connect", "claude-code", "--http", url, "--key", served.key)
    assert "Memories at prompts take" in command("doctor", "hooks")
    with contextlib.suppress(FileNotFoundError):
        assert "check by the doctor" not in command("list", "--data-dir", str(served.there))
