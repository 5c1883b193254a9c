"""Hostile callers at a real server while others read and write: nobody else is refused, and nothing is lost."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import io
import json
import socket
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from commonplace.config import KEY_FILE_NAME
from commonplace.memory import api_keys
from torture.checks import check_all
from torture.workspace import TIMEOUT, Workspace

SILENT, UPLOADS, WRITES = 306, 4, 10
TALK = b"User: a\nAI: b\n" * 20_000


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and keys to it."""

    port: int
    admin: str
    hostile: str
    honest: str

    def call(
        self, method: str, path: str, headers: dict[str, str], body: bytes | str | None = None
    ) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)


@contextlib.contextmanager
def serving(workspace: Workspace) -> Iterator[Server]:
    process = workspace.start("commonplace", "serve", "--port", "0", stderr=subprocess.PIPE)
    assert process.stderr is not None
    greeting = process.stderr.readline().decode()
    process.stderr.readline()
    drained = threading.Thread(target=process.stderr.read, daemon=True)
    drained.start()
    address = next(word for word in greeting.split() if word.startswith("http://"))
    with workspace.memory() as memory:
        made = [api_keys.create_key(memory, name, "write")[1] for name in ("hostile", "honest")]
    admin = (workspace.data / KEY_FILE_NAME).read_text(encoding="utf-8").strip()
    try:
        yield Server(urlsplit(address).port or 0, admin, *made)
    finally:
        process.terminate()
        process.wait(TIMEOUT)
        drained.join(TIMEOUT)


def hostile(workspace: Workspace) -> None:
    """Attack after attack; during each of them others write, read and ask over MCP."""
    with serving(workspace) as server:
        for round_ in range(workspace.effort):
            for name, attack in ATTACKS.items():
                with attack(workspace, server):
                    _others(workspace, server, f"round {round_}, {name}")
                workspace.outcome.count(name)
    check_all(workspace, "after the attacks")


def _others(workspace: Workspace, server: Server, when: str) -> None:
    headers = _headers(server.honest)
    for n in range(WRITES):
        content = f"Written by somebody honest, {when}, {n}"
        status, output = server.call("POST", "/api/v1/items", headers, json.dumps({"content": content}))
        if status != 201:
            workspace.outcome.refused.append(f"{when}: a write was answered with {status}: {output[:200]!r}")
            continue
        status, output = server.call("GET", f"/api/v1/items/{json.loads(output)['id']}", headers)
        if status != 200 or content.encode() not in output:
            workspace.outcome.lost.append(f"{when}: {content}")
        request = {"name": "search", "arguments": {"query": "honest"}}
        call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request})
        status, output = server.call("POST", "/mcp", headers, call)
        if status != 200:
            workspace.outcome.refused.append(f"{when}: a search was answered with {status}: {output[:200]!r}")
        workspace.outcome.acknowledged += 1


@contextlib.contextmanager
def _cookie_as_key(workspace: Workspace, server: Server) -> Iterator[None]:
    """The cookie of an admin is shown wherever a key could be, and opens nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/login", urlencode({"key": server.admin}), form)
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    token = cookie.partition("=")[2]
    connection.close()
    if not token:
        workspace.outcome.unsound.append("signing in set no cookie")
    made = json.dumps({"name": "stolen", "scope": "admin"})
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-API-Key": token}, {"Cookie": cookie}):
        for method, path in (("GET", "/api/v1/items"), ("POST", "/api/v1/keys"), ("POST", "/mcp")):
            status, _report_line = server.call(method, path, {**headers, "Content-Type": "application/json"}, made)
            if status not in (401, 429):
                workspace.outcome.unsound.append(f"a cookie as {[*headers]} at {path} was answered with {status}")
    yield


@contextlib.contextmanager
def _slow_uploads(_arena: Workspace, server: Server) -> Iterator[None]:
    """Four upload again and again, and leave without waiting for the end."""
    over = threading.Event()

    def upload() -> None:
        headers = {**_headers(server.hostile), "Content-Type": "text/plain"}
        while not over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2)
                try:
                    connection.request("POST", "/api/v1/import", TALK, headers)
                    connection.getresponse().read()
                finally:
                    connection.close()

    threads = [threading.Thread(target=upload) for _ in range(UPLOADS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(TIMEOUT)


@contextlib.contextmanager
def _silent_connections(workspace: Workspace, server: Server) -> Iterator[None]:
    """Hundreds of connections that say nothing, or only how a request begins."""
    with contextlib.ExitStack() as held:
        for _ in range(SILENT):
            connection = held.enter_context(server.connect())
            connection.sendall(workspace.random.choice((b"", b"GET / HTTP/1.1\r\nHo")))
        yield


@contextlib.contextmanager
def _wrong_keys(workspace: Workspace, server: Server) -> Iterator[None]:
    """So many wrong keys that their address has to wait, and then a good one that the server has not seen."""
    over = threading.Event()

    def guess() -> None:
        while not over.is_set():
            wrong = f"sk-sekha-{workspace.random.getrandbits(192):048x}"
            with contextlib.suppress(OSError):
                server.call("GET", "/api/v1/items", _headers(wrong))

    threads = [threading.Thread(target=guess) for _ in range(UPLOADS)]
    for thread in threads:
        thread.start()
    try:
        with workspace.memory() as memory:
            fresh = api_keys.create_key(memory, "fresh", "read")[1]
        status, _report_line = server.call("GET", "/api/v1/items", _headers(fresh))
        if status != 200:
            workspace.outcome.refused.append(f"a good key among wrong ones was answered with {status}")
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(TIMEOUT)


def _headers(key: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


@contextlib.contextmanager
def _huge_bodies(workspace: Workspace, server: Server) -> Iterator[None]:
    """Small bodies that would become gigabytes: all of them are refused, and the server lives on."""
    many = b"[" + b"[]," * 9_000_000 + b"[]]"
    packed = {**_headers(server.hostile), "Content-Encoding": "gzip"}
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("talk.txt", TALK * 100)
    for path, headers, body in (
        ("/api/v1/sync/compare", packed, gzip.compress(many)),
        ("/api/v1/search", _headers(server.hostile), many),
        ("/mcp", _headers(server.hostile), many),
        ("/api/v1/import", {**_headers(server.hostile), "Content-Type": "application/zip"}, zipped.getvalue()),
    ):
        status, output = server.call("POST", path, headers, body)
        if status not in (413, 422):
            workspace.outcome.unsound.append(
                f"{len(body)} hostile bytes at {path} were answered with {status}: {output[:200]!r}"
            )
    yield


Attack = Callable[[Workspace, Server], contextlib.AbstractContextManager[None]]
ATTACKS: dict[str, Attack] = {
    "cookies as keys": _cookie_as_key,
    "slow uploads": _slow_uploads,
    "silent connections": _silent_connections,
    "wrong keys": _wrong_keys,
    "huge bodies": _huge_bodies,
}
