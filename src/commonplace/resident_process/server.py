"""The resident process: it listens on its socket, and serves every window, command and hook of its user.

It is started on demand (`address.start`), and ends when nobody used it for a while, when it is told to, or when its
data folder or its address is gone. Each connection says in its first line which folder and settings it is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.config import Settings, load
from commonplace.data_folder import TEAMS
from commonplace.detached_process import take_lock
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput
from commonplace.fast.find_or_start import (
    MAX_SOCKET_PATH,
    SAME_VARIABLES,
    TCP,
    UNIX,
    identity,
    is_own_user,
    is_private,
    prove,
    resident_file,
    resident_folder,
    seconds_allowed,
)
from commonplace.fast.hints import TEAM_QUESTION
from commonplace.fast.prepared_replies import window_name, write_handshakes, write_replies
from commonplace.fast.stdio_link import PING, PONG, RECEIVED
from commonplace.malloc import collect_seldom, trim
from commonplace.mcp.jsonrpc import line_or_refusal, serve_lines
from commonplace.mcp.server import build_server
from commonplace.mcp.stdio import static_replies
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import detect_known_project
from commonplace.memory.recall import recall
from commonplace.model import Scope
from commonplace.resident_client.list_and_stop import retire_others
from commonplace.resident_process.memories_and_commands import Caller, Memories, run_command, take_streams
from commonplace.text.redact import redact
from commonplace.watchdog import Watchdog
from commonplace.worker_threads import Workers

if TYPE_CHECKING:
    from commonplace.capture.hooks.team_hints import TeamServers

log = logging.getLogger(__name__)

# Seconds for the first line of a connection, and for what is being worked on when the process ends.
HELLO_SECONDS, LAST_SECONDS = 5.0, 5.0
# What any version may ask, in any environment.
OF_ANY_VERSION = ("status", "stop", "retire")
# How often the process looks whether it is still wanted.
WATCH_SECONDS = 1.0
# Seconds for a window's first questions, which need no store, before its store is opened unasked.
OPEN_AFTER = 1.0
MAX_HELLO, MAX_LOG = 1 << 20, 1 << 18
_CHUNK = 1 << 16
# Seconds after which what a window with a new profile can be told at once is prepared.
PREPARE_AFTER = 1.0
# Models that only some calls need are loaded when nobody called for so many seconds, or at last after so many: loading
# takes a core and slows whoever searches meanwhile by a third.
LOAD_WHEN_IDLE, MOST_LOAD_AFTER = 0.5, 30.0

Answer = Callable[[LocalMemory, Mapping[str, Any]], dict[str, Any]]

# What a hook or a command may ask (`client.ask`), and the function that answers: it is given the caller's memory and
# the parameters, and returns what becomes JSON. Imported when it is first asked.
QUESTIONS: dict[str, str] = {
    "completion": "commonplace.cli.completion:answer_completion",
    "hints": "commonplace.capture.hooks.hint_answers:answer_hints",
    "search": "commonplace.resident_process.server:answer_search",
}


@dataclass(slots=True)
class Connection:
    """One window, command or hook, while it is connected."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    kind: str = ""
    pid: int = 0
    since: float = 0.0


