"""JSON-RPC on standard input and over HTTP: every line is answered or needs no answer, and the server lives on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from commonplace.dialects.tool_profiles import tools_of
from commonplace.mcp.server import build_server
from commonplace.mcp.stdio import replies_to
from commonplace.worker_threads import Workers
from fuzzing import workspace
from fuzzing.server import fuzz_server
from fuzzing.target import must

PING = b'{"jsonrpc":"2.0","id":"last","method":"tools/list"}\n'
MODERN = b"io.modelcontextprotocol/protocolVersion"
WORDS = (
    *('"jsonrpc":"2.0"', '"id":1', '"method"', '"params"', '"tools/call"', '"tools/list"', '"initialize"', '"ping"'),
    *('"prompts/get"', '"resources/read"', '"completion/complete"', '"server/discover"', '"notifications/cancelled"'),
    *('"name"', '"arguments"', '"_meta"', f'"{MODERN.decode()}"', '"2026-07-28"', '"2025-06-18"', '"uri"'),
    *('"memory://rules"', '"memory://item/1"', '"memory://project/a%2Fb/context"', '"requestId"', '"progressToken"'),
    *(f'"{tool.name}"' for tool in tools_of("all")),
    *sorted({f'"{param.name}"' for tool in tools_of("all") for param in tool.params}),
    *(
        "null",
        "true",
        "{}",
        "[]",
        "1e999",
        "-1",
        "99999999999999999999",
        '"\\ud800"',
        '"\\u0000"',
        '""',
        "\n",
        ",",
        ":",
    ),
)


def take_stdio(data: bytes) -> None:
    """All lines, and one of ours after them that is answered."""
    answers = asyncio.run(_spoken(data.replace(b"\r", b"") + b"\n" + PING))
    for answer in answers:
        _check(answer)
    must(any(answer.get("id") == "last" for answer in answers), "the last question is answered")


def take_http(data: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = fuzz_server().call("POST", "/mcp", data, headers | _era(data))
    must(answer.status != 500, "a request is answered")
    if answer.body and answer.headers.get("content-type", "").startswith("application/json"):
        output = json.loads(answer.body)
        if isinstance(output, dict) and "jsonrpc" in output:
            _check(output)


def _era(data: bytes) -> dict[str, str]:
    """What a client of the newest revision says of its request in headers as well."""
    try:
        request = json.loads(data) if MODERN in data else {}
        params = request["params"]
        named = params.get("name") or params.get("uri") or ""
        version = str(params["_meta"][MODERN.decode()])
        output = {"mcp-protocol-version": version, "mcp-method": str(request["method"]), "mcp-name": str(named)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: " ".join(value.split())[:200] for name, value in output.items()}


def _check(answer: dict[str, Any]) -> None:
    result, error = answer.get("result"), answer.get("error")
    must((result is None) != (error is None), "an answer is a result or an error")
    if isinstance(result, dict) and result.get("isError"):
        output = json.loads(result["content"][0]["text"])["error"]
        must(output["code"] != "INTERNAL_ERROR", f"a tool fails: {output}")
    if error is not None:
        must(bool(error.get("message")), "an error says what is wrong")


async def _spoken(data: bytes) -> list[dict[str, Any]]:
    server = build_server(workspace.memory, "all", _workers())
    return [json.loads(reply) for reply in await replies_to(server, data.splitlines(keepends=True))]


_WORKERS: list[Workers] = []


def _workers() -> Workers:
    if not _WORKERS:
        _WORKERS.append(Workers(2))
    return _WORKERS[0]
