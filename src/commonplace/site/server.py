"""Runs the HTTP server: its socket, signals, the start message, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from math import ceil
from typing import Protocol

import uvicorn

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.capture.import_files import watch_inbox
from commonplace.config import Settings, listed
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.malloc import trim
from commonplace.memory.background_tasks import BackgroundTasks, OtherSpacesTask
from commonplace.memory.local_memory import LazyMemory, LocalMemory
from commonplace.site import logs
from commonplace.site.application import application
from commonplace.site.auth import ensure_first_key, login_link, open_browser, read_key_file, should_open_browser
from commonplace.site.connections import Connection, close_overdue, most_connections, raise_descriptor_limit
from commonplace.site.server_state import ServerState
from commonplace.web.login import LoginTickets

# Requests that arrive during shutdown get at least this long.
_REST_SECONDS = 1
# Ticks of 0.1 seconds between two checks for stalled connections.
_TICKS_PER_LOOK = 10


def run(settings: Settings, show: bool | None = None) -> None:
    """Serve until interrupted or terminated, then finish what is being answered and close the store.

    `show` says whether to open the dashboard in a browser; by default, if a person is at the terminal.
    """
    prepare(settings)
    tickets, later = LoginTickets(), FirstKeyLater(settings)

    def announce(lazy_memory: LazyMemory) -> None:
        print_start(address_of(sock), later.or_now(lazy_memory), settings.log_format)
        show_link(start_link(address_of(sock), settings, tickets), settings, show)

    with listening(settings.host, settings.port) as sock:
        serve(settings, sock, tickets, later, announce)


def prepare(settings: Settings) -> None:
    """What a process does before it listens. An error if it may not listen there."""
    if not _is_loopback(settings.host) and not listed(settings.allowed_hosts):
        raise InvalidInput(
            f"{settings.host!r} is not a loopback address, and allowed_hosts does not name this server.",
            "Use 127.0.0.1, ::1 or localhost, or set allowed_hosts to those names, such as memory.example.com.",
        )
    trim()
    logs.set_up_logging(settings)
    Connection.most = most_connections(raise_descriptor_limit())


def serve(
    settings: Settings,
    sock: socket.socket,
    tickets: LoginTickets,
    later: FirstKeyLater,
    begin: Callable[[LazyMemory], None],
    worker: Worker | None = None,
) -> None:
    """Answer on a socket until the process is told to end. `begin` is called when signals are heeded.

    A `worker` is one of several processes that share the socket.
    """
    # Where another process leads, only vectors are made here: they are shared out among all.
    leads = worker is None or worker.leads
    background = BackgroundTasks((BackgroundDrain(), OtherSpacesTask(), later)) if leads else None
    with contextlib.closing(LazyMemory(settings, background=background)) as lazy_memory:
        state = None if worker is None else worker.state
        config = uvicorn.Config(
            application(lazy_memory.memory, settings, lambda: server.should_exit, tickets, state=state),
            lifespan="on",
            log_config=None,
            log_level=settings.log_level,
            access_log=False,
            # Whom to believe about addresses is for the setting trusted_proxies to say.
            proxy_headers=False,
            ws="none",
            http=Connection,
            # So many are accepted in one go: of several workers each takes one, so that all have their share.
            backlog=Connection.most // 2 if worker is None else 1,
        )
        server = _Server(config, settings.shutdown_delay, settings.shutdown_grace)
        with _ended_by_signals(server):
            begin(lazy_memory)
            if worker is not None:
                worker.end_with_parent(lambda: setattr(server, "should_exit", True))
            folder = settings.import_dir if leads else ""
            with watch_inbox(lazy_memory.memory, folder, logging.getLogger("commonplace").warning):
                server.run(sockets=[sock])


class Worker(Protocol):
    """One of several processes of a server (workers.py)."""

    @property
    def leads(self) -> bool:
        """Whether it does what only one of them should."""

    @property
    def state(self) -> ServerState: ...

    def end_with_parent(self, end: Callable[[], None]) -> None:
        """Call `end` when the process that watches over the workers is gone."""


class _Server(uvicorn.Server):
    """Keeps answering for a while before it stops, so that load balancers see by /ready that it is going to."""

    def __init__(self, config: uvicorn.Config, delay: float, grace: float) -> None:
        super().__init__(config)
        self._delay, self._grace = delay, grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for sock in sockets or ():
            # asyncio lets as many wait as it accepts in one go.
            sock.listen(socket.SOMAXCONN)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_LOOK == 0:
            close_overdue(self.server_state.connections)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        announced_until = time.monotonic() + self._delay
        while time.monotonic() < announced_until and not self.force_exit:
            await asyncio.sleep(0.1)
        end, begun = time.monotonic() + self._grace, set(self.server_state.tasks)
        while begun and time.monotonic() < end and not self.force_exit:
            _done, begun = await asyncio.wait(begun, timeout=min(0.1, max(0.0, end - time.monotonic())))
        self.config.timeout_graceful_shutdown = max(_REST_SECONDS, ceil(end - time.monotonic()))
        await super().shutdown(sockets)


@contextlib.contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """End the server also by signals that arrive before it handles them itself, or that it raises again at its end.

    Nothing is raised here: an error in a signal handler may reach nobody.
    """

    def leave(_signal: int, _frame: object) -> None:
        server.should_exit = True

    before = {one: signal.signal(one, leave) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class FirstKeyLater:
    """A background task that makes the first key once the store can be opened, if it could not at the start."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.waits = settings, False

    def or_now(self, lazy_memory: LazyMemory) -> str:
        """Where the key is, or why the store cannot be opened; the server starts all the same."""
        try:
            return ensure_first_key(lazy_memory.memory(), self._settings.key_file)
        except CommonplaceError as error:
            self.waits = True
            return f"{error.message} {error.hint}"

    def __call__(self, home: LocalMemory) -> bool:
        if self.waits:
            message = ensure_first_key(home, self._settings.key_file)
            self.waits = False
            _print("keys", message, self._settings.log_format, keys=message)
        return False


def print_start(address: str, more: str, log_format: str) -> None:
    words = f"Commonplace is at {address}/mcp (REST: {address}/api/v1/docs). Ctrl-C stops it.\n{more}"
    _print("started", words, log_format, address=address, keys=more)


def _print(event: str, words: str, log_format: str, **fields: object) -> None:
    if log_format == "json":
        logs.announce(event, **fields)
        return
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def start_link(address: str, settings: Settings, tickets: LoginTickets) -> str:
    """The address of the dashboard, by which whoever starts the server is signed in."""
    return login_link(address, read_key_file(settings.key_file) if _is_loopback(settings.host) else None, tickets)


def show_link(page: str, settings: Settings, show: bool | None) -> None:
    if sys.stderr.isatty() and settings.log_format == "text":
        sys.stderr.write(f"Open the dashboard: {page}\n")
        sys.stderr.flush()
    if should_open_browser(show):
        open_browser(page)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only of a socket that says it is TCP does asyncio send short answers at once, instead of 40 ms later.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host.strip("[]"), port))
        # Bound is not taken: another server may bind as well until one of them listens.
        sock.listen(socket.SOMAXCONN)
    except OSError as error:
        sock.close()
        raise InvalidInput(
            f"Port {port} cannot be opened: {error.strerror}.", "Choose another, or 0 for any."
        ) from error
    return sock


def address_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