class Resident:
    """The process: its memories, its connections and its end."""

    def __init__(self, data: str) -> None:
        self.data, self.identity = data, identity()
        self.started_ms = time.time_ns() // 1_000_000
        self._idle_seconds = _idle_seconds(data)
        self._memories, self._workers = Memories(), Workers()
        self._connections: dict[asyncio.Task[None], Connection] = {}
        # By profile and window: the project that its replies were prepared with, and what prepares them.
        self._prepared: dict[tuple[str, str], tuple[str, asyncio.Task[None]]] = {}
        self._commands = 0
        self._teams: TeamServers | None = None
        self._lock = threading.Lock()
        self._used = time.monotonic()
        self._watchdog = Watchdog(data)
        self._end = asyncio.Event()
        self._token = ""
        self._address = b""

    async def run(self) -> None:
        """Listen until the end."""
        listening, address = _listen(self.data)
        self._token = address.split(" ")[2] if address.startswith(TCP) else ""
        server = await asyncio.start_server(self._accept, sock=listening, limit=MAX_HELLO)
        self._address = f"{address}\n{os.getpid()}\n".encode()
        _write_private(Path(resident_file(self.data, "address")), self._address)
        for name in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(name, self._end.set)
        await asyncio.to_thread(retire_others, self.data, self.identity)
        threading.Thread(target=self._connect_teams, name="commonplace-teams", daemon=True).start()
        try:
            await self._watch()
        finally:
            self._watchdog.stop()
            self._withdraw()
            server.close()
            await self._finish_connections()
            await asyncio.to_thread(self._memories.close)

    async def _watch(self) -> None:
        """Return when it is time to end."""
        while not self._end.is_set():
            self._watchdog.feed()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), WATCH_SECONDS)
            if self._connections:
                self._used = time.monotonic()
            if time.monotonic() - self._used > self._idle_seconds or not self._is_listed():
                return

    def _is_listed(self) -> bool:
        """Whether callers can still find us."""
        try:
            return Path(resident_file(self.data, "address")).read_bytes() == self._address
        except OSError:
            return False

    def _withdraw(self) -> None:
        address = Path(resident_file(self.data, "address"))
        # Another one may have taken our place.
        if self._is_listed() or not address.exists():
            for path in (address, *_socket_paths(self.data)):
                with contextlib.suppress(OSError):
                    path.unlink()

    async def _finish_connections(self) -> None:
        """Let what is being worked on be answered: the windows are told by the end of their connection."""
        for connection in self._connections.values():
            connection.reader.feed_eof()
        if tasks := list(self._connections):
            await asyncio.wait(tasks, timeout=seconds_allowed(os.environ, LAST_SECONDS))
            for task in tasks:
                task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = self._connections[task] = Connection(reader, writer, since=time.time())
        try:
            await self._serve(connection)
        except (OSError, asyncio.IncompleteReadError):
            # The other end went away, or never said what it wants.
            pass
        except Exception:
            log.exception("a connection failed")
        finally:
            del self._connections[task]
            self._used = time.monotonic()
            with contextlib.suppress(OSError):
                writer.close()

    async def _serve(self, connection: Connection) -> None:
        if not self._token and not is_own_user(connection.writer.get_extra_info("socket")):
            return
        async with asyncio.timeout(seconds_allowed(os.environ, HELLO_SECONDS)):
            proof = await self._exchange_proofs(connection) if self._token else ""
            line = await connection.reader.readuntil(b"\n")
        try:
            hello = self._checked(line, proof)
            connection.kind, connection.pid = str(hello["kind"]), int(hello["pid"])
            reply = await self._reply(connection, hello)
        except CommonplaceError as error:
            reply = {"error": {"code": error.code, "message": error.message, "details": error.hint}}
        except Exception as error:
            log.exception("a call failed")
            reply = {"error": {"code": CommonplaceError.code, "message": f"It failed: {type(error).__name__}."}}
        if reply is not None:
            connection.writer.write(json.dumps(reply).encode() + b"\n")
            await connection.writer.drain()
            # Not those that the shell has to run itself.
            self._commands += connection.kind == "run" and bool(reply.get("result"))

    async def _exchange_proofs(self, connection: Connection) -> str:
        """Prove to a caller over a port who we are; what it has to prove in turn."""
        theirs = (await connection.reader.readuntil(b"\n")).decode("ascii", "replace").strip()
        ours = secrets.token_hex(16)
        connection.writer.write(f"{ours} {prove(self._token, 'process', theirs, ours)}\n".encode())
        return prove(self._token, "caller", theirs, ours)

    def _checked(self, line: bytes, proof: str) -> dict[str, Any]:
        """What the first line says, if we may and can serve whoever sent it."""
        try:
            hello = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput("The first line of the connection is not JSON.") from error
        if not isinstance(hello, dict) or not secrets.compare_digest(str(hello.get("proof")), proof):
            raise Forbidden("The caller does not know the token of the resident process.")
        if hello.get("kind") == "ask" and hello.get("method") in OF_ANY_VERSION:
            return hello
        if hello.get("identity") != self.identity:
            raise Forbidden("The resident process has a different version.")
        env = hello.get("env")
        if not isinstance(env, dict) or any(env.get(name) != os.environ.get(name) for name in SAME_VARIABLES):
            raise Forbidden("The resident process has a different environment.")
        return hello

    async def _reply(self, connection: Connection, hello: Mapping[str, Any]) -> dict[str, Any] | None:
        """What answers the first line; None if it was answered at length."""
        if hello["kind"] == "mcp":
            await self._serve_window(connection, Caller.of(hello))
            return None
        if hello["kind"] == "run":
            caller = Caller.of(hello)
            connection.writer.write(b'{"begun": true}\n')
            return {"result": await self._workers.do(lambda: run_command(self._memories, caller), connection.pid)}
        if hello["kind"] != "ask":
            raise InvalidInput(f"There is no kind of connection {hello['kind']!r}.")
        if hello["method"] == "status":
            return {"result": self._status()}
        if hello["method"] == "retire":
            self._idle_seconds = 0.0
            return {"result": {"pid": os.getpid()}}
        if hello["method"] == "stop":
            self._withdraw()
            self._end.set()
            return {"result": {"pid": os.getpid()}}
        caller = Caller.of(hello)
        if hello["method"] == TEAM_QUESTION:
            return {"result": await self._workers.do(lambda: self._team_hints(caller), connection.pid)}
        answer, reach = find_answer(str(hello["method"])), self._memories.reach(caller.settings, caller.env)
        params: Mapping[str, Any] = hello["params"]
        return {"result": await self._workers.do(lambda: answer(reach(), params), connection.pid)}

    def _team_hints(self, caller: Caller) -> dict[str, Any]:
        """What a team's server says to a hook. This machine's own memory is opened only where it answers itself."""
        params = caller.request["params"]
        if not isinstance(params, dict):
            raise InvalidInput("The question has no parameters.")
        reach = self._memories.reach(caller.settings, caller.env)
        return self._team_servers().answer(self.data, params, caller.env, reach)

    def _team_servers(self) -> TeamServers:
        # Most people have no team's server.
        from commonplace.capture.hooks.team_hints import TeamServers

        with self._lock:
            self._teams = self._teams or TeamServers()
            return self._teams

    def _connect_teams(self) -> None:
        if Path(self.data, TEAMS).is_dir():
            self._team_servers().warm_up(self.data)

    def _status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "identity": self.identity,
            "since_ms": self.started_ms,
            "calls": self._workers.running,
            "commands": self._commands,
            "windows": sum(one.kind == "mcp" for one in self._connections.values()),
            "memory_bytes": _memory_bytes(),
            "models": self._memories.states(),
            "idle_minutes": self._idle_seconds / 60,
        }

    async def _serve_window(self, connection: Connection, caller: Caller) -> None:
        """A session of the protocol for one window."""
        settings, reader, writer = caller.settings, connection.reader, connection.writer
        if not settings.project:
            found = await asyncio.to_thread(detect_known_project, settings, Path(caller.cwd))
            settings = replace(settings, project=found or "")
        reach = self._memories.reach(settings, caller.env)
        server = build_server(reach, settings.profile, self._workers, caller=id(connection), project=settings.project)
        writer.write(b'{"result": {}}\n')
        self._memories.open_soon(settings, caller.env, OPEN_AFTER)
        self._prepare_soon(settings, caller)

        async def write(line: bytes) -> None:
            # Whoever left reads nothing more.
            with contextlib.suppress(OSError):
                writer.write(line)
                await writer.drain()

        await serve_lines(server, WindowLines(reader, write, settings.max_body_mb << 20).next, write)

    def _prepare_soon(self, settings: Settings, caller: Caller) -> None:
        """Prepare what such a window can be told before we are ready next time, and load what later calls need."""
        profile, project, window = settings.profile, settings.project, window_name(caller.cwd, caller.env)
        known = self._prepared.get((profile, window))
        if known is not None and known[0] == project:
            return
        is_new_profile = all(profile != other for other, _window in self._prepared)

        def prepare() -> None:
            handshakes = asyncio.run(static_replies(profile, self._workers, project, lists=()))
            write_handshakes(self.data, profile, window, handshakes)
            if is_new_profile:
                write_replies(self.data, profile, asyncio.run(static_replies(profile, self._workers)))

        async def wait_and_prepare() -> None:
            await asyncio.sleep(PREPARE_AFTER)
            await asyncio.to_thread(prepare)
            if not is_new_profile:
                return
            until = time.monotonic() + MOST_LOAD_AFTER
            while self._workers.idle_seconds < LOAD_WHEN_IDLE and time.monotonic() < until:
                await asyncio.sleep(LOAD_WHEN_IDLE / 2)
            await asyncio.to_thread(self._memories.warm_up, settings, caller.env)

        task = asyncio.create_task(wait_and_prepare())
        self._prepared[profile, window] = project, task
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


