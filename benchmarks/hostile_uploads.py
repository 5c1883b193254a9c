"""How long a reader waits while somebody else uploads what takes long to read: REST and MCP, against the same in peace.

`python -m benchmarks.hostile_uploads --seconds 20`. Each figure is the median of one reader with a key of its own; four
others upload what takes long to read, again and again: all with one key, or each with its own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchmarks.tool_clients import Served

SECONDS, UPLOADS, ITEMS = 20, 4, 300
# Not so often that the reader itself keeps the machine busy.
PAUSE_SECONDS = 0.02
PLAIN = 16 << 20
CUT_OFF = 0
SETTINGS = {"rate_limit": "100000", "rate_burst": "100000"}

Ask = Callable[[HTTPConnection, dict[str, str]], None]


def bomb(lines: int) -> bytes:
    """A zip with one conversation of so many lines."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("talk.txt", "User: a\nAI: b\n" * (lines // 2))
    return packed.getvalue()


def rest(connection: HTTPConnection, headers: dict[str, str]) -> None:
    connection.request("GET", "/api/v1/search?q=deploy", headers=headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status


def mcp(connection: HTTPConnection, headers: dict[str, str]) -> None:
    questions = {"name": "search", "arguments": {"query": "deploy"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": questions})
    connection.request("POST", "/mcp", body, headers)
    answer = connection.getresponse()
    output = json.loads(answer.read())
    assert answer.status == 200 and not output["result"].get("isError"), output


READERS: dict[str, Ask] = {"REST": rest, "MCP": mcp}


def key(server: Served, name: str, scope: str) -> dict[str, str]:
    """Headers with a new key."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/keys", json.dumps({"name": name, "scope": scope}), headers)
    made = json.loads(connection.getresponse().read())["secret"]
    connection.close()
    return {
        "Authorization": f"Bearer {made}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


def read(server: Served, headers: dict[str, str], ask: Ask, seconds: float) -> list[float]:
    """How long each answer took."""
    taken = []
    connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        ask(connection, headers)
        taken.append(time.perf_counter() - began)
        time.sleep(PAUSE_SECONDS)
    connection.close()
    return taken


@contextlib.contextmanager
def uploading(
    server: Served, hostile: Sequence[dict[str, str]], kind: str, body: bytes, statuses: list[int]
) -> Iterator[None]:
    """Four who upload until the end, and leave in the middle."""
    over = threading.Event()
    connections: list[HTTPConnection] = []

    def upload(headers: dict[str, str]) -> None:
        while not over.is_set():
            connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
            connections.append(connection)
            try:
                connection.request("POST", "/api/v1/import", body, headers | {"Content-Type": kind})
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
                over.wait(float(answer.getheader("Retry-After", "0")))
            except (OSError, HTTPException):
                # Cut off: by us at the end, or else by the server, which counts.
                if not over.is_set():
                    statuses.append(CUT_OFF)
            connection.close()

    threads = [threading.Thread(target=upload, args=(headers,), daemon=True) for headers in hostile]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for connection in connections:
            if (sock := connection.sock) is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(2)


def fill(server: Served) -> None:
    for n in range(ITEMS):
        server.call("add_memory", content=f"Fact {n}: the deploy of part {n % 7} waits for review {n * 31}")
    server.until_understood()


def figures(seconds: float = SECONDS) -> list[tuple[str, str, str]]:
    """The medians, and how many times as long as in peace."""
    found = []
    zipped = "application/zip", bomb(2_000_000)
    plain = "text/plain", b"User: a\nAI: b\n" * (PLAIN // 14)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Served(Path(folder), **SETTINGS)) as server:
        fill(server)
        reader = key(server, "reader", "read")
        hostile = [key(server, f"hostile {n}", "write") for n in range(UPLOADS)]
        uploads = {
            "a zip of 2 million lines, one key": (*zipped, hostile[:1] * UPLOADS),
            "a zip of 2 million lines, four keys": (*zipped, hostile),
            "plain text of 16 MB, one key": (*plain, hostile[:1] * UPLOADS),
        }
        for name, ask in READERS.items():
            read(server, reader, ask, 2)
            peace = statistics.median(read(server, reader, ask, seconds))
            found.append((f"{name}, in peace", f"{peace * 1000:.1f} ms", "1.0 x"))
            for what, (kind, body, callers) in uploads.items():
                statuses: list[int] = []
                with uploading(server, callers, kind, body, statuses):
                    read(server, reader, ask, 2)
                    taken = read(server, reader, ask, seconds)
                middle, last = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
                found.append((f"{name}, while 4 upload {what}", f"{middle * 1000:.1f} ms", f"{middle / peace:.1f} x"))
                found.append((f"{name}, 99 of 100 then", f"{last * 1000:.1f} ms", f"{last / peace:.1f} x"))
                ended = ", ".join(f"{status}: {count}" for status, count in sorted(Counter(statuses).items()))
                found.append(("uploads that were answered meanwhile, by status", ended or "none", ""))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    for what, figure, ratio in figures(parser.parse_args().seconds):
        print(f"{what:58} {figure:>12} {ratio:>10}", flush=True)
