"""A laptop and a real server, on each engine: what is exchanged, what stays, and what is said when it cannot be."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ENGINES
from tests.mcp.conftest import environment
from tests.rest.conftest import Site, running

from commonplace import config
from commonplace.errors import (
    CommonplaceError,
    Forbidden,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    RemoteError,
    Unauthorized,
)
from commonplace.http_client import parse_address
from commonplace.memory import api_keys, conversations, spaces
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, revert_to_revision
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, open_memory, wall_clock
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.spaces import Limits
from commonplace.memory.sync_and_archive import SyncScope
from commonplace.remote_sync import RemoteServer, Sync, SyncSummary

SHARED = SyncScope(include_private=False)


@pytest.fixture(scope="module", params=ENGINES)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, data_folder: Callable[..., Path]
) -> Iterator[Site]:
    """A server on each engine."""
    folder = data_folder(tmp_path_factory.mktemp("server") / "data", request.param)
    loaded = config.load({"data_dir": str(folder), "embedder": "off"})
    with running(replace(loaded, rate_limit=1e6, rate_burst=1_000_000, durability="normal")) as site:
        yield site


@pytest.fixture
def laptops(tmp_path: Path) -> Iterator[tuple[LocalMemory, LocalMemory]]:
    made = [
        open_memory(config.load({"data_dir": str(tmp_path / name), "embedder": "off", "durability": "normal"}))
        for name in ("one", "two")
    ]
    yield made[0], made[1]
    for memory in made:
        memory.close()


def meet(
    memory: LocalMemory, site: Site, scope: str = "write", extent: SyncScope = SHARED, way: str = "sync"
) -> SyncSummary:
    with contextlib.closing(RemoteServer(site.url, site.secrets[scope])) as server:
        sync = Sync(memory, server, extent)
        if way != "push":
            sync.pull()
        if way != "pull":
            sync.push()
        return sync.summary


def test_two_laptops_meet_on_a_server(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    ours, theirs = laptops
    uid = remember(ours, NewItem("Sessions live in Redis", type="decision", project="github.com/acme/api")).uid
    talk = [NewMessage("user", "Which cache? " * 200), NewMessage("assistant", "Redis.")]
    conversation = conversations.store_conversation(ours, NewConversation("Cache", talk, folder="/desk")).session
    assert meet(ours, site).sent >= 4
    assert meet(theirs, site).received >= 4
    assert conversations.find_session(theirs, conversation.uid).label == "Cache"
    assert [one.body for one in theirs.store.messages_of(conversations.find_session(theirs, conversation.uid).id)][
        1
    ] == "Redis."
    edit_item(ours, uid, Changes(content="Sessions live in Valkey"))
    edit_item(theirs, uid, Changes(content="Sessions live in Postgres"))
    assert meet(ours, site).conflicts == []
    assert meet(theirs, site).conflicts == [{"what": "item", "name": uid, "stands": "here"}]
    assert meet(ours, site).received == 1
    for memory in laptops:
        assert get_item(memory, uid).body == "Sessions live in Postgres"
        again = meet(memory, site)
        assert (again.sent, again.received, again.conflicts, again.failed) == (0, 0, [], [])
    (lost,) = [line for line in ours.store.history(get_item(ours, uid).id) if line.op == "merge"]
    assert revert_to_revision(ours, uid, lost.rev).body == "Sessions live in Valkey"
    forget_items(ours, [uid])
    meet(ours, site)
    meet(theirs, site)
    with pytest.raises(NotFound):
        get_item(theirs, uid)


def test_private_things_stay(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    ours, theirs = laptops
    diary = remember(ours, NewItem("A diary entry of one", project="diary")).uid
    tagged = remember(ours, NewItem("A secret wish of one", tags=["Private"])).uid
    open_ = remember(ours, NewItem("A thing for all from one")).uid
    extent = SyncScope(without=("diary",), include_private=False)
    meet(ours, site, extent=extent)
    meet(theirs, site)
    assert get_item(theirs, open_).body == "A thing for all from one"
    for uid in (diary, tagged):
        with pytest.raises(NotFound):
            get_item(theirs, uid)
    assert not [project for project in theirs.store.projects() if project.name == "diary"]
    # What is no longer private goes with the next meeting, although nothing was changed since.
    assert meet(ours, site).sent == 2
    with pytest.raises(InvalidInput, match="private"):
        promote(ours, site, tagged)


def promote(memory: LocalMemory, site: Site, *ids: str) -> SyncSummary:
    with contextlib.closing(RemoteServer(site.url, site.secrets["write"])) as server:
        sync = Sync(memory, server, SHARED)
        sync.promote(ids)
        return sync.summary


def test_one_memory_is_promoted_and_nothing_else(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    ours, theirs = laptops
    chosen = remember(ours, NewItem("Promoted: use uv", project="tools", session="s-mine")).uid
    edit_item(ours, chosen, Changes(content="Promoted: use uv for everything"))
    other = remember(ours, NewItem("Not promoted", project="tools")).uid
    assert promote(ours, site, chosen).sent == 1
    meet(theirs, site, way="pull")
    item = get_item(theirs, chosen)
    assert item.body == "Promoted: use uv for everything" and theirs.store.history(item.id) == []
    with pytest.raises(NotFound):
        get_item(theirs, other)
    assert promote(ours, site, chosen).sent == 0


def test_a_key_is_held_to_what_it_may(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    ours, _theirs = laptops
    remember(ours, NewItem("For the web only", project="web-of-one"))
    with pytest.raises(Forbidden, match="can only read"):
        meet(ours, site, "read", way="push")
    meet(ours, site, "read", way="pull")
    remember(ours, NewItem("For nobody in particular, by one"))
    site.secrets["limited"] = api_keys.create_key(site.memory, "limited", "write", project="web-of-one")[1]
    with pytest.raises(Forbidden, match="web-of-one"):
        meet(ours, site, "limited", way="push")
    assert meet(ours, site, "limited", SyncScope(("web-of-one",), include_private=False)).failed == []
    site.secrets["nobody"] = "sk-sekha-" + "0" * 48
    with pytest.raises(Unauthorized, match="does not know this key"):
        meet(ours, site, "nobody")
    with pytest.raises(InvalidInput, match="no key"):
        RemoteServer(site.url, "")


def test_a_space_that_is_full_says_so(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    name = f"small-{site.server.config.port}"
    spaces.create_space(site.memory, name, Limits(items=2))
    site.secrets["small"] = spaces.create_space_key(site.memory, name, "one", "writer")[1]
    for number in range(3):
        remember(laptops[0], NewItem(f"Too many {number}"))
    with pytest.raises(QuotaExceeded, match="2 items"):
        meet(laptops[0], site, "small")


def test_what_a_server_will_not_take_is_told_and_tried_again(
    site: Site, laptops: tuple[LocalMemory, LocalMemory]
) -> None:
    ours, _theirs = laptops
    good = remember(ours, NewItem("Good one of mine")).uid
    bad = remember(ours, NewItem("Bad one of mine")).uid
    with ours.store._database.write() as connection:  # type: ignore[attr-defined]
        connection.execute('UPDATE items SET details = \'{"of a later version": "x"}\' WHERE uid = ?', (bad,))
    done = meet(ours, site, way="push")
    assert [one["name"] for one in done.failed] == [bad] and "of a later version" in done.failed[0]["why"]
    assert get_item(site.memory, good).body == "Good one of mine"
    assert [one["name"] for one in meet(ours, site, way="push").failed] == [bad]
    with ours.store._database.write() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE items SET details = '{}' WHERE uid = ?", (bad,))
    assert meet(ours, site, way="push").failed == []
    assert get_item(site.memory, bad).body == "Bad one of mine"


def test_a_store_that_was_replaced_is_noticed(
    site: Site, laptops: tuple[LocalMemory, LocalMemory], tmp_path: Path
) -> None:
    ours, _theirs = laptops
    uid = remember(ours, NewItem("Known to the first server only")).uid
    meet(ours, site)
    assert meet(ours, site).sent == 0
    other = replace(config.load({"data_dir": str(tmp_path / "new"), "embedder": "off"}), rate_limit=1e6)
    with running(other) as replaced:
        assert meet(ours, replaced).sent >= 1
        assert get_item(replaced.memory, uid).body == "Known to the first server only"
    assert meet(ours, site).sent == 0


def test_secrets_are_blacked_out_on_the_way(site: Site, laptops: tuple[LocalMemory, LocalMemory]) -> None:
    ours, _theirs = laptops
    uid = remember(ours, NewItem("The token is of one")).uid
    secret = "ghp_" + "a1B2" * 9
    with ours.store._database.write() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE items SET body = ? WHERE uid = ?", (f"The token is {secret}", uid))
    meet(ours, site)
    assert secret not in get_item(site.memory, uid).body and "REDACTED" in get_item(site.memory, uid).body


@functools.cache
def bomb() -> bytes:
    """Half a megabyte that unpacks to 400."""
    packing = zlib.compressobj(wbits=31)
    parts = [packing.compress(part) for part in (b'{"format": 1, "more": "', *[b"a" * 1_000_000] * 400, b'"}')]
    return b"".join(parts) + packing.flush()


class Strange(http.server.BaseHTTPRequestHandler):
    """Something that is no Commonplace."""

    def do_GET(self) -> None:
        status, body = {
            "/html": (200, b"<html>"),
            "/list": (200, b"[]"),
            "/old": (404, b'{"error": {"code": "NOT_FOUND", "message": "Nothing.", "details": "-"}, "code": 404}'),
            "/new": (200, b'{"format": 99, "space": "x", "last": 0}'),
            "/half": (200, b'{"format": 1}'),
            "/deep": (200, b"[" * 200_000),
            "/deep-packed": (200, gzip.compress(b"[" * 200_000)),
            "/deep-refusal": (500, b"[" * 200_000),
            "/many": (200, b"[" + b"[]," * 1_000_000 + b"[]]"),
            "/bomb": (200, bomb() if self.path.startswith("/bomb") else b""),
            "/not-packed": (200, b"gzip"),
            "/cut": (200, gzip.compress(b'{"format": 1}')[:-5]),
            "/moved": (302, b""),
            "/fault": (500, b'{"error": {"code": "INTERNAL_ERROR", "message": "It broke.", "details": "-"}}'),
        }["/" + self.path.split("/")[1]]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if body.startswith((b"\x1f\x8b", b"gzip")):
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        pass


@contextlib.contextmanager
def strange_server() -> Iterator[str]:
    """The address of something that is no Commonplace."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange) as strange:
        thread = threading.Thread(target=strange.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{strange.server_port}"
        strange.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("deep", "nested too deeply"),
        ("deep-packed", "nested too deeply"),
        ("deep-refusal", "it answers HTTP 500"),
        ("many", "has too many values"),
        ("bomb", "unpacks to more than"),
        ("not-packed", "not valid gzip"),
        ("cut", "ends in the middle"),
    ],
)
def test_a_reply_is_read_in_bounded_memory_and_a_bad_one_is_a_clear_error(tmp_path: Path, path: str, says: str) -> None:
    with strange_server() as address:
        pulled = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "pull", "--to", f"{address}/{path}", "--json"],
            env={**environment(tmp_path), "COMMONPLACE_REMOTE_KEY": "k"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        out, _ = pulled.communicate(timeout=60)
    error = json.loads(out)["error"]
    assert pulled.returncode == 10 and error["code"] == "REMOTE_ERROR" and says in error["message"], out


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted by Linux")
def test_a_reply_that_unpacks_to_much_is_not_held(tmp_path: Path) -> None:
    with strange_server() as address:
        peaks = {}
        for path in ("html", "bomb"):
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "commonplace", "pull", "--to", f"{address}/{path}"],
                {**environment(tmp_path), "COMMONPLACE_REMOTE_KEY": "k"},
                file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)],
            )
            peaks[path] = os.wait4(pid, 0)[2].ru_maxrss
    assert peaks["bomb"] - peaks["html"] < 150_000


