"""Connections of the server: how many there may be, and how long one may stall.

Every connection takes a file descriptor, and without a free one nobody is answered. So there are fewer connections than
descriptors, and when they run out the least important is closed: one without a key, of the address that has most of
those, the oldest first. Headers and bodies have to arrive, and answers have to be read, in a
bounded time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

# So many connections at most, and no more than half of the file descriptors that the process may have.
MOST_CONNECTIONS = 1_024
# Seconds for the whole head of a request, from the opening of a connection or from the answer before it.
HEAD_SECONDS = 10.0
# A body has this long, and a second more for each KB that arrived.
BODY_SECONDS, BODY_BYTES_PER_SECOND = 30.0, 1_024
# Whoever takes nothing of an answer for so long is gone.
STALLED_SECONDS = 60.0
# More than this is not copied to be sent with what comes before it.
JOINED_BYTES = 65_536
# On systems that do not say how many descriptors there are.
_UNKNOWN_LIMIT = 512
_ENOUGH = 65_536


def raise_descriptor_limit() -> int:
    """Raise the limit of open files to what the system allows; returns it."""
    if sys.platform == "win32":
        return _UNKNOWN_LIMIT
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS says that there is no limit, and refuses more than this.
    for wanted in (min(hard, _ENOUGH) if hard != resource.RLIM_INFINITY else _ENOUGH, 10_240):
        if soft != resource.RLIM_INFINITY and soft < wanted:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                return wanted
            except (ValueError, OSError):
                continue
    return _ENOUGH if soft == resource.RLIM_INFINITY else soft


def most_connections(descriptors: int) -> int:
    """How many connections a process with so many file descriptors may have.

    Half as many more may be accepted in one go, before the first of them is looked at.
    """
    return max(8, min(MOST_CONNECTIONS, descriptors // 2))


class Connection(H11Protocol):
    """One connection: since when it has been waiting, and whether a working key was sent on it.

    `state.connection` of its requests is this, so that the site can say that they came with a key.
    """

    most = MOST_CONNECTIONS

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self.authenticated = False
        self._waiting_since = self._body_since = time.monotonic()
        self._body_bytes = 0
        self._stalled_since: float | None = None

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def waiting_since(self) -> float:
        """When the last answer was given, or else when it was opened."""
        return self._waiting_since

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(cast("Any", _JoinedWrites(transport, self.loop)))
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        # Those that were dropped a moment ago are still in the list.
        staying = [one for one in others if not one.transport.is_closing()]
        if len(staying) >= self.most:
            least_important(staying).drop()

    def data_received(self, data: bytes) -> None:
        self._body_bytes += len(data)
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._body_since, self._body_bytes = time.monotonic(), 0

    def on_response_complete(self) -> None:
        self._waiting_since = self._body_since = time.monotonic()
        self._body_bytes = 0
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._stalled_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()

    def is_overdue(self, now: float) -> bool:
        """Whether it has kept the server waiting for too long."""
        if self._stalled_since is not None and now - self._stalled_since > STALLED_SECONDS:
            return True
        if self.is_idle:
            return now - self._waiting_since > HEAD_SECONDS
        if not self.cycle.more_body:
            return False
        if self.flow.read_paused:
            # It is for the server to go on reading.
            self._body_since = now
            return False
        return now - self._body_since > BODY_SECONDS + self._body_bytes / BODY_BYTES_PER_SECOND

    def drop(self) -> None:
        """Close it at once, even with data to send. A request that is being read sees that its caller left."""
        self.transport.abort()


class _JoinedWrites:
    """A transport that sends the head of an answer together with its body.

    Each sending is a call of the system, for which the interpreter's lock is given to another thread.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if len(data) > JOINED_BYTES:
            self._send()
            self._transport.write(data)
            return
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._held:
            self._transport.write(b"".join(self._held))
            self._held.clear()


def least_important(connections: Collection[Connection]) -> Connection:
    """Which one to close when there are too many: rather one without a key, and rather one that is not being answered.

    Among those without a key, the oldest one of the address that has most of them; else the one that was idle longest.
    """
    strangers = Counter(one.address for one in connections if not one.authenticated)

    def rank(one: Connection) -> tuple[bool, bool, int, float]:
        return one.authenticated, not one.is_idle, -strangers[one.address], one.waiting_since

    return min(connections, key=rank)


def close_overdue(connections: Collection[object], clock: Callable[[], float] = time.monotonic) -> None:
    """Close connections that keep the server waiting too long."""
    now = clock()
    for one in [*connections]:
        if isinstance(one, Connection) and one.is_overdue(now):
            one.drop()
