"""People who write through several servers all the time, and remember what they were told is kept."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests.mcp.conftest import Served

PATIENCE = 60
ITEMS = "/api/v1/items"


class Writers:
    """A thread for each server, until stopped. What is neither kept nor refused as unavailable is strange."""

    def __init__(self, servers: Sequence[Served], key: str) -> None:
        self._servers, self._key = servers, key
        self.kept: dict[int, str] = {}
        self.refused: Counter[int] = Counter()
        self.strange: list[tuple[int, str]] = []
        self._news = threading.Condition()
        self._wrote: Counter[int] = Counter()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(len(servers))]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_for_writes(self, more: int) -> None:
        """Return when each of them has kept so much more."""
        with self._news:
            wanted = {n: self._wrote[n] + more for n in range(len(self._servers))}
        self._wait(lambda: all(self._wrote[n] >= count for n, count in wanted.items()))

    def wait_for_refusals(self) -> None:
        """Return when each of them was refused from now on."""
        with self._news:
            self.refused.clear()
        self._wait(lambda: all(self.refused[n] for n in range(len(self._servers))))

    def lost(self) -> list[str]:
        """What was told to be kept, and is not there, asked of each server."""
        missing = []
        for server in self._servers:
            with _connected(server) as connection:
                for id_, content in self.kept.items():
                    status, result = self._request(connection, "GET", f"{ITEMS}/{id_}")
                    if status != 200 or content not in result:
                        missing.append(f"{content} at {server.url}: {status}")
        return missing

    def _wait(self, happened: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(happened, PATIENCE), (self._wrote, self.refused, self.strange)

    def _write(self, number: int) -> None:
        with _connected(self._servers[number]) as connection:
            turn = 0
            while not self._stop.is_set():
                turn += 1
                content = f"writer {number} says {turn}"
                self._note(number, content, *self._request(connection, "POST", ITEMS, {"content": content}))

    def _note(self, number: int, content: str, status: int, text: str) -> None:
        with self._news:
            if status == 201:
                self.kept[json.loads(text)["id"]] = content
                self._wrote[number] += 1
            elif status == 503 and json.loads(text)["error"]["code"] == "SERVICE_UNAVAILABLE":
                self.refused[number] += 1
            else:
                self.strange.append((status, text))
            self._news.notify_all()

    def _request(self, connection: HTTPConnection, method: str, path: str, body: object = None) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def _connected(server: Served) -> contextlib.closing[HTTPConnection]:
    return contextlib.closing(HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE))


@contextlib.contextmanager
def writing(servers: Sequence[Served], key: str) -> Iterator[Writers]:
    """They write until the end of the block."""
    writers = Writers(servers, key)
    writers.start()
    try:
        yield writers
    finally:
        writers.stop()
