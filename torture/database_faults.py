"""PostgreSQL and the network to it fail while processes write: they are told, go on, and lose nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from tests.postgres_process import PostgresProcess, running
from tests.postgres_proxy import address_of, connected, serve_each

from torture.checks import check_all
from torture.clients import WriterClient
from torture.workspace import TIMEOUT, Workspace

WRITERS = 3
AWAY_SECONDS = 1.0


class Network:
    """A wire to the server that can be cut: all connections drop at once, and nobody gets through until it is whole."""

    def __init__(self, url: str, listening: socket.socket) -> None:
        self._server = url
        self.url = address_of(url, listening)
        self._lock = threading.Lock()
        self._ends: list[socket.socket] = []
        self._whole = True
        serve_each(listening, self._serve)

    def cut(self) -> None:
        with self._lock:
            self._whole = False
            while self._ends:
                with contextlib.suppress(OSError):
                    self._ends.pop().shutdown(socket.SHUT_RDWR)

    def repair(self) -> None:
        with self._lock:
            self._whole = True

    def _serve(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError):
            if not self._whole:
                return
            with connected(self._server) as server:
                with self._lock:
                    self._ends += [caller, server]
                back = threading.Thread(target=_pass_on, args=(server, caller), daemon=True)
                back.start()
                _pass_on(caller, server)
                back.join(TIMEOUT)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while sent := one.recv(65536):
            other.sendall(sent)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def _network(url: str) -> Iterator[Network]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        try:
            yield Network(url, listening)
        finally:
            listening.shutdown(socket.SHUT_RDWR)


def _server_dies(server: PostgresProcess, _network: Network) -> None:
    server.kill()
    server.start()


def _connections_end(server: PostgresProcess, _network: Network) -> None:
    server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'torture'"
    )


def _wire_cut(_server: PostgresProcess, network: Network) -> None:
    network.cut()
    threading.Event().wait(AWAY_SECONDS)
    network.repair()


FAULTS: dict[str, Callable[[PostgresProcess, Network], None]] = {
    "database servers killed": _server_dies,
    "connections ended": _connections_end,
    "wires cut": _wire_cut,
}


def database(workspace: Workspace) -> None:
    """Fault after fault while they write; each has to be answered again afterwards, and is killed in the end."""
    with running() as server:
        server.run("CREATE DATABASE torture")
        with _network(server.address("torture")) as network:
            workspace.more["database_url"] = network.url
            with workspace.memory():
                pass
            for round_ in range(workspace.effort):
                writers = [WriterClient(workspace, f"pg{round_}n{n}") for n in range(WRITERS)]
                for name, happen in FAULTS.items():
                    _wait_for_answers(writers)
                    happen(server, network)
                    workspace.outcome.count(name)
                _wait_for_answers(writers)
                for writer in writers:
                    writer.dies_after(0, 0.0)
                check_all(workspace, f"round {round_}")


def _wait_for_answers(writers: list[WriterClient]) -> None:
    """Until each of them has written again."""
    for writer in writers:
        writer.wait_for(writer.answers + 3)
