"""The site as its callers see it: a `commonplace serve` process, or the application on a port of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.mcp.conftest import Served, environment
from tests.mcp.conftest import served as served

from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts servers that end with the test."""
    servers: list[Served] = []

    def start(**env: str) -> Served:
        settings = {f"COMMONPLACE_{name.upper()}": value for name, value in env.items()}
        servers.append(Served(tmp_path, "--port", "0", **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


def memory_of(server: Served) -> LocalMemory:
    """The server's memory, opened beside it as another process would."""
    return open_memory(config.load(env=environment(server.folder)))
