"""A developer's desk: a home, repositories, an editor as `connect` set it up, and the real processes behind it.

Nothing here knows how Commonplace works inside. Commands are run, hooks are fired with the command lines that stand in
the editor's settings, and tools are called by a client of the official SDK over the server that the settings name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.from_thread
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.polling import until

COMMAND = str(Path(sys.executable).with_name("commonplace.exe" if sys.platform == "win32" else "commonplace"))
SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.out)


class Desk:
    """One person's machine."""

    def __init__(self, folder: Path, name: str, **settings: str) -> None:
        self.folder, self.name = folder, name
        self.home, self.data = folder / "home", folder / "data"
        self.home.mkdir(parents=True)
        inherited = {
            key: os.environ[key] for key in ("PATH", "PYTHONPATH", "SYSTEMROOT", "TMPDIR") if key in os.environ
        }
        # Nothing is given up because the machine is busy. The model and the resident process are on, as usual.
        self.env = {
            **inherited, "HOME": str(self.home), "USERPROFILE": str(self.home), "USER": name, "LOGNAME": name,
            "COMMONPLACE_DATA_DIR": str(self.data), "COMMONPLACE_HOOKS_SECONDS": "60",
            "COMMONPLACE_RESIDENT_SECONDS": "60", "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", **settings,
        }  # fmt: skip

    def repository(self, name: str, remote: str = "") -> Path:
        """A repository with a commit."""
        path = self.home / "src" / name
        path.mkdir(parents=True)
        self._git(path, "init", "-q", "-b", "main")
        (path / "README.md").write_text(f"# {name}\n", encoding="utf-8")
        self._git(path, "add", "-A")
        self._git(path, "commit", "-q", "-m", "First commit")
        if remote:
            self._git(path, "remote", "add", "origin", remote)
        return path

    def run(self, *arguments: str, where: Path | None = None, stdin: str = "", **env: str) -> Outcome:
        """Run `commonplace` in a folder, as a person in a terminal or, with an agent's variable, as that agent."""
        done = subprocess.run(
            [COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=where or self.home,
            env={**self.env, **env},
            timeout=SECONDS,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def do(self, *arguments: str, where: Path | None = None, stdin: str = "", **env: str) -> str:
        """Run a command that has to succeed; what it printed."""
        outcome = self.run(*arguments, where=where, stdin=stdin, **env)
        assert outcome.code == 0, (arguments, outcome)
        return outcome.out

    def json(self, *arguments: str, where: Path | None = None) -> Any:
        return json.loads(self.do(*arguments, "--json", where=where))

    def drain(self) -> None:
        """Store what hooks have captured until nothing waits."""
        until(lambda: self.run("drain").code == 0 and not self._waiting(), SECONDS)

    def _waiting(self) -> bool:
        return bool(self.json("status").get("hooks", {}).get("waiting", 0))

    def session(self, repository: Path, name: str) -> Session:
        """A session of the editor in a repository."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        return Session(self, repository, name, settings["hooks"])

    @contextlib.contextmanager
    def window(self, repository: Path) -> Iterator[Window]:
        """An editor's window: the server that its settings name, started in a repository."""
        named = json.loads((self.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["commonplace"]
        server = StdioServerParameters(
            command=named["command"], args=named["args"], env={**self.env, **named["env"]}, cwd=repository
        )
        with (
            (self.folder / "windows.txt").open("a", encoding="utf-8") as errors,
            anyio.from_thread.start_blocking_portal() as portal,
            portal.wrap_async_context_manager(Client(stdio_client(server, errlog=errors), cache=None)) as client,
        ):
            yield Window(client, portal.call)

    def leave(self) -> None:
        """Stop what runs for this desk."""
        self.run("stop")

    def _git(self, path: Path, *arguments: str) -> None:
        who = ["-c", f"user.name={self.name}", "-c", f"user.email={self.name}@example.com"]
        subprocess.run(["git", *who, *arguments], cwd=path, check=True, capture_output=True, env=self.env)


@dataclass
class Window:
    """The tools that an agent has in one window."""

    client: Client
    _call: Callable[..., Any]

    @property
    def instructions(self) -> str:
        return self.client.instructions or ""

    def call(self, tool: str, **arguments: Any) -> str:
        """The text that the agent is given; a call that fails fails the test."""
        result = self._result(tool, arguments)
        assert not result.is_error, (tool, arguments, result)
        return self._text(result)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of an error."""
        result = self._result(tool, arguments)
        assert result.is_error, (tool, arguments, result)
        return self._text(result)

    def _result(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        result = self._call(self.client.call_tool, tool, arguments)
        assert isinstance(result, types.CallToolResult)
        return result

    def _text(self, result: types.CallToolResult) -> str:
        return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@dataclass
class Session:
    """A session of Claude Code: what it tells its hooks, and what they tell the agent."""

    desk: Desk
    repository: Path
    name: str
    hooks: dict[str, list[dict[str, Any]]]
    agent: dict[str, str] = field(default_factory=dict)

    def start(self, source: str = "startup") -> str:
        return self.fire("SessionStart", source=source)

    def prompt(self, text: str) -> str:
        return self.fire("UserPromptSubmit", prompt=text, permission_mode="default")

    def before(self, tool: str, **given: Any) -> str:
        """What is told before a tool is used."""
        return self.fire("PreToolUse", tool_name=tool, tool_input=self._input(given), permission_mode="default")

    def after(self, tool: str, output: Any = "", **given: Any) -> str:
        """What is told after a tool was used with success."""
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        if tool != "Bash":
            response = {"type": "create", "filePath": str(self.repository / str(given.get("file_path", "")))}
        return self.fire("PostToolUse", tool_name=tool, tool_input=self._input(given), tool_response=response)

    def failed(self, tool: str, error: str, **given: Any) -> str:
        """What is told after a tool failed."""
        more = {"error": error, "is_interrupt": False}
        return self.fire("PostToolUseFailure", tool_name=tool, tool_input=self._input(given), **more)

    def bash(self, command: str, output: str = "") -> str:
        """A command that succeeds: what is told before it runs."""
        told = self.before("Bash", command=command)
        self.after("Bash", output, command=command)
        return told

    def write(self, path: str, content: str) -> str:
        """A file that is written: what is told before."""
        told = self.before("Write", file_path=path, content=content)
        self.after("Write", file_path=path, content=content)
        return told

    def answer(self, text: str) -> None:
        """The agent answers, and its turn ends."""
        self.fire("Stop", stop_hook_active=False, last_assistant_message=text)

    def end(self) -> None:
        """The session ends, and what was captured is stored."""
        self.fire("SessionEnd", reason="exit")
        self.desk.drain()

    def subagent(self, name: str) -> Session:
        """A sub-agent of this session."""
        return Session(self.desk, self.repository, self.name, self.hooks, {"agent_id": name, "agent_type": "general"})

    def fire(self, event: str, **more: Any) -> str:
        """Run every hook that the settings have for an event; the text that the agent is given, if any."""
        payload = {
            "session_id": self.name, "cwd": str(self.repository), "hook_event_name": event,
            "transcript_path": str(self.desk.home / ".claude" / "projects" / f"{self.name}.jsonl"),
            **self.agent, **more,
        }  # fmt: skip
        told = [self._run(hook["command"], payload) for group in self._groups(event, more) for hook in group["hooks"]]
        return "\n".join(filter(None, told))

    def _groups(self, event: str, more: dict[str, Any]) -> list[dict[str, Any]]:
        """The groups of an event whose matcher names the tool."""
        tool = more.get("tool_name", "")
        return [
            one
            for one in self.hooks.get(event, [])
            if not tool or not one.get("matcher") or tool in one["matcher"].split("|")
        ]

    def _run(self, command: str, payload: dict[str, Any]) -> str:
        done = subprocess.run(
            shlex.split(command),
            input=json.dumps(payload).encode(),
            capture_output=True,
            cwd=self.repository,
            env=self.desk.env,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done
        assert done.stderr == b"", done
        return _context(done.stdout.decode())

    def _input(self, given: dict[str, Any]) -> dict[str, Any]:
        path = given.get("file_path")
        return {**given, "file_path": str(self.repository / path)} if path else given


def _context(printed: str) -> str:
    """What a hook adds to the conversation: its plain text, or the field of its JSON."""
    with contextlib.suppress(ValueError):
        output = json.loads(printed)
        if isinstance(output, dict):
            return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))
    return printed
