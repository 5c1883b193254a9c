"""A letter of introduction: passes connections on to a server, and puts the key into each request.

For judges that cannot send a key. Each connection carries one request, so that nothing else is touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

LONGEST_HEAD = 64 * 1024
STOP_SECONDS = 10
_CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)

SavedKey = Callable[[bytes, bytes], None]
"""Takes a request and its answer, as they were on the wire."""


@dataclass(frozen=True, slots=True)
class _KeyProxy:
    port: int
    key: str
    saved: SavedKey | None

    async def carry(self, reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        async with _closing(writing):
            head = await reading.readuntil(b"\r\n\r\n")
            answer, question = await asyncio.open_connection("127.0.0.1", self.port)
            request, answered = bytearray(head), bytearray()
            async with _closing(question):
                question.write(self._introduced(head))
                ways = [
                    asyncio.ensure_future(_pour(reading, question, request)),
                    asyncio.ensure_future(_pour(answer, writing, answered)),
                ]
                # Whichever side leaves, the other is told.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            if self.saved is not None:
                self.saved(bytes(request), bytes(answered))

    def _introduced(self, head: bytes) -> bytes:
        line, rest = head.split(b"\r\n", 1)
        added = f"Authorization: Bearer {self.key}\r\nConnection: close\r\n".encode()
        return line + b"\r\n" + added + _CONNECTION.sub(b"", b"\r\n" + rest)[2:]


@contextlib.asynccontextmanager
async def _closing(writing: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close a connection, also when the other side was first or nothing sensible came."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        try:
            yield
        finally:
            writing.close()
            await writing.wait_closed()


async def _pour(reading: asyncio.StreamReader, writing: asyncio.StreamWriter, saved: bytearray) -> None:
    while data := await reading.read(LONGEST_HEAD):
        saved += data
        writing.write(data)
        await writing.drain()


@contextlib.contextmanager
def introduced(port: int, key: str, saved: SavedKey | None = None) -> Iterator[str]:
    """An address at which everybody is known by the key to the server at the port."""
    loop = asyncio.new_event_loop()
    key_proxy = _KeyProxy(port, key, saved)
    server = loop.run_until_complete(asyncio.start_server(key_proxy.carry, "127.0.0.1", 0, limit=LONGEST_HEAD))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(STOP_SECONDS)
        loop.run_until_complete(_end(server))
        loop.close()


async def _end(server: asyncio.Server) -> None:
    """Stop listening, and let go of those who still talk."""
    server.close()
    talking = asyncio.all_tasks() - {asyncio.current_task()}
    for task in talking:
        task.cancel()
    await asyncio.gather(*talking, return_exceptions=True)
    await server.wait_closed()
