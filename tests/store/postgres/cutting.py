"""A wire to a database server that can be cut at a given statement, before it arrives or after it was done."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import IO

from tests.postgres_proxy import address_of, connected, serve_each

# What ends a statement on the wire: a simple query, or the sync after an extended one.
ENDS = b"QS"


class Wire:
    """Passes on what callers send. A cut happens once; `was_cut` tells whether it did."""

    def __init__(self, url: str, listening: socket.socket) -> None:
        self._server = url
        self.url = address_of(url, listening)
        self._left, self._after, self.was_cut = 0, False, False
        serve_each(listening, self._serve)

    def cut_at(self, number: int, *, after: bool) -> None:
        """Cut at the statement of that number from now on: when it was done, or before it arrives."""
        self._left, self._after, self.was_cut = number, after, False

    def _serve(self, caller: socket.socket) -> None:
        muted = threading.Event()
        with caller, caller.makefile("rb") as sent, connected(self._server) as server, contextlib.suppress(OSError):
            answers = threading.Thread(target=_pass_on, args=(server, caller, muted), daemon=True)
            answers.start()
            server.sendall(message_of(sent, kinds=0))
            while (message := message_of(sent)) and not self._is_time(message):
                server.sendall(message)
            if message and self._after:
                muted.set()
                server.sendall(message)
            # When it has done what it was told, it notices that nobody asks for more.
            server.shutdown(socket.SHUT_WR)
            answers.join()
            caller.shutdown(socket.SHUT_RDWR)

    def _is_time(self, message: bytes) -> bool:
        if message[0] in ENDS:
            self._left -= 1
            self.was_cut = self.was_cut or self._left == 0
            return self._left == 0
        return False


def message_of(sent: IO[bytes], kinds: int = 1) -> bytes:
    """The next message, with its kind, which the first one does not have; nothing at the end."""
    head = sent.read(kinds + 4)
    return head + sent.read(struct.unpack("!i", head[kinds:])[0] - 4) if len(head) == kinds + 4 else b""


def _pass_on(server: socket.socket, caller: socket.socket, muted: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while answer := server.recv(65536):
            if not muted.is_set():
                caller.sendall(answer)


@contextlib.contextmanager
def wire(url: str) -> Iterator[Wire]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        try:
            yield Wire(url, listening)
        finally:
            listening.shutdown(socket.SHUT_RDWR)
