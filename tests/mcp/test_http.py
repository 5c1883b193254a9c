"""`commonplace serve`: any number of agents over HTTP, and nobody from elsewhere."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from tests.mcp.conftest import DEADLINE, ERAS, Served, data_of, environment, play

from commonplace import config
from commonplace.errors import InvalidInput
from commonplace.mcp import http

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_writes_and_finds_over_http(served: Served, era: str) -> None:
    async def story() -> None:
        async with Client(f"{served.url}/mcp", mode=era, cache=None) as client:
            assert {"search", "add_memory"} <= {tool.name for tool in (await client.list_tools()).tools}
            await client.call_tool("add_memory", {"content": f"Zebra of the {era} era", "project_id": "zoo"})
            found = data_of(await client.call_tool("search", {"query": f'"zebra of the {era}"'}))
            assert found["observations"][0]["text"] == f"Zebra of the {era} era"
            failed = await client.call_tool("search", {"query": "x", "maximum": 5})
            assert failed.is_error
            assert "'maximum'" in data_of(failed)["error"]["message"]
            assert (await client.list_resources()).resources
            assert (await client.list_prompts()).prompts

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_thirty_sessions_one_after_the_other(served: Served, era: str) -> None:
    async def story() -> None:
        for _ in range(30):
            async with Client(f"{served.url}/mcp", mode=era, cache=None) as client:
                assert not (await client.call_tool("search", {"query": "zebra"})).is_error

    play(story)


@pytest.mark.parametrize("path", ["/", "/mcp", "/health", "/nowhere"])
def test_foreign_hosts_and_origins_are_refused_on_every_route(served: Served, path: str) -> None:
    with httpx2.Client(base_url=served.url, timeout=DEADLINE) as client:

        def status(**headers: str) -> int:
            return client.post(path, json=LIST, headers=JSON | headers).status_code

        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:1"):
            assert status(host=host) == 421
        for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://localhost.evil:1"):
            assert status(origin=origin) == 403
        assert status(host="localhost:1234", origin="http://localhost:5173") not in (403, 421)


def test_the_front_page_says_where_to_go(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/", timeout=DEADLINE)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain")
    assert f"{served.url}/mcp" in reply.text and f"{served.url}/health" in reply.text


def test_health_tells_what_is_kept_where(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/health", timeout=DEADLINE)
    assert reply.status_code == 200
    health = reply.json()
    assert health["status"] == "ok"
    assert {"version", "data_dir", "store", "counts", "total", "pending", "model", "search"} <= health.keys()
    assert health["model"]["state"] == "off"


def test_a_body_over_the_limit_is_refused(served: Served) -> None:
    large = json.dumps({**LIST, "params": {"x": "x" * http.MAX_BODY_BYTES}})
    reply = httpx2.post(f"{served.url}/mcp", content=large, headers=JSON, timeout=DEADLINE)
    assert reply.status_code == 413
    assert httpx2.get(f"{served.url}/health", timeout=DEADLINE).status_code == 200


@pytest.mark.parametrize(
    "body", ["{not json", "[]", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}']
)
def test_a_body_that_is_no_message_is_refused(served: Served, body: str) -> None:
    reply = httpx2.post(f"{served.url}/mcp", content=body, headers=JSON, timeout=DEADLINE)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] < 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", ""])
def test_only_this_machine_is_listened_to(tmp_path: Path, host: str) -> None:
    settings = config.load({"data_dir": str(tmp_path), "host": host}, env={})
    with pytest.raises(InvalidInput, match="not a loopback address"):
        http.run(settings)
    assert not settings.database.exists()


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "commonplace", "serve", "--port", str(port)],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    assert done.returncode == 2
    assert f"Port {port} cannot be opened" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_closes_its_store(tmp_path: Path, by: signal.Signals) -> None:
    server = Served(tmp_path, "--port", "0")
    assert server.greeting.startswith("Commonplace is at http://127.0.0.1:")

    async def story() -> None:
        async with Client(f"{server.url}/mcp", cache=None) as client:
            await client.call_tool("add_memory", {"content": "Written before the end"})

    play(story)
    assert server.end(by) == (0, "")
    # The last to close folds the log into the file.
    assert not (tmp_path / "data" / "commonplace.db-wal").exists()
    assert (tmp_path / "data" / "commonplace.db").exists()


def test_the_sixth_version_of_loopback_is_loopback_too(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server = Served(tmp_path, "--host", "::1", "--port", "0")
    try:
        assert server.url.startswith("http://[::1]:")
        assert httpx2.get(f"{server.url}/health", timeout=DEADLINE).status_code == 200
    finally:
        server.end()


def test_a_listener_does_not_keep_a_server_from_ending(tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0")
    with httpx2.stream("GET", f"{server.url}/mcp", headers=JSON, timeout=DEADLINE) as listening:
        assert listening.status_code == 200
        code, _said = server.end()
    assert code == 0
