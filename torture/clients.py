"""Voices: processes that write through each of the doors until they are killed, and who takes down their answers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Any
from urllib.parse import urlsplit

from commonplace.config import KEY_FILE_NAME
from torture.workspace import TIMEOUT, Workspace
from torture.writers import text_of

PROTOCOL = "2025-11-25"


def _until(true: Callable[[], bool]) -> None:
    end, pause = time.monotonic() + TIMEOUT, threading.Event()
    while not true() and time.monotonic() < end:
        pause.wait(0.05)


class ClientEnded(Exception):
    """The process is not there any more."""


class Unanswered(Exception):
    """The process that worked on a call was killed: it may have been done or not."""


class Client(ABC):
    """One process, and a thread that speaks with it."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.name = workspace, name
        self.random = Random(f"{workspace.random.random()}{name}")
        self.answers, self._dead, self._over = 0, False, False
        self.process: subprocess.Popen[bytes] = self.begun()
        self._news = threading.Condition()
        self._stop = threading.Event()
        self._mine: list[str] = []
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    @abstractmethod
    def begun(self) -> subprocess.Popen[bytes]:
        """Start the process."""

    @abstractmethod
    def speak(self) -> None:
        """Ask for one thing, and take down the answer; Gone if there is none."""

    def dies_after(self, answers: int, delay: float) -> None:
        """Kill it a moment after so many answers, or when it ends by itself."""
        self.wait_for(answers)
        timer = threading.Timer(delay, self.die)
        timer.start()
        self.ended()
        timer.cancel()

    def wait_for(self, answers: int) -> None:
        """Until it had so many, or ended."""
        with self._news:
            self._news.wait_for(lambda: self.answers >= answers or self._over, TIMEOUT)

    def die(self) -> None:
        self._dead = True
        self.workspace.kill(self.process)

    def _is_dead(self) -> bool:
        return self._dead

    def stop(self) -> None:
        """Let it finish what it does, and end as it should."""
        self._stop.set()

    def ended(self) -> None:
        self._thread.join(TIMEOUT)
        self.process.wait(TIMEOUT)

    def answered(self) -> None:
        with self._news:
            self.answers += 1
            self._news.notify_all()

    def refused(self, output: object) -> None:
        self.workspace.outcome.refused.append(f"{self.name}: {str(output)[:400]}")
        self.answered()

    def _live(self) -> None:
        try:
            while not self._stop.is_set():
                self.speak()
            self.farewell()
        except (ClientEnded, OSError, HTTPException, ValueError) as error:
            if not self._dead:
                self.refused(f"it broke off: {error!r}")
                self.workspace.kill(self.process)
        finally:
            self.hang_up()
            with self._news:
                self._over = True
                self._news.notify_all()

    def hang_up(self) -> None:  # noqa: B027 - most have nothing open but the pipes, which belong to the arena
        """Close what we have open, however it ended."""

    def farewell(self) -> None:
        """How it is told to end: it has nothing more to read."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise ClientEnded
        return line.decode()

    def converse(
        self, add: Callable[[str], str], edit: Callable[[str, str], Any], forget: Callable[[str], Any]
    ) -> None:
        """One write of any sort, through a door that has these three."""
        text = text_of(self.random, self.name, self.answers + 1)
        writer = self.random.choice(("add", "add", "add", "edit", "forget")) if self._mine else "add"
        ledger = self.workspace.ledger
        if writer == "add":
            uid = add(text)
            self._mine.append(uid)
            ledger.is_(uid, text)
        else:
            uid = self.random.choice(self._mine)
            if writer == "forget":
                self._mine.remove(uid)
            state = text if writer == "edit" else None
            ledger.may_be(uid, state)
            if writer == "edit":
                edit(uid, text)
            else:
                forget(uid)
            ledger.is_(uid, state)
        self.answered()


class WriterClient(Client):
    """A process that uses the store itself (writers.py)."""

    writer = "write"

    def begun(self) -> subprocess.Popen[bytes]:
        more = ("0", str(self.random.random())) if self.writer == "write" else ()
        return self.workspace.start("torture.writers", self.writer, self.name, *more)

    def speak(self) -> None:
        output = self.workspace.ledger.hear(self._line())
        if "refused" in output:
            self.refused(output)
        elif "unavailable" in output:
            self.workspace.outcome.count("told to be unavailable")
        elif "may" not in output:
            self.answered()

    def farewell(self) -> None:
        """What it said and nobody has heard yet counts, too."""
        self.process.kill()
        with contextlib.suppress(ClientEnded):
            while True:
                self.speak()


class ReaderClient(WriterClient):
    """A process that reads. If what it reads contradicts itself, it ends."""

    writer = "read"

    def ended(self) -> None:
        super().ended()
        if self.process.returncode == 1:
            self.workspace.outcome.unsound.append(f"{self.name} read what contradicts itself")
        self.workspace.outcome.count("reads", self.answers)


class AddCommands(Client):
    """`commonplace add`, one after the other."""

    def begun(self) -> subprocess.Popen[bytes]:
        self._text = text_of(self.random, self.name, self.answers + 1)
        return self.workspace.start("commonplace", "add", self._text, "--json")

    def speak(self) -> None:
        assert self.process.stdout is not None
        output = self.process.stdout.read()
        if self.process.wait(TIMEOUT) < 0:
            with contextlib.suppress(ValueError, KeyError):
                self.workspace.ledger.is_(json.loads(output)["uid"], self._text)
            raise ClientEnded
        answer = json.loads(output)
        if "uid" not in answer:
            self.refused(answer)
        else:
            self.workspace.ledger.is_(answer["uid"], self._text)
            self.answered()
        if self._is_dead():
            raise ClientEnded
        self.process = self.begun()
        if self._is_dead():
            self.die()


class EditorClient(Client):
    """An editor with its own `commonplace mcp`."""

    _requests = 0

    def begun(self) -> subprocess.Popen[bytes]:
        return self.workspace.start("commonplace", "mcp")

    def speak(self) -> None:
        self.greet()
        with contextlib.suppress(Unanswered):
            self._write_or_search()

    def _write_or_search(self) -> None:
        if self.random.random() < 0.2:
            self._call(
                "search", query=" ".join(self.random.choices(self.workspace.ledger.live()[-3:] or ["amber"], k=1))
            )
            self.workspace.outcome.count("reads")
        self.converse(
            lambda text: str(self._call("add_memory", content=text)["uid"]),
            lambda uid, text: self._call("edit_memory", id=uid, content=text),
            lambda uid: self._call("forget_memory", id=uid),
        )

    def greet(self) -> None:
        """Begin the session, once."""
        if not self._requests:
            client = {"name": "torture", "version": "1"}
            self._request("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=client)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = self._request("tools/call", name=tool, arguments=arguments)
        if result.get("told", {}).get("error", {}).get("data", {}).get("code") == "INTERRUPTED":
            self.workspace.outcome.count("interrupted")
            raise Unanswered
        if result.get("isError"):
            self.refused(result)
            raise ClientEnded
        return dict(result["structuredContent"])

    def _request(self, method: str, **params: object) -> dict[str, Any]:
        self._requests += 1
        self._send({"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params})
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._requests:
                return dict(answer.get("result") or {"isError": True, "told": answer})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


class HttpClient(Client):
    """Somebody who calls a `commonplace serve` over REST."""

    _connection: HTTPConnection | None = None

    def begun(self) -> subprocess.Popen[bytes]:
        return self.workspace.start("commonplace", "serve", "--port", "0", stderr=subprocess.PIPE)

    def speak(self) -> None:
        self.connected()
        self.converse(
            lambda text: str(self._ask("POST", "", {"content": text})["uid"]),
            lambda uid, text: self._ask("PATCH", f"/{uid}", {"content": text}),
            lambda uid: self._ask("DELETE", f"/{uid}"),
        )

    def connected(self) -> HTTPConnection:
        if self._connection is None:
            self._connection = HTTPConnection(self._address(), timeout=TIMEOUT)
        return self._connection

    def farewell(self) -> None:
        self.process.terminate()

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _address(self) -> str:
        assert self.process.stderr is not None
        greeting = self.process.stderr.readline().decode()
        address = next((word for word in greeting.split() if word.startswith("http://")), None)
        if address is None:
            raise ClientEnded
        self.process.stderr.readline()
        file = self.workspace.data / KEY_FILE_NAME
        # Another server, which started at the same moment, may be about to write it.
        _until(file.exists)
        self._key = file.read_text(encoding="utf-8").strip()
        return urlsplit(address).netloc

    def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        assert self._connection is not None
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1/items{path}", sent, headers)
        answer = self._connection.getresponse()
        output: dict[str, Any] = json.loads(answer.read())
        if answer.status >= 400:
            self.refused(output)
            raise ClientEnded
        return output
