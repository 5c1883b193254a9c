"""A pooler between us and a database server, which lends a connection to the server for one transaction at a time.

Like those of managed services in their strictest mode: the next transaction goes to another connection, and what an
earlier one prepared or set there is of no concern to it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from typing import IO

from psycopg.conninfo import conninfo_to_dict
from tests.postgres_proxy import address_of, connected, serve_each
from tests.store.postgres.cutting import ENDS, message_of

# Each transaction goes to the one of these that was idle for the longest.
CONNECTIONS = 4
GREETING = b"R" + struct.pack("!ii", 8, 0)
KEY = b"K" + struct.pack("!iii", 12, 4711, 0)
READY = b"Z" + struct.pack("!i", 5)
IDLE = READY + b"I"


class Lent:
    """A connection to the server, with what it told about itself."""

    def __init__(self, url: str) -> None:
        address = conninfo_to_dict(url)
        self.socket = connected(url)
        self.answers = self.socket.makefile("rb")
        about = f"user\0{address['user']}\0database\0{address['dbname']}\0client_encoding\0UTF8\0\0".encode()
        self.socket.sendall(struct.pack("!ii", len(about) + 8, 3 << 16) + about)
        self.told = b""
        while not (message := message_of(self.answers)).startswith(READY):
            self.told += message if message.startswith(b"S") else b""

    def close(self) -> None:
        self.answers.close()
        self.socket.close()


class Pooler:
    """Passes on what callers send, each transaction to the next connection; `turns` counts them."""

    def __init__(self, url: str, listening: socket.socket) -> None:
        self._listening = listening
        self.url = address_of(url, listening)
        self._idle, self._returned = deque(Lent(url) for _ in range(CONNECTIONS)), threading.Condition()
        self._told, self.turns = self._idle[0].told, 0
        serve_each(listening, self._serve)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        with self._returned:
            assert self._returned.wait_for(lambda: len(self._idle) == CONNECTIONS, 60), "somebody kept a connection"
        for lent in self._idle:
            lent.close()

    def _serve(self, caller: socket.socket) -> None:
        with caller, caller.makefile("rb") as sent, contextlib.suppress(OSError):
            message_of(sent, kinds=0)
            caller.sendall(GREETING + self._told + KEY + IDLE)
            while (message := message_of(sent)) and not message.startswith(b"X"):
                with self._lent() as lent:
                    _transaction(caller, sent, lent, message)

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Lent]:
        with self._returned:
            assert self._returned.wait_for(lambda: self._idle, 60), "no connection came back"
            lent = self._idle.popleft()
            self.turns += 1
        yield lent
        with self._returned:
            self._idle.append(lent)
            self._returned.notify_all()


def _transaction(caller: socket.socket, sent: IO[bytes], lent: Lent, message: bytes) -> None:
    """Pass on a first message, and all others in both directions until the transaction is over."""
    request_count = 0
    while True:
        lent.socket.sendall(message)
        request_count += message[0] in ENDS
        while request_count:
            answer = message_of(lent.answers)
            request_count -= answer.startswith(READY)
            caller.sendall(answer)
            if answer == IDLE and not request_count:
                return
        if not (message := message_of(sent)):
            raise OSError("the caller went away in a transaction")


@contextlib.contextmanager
def pooler(url: str) -> Iterator[Pooler]:
    with socket.create_server(("127.0.0.1", 0)) as listening, contextlib.closing(Pooler(url, listening)) as between:
        yield between