class WindowLines:
    """The lines of a window. Each is acknowledged before it is worked on, so that a window knows what was begun."""

    def __init__(self, reader: asyncio.StreamReader, write: Callable[[bytes], Awaitable[None]], max_bytes: int) -> None:
        self._reader, self._write, self._most = reader, write, max_bytes
        self._buffer, self._seen = bytearray(), 0

    async def next(self) -> bytes:
        """The next line of the protocol, empty at the end."""
        while (line := await self._read()) == PING:
            await self._write(PONG)
        if line:
            await self._write(RECEIVED)
        return line_or_refusal(line, self._most) if line else b""

    async def _read(self) -> bytes:
        while (end := self._buffer.find(b"\n", self._seen)) < 0 and len(self._buffer) <= self._most:
            self._seen = len(self._buffer)
            chunk = await self._reader.read(_CHUNK)
            if not chunk:
                end = len(self._buffer) - 1
                break
            self._buffer += chunk
        if end < 0 and len(self._buffer) > self._most:
            return await self._skip_rest()
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        self._seen = 0
        return line

    async def _skip_rest(self) -> bytes:
        """The beginning of a line that is too long; the rest is dropped."""
        line = bytes(self._buffer[: self._most + 1])
        while (end := self._buffer.find(b"\n")) < 0:
            self._buffer[:] = await self._reader.read(_CHUNK)
            if not self._buffer:
                break
        del self._buffer[: end + 1]
        self._seen = 0
        return line