def test_what_is_no_server_of_ours_is_told_as_such() -> None:
    found_by_name = {}
    with strange_server() as address:
        for path in ("html", "list", "old", "new", "half", "moved", "fault"):
            with (
                contextlib.closing(RemoteServer(f"{address}/{path}", "k")) as server,
                pytest.raises(RemoteError) as refused,
            ):
                server.position()
            found_by_name[path] = refused.value.message
            assert refused.value.hint
    assert all("not Commonplace" in found_by_name[path] for path in ("html", "list", "half"))
    assert "does not support sync" in found_by_name["old"] and "another record format" in found_by_name["new"]
    assert "redirects" in found_by_name["moved"] and "It broke" in found_by_name["fault"]
    with (
        contextlib.closing(RemoteServer(address, "k")) as server,
        pytest.raises(RemoteError, match="cannot be reached"),
    ):
        server.position()


@pytest.mark.parametrize("url", ["", "server", "ftp://x", "http://", "http://a:b@c", "http://[", "http://x:99999"])
def test_an_address_is_checked(url: str) -> None:
    with pytest.raises(CommonplaceError) as refused:
        parse_address(url)
    assert isinstance(refused.value, InvalidInput) and refused.value.hint


def test_an_address_may_be_copied_from_anywhere() -> None:
    for more in ("", "/", "/mcp", "/api/v1", "/api/v1/"):
        assert parse_address(f"https://memory.example.org{more}").url == "https://memory.example.org"
    assert parse_address("http://[::1]:8765/below/mcp").url == "http://[::1]:8765/below"
    assert parse_address("http://10.0.0.1").is_unencrypted and not parse_address("http://localhost:1").is_unencrypted


