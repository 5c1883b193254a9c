"""Two doors to the tools: a real server over HTTP, as agents use it, and the same tools in this process, to try things.

Both are asked alike, so that what is measured through one can be measured through the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from benchmarks.client import environment
from commonplace import config
from commonplace.config import KEY_FILE_NAME
from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import CommonplaceError
from commonplace.memory.background_tasks import BackgroundWorker
from commonplace.memory.local_memory import open_memory

TOOLS = {tool.name: tool for tool in tools_of("all")}
# Asking how far it is does not hurry it. If nothing was embedded for so long, nothing will be.
LOOK_SECONDS, STUCK_SECONDS = 0.25, 120.0
ANSWER_SECONDS = 120.0


class Refused(Exception):
    """A tool answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Door(Protocol):
    """Tools of one store."""

    def call(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        """The data of a tool's reply."""

    def until_understood(self) -> None:
        """Return when everything that was stored has its vectors, bounded by how long nothing may happen."""

    def close(self) -> None: ...


Opening = Callable[[Path], Door]
"""Opens a door to the store in a folder."""


class Served:
    """A `commonplace serve` process on a port of its own, called over MCP with the key that it made."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        command = [sys.executable, "-m", "commonplace", "serve", "--port", "0"]
        env = environment() | {"COMMONPLACE_DATA_DIR": str(data_dir)}
        env |= {f"COMMONPLACE_{name.upper()}": value for name, value in settings.items()}
        self._process = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self._process.stderr is not None
        # Where it is, and where its key is.
        greeting = self._process.stderr.readline() + self._process.stderr.readline()
        address = next((word for word in greeting.split() if word.startswith("http://")), None)
        if address is None:
            self._process.kill()
            raise RuntimeError(greeting + self._process.communicate()[1])
        self.port = urlsplit(address).port or 0
        self.key = (data_dir / KEY_FILE_NAME).read_text(encoding="utf-8").strip()
        self._connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        questions = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        answer = self._request("POST", "/mcp", questions)
        if "error" in answer:
            raise Refused(str(answer["error"]["code"]), answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            error = json.loads(result["content"][0]["text"])["error"]
            raise Refused(error["code"], error["message"])
        return dict(result["structuredContent"])

    def until_understood(self) -> None:
        least, since = sys.maxsize, time.monotonic()
        while waiting := self._waiting():
            if waiting < least:
                least, since = waiting, time.monotonic()
            elif time.monotonic() - since > STUCK_SECONDS:
                raise RuntimeError(f"{waiting} passages have waited for a vector for {STUCK_SECONDS:.0f} seconds")
            time.sleep(LOOK_SECONDS)

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.communicate(timeout=60)

    def _waiting(self) -> int:
        output = self._request("GET", "/health")
        state = str(output["model"]["state"])
        if state == "off" or state.startswith("failed"):
            raise RuntimeError(f"the model is {state}")
        return int(output["pending"])

    def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        output = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {output[:500]!r}")
        return dict(json.loads(output))


class InProcess:
    """The tools without a server. Quicker to start, and changed code can be tried in place."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.memory = open_memory(config.load({"data_dir": str(data_dir), **settings}, env={}))

    def call(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        try:
            return dict(TOOLS[tool].run(self.memory, arguments).data)
        except CommonplaceError as error:
            raise Refused(error.code, error.message) from error

    def until_understood(self) -> None:
        self.memory.embeddings.catch_up()
        # What a server does in the background: what stands next to an answer takes a part of the reply.
        background = BackgroundWorker(self.memory)
        while background.step():
            pass

    def close(self) -> None:
        self.memory.close()