def _listen(data: str) -> tuple[socket.socket, str]:
    """A socket that listens where only this user can connect, and its address."""
    if hasattr(socket, "AF_UNIX"):
        for path in _socket_paths(data):
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                path.unlink(missing_ok=True)
                listening.bind(str(path))
                path.chmod(0o600)
                listening.listen(128)
            except OSError:
                listening.close()
                continue
            return listening, f"{UNIX} {path}"
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, f"{TCP} {listening.getsockname()[1]} {secrets.token_urlsafe(32)}"


def _socket_paths(data: str) -> list[Path]:
    """Where the socket may be.

    In the data folder, or in a folder of ours for temporary files, if its path is too long or it cannot hold one.
    """
    paths = [Path(resident_file(data, "sock"))]
    if sys.platform != "win32":
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp", f"commonplace-{os.getuid()}")
        with contextlib.suppress(OSError):
            folder.mkdir(0o700)
        if is_private(str(folder)):
            name = hashlib.sha256(os.fsencode(paths[0].absolute())).hexdigest()[:16]
            paths.append(folder / f"{name}.sock")
    return [path for path in paths if len(os.fsencode(path)) <= MAX_SOCKET_PATH]


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, at once or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    partial.replace(path)


def _idle_seconds(data: str) -> float:
    try:
        return load({"data_dir": data}).resident_idle_minutes * 60
    except CommonplaceError:
        # Whoever has these settings works alone.
        return Settings(Path(data)).resident_idle_minutes * 60


def _memory_bytes() -> int:
    """What the process takes now, where the system tells."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _log_to_file(data: str) -> None:
    path = Path(resident_file(data, "log"))
    with contextlib.suppress(OSError):
        if path.is_symlink() or path.stat().st_size > MAX_LOG:
            path.unlink()
    stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_RedactingFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def main(data: str, *, locked: bool) -> None:
    """Run it for a data folder. With `locked`, whoever started us passed the lock on."""
    if not is_private(resident_folder(data)):
        sys.exit("The folder of the resident process is not private.")
    lock = None if locked else take_lock(resident_file(data, "lock"))
    if lock is None and not locked:
        return
    trim()
    collect_seldom()
    _log_to_file(data)
    take_streams()
    asyncio.run(_run(data))


async def _run(data: str) -> None:
    await Resident(data).run()


def find_answer(method: str) -> Answer:
    """The function that answers; InvalidInput if there is none."""
    if method not in QUESTIONS:
        raise InvalidInput(f"There is no question {method!r}.", f"Known: {', '.join(sorted(QUESTIONS))}.")
    module, _, name = QUESTIONS[method].partition(":")
    found: Answer = getattr(import_module(module), name)
    return found


def answer_search(memory: LocalMemory, params: Mapping[str, Any]) -> dict[str, Any]:
    """The best hits for a question, in a project or in all."""
    project = params.get("project")
    found = recall(memory, str(params.get("query", "")), Scope(project=project), int(params.get("limit", 10)))
    hits = [{"id": hit.item.id, "title": hit.item.title, "relevance": hit.relevance} for hit in found.hits]
    return {"hits": hits, "by_meaning": found.by_meaning}
