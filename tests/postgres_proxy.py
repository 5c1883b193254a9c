"""Standing between callers and a database server: they come to a socket of ours, and we go on to the server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from psycopg.conninfo import conninfo_to_dict, make_conninfo


def address_of(url: str, listening: socket.socket) -> str:
    """The database at `url`, by way of a socket of ours."""
    port = listening.getsockname()[1]
    return make_conninfo(url, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable")


def serve_each(listening: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """Have every caller served in a thread of its own, until nobody listens any more."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                caller = listening.accept()[0]
                threading.Thread(target=serve, args=(caller,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def connected(url: str) -> socket.socket:
    """A new connection to the server itself."""
    address = conninfo_to_dict(url)
    host, port = str(address.get("host")), int(address.get("port") or 5432)
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{host}/.s.PGSQL.{port}")
    return server
