"""`commonplace serve` as a process: where it listens, its first key, and how it ends."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from tests.http_server.conftest import bearer, memory_of
from tests.mcp.conftest import DEADLINE, Served, environment, play

from commonplace import config
from commonplace.errors import InvalidInput
from commonplace.http_server import server as site
from commonplace.memory import api_keys
from commonplace.memory.authors import with_writer
from commonplace.memory.callers import local_writer
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.told_to_agents import is_own
from commonplace.model import Author

Serve = Callable[..., Served]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", ""])
def test_only_this_machine_is_listened_to(tmp_path: Path, host: str) -> None:
    settings = config.load({"data_dir": str(tmp_path), "host": host}, env={})
    with pytest.raises(InvalidInput, match="not a loopback address"):
        site.run(settings)
    assert not settings.database.exists()


def test_answers_do_not_wait_for_more_to_send() -> None:
    """asyncio turns Nagle's algorithm off for accepted sockets only if they are told to be TCP."""
    with closing(site.listening("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP


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
        async with server.client() as client:
            await client.call_tool("add_memory", {"content": "Written before the end"})

    play(story)
    assert server.end(by) == (0, "")
    # The last to close folds the log into the file.
    assert not (tmp_path / "data" / "commonplace.db-wal").exists()
    assert (tmp_path / "data" / "commonplace.db").exists()


SIGNALLED = """
import signal, sys
from commonplace import config
from commonplace.http_server import server

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.Signals[sys.argv[2]])

# Where nobody hears of errors, and before requests are answered.
server.show_link = lambda *_: Dropped()
server.run(config.load({"data_dir": sys.argv[1], "port": 0, "embedder": "off"}, env={}))
print("ended")
"""


@pytest.mark.parametrize("by", ["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_before_the_first_request_is_heard(tmp_path: Path, by: str) -> None:
    command = [sys.executable, "-c", SIGNALLED, str(tmp_path / "data"), by]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data" / "commonplace.db-wal").exists()


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


def status(server: Served, key: str) -> int:
    return httpx2.post(f"{server.url}/mcp", headers=bearer(key), timeout=DEADLINE).status_code


def test_the_first_start_makes_a_key_that_only_its_owner_can_read(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    file = tmp_path / "data" / "api-key"
    assert server.remark == f"Its first API key was created and is in {file}.\n"
    assert server.key not in server.greeting + server.remark
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert status(server, server.key) != 401
    memory = memory_of(server)
    (key,) = api_keys.list_keys(memory)
    memory.close()
    assert (key.name, key.scope, key.project, key.expires_ms) == ("first", "admin", None, None)


def test_what_comes_with_the_first_key_is_by_the_person_whose_machine_it_is(serve: Serve) -> None:
    server = serve(author="Ada")
    memory = memory_of(server)
    _key, other = api_keys.create_key(memory, "first", "write")
    authors = []
    for number, (key, agent) in enumerate([(server.key, ""), (server.key, "codex"), (other, "")]):
        headers = bearer(key) | ({"x-commonplace-agent": agent} if agent else {})
        sent = {"content": f"Tea number {number} is green"}
        answer = httpx2.post(f"{server.url}/api/v1/items", json=sent, headers=headers, timeout=DEADLINE)
        authors.append(answer.json()["author"])
    # Another key does not become that person's by its name.
    assert authors == ["Ada", "Ada via codex", "first 2"]
    memory.close()


def test_what_the_first_key_stored_under_its_name_is_still_that_persons_own(memory: LocalMemory) -> None:
    me = local_writer(memory.settings)
    older = remember_item(with_writer(memory, Author("first", "person")), NewItem("Tea is green", type="rule")).item
    assert older.author == "first" and is_own(with_writer(memory, me), older)
    assert not is_own(with_writer(memory, Author("bo", "person")), older)


def test_the_next_start_leaves_the_key_as_it_is(serve: Serve) -> None:
    server = serve()
    secret = server.key
    server.end()
    again = serve()
    assert (again.key, again.remark) == (secret, server.remark.replace("first API key was created and", "API key"))
    memory = memory_of(again)
    assert len(api_keys.list_keys(memory)) == 1
    memory.close()


def test_a_revoked_first_key_is_replaced_if_it_was_the_only_one(serve: Serve) -> None:
    server = serve()
    old = server.key
    server.end()
    memory = memory_of(server)
    api_keys.revoke_key(memory, old)
    memory.close()
    again = serve()
    assert again.key != old
    assert (status(again, old), status(again, again.key) != 401) == (401, True)


def test_where_keys_exist_none_is_made(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    server.end()
    memory = memory_of(server)
    api_keys.create_key(memory, "other", "read")
    memory.close()
    (tmp_path / "data" / "api-key").unlink()
    again = serve()
    assert "`commonplace keys create NAME` creates a key" in again.remark
    assert not (tmp_path / "data" / "api-key").exists()


def test_a_file_that_is_not_ours_is_not_touched(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "api-key").write_text("of something else", encoding="utf-8")
    server = serve()
    assert "contains no Commonplace key" in server.remark
    assert (tmp_path / "data" / "api-key").read_text(encoding="utf-8") == "of something else"


def test_a_server_starts_without_its_store_and_works_when_that_is_mended(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    database = tmp_path / "data" / "commonplace.db"
    database.write_bytes(b"this is no database at all" * 100)
    server = serve()
    assert "is damaged or is not a Commonplace store" in server.remark
    reply = httpx2.get(f"{server.url}/health", timeout=DEADLINE)
    assert (reply.status_code, reply.json()["code"]) == (503, 503)
    assert str(tmp_path) not in reply.text
    reply = httpx2.post(f"{server.url}/mcp", headers=bearer("sk-sekha-" + "0" * 48), timeout=DEADLINE)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "DB_CORRUPT")
    database.unlink()
    memory = memory_of(server)
    _key, secret = api_keys.create_key(memory, "mended")
    memory.close()
    assert httpx2.get(f"{server.url}/health", timeout=DEADLINE).json()["status"] == "healthy"
    assert httpx2.get(f"{server.url}/health", headers=bearer(secret), timeout=DEADLINE).json()["total"] == 0


@pytest.mark.parametrize("proxies", ["evil", "10.0.0.0/99", "localhost"])
def test_a_proxy_that_is_no_address_is_told(tmp_path: Path, proxies: str) -> None:
    settings = config.load({"data_dir": str(tmp_path), "trusted_proxies": proxies}, env={})
    with pytest.raises(InvalidInput, match="trusted_proxies"):
        site.run(settings)
    assert not settings.database.exists()


def test_others_may_be_listened_to_under_names_of_ours(serve: Serve) -> None:
    server = serve(host="0.0.0.0", allowed_hosts="memory.example.com")
    url = server.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx2.get(f"{url}/health", headers={"host": "memory.example.com"}, timeout=DEADLINE).status_code == 200
