"""What a server logs: one JSON object on each line that says what happened, and nothing of what callers sent."""

from __future__ import annotations

import json
import re
import socket
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from tests.http_server.conftest import bearer
from tests.mcp.conftest import DEADLINE, Served, keyed
from tests.polling import until

from commonplace.http_server import logs

Serve = Callable[..., Served]
# Words that stand in no file of ours, where a caller can put words.
PLANTED = "xyloquartz"
SECRET = "ghp_" + "q7Zk2Vw9" * 4 + "Ab3d"


class Talkative:
    """A server that logs in JSON, and what it said when it has ended."""

    def __init__(self, serve: Serve, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.server = serve(log_format="json", **settings)
        # Both lines that a server greets with are read; here the second one is the first that is logged.
        self.server.url = json.loads(self.server.greeting)["address"]

    def lines(self) -> list[dict[str, Any]]:
        status, log = self.server.end()
        assert status == 0
        self.raw = self.server.greeting + self.server.remark + log
        return [json.loads(line) for line in self.raw.splitlines()]


@pytest.fixture
def talkative(serve: Serve, tmp_path: Path) -> Talkative:
    return Talkative(serve, tmp_path, log_level="info")


def test_a_request_is_told_by_its_route_and_its_key(talkative: Talkative) -> None:
    server = talkative.server
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=DEADLINE) as client:
        made = client.post("/api/v1/items", json={"content": "Remembered"}, headers={"x-request-id": "one-of-mine"})
        assert made.headers["x-request-id"] == "one-of-mine"
        other = client.get(f"/api/v1/items/{made.json()['id'] + 1}")
        assert re.fullmatch("[0-9a-f]{32}", other.headers["x-request-id"])
        client.get("/live")
        client.get("/nowhere/at/all")
    unknown = httpx2.get(f"{server.url}/api/v1/items/7", timeout=DEADLINE)
    assert unknown.status_code == 401
    requests = [line for line in talkative.lines() if line["event"] == "request"]
    reply = [(one["method"], one["route"], one["status"], one.get("key"), one.get("error")) for one in requests]
    assert reply == [
        ("POST", "/api/v1/items", 201, 1, None),
        ("GET", "/api/v1/items/{id}", 404, 1, "NOT_FOUND"),
        ("GET", "other", 404, 1, "NOT_FOUND"),
        ("GET", "/api/v1/items/{id}", 401, None, "UNAUTHORIZED"),
    ]
    first = requests[0]
    assert first.keys() == {
        *("time", "level", "event", "request_id", "method", "route", "status", "duration_ms", "key", "space")
    }
    assert (first["level"], first["request_id"], first["space"]) == ("info", "one-of-mine", "default")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"]) and first["duration_ms"] > 0


def test_a_caller_that_left_made_no_bad_request(talkative: Talkative) -> None:
    server = talkative.server
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=DEADLINE) as connection:
        head = f"POST /api/v1/items HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {server.key}\r\n"
        connection.sendall(f'{head}Content-Length: 9000\r\n\r\n{{"content": "'.encode())
    counted = 'commonplace_request_seconds_count{method="POST",route="/api/v1/items",status="499"} 1.0'
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=DEADLINE) as client:
        until(lambda: counted in client.get("/metrics").text)
    (left,) = (line for line in talkative.lines() if line.get("method") == "POST")
    assert (left["status"], left["error"]) == (499, "CALLER_LEFT")


def test_calls_of_tools_are_told_by_their_names(talkative: Talkative) -> None:
    server = talkative.server

    async def story() -> None:
        async with keyed(f"{server.url}/mcp", server.key) as client:
            await client.call_tool("add_memory", {"content": "Remembered"})
            await client.call_tool("add_memory", {"content": ""})

    anyio.run(story)
    reply = [(line["route"], line.get("error")) for line in talkative.lines() if line.get("tool") == "add_memory"]
    assert reply == [("/mcp", None), ("/mcp", "VALIDATION_ERROR")]


