"""The REST door as its callers see it: the whole site on a port of this process, and a client with a key."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commonplace import config
from commonplace.config import Settings
from commonplace.http_responses import error_style
from commonplace.http_server.application import application
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.openapi import document

DEADLINE = 60.0
DOCUMENT = document(ENDPOINTS)


class Running(uvicorn.Server):
    """A server in a thread: signals are for the main one."""

    ready: threading.Event

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@dataclass
class Site:
    """A running site, its memory, and keys of each scope."""

    url: str
    memory: LocalMemory
    server: Running
    secrets: dict[str, str]

    def client(self, scope: str = "admin", **headers: str) -> httpx2.Client:
        bearer = {"Authorization": f"Bearer {self.secrets[scope]}"} if scope else {}
        return httpx2.Client(base_url=self.url, headers=bearer | headers, timeout=DEADLINE)


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[Site]:
    """The site over the memory of these settings."""
    memory = open_memory(settings)
    secrets = {scope: api_keys.create_key(memory, scope, scope)[1] for scope in ("read", "write", "admin")}
    server: Any = None
    app = application(lambda: memory, settings, lambda: server.should_exit)
    server = Running(uvicorn.Config(app, port=0, log_level="warning", ws="none", timeout_graceful_shutdown=5))
    server.ready = threading.Event()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.ready.wait(DEADLINE)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Site(f"http://127.0.0.1:{port}", memory, server, secrets)
    finally:
        server.should_exit = True
        thread.join(DEADLINE)
        memory.close()


def settings_in(folder: Path, **more: object) -> Settings:
    """Settings of a store in this folder, searched by words, that counts nobody's calls."""
    loaded = config.load({"data_dir": str(folder / "data"), "embedder": "off"})
    return replace(loaded, rate_limit=1e6, rate_burst=1_000_000, durability="normal", **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("site"))) as site:
        yield site


@pytest.fixture(scope="module")
def api(site: Site) -> Iterator[httpx2.Client]:
    """A client that may do everything."""
    with site.client() as client:
        yield client


Remembered = Callable[..., dict[str, Any]]


@pytest.fixture
def remembered(api: httpx2.Client, request: pytest.FixtureRequest) -> Remembered:
    """Remembers something that no other test says."""
    count = iter(range(1000))

    def remember(content: str = "", **more: Any) -> dict[str, Any]:
        result = content or f"{request.node.name} {next(count)}"
        answer = api.post("/api/v1/items", json={"content": result, **more})
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()
        return data

    return remember


def refused(answer: httpx2.Response, status: int, code: str) -> str:
    """What a refusal says, after checking that it has the shape of errors on its route."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["code"] == status
    if error_style(answer.request.url.path, {}) == "sekha":
        assert set(body) == {"error", "code", "error_code", "message", "details"} and body["error_code"] == code
        assert body["error"] == f"{body['message']} {body['details']}"
        result = body
    else:
        assert set(body) == {"error", "code"} and set(body["error"]) == {"code", "message", "details"}
        assert body["error"]["code"] == code
        result = body["error"]
    assert result["message"].endswith(".") and result["details"]
    return str(result["message"])


def conforms(answer: httpx2.Response, method: str, path: str) -> None:
    """The answer is what the document says of this endpoint."""
    response = DOCUMENT["paths"][path][method.lower()]["responses"][str(answer.status_code)]
    schema = {**response["content"]["application/json"]["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(answer.json())
