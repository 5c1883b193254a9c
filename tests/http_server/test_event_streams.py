"""Event streams end with the key or the visit that opened them, whoever ended it, and tell nothing that came later."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx2
import pytest
from tests.http_server.conftest import bearer, memory_of
from tests.mcp.conftest import DEADLINE, Served, environment
from tests.raw_sql import behind

from commonplace.memory import api_keys, spaces
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.spaces import Limits
from commonplace.model import Key
from commonplace.rest.endpoint import RECHECK_SECONDS
from commonplace.rest.status_and_events import LOOK_SECONDS

Pair = tuple[Served, Served]
End = Callable[[Served, LocalMemory, Key], None]
EVENTS = "/api/v1/events"


def revoke_elsewhere(_server: Served, memory: LocalMemory, key: Key) -> None:
    api_keys.revoke_key(memory, key.id)


def revoke_by_command(server: Served, _memory: LocalMemory, key: Key) -> None:
    command = [sys.executable, "-m", "commonplace", "keys", "revoke", str(key.id)]
    subprocess.run(command, env=environment(server.folder), check=True, capture_output=True, timeout=DEADLINE)


def revoke_over_http(server: Served, _memory: LocalMemory, key: Key) -> None:
    reply = httpx2.delete(f"{server.url}/api/v1/keys/{key.id}", headers=server.headers, timeout=DEADLINE)
    assert reply.status_code == 200


def let_expire(_server: Served, memory: LocalMemory, key: Key) -> None:
    with behind(memory.settings) as ask:
        ask(f"UPDATE keys SET expires_ms = {memory.clock()} WHERE id = {key.id}")


def delete_member(_server: Served, memory: LocalMemory, key: Key) -> None:
    with behind(memory.settings) as ask:
        ask(f"DELETE FROM keys WHERE id = {key.id}")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers of one store."""
    folder = tmp_path_factory.mktemp("servers")
    with contextlib.ExitStack() as ending:
        pair = Served(folder, "--port", "0"), Served(folder, "--port", "0")
        for server in pair:
            ending.callback(server.end)
        yield pair


ENDS: tuple[End, ...] = (revoke_elsewhere, revoke_by_command, revoke_over_http, let_expire, delete_member)


class Stream:
    """The events of an open stream."""

    def __init__(self, reply: httpx2.Response) -> None:
        assert reply.status_code == 200
        self._lines = reply.iter_lines()

    def rest(self) -> Iterator[str]:
        """The uid of each event, until the server ends the stream."""
        for line in self._lines:
            if line.startswith("data: "):
                yield json.loads(line[6:])["uid"]

    def begin(self) -> None:
        """Wait until it has begun, so that whatever happens next is told."""
        assert next(line for line in self._lines if line.startswith("id: "))


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_a_stream_ends_with_its_key_and_tells_nothing_after(servers: Pair, end: End) -> None:
    server, other = servers
    with contextlib.closing(memory_of(server)) as memory:
        key, secret = api_keys.create_key(memory, "listener", "read")
        with httpx2.stream("GET", f"{server.url}{EVENTS}", headers=bearer(secret), timeout=DEADLINE) as reply:
            stream = Stream(reply)
            stream.begin()
            before = remember(memory, NewItem(f"Written before {uuid4()}"))
            result = stream.rest()
            assert next(result) == before.uid
            # Through another server where that makes a difference.
            end(other, memory, key)
            remember(memory, NewItem(f"Written after {uuid4()}"))
            assert list(result) == []
    assert RECHECK_SECONDS + LOOK_SECONDS < 5


def test_a_quiet_stream_ends_with_its_key(servers: Pair) -> None:
    server, _other = servers
    with contextlib.closing(memory_of(server)) as memory:
        key, secret = api_keys.create_key(memory, "listener", "read")
        with httpx2.stream("GET", f"{server.url}{EVENTS}", headers=bearer(secret), timeout=DEADLINE) as reply:
            stream = Stream(reply)
            stream.begin()
            api_keys.revoke_key(memory, key.id)
            assert list(stream.rest()) == []


def test_a_stream_ends_with_its_space(servers: Pair) -> None:
    server, _other = servers
    with contextlib.closing(memory_of(server)) as memory:
        spaces.create_space(memory, "team", Limits(None, None))
        _key, secret = spaces.create_space_key(memory, "team", "ada")
        with httpx2.stream("GET", f"{server.url}{EVENTS}", headers=bearer(secret), timeout=DEADLINE) as reply:
            stream = Stream(reply)
            stream.begin()
            before = remember(for_space(memory, "team"), NewItem(f"Written before {uuid4()}"))
            result = stream.rest()
            assert next(result) == before.uid
            with behind(memory.settings) as ask:
                ask("DELETE FROM keys WHERE space_id = (SELECT id FROM spaces WHERE name = 'team')")
            assert list(result) == []


def test_a_stream_of_a_visit_ends_when_its_owner_signs_out_at_any_server(servers: Pair) -> None:
    server, other = servers
    (visit,) = httpx2.post(f"{server.url}/login", data={"key": server.key}, timeout=DEADLINE).cookies.values()

    def cookie(at: Served) -> dict[str, str]:
        return {"cookie": f"commonplace_visit_{at.url.rpartition(':')[2]}={visit}"}

    with contextlib.closing(memory_of(server)) as memory:
        with httpx2.stream("GET", f"{server.url}{EVENTS}", headers=cookie(server), timeout=DEADLINE) as reply:
            stream = Stream(reply)
            stream.begin()
            before = remember(memory, NewItem(f"Written before {uuid4()}"))
            result = stream.rest()
            assert next(result) == before.uid
            assert httpx2.post(f"{other.url}/logout", headers=cookie(other), timeout=DEADLINE).status_code == 303
            remember(memory, NewItem(f"Written after {uuid4()}"))
            assert list(result) == []
        again = httpx2.get(f"{server.url}{EVENTS}", headers=cookie(server), timeout=DEADLINE)
        assert again.status_code == 401


def test_a_new_stream_with_a_key_that_was_just_revoked_tells_nothing(servers: Pair) -> None:
    server, _other = servers
    with contextlib.closing(memory_of(server)) as memory:
        key, secret = api_keys.create_key(memory, "listener", "read")
        known = httpx2.get(f"{server.url}{EVENTS}?follow=false", headers=bearer(secret), timeout=DEADLINE)
        mark = known.text.partition("id: ")[2].split()[0]
        api_keys.revoke_key(memory, key.id)
        remember(memory, NewItem(f"Written after {uuid4()}"))
        headers = bearer(secret) | {"last-event-id": mark}
        assert httpx2.get(f"{server.url}{EVENTS}", headers=headers, timeout=DEADLINE).status_code == 401