def test_nothing_that_callers_send_is_logged(serve: Serve, tmp_path: Path) -> None:
    talkative = Talkative(serve, tmp_path, log_level="debug")
    server = talkative.server
    text = f"{PLANTED} {SECRET}"
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=DEADLINE) as client:
        client.post("/api/v1/items", json={"content": text, "title": text, "project": PLANTED, "tags": [PLANTED]})
        client.post("/api/v1/items", json={"content": text, PLANTED: text})
        client.post("/api/v1/items", content=f'{{"content": "{text}'.encode(), headers={"content-type": "text/html"})
        client.post("/api/v1/items", json={"content": text}, headers={"idempotency-key": PLANTED})
        client.get("/api/v1/search", params={"q": text, PLANTED: "x"})
        client.get("/api/v1/search", params={"q": text})
        client.get(f"/api/v1/items/{PLANTED}", params={"key": SECRET})
        client.get(f"/{PLANTED}/{SECRET}", headers={"referer": f"http://localhost/{PLANTED}", "user-agent": text})
        client.get("/api/v1/items", headers={"x-request-id": SECRET})
        client.get("/api/v1/items", headers={"x-request-id": f"{PLANTED} {PLANTED}"})
        client.get("/api/v1/items", headers={"host": f"{PLANTED}.example.com"})
        client.get("/api/v1/items", headers={"origin": f"http://{PLANTED}.example.com"})
        client.get("/api/v1/items", headers=bearer(f"sk-sekha-{PLANTED}"))
        client.get("/api/v1/events", params={"follow": "false"}, headers={"last-event-id": PLANTED})
        client.request(PLANTED.upper(), "/api/v1/items")
        for body in (
            {"jsonrpc": "2.0", "id": PLANTED, "method": PLANTED, "params": {PLANTED: text}},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": PLANTED, "arguments": text}},
            {"jsonrpc": "2.0", "method": f"notifications/{PLANTED}", "params": text},
            [PLANTED],
        ):
            client.post("/mcp", json=body, headers={"accept": "application/json, text/event-stream"})

    async def story() -> None:
        async with keyed(f"{server.url}/mcp", server.key) as client:
            for tool, arguments in (
                ("add_memory", {"content": text}),
                ("add_memory", {PLANTED: text}),
                ("search_memories", {"query": text}),
                ("recall", {"query": text, "minScore": text}),
                ("memory_store", {"label": PLANTED, "messages": [{"role": PLANTED, "content": text}]}),
            ):
                await client.call_tool(tool, arguments)

    anyio.run(story)
    key = server.key
    lines = talkative.lines()
    assert len([line for line in lines if line["event"] == "request"]) > 20
    for hidden in (PLANTED, PLANTED.upper(), SECRET, SECRET[4:], key, key[-12:]):
        assert hidden not in talkative.raw


def test_a_fault_is_told_by_its_kind_and_place_and_request() -> None:
    """Formatted as a server does: what an exception says may hold what somebody wrote."""
    record = logs._log.makeRecord("commonplace.rest.api_handler", 40, __file__, 1, "%s failed", ("GET /x",), None)
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as cause:
            raise KeyError(PLANTED) from cause
    except KeyError as error:
        record.exc_info = (KeyError, error, error.__traceback__)
    token = logs.request_id.set("r-1")
    try:
        line, words = json.loads(logs._JsonFormat().format(record)), logs._TextFormat().format(record)
    finally:
        logs.request_id.reset(token)
    assert (line["event"], line["level"], line["request_id"]) == ("GET /x failed", "error", "r-1")
    assert line["fault"] == "KeyError from ValueError"
    assert re.fullmatch(r"test_logs\.py:\d+ test_a_fault_is_told_by_its_kind_and_place_and_request", line["trace"][0])
    assert words.startswith("commonplace: GET /x failed: KeyError from ValueError at test_logs.py:")
    assert PLANTED not in words + str(line) and SECRET not in words + str(line)


def test_what_a_library_says_is_not_repeated() -> None:
    record = logs._log.makeRecord("mcp.server", 30, "runner.py", 5, f"dropped {PLANTED}", (), None)
    line = json.loads(logs._JsonFormat().format(record))
    assert (line["logger"], line["where"], line["level"]) == ("mcp.server", "runner.py:5", "warning")
    assert PLANTED not in str(line) + logs._TextFormat().format(record)


def test_people_are_told_of_warnings_only_unless_they_ask_for_more(serve: Serve, tmp_path: Path) -> None:
    quiet = serve()
    httpx2.get(f"{quiet.url}/api/v1/items", timeout=DEADLINE)
    assert quiet.end() == (0, "")
    open_ = serve(log_level="info")
    name = uuid.uuid4().hex
    httpx2.get(f"{open_.url}/api/v1/items", headers=open_.headers | {"x-request-id": name}, timeout=DEADLINE)
    status, log = open_.end()
    assert status == 0 and re.search(r"^commonplace: GET /api/v1/items 200 in [0-9.]+ ms key 1$", log, re.MULTILINE)
    assert not log.startswith("{")
