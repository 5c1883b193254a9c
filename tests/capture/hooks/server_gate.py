"""An address before a server, at which callers wait until it is opened."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from threading import Event, Thread

SECONDS = 60


class Gate:
    """An address that lets connections through to a server once it is opened."""

    def __init__(self, server: int, port: int = 0) -> None:
        self._server, self._sockets, self._threads = server, list[socket.socket](), list[Thread]()
        self._listening = socket.create_server(("127.0.0.1", port))
        self._is_open = Event()
        self.somebody_waits = Event()
        self.port = int(self._listening.getsockname()[1])
        self._start(self._accept)

    def open(self) -> None:
        self._is_open.set()

    def close(self) -> None:
        self._is_open.set()
        for one in (self._listening, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(SECONDS)
        for one in (self._listening, *self._sockets):
            one.close()

    def _start(self, run: Callable[..., None], *given: socket.socket) -> None:
        self._threads.append(Thread(target=run, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._sockets.append(connection)
                self.somebody_waits.set()
                self._is_open.wait(SECONDS)
                server = socket.create_connection(("127.0.0.1", self._server))
                self._sockets.append(server)
                self._start(_copy, connection, server)
                self._start(_copy, server, connection)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