def test_a_memory_does_not_meet_itself(site: Site) -> None:
    with (
        contextlib.closing(RemoteServer(site.url, site.secrets["write"])) as server,
        pytest.raises(InvalidInput, match="same memory"),
    ):
        Sync(site.memory, server, SHARED)


@pytest.mark.parametrize(("first", "skew_ms"), [(0, 0), (1, 3_600_000), (0, -3_600_000)])
def test_what_two_machines_replaced_by_different_things_ends_the_same_on_both(
    site: Site, laptops: tuple[LocalMemory, LocalMemory], first: int, skew_ms: int
) -> None:
    ours, theirs = replace(laptops[0], clock=lambda: wall_clock() + skew_ms), laptops[1]
    old = remember(ours, NewItem(f"The queue of {first} {skew_ms} is RabbitMQ", project="acme/queue")).uid
    meet(ours, site)
    meet(theirs, site)
    for memory in (ours, theirs) if first == 0 else (theirs, ours):
        new = remember(memory, NewItem(f"It is {memory is ours} {first} {skew_ms}", project="acme/queue"))
        mark_superseded(memory, old, by=new.uid)
    summaries = [meet(memory, site) for memory in (ours, theirs, ours, theirs)]
    assert [one["name"] for summary in summaries for one in summary.conflicts] == [old]
    replaced = [get_item(memory, old) for memory in laptops]
    by = {get_item(memory, str(item.superseded_by)).uid for memory, item in zip(laptops, replaced, strict=True)}
    assert len(by) == 1
    for memory in (ours, theirs):
        again = meet(memory, site)
        assert (again.sent, again.received, again.conflicts, again.failed) == (0, 0, [], [])
        (lost,) = [line for line in memory.store.history(get_item(memory, old).id) if line.op == "merge"]
        assert lost.before["superseded_by"] not in (None, *by) and lost.origin is not None
