"""A team: servers behind one address, the machine they run on, and a desk for each member."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import anyio.from_thread
import httpx2
from tests.mcp.conftest import Served, keyed
from tests.polling import until

from .desk import SECONDS, Desk, Outcome, Session, Window

SPACE = "team"
REPOSITORIES = ("shop-api", "shop-web")


class Balancer:
    """One address in front of servers: each connection goes to the next of those that listen."""

    def __init__(self) -> None:
        self.servers: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads: list[Thread] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._start(self._accept)

    def close(self) -> None:
        """Callers and servers are gone by now."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(SECONDS)

    def _start(self, run: Callable[..., None], *given: socket.socket) -> Thread:
        thread = Thread(target=run, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._start(self._connect, connection)

    def _connect(self, caller: socket.socket) -> None:
        with caller:
            server = self._next_server()
            if server is not None:
                with server:
                    replies = self._start(_copy, server, caller)
                    _copy(caller, server)
                    replies.join()

    def _next_server(self) -> socket.socket | None:
        for port in list(self.servers):
            self.servers.append(self.servers.pop(0))
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", port))
        return None


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what one says, until either is gone; then the other goes, too."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


class Team:
    """The servers of a team, and who has which key."""

    def __init__(self, folder: Path, engine: str, database: str = "") -> None:
        self.folder, self.engine = folder, engine
        self.balancer = Balancer()
        self.url = self.balancer.url
        # On a server nothing but the team's space is used; no editor works there.
        more = {"COMMONPLACE_RESIDENT": "off", "COMMONPLACE_AGENT_MEMORIES": "proposed"}
        if database:
            more["COMMONPLACE_DATABASE_URL"] = database
        self.machines = [Desk(folder / f"server-{n}", "root", **more) for n in range(2 if database else 1)]
        self.running: dict[int, Served] = {}
        # The latest key of each person, and what they were told to do with it.
        self.keys: dict[str, str] = {}
        self.advice: dict[str, str] = {}
        self.members: list[Member] = []

    @property
    def machine(self) -> Desk:
        return self.machines[0]

    def serve(self) -> None:
        """Start the servers that do not run."""
        for number, machine in enumerate(self.machines):
            if number not in self.running:
                more = {name: value for name, value in machine.env.items() if name.startswith("COMMONPLACE_")}
                del more["COMMONPLACE_DATA_DIR"]
                server = Served(machine.folder, "--port", "0", **{**more, "COMMONPLACE_EMBEDDER": "builtin"})
                self.running[number] = server
        self.balancer.servers = [int(server.url.rpartition(":")[2]) for server in self.running.values()]

    def stop(self) -> None:
        """Stop all servers."""
        for number in list(self.running):
            code, log = self.running.pop(number).end()
            assert code == 0, log
        self.balancer.servers = []

    def kill(self, number: int) -> None:
        """One server is gone without a word."""
        self.running.pop(number).end(signal.SIGKILL)

    def invite(self, name: str, *options: str) -> None:
        """A key of the team's space for somebody."""
        invited = self.machine.run("spaces", "invite", SPACE, name, *options)
        assert invited.code == 0, invited
        self.keys[name], self.advice[name] = invited.out.strip(), invited.err

    def key_id(self, name: str) -> str:
        """The number of somebody's latest key."""
        known = self.machine.json("spaces", "people", SPACE)["keys"]
        return next(str(key["id"]) for key in known if self.keys[name].startswith(key["prefix"]))

    def member(self, name: str, **settings: str) -> Member:
        member = Member(self, name, **settings)
        self.members.append(member)
        return member

    def ask(self, who: str, method: str, path: str, headers: Any = None, **more: Any) -> httpx2.Response:
        """A request over REST with somebody's key."""
        sent = {"authorization": f"Bearer {self.keys[who]}", **(headers or {})}
        return httpx2.request(method, f"{self.url}/api/v1{path}", headers=sent, timeout=SECONDS, **more)

    def refused_everywhere(self, who: str) -> bool:
        """Whether every server refuses somebody's key: each remembers for seconds that it was valid."""
        sent = {"authorization": f"Bearer {self.keys[who]}"}
        addresses = [f"{server.url}/api/v1/status" for server in self.running.values()]
        return all(httpx2.get(one, headers=sent, timeout=SECONDS).status_code == 401 for one in addresses)

    def items(self, text: str, who: str = "lead", **query: str) -> list[dict[str, Any]]:
        """The items in the team's memory that contain a text."""
        listed = self.ask(who, "GET", "/items", params={"limit": "200", **query}).json()["items"]
        return [one for one in listed if text in one["content"]]

    def end(self) -> None:
        for member in self.members:
            member.leave()
        for server in self.running.values():
            server.end()
        self.balancer.close()


class Member(Desk):
    """The machine of somebody on a team."""

    def __init__(self, team: Team, name: str, **settings: str) -> None:
        super().__init__(team.folder / name, name, **settings)
        self.team = team
        (self.home / ".claude").mkdir()
        self.api, self.web = (self.repository(one, f"git@github.com:acme/{one}.git") for one in REPOSITORIES)

    @property
    def key(self) -> str:
        return self.team.keys[self.name]

    def connect(self, key: str = "", *more: str) -> Outcome:
        return self.run("connect", "claude-code", "--http", self.team.url, "--key", key or self.key, *more)

    def work(self, repository: Path) -> TeamSession:
        """A new session of the editor in a repository."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        return TeamSession(self, repository, str(uuid4()), settings["hooks"])

    def turn(self, repository: Path, prompt: str, answer: str) -> str:
        """A session with one prompt, until the server has it; what was told at its start."""
        told = self.turn_unsent(repository, prompt, answer)
        self.send()
        return told

    def turn_unsent(self, repository: Path, prompt: str, answer: str) -> str:
        session = self.work(repository)
        told = session.start()
        session.prompt(prompt)
        session.answer(answer)
        session.fire("SessionEnd", reason="exit")
        return told

    def wait_for_hints(self) -> None:
        """Until the process is there that asks the server for hints; the start of a session starts it."""
        until(lambda: self.json("status")["resident"])

    def send(self) -> None:
        """Send what hooks have captured until nothing waits."""
        until(lambda: not self.waiting())

    def waiting(self) -> int:
        """How many events the server still has not got, after another try."""
        said = self.do("drain")
        left = re.search(r"(\d+) still waiting", said)
        return int(left[1]) if left else 0

    def kept(self, name: str) -> list[Path]:
        """What this machine keeps of the server in a folder, such as contexts."""
        return [path for path in self.data.glob(f"teams/*/{name}/*") if path.is_file()]

    @contextlib.contextmanager
    def window(self, repository: Path) -> Iterator[Window]:
        """An editor's window: a client of the server that its settings name, over HTTP."""
        named = json.loads((self.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["commonplace"]
        key = named["headers"]["Authorization"].removeprefix("Bearer ")
        with (
            anyio.from_thread.start_blocking_portal() as portal,
            portal.wrap_async_context_manager(keyed(named["url"], key)) as client,
        ):
            yield Window(client, portal.call)


class TeamSession(Session):
    """A session that also knows what a hook refuses."""

    def refused(self, tool: str, **given: Any) -> str:
        """Why an agent may not use a tool here; empty if it may."""
        payload = {
            "session_id": self.name, "cwd": str(self.repository), "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": given,
        }  # fmt: skip
        reasons = []
        for group in self.hooks["PreToolUse"]:
            if re.fullmatch(group["matcher"], tool):
                decisions = [self._decision(hook["command"], payload) for hook in group["hooks"]]
                reasons += [one["permissionDecisionReason"] for one in decisions if one.get("permissionDecision")]
        return "\n".join(reasons)

    def _decision(self, command: str, payload: dict[str, Any]) -> dict[str, Any]:
        """What a hook says about whether a tool may be used."""
        done = subprocess.run(
            shlex.split(command), input=json.dumps(payload), capture_output=True, text=True, encoding="utf-8",
            cwd=self.repository, env=self.desk.env, timeout=SECONDS, check=True,
        )  # fmt: skip
        said: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        assert said.get("permissionDecision", "deny") == "deny", said
        return said
