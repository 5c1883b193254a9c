"""Runs the HTTP server: its socket, connections, signals, the start message, and a graceful shutdown.

Every connection takes a file descriptor, and without a free one nobody is answered. So there are fewer connections than
descriptors, and when they run out the least important is closed: one without a key, of the address that has most of
those, the oldest first. Headers and bodies have to arrive, and answers have to be read, in a bounded time.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from math import ceil
from typing import Any, Protocol, cast

import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState as UvicornState

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.capture.watched_folder import watch_folder
from commonplace.config import Settings, listed
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.http_server import logs
from commonplace.http_server.application import application
from commonplace.http_server.auth import ensure_first_key, login_link, open_browser, read_key_file, should_open_browser
from commonplace.http_server.shared_state import ServerState
from commonplace.malloc import collect_seldom, trim
from commonplace.memory.background_tasks import BackgroundTasks, OtherSpacesTask
from commonplace.memory.local_memory import LazyMemory, LocalMemory
from commonplace.watchdog import Watchdog
from commonplace.web.login import LoginTickets

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

    `state.connection` of its requests is this, so that the server can say that they came with a key.
    """

    most = MOST_CONNECTIONS

    def __init__(
        self, config: Config, server_state: UvicornState, app_state: dict[str, Any], _loop: Any = None
    ) -> None:
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
    collect_seldom()
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
        server = _Server(config, settings.shutdown_delay, settings.shutdown_grace, Watchdog(settings.data_dir))
        with _ended_by_signals(server):
            begin(lazy_memory)
            if worker is not None:
                worker.end_with_parent(lambda: setattr(server, "should_exit", True))
            folder = settings.import_dir if leads else ""
            with watch_folder(lazy_memory.memory, folder, logging.getLogger("commonplace").warning):
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

    def __init__(self, config: uvicorn.Config, delay: float, grace: float, watchdog: Watchdog) -> None:
        super().__init__(config)
        self._delay, self._grace, self._watchdog = delay, grace, watchdog

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for sock in sockets or ():
            # asyncio lets as many wait as it accepts in one go.
            sock.listen(socket.SOMAXCONN)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_LOOK == 0:
            close_overdue(self.server_state.connections)
            self._watchdog.feed()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._watchdog.stop()
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
