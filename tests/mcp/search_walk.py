"""Prints which of our files one `search` over stdio runs, and which functions of each.

`python -m tests.mcp.search_walk` serves MCP over pipes in this process, without a resident process, and asks questions
that nobody has asked before. What only works in the background does not count.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import commonplace
from commonplace.config import load
from commonplace.mcp.stdio import run

PACKAGE = f"{Path(commonplace.__file__).parent}{os.sep}"
STATEMENTS = (
    "Users stay logged in for 30 days: sessions are kept in Redis.",
    "Users stay logged in for 30 days, and sessions are kept in Redis.",
    "The login page is served by the gateway.",
    "Backups are copied to the bucket in Frankfurt every night.",
    "Anna reviews every migration.",
    "The API listens on port 8080.",
)
MESSAGES = (
    ("user", "How long does a session last before users are logged out?"),
    ("assistant", "Thirty days, unless they log out themselves."),
)
EARLIER_QUESTIONS = ("who reviews migrations?", "where do backups go?", "which port does the API use?")
# Asked one after the other; the shortest walk counts, since a thread may have to open its connection first, and the
# cross-encoder only reads where hits are close to each other.
QUESTIONS = (
    "how do we keep users logged in?",
    "how long do users stay logged in?",
    "for how many days are users logged in?",
    "what keeps users logged in?",
    "to which bucket are the backups copied every night?",
    "what is copied to the bucket every night?",
    "how often are backups copied to the bucket?",
    "are the backups copied to the bucket in Frankfurt?",
    "how often is something copied to the bucket in Frankfurt?",
    "is anything copied to the bucket in Frankfurt every night?",
)
# Threads that would do the same if nobody asked.
BACKGROUND = ("commonplace-background", "commonplace-embed")


class Walk:
    """The functions of ours that begin while it is on, by file."""

    def __init__(self) -> None:
        self.on = False
        self.functions: defaultdict[str, set[str]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if not self.on or event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if not threading.current_thread().name.startswith(BACKGROUND):
            name = frame.f_code.co_filename.removeprefix(PACKAGE)
            self.functions[name].add(frame.f_code.co_qualname)


class Client:
    """A client of a server in a thread of this process."""

    def __init__(self, folder: str) -> None:
        (server_in, to_server), (from_server, server_out) = os.pipe(), os.pipe()
        streams = os.fdopen(server_in, "rb"), os.fdopen(server_out, "wb")
        settings = load({"data_dir": folder}, {"HOME": folder})
        self._server = threading.Thread(target=run, args=(settings, streams), daemon=True)
        self._server.start()
        self._to, self._from = os.fdopen(to_server, "wb", 0), os.fdopen(from_server, "rb")
        client = {"name": "walk", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._to.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self._to.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        reply: dict[str, Any] = json.loads(self._from.readline())["result"]
        return reply

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        reply: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]
        return reply

    def close(self) -> None:
        self._to.close()
        self._server.join()


def walk() -> dict[str, set[str]]:
    """What a search runs in a process that has answered others."""
    seen = Walk()
    threading.setprofile(seen)
    with tempfile.TemporaryDirectory() as folder:
        client = Client(folder)
        for text in STATEMENTS:
            client.call("add_memory", content=text)
        messages = [{"role": role, "content": text} for role, text in MESSAGES]
        client.call("memory_store", label="Logins", messages=messages)
        for question in EARLIER_QUESTIONS:
            # The first one waits for the vectors.
            client.call("search", query=question)
        walks = []
        for question in QUESTIONS:
            seen.functions, seen.on = defaultdict(set), True
            found = client.call("search", query=question)
            seen.on = False
            first = found["observations"][0]["text"]
            assert ("Redis" in first or "bucket" in first) and "Nothing" not in found.get("notice", ""), found
            walks.append(seen.functions)
        client.close()
    return min(walks, key=len)


def report(functions: dict[str, set[str]]) -> Iterator[str]:
    for name in sorted(functions):
        lines = len(Path(PACKAGE, name).read_text(encoding="utf-8").splitlines())
        yield f"{name:34} {lines:4} lines, runs {len(functions[name]):2}: {', '.join(sorted(functions[name]))}"
    yield f"{len(functions)} files"


if __name__ == "__main__":
    sys.stdout.write("\n".join([*report(walk()), ""]))
