"""`commonplace serve --workers 2`: what one worker knows the other knows, on both engines, and none stays dead.

A test has the worker that it wants by stopping the other one while it connects: connections wait on one socket for
whoever accepts them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest
from tests.http_server.conftest import JSON, bearer
from tests.mcp.conftest import DEADLINE, Served, environment
from tests.polling import until
from tests.postgres_server import PostgresServer

from commonplace import config
from commonplace.errors import Unauthorized
from commonplace.http_server.auth import WRONG_BURST
from commonplace.http_server.shared_state import OwnLevels, SharedState
from commonplace.memory import api_keys
from commonplace.memory.local_memory import open_memory
from commonplace.web.login import LoginTickets

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers in /proc")


# Few enough to use up, and enough for all tests of a module.
LIMITS = {"COMMONPLACE_RATE_LIMIT": "1", "COMMONPLACE_RATE_BURST": "40"}


class Workers(Served):
    """A server with two of them. `env` is what it was told of its store."""

    # Whether requests are counted together is decided when the library that counts them is imported.
    FORKED = False
    env: Mapping[str, str] = {}

    def pids(self) -> list[int]:
        parent = self.process.pid
        return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()]

    @contextlib.contextmanager
    def only(self, number: int) -> Iterator[httpx2.Client]:
        """A client whose connection one worker has accepted."""
        (other,) = (pid for place, pid in enumerate(self.pids()) if place != number)
        with httpx2.Client(base_url=self.url, timeout=DEADLINE) as client:
            os.kill(other, signal.SIGSTOP)
            try:
                until(lambda: Path(f"/proc/{other}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "T")
                client.get("/live")
            finally:
                os.kill(other, signal.SIGCONT)
            yield client

    def ask(self, number: int, method: str, path: str, key: str | None = None, **more: object) -> httpx2.Response:
        with self.only(number) as client:
            return client.request(method, path, headers=bearer(key or self.key), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("workers")
    with contextlib.ExitStack() as ending:
        more = {}
        if request.param == "postgres":
            postgres: PostgresServer = request.getfixturevalue("postgres")
            more["COMMONPLACE_DATABASE_URL"] = postgres.database(folder)
            ending.callback(postgres.leave, folder)
        server = Workers(folder, "--port", "0", "--workers", "2", **LIMITS, **more)
        ending.callback(server.end)
        server.env = more
        until(lambda: len(server.pids()) == 2)
        yield server


def made_key(server: Workers, name: str) -> str:
    with contextlib.closing(open_memory(config.load(env=environment(server.folder, **server.env)))) as memory:
        return api_keys.create_key(memory, name, "write")[1]


def test_what_one_keeps_the_other_finds_over_mcp(workers: Workers) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    stored = {**call, "params": {"name": "add_memory", "arguments": {"content": "Tokens live an hour"}}}
    request = {**call, "params": {"name": "search", "arguments": {"query": "tokens"}}}
    for number, message in ((0, stored), (1, request)):
        with workers.only(number) as client:
            reply = client.post("/mcp", json=message, headers={**JSON, **workers.headers})
    assert "Tokens live an hour" in reply.text


def test_a_limit_holds_over_both(workers: Workers) -> None:
    key = made_key(workers, "busy")
    for number in (0, 1):
        with workers.only(number) as client:
            codes = [client.get("/api/v1/projects", headers=bearer(key)).status_code for _ in range(30)]
    assert codes[0] == 200 and codes[-1] == 429, "the first worker had used most of the burst"


def test_wrong_keys_are_counted_by_both(workers: Workers) -> None:
    wrong = bearer("sk-sekha-" + "0" * 48)
    with workers.only(0) as client:
        assert {client.get("/api/v1/projects", headers=wrong).status_code for _ in range(WRONG_BURST)} == {401}
    with workers.only(1) as client:
        codes = (client.get("/api/v1/projects", headers=wrong).status_code for _ in range(WRONG_BURST // 2))
        assert 429 in codes, "the first worker had counted the burst"


def test_a_key_works_at_both_until_it_is_revoked_at_one(workers: Workers) -> None:
    made = workers.ask(0, "POST", "/api/v1/keys", json={"name": "short", "scope": "read"}).json()
    assert workers.ask(1, "GET", "/api/v1/projects", made["secret"]).status_code == 200
    assert workers.ask(0, "DELETE", f"/api/v1/keys/{made['id']}").status_code < 300
    with workers.only(1) as client:
        until(lambda: client.get("/api/v1/projects", headers=bearer(made["secret"])).status_code == 401)


def test_who_signs_out_at_one_is_out_at_the_other_at_once(workers: Workers) -> None:
    with workers.only(0) as one, workers.only(1) as other:
        entered = one.post("/login", data={"key": workers.key})
        cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in entered.cookies.items())}
        assert other.get("/search", headers=cookie).status_code == 200
        assert one.post("/logout", headers=cookie).status_code == 303
        assert other.get("/search", headers=cookie).status_code == 303


def test_who_listens_at_one_learns_what_happens_at_the_other(workers: Workers) -> None:
    with workers.only(1) as listener, listener.stream("GET", "/api/v1/events", headers=workers.headers) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        workers.ask(0, "POST", "/api/v1/items", json={"content": "Deploys wait for a review"})
        assert any("Deploys wait for a review" in line for line in lines)


def test_metrics_are_of_both(workers: Workers) -> None:
    before = workers.ask(0, "GET", "/metrics").text
    workers.ask(1, "GET", "/api/v1/rules")
    count = 'commonplace_requests_total{method="GET",route="/api/v1/rules",status="200"} '
    after = workers.ask(0, "GET", "/metrics").text
    assert count not in before and f"{count}1.0" in after


def test_a_worker_that_dies_is_replaced(workers: Workers) -> None:
    first, second = workers.pids()
    os.kill(first, signal.SIGKILL)
    until(lambda: len(set(workers.pids()) - {first}) == 2)
    assert second in workers.pids()
    for number in (0, 1):
        assert workers.ask(number, "GET", "/api/v1/projects").status_code == 200


def test_they_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    server = Workers(tmp_path, "--port", "0", "--workers", "2")
    until(lambda: len(server.pids()) == 2)
    pids = server.pids()
    code, log = server.end()
    assert code == 0 and "Traceback" not in log
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not (tmp_path / "data" / "temporary").exists()


def test_they_end_when_that_process_is_killed(tmp_path: Path) -> None:
    server = Workers(tmp_path, "--port", "0", "--workers", "2")
    until(lambda: len(server.pids()) == 2)
    server.process.kill()
    # Both hold its standard error, which ends with the last of them.
    server.process.communicate(timeout=DEADLINE)


@pytest.mark.parametrize("many", ["0", "65", "some"])
def test_so_many_there_cannot_be(tmp_path: Path, many: str) -> None:
    command = [sys.executable, "-m", "commonplace", "serve", "--workers", many]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_levels_are_those_of_one_process() -> None:
    with contextlib.closing(SharedState()) as state:
        shared, own = state.levels("requests"), OwnLevels()
        for n in range(5_000):
            for levels in (shared, own):
                levels.put(f"caller {n % 1_000}", float(n), 0.0)
        assert all(shared.get(f"caller {n}", 0.0) == own.get(f"caller {n}", 0.0) for n in range(1_000))
        assert shared.get("somebody", -1.0) == -1.0


def test_a_link_signs_in_once_at_whichever_worker() -> None:
    with contextlib.closing(SharedState()) as state:
        here, there = LoginTickets(state.first_use), LoginTickets(state.first_use)
        ticket = here.issue("secret")
        there._open = dict(here._open)
        assert here.redeem(ticket) == "secret"
        with pytest.raises(Unauthorized, match="already used"):
            there.redeem(ticket)
