"""No request takes much more memory than it has bytes: a real server, hostile bodies, and its peak memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.http_server.conftest import JSON
from tests.mcp.conftest import DEADLINE, Served
from tests.peak_memory import bounded_memory

from commonplace.text.untrusted_json import MAX_VALUES, MAX_VALUES_OF_MANY, UNPACKED

GZIP = {"content-encoding": "gzip"}
EMOJI = "\U0001f600".encode()
Ask = Callable[..., httpx2.Response]
# Bodies of megabytes are made when their test runs, and not kept by every worker.
Body = Callable[[], bytes]


def keys(count: int) -> bytes:
    return b"{" + b",".join(b'"k%d":1' % n for n in range(count)) + b"}"


def changes(count: int) -> bytes:
    return b'{"changes":[' + b'{"a":1.5},' * count + b"{}]}"


def calling(arguments: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_memory","arguments":' + arguments + b"}}"
    )


@pytest.fixture(scope="module")
def ask(served: Served) -> Iterator[Ask]:
    """Posts a body to a server that has answered before, and checks how much memory that took."""
    with httpx2.Client(base_url=served.url, headers=JSON | served.headers, timeout=DEADLINE) as client:
        for n in range(3):
            assert client.post("/api/v1/items", json={"content": f"first {n}"}).status_code == 201
            assert client.post("/mcp", content=calling(b'{"content":"second"}')).status_code == 200
        message = {"role": "user", "content": "third"}
        started = {"label": "first", "folder": "/first", "messages": [message]}
        assert client.post("/api/v1/conversations", json=started).status_code == 201

        def post(path: str, body: bytes, **headers: str) -> httpx2.Response:
            with bounded_memory(served.process.pid, len(body)):
                return client.post(path, content=body, headers=headers)

        yield post
    assert served.process.poll() is None


def refused(answer: httpx2.Response, status: int, code: str, says: str) -> None:
    assert answer.status_code == status, answer.text[:300]
    error = answer.json()["error"]
    assert error["code"] == code and says in error["message"] and error["details"]


@pytest.mark.parametrize(
    ("path", "make_body", "status", "code", "says"),
    [
        ("sync/compare", lambda: keys(2_000_000), 413, "TOO_LARGE", "unpacks to more than"),
        ("sync/compare", lambda: b"[" + b"[]," * 15_000_000 + b"[]]", 413, "TOO_LARGE", "unpacks to more than"),
        ("sync/compare", lambda: b"[" + b"[]," * 1_300_000 + b"[]]", 413, "TOO_LARGE", "more than 250,000 values"),
        ("sync/fetch", lambda: keys(MAX_VALUES_OF_MANY - 5), 422, "VALIDATION_ERROR", "249,995 fields"),
        ("sync/compare", lambda: changes(45_000), 422, "VALIDATION_ERROR", "changes[0]"),
        ("sync/records", lambda: b"[" * 3_000_000, 422, "VALIDATION_ERROR", "nested too deeply to parse"),
    ],
    ids=["keys", "lists", "fewer lists", "as many keys as may be", "wrong entries", "depth"],
)
def test_packed_bodies_are_bounded_by_what_was_received(
    ask: Ask, path: str, make_body: Body, status: int, code: str, says: str
) -> None:
    refused(ask(f"/api/v1/{path}", gzip.compress(make_body()), **GZIP), status, code, says)


@pytest.mark.parametrize("path", ["search", "items", "items/batch", "conversations", "smart-query", "import-not"])
@pytest.mark.parametrize(
    "make_body",
    [
        lambda: keys(1_000_000),
        lambda: b"[" + b"[]," * 7_000_000 + b"[]]",
        lambda: b'{"content":"' + EMOJI + b"a" * 31_000_000 + b'"}',
        lambda: b'{"content":"' + EMOJI + b"a" * 31_000_000 + b'\\ud800"}',
        lambda: b'{"metadata":{"a":"' + EMOJI + b"a" * 31_000_000 + b'"},"content":"a"}',
    ],
    ids=["keys", "lists", "long text", "broken text", "metadata"],
)
def test_large_bodies_are_refused_in_little_memory(ask: Ask, path: str, make_body: Body) -> None:
    answer = ask(f"/api/v1/{path}", make_body())
    assert answer.status_code in (400, 404, 413, 422) and answer.json()["error"]


def test_each_limit_of_a_body_is_named(ask: Ask) -> None:
    many = b'{"content":"a","metadata":{"a":[' + b"1," * MAX_VALUES + b"1]}}"
    refused(ask("/api/v1/items", many), 413, "TOO_LARGE", f"has more than {MAX_VALUES:,} values")
    refused(ask("/api/v1/items", b"[" * 101 + b"]" * 101), 422, "VALIDATION_ERROR", "nested too deeply to parse")
    text = gzip.compress(b'{"changes":[]}' + b" " * UNPACKED * 2)
    refused(ask("/api/v1/sync/compare", text, **GZIP), 413, "TOO_LARGE", "unpacks to more than")
    refused(ask("/api/v1/sync/compare", b"not packed", **GZIP), 422, "VALIDATION_ERROR", "not valid gzip")
    cut, twice = gzip.compress(b'{"changes":[]}')[:-4], gzip.compress(b'{"changes":[]}') * 2
    refused(ask("/api/v1/sync/compare", cut, **GZIP), 422, "VALIDATION_ERROR", "ends in the middle")
    refused(ask("/api/v1/sync/compare", twice, **GZIP), 422, "VALIDATION_ERROR", "goes on after")


def test_text_with_many_commas_and_brackets_is_no_list(ask: Ask) -> None:
    content = 'a, [b], {c}, "quoted \\", ' * 30_000
    assert ask("/api/v1/items", json.dumps({"content": content}).encode()).status_code == 201


def test_a_conversation_with_as_many_messages_as_may_be(ask: Ask) -> None:
    messages = [{"role": "user", "content": f"word {n}", "metadata": {"a": 1}} for n in range(20_000)]
    answer = ask("/api/v1/conversations", json.dumps({"label": "all", "folder": "/a", "messages": messages}).encode())
    assert answer.status_code == 201 and answer.json()["message_count"] == 20_000


@pytest.mark.parametrize(
    ("make_body", "status", "says"),
    [
        (lambda: calling(keys(2_000_000)), 413, "more than 250,000 values"),
        (lambda: calling(b"[" + b"[]," * 9_000_000 + b"[]]"), 413, "more than 250,000 values"),
        (lambda: calling(b"[" * 9_000_000), 422, "nested too deeply to parse"),
        (lambda: calling(keys(MAX_VALUES_OF_MANY - 50)), 200, "no argument"),
        (lambda: calling(b'{"content":"' + EMOJI + b"a" * 31_000_000 + b'"}'), 200, "more than 1000000"),
    ],
    ids=["keys", "lists", "depth", "as many keys as may be", "long text"],
)
def test_messages_of_the_protocol_are_bounded(ask: Ask, make_body: Body, status: int, says: str) -> None:
    answer = ask("/mcp", make_body())
    reply: dict[str, Any] = answer.json()
    assert answer.status_code == status and reply["id"] == 7 and says in json.dumps(reply)
    if status != 200:
        assert reply["error"]["data"]["details"]


def test_forms_of_pages_are_bounded(ask: Ask) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for body in (b"a=1&" * 1_000_000, b"next=" + b"%F0%9F%98%80" * 340_000, b"next=" + b"+" * 5_000_000):
        assert ask("/login", body, **form).status_code in (401, 413, 422)
