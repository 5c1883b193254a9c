"""The whole site over the memory of this process, called without a socket: any request, and the answer to it."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

from commonplace.http_server.application import application
from commonplace.memory import api_keys
from fuzzing import workspace


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class FuzzServer:
    """The site with its lifespan begun, and a loop of its own."""

    def __init__(self) -> None:
        memory = workspace.memory()
        self.key = api_keys.create_key(memory, "fuzzing", "admin")[1]
        self._app = application(lambda: memory, workspace.settings(), apart=False)
        self._loop = asyncio.new_event_loop()
        self._readable: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._began, self._ended = asyncio.Event(), asyncio.Event()
        self._life = self._loop.create_task(self._live())
        self._loop.run_until_complete(self._began.wait())

    def call(self, method: str, address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """What the site answers."""
        return self._loop.run_until_complete(self._call(method, address, body, headers))

    def close(self) -> None:
        self._ended.set()
        self._loop.run_until_complete(self._life)
        self._loop.close()

    async def _live(self) -> None:
        async def receive() -> dict[str, Any]:
            if self._began.is_set():
                await self._ended.wait()
                return {"type": "lifespan.shutdown"}
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._began.set()

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)

    async def _call(self, method: str, address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        path, _, query = address.partition("?")
        given = {"host": "127.0.0.1:8765", "authorization": f"Bearer {self.key}", **headers}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in given.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8_765),
            "state": {},
        }
        request, over = False, asyncio.Event()
        status, output, parts = 0, dict[str, str](), list[bytes]()

        async def receive() -> dict[str, Any]:
            nonlocal request
            if request:
                await over.wait()
                return {"type": "http.disconnect"}
            request = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                output.update({name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]})
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    over.set()

        await self._app(scope, receive, send)
        return Answer(status, output, b"".join(parts))


@cache
def fuzz_server() -> FuzzServer:
    made = FuzzServer()
    atexit.register(made.close)
    return made
