"""`commonplace mcp` as an editor runs it: a light process between the editor and the resident process.

It reads JSON-RPC lines from standard input and gives them to a server; what that says goes to standard output. The
server is the resident process, started if there is none. Until that is ready, replies that were prepared earlier answer
the first questions. If it cannot be had or hangs, a server in this very process takes over; if it ends, the next one
does, unless the store is gone by then: a new server would begin an empty one in its place. A server says which lines it
took, before it works on them: what it did not take is given to the next one, and what may have changed something and
got no answer is answered with an error.

Editors wait for this: it imports neither the SDK nor the command line nor the memory, as long as it need not.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from select import select

from commonplace.data_folder import DATABASE_NAME
from commonplace.fast.ask_resident import current_folder, hello
from commonplace.fast.find_or_start import (
    GREETING_SECONDS,
    START_SECONDS,
    connect,
    is_running,
    seconds_allowed,
    start,
)
from commonplace.fast.json_text import parse_json, read_value, write_json
from commonplace.fast.prepared_replies import HANDSHAKE, PreparedReplies, window_name
from commonplace.fast.settings import is_remote_store, profile_to_serve
from commonplace.fast.stdio_link import PING, PONG, RECEIVED, EditorOutput, Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Thread
    from typing import Any

    from commonplace.errors import CommonplaceError
    from commonplace.fast.arguments import Arguments
    from commonplace.fast.whole_program import LoadForEditors

# Seconds of silence after which a server that owes an answer is asked whether it lives, and until it is given up.
PING_SECONDS, HANG_SECONDS = 1.0, 3.0
# How often a resident process may be lost before this process does without one.
MAX_LOST = 3
# How often to look whether the resident process is ready, and whether it still starts.
POLL_SECONDS, ALIVE_SECONDS = 0.01, 0.25
# What may wait for a server; the editor waits before it sends more.
MAX_WAITING_BYTES = 64 << 20
# Bytes that are read at a time.
CHUNK = 1 << 16
INTERRUPTED = 130
# The only request that may change something: any other may be made twice, and so may a call of a tool that only reads.
CALL, INITIALIZED, CANCELLED = "tools/call", "notifications/initialized", "notifications/cancelled"
_REPLY = b'{"jsonrpc":"2.0","id":'


class Line:
    """A line of the editor: a request if it has an id. `repeated` is one that the editor had its answer to."""

    __slots__ = ("id", "method", "raw", "repeated", "tool")

    def __init__(self, raw: bytes, message: dict[str, Any], *, repeated: bool = False) -> None:
        method, id_ = message.get("method"), message.get("id")
        self.raw, self.method, self.repeated = raw, method if isinstance(method, str) else "", repeated
        self.id: int | str | None = id_ if isinstance(id_, (int, str)) and self.method else None
        params = message.get("params") if self.method == CALL else None
        tool = params.get("name") if isinstance(params, dict) else None
        self.tool = tool if isinstance(tool, str) else ""


def main(arguments: Arguments, load_whole_program: LoadForEditors, env: Mapping[str, str] = os.environ) -> int | None:
    """Serve an editor until standard input ends; the exit code, or None if the command line has to do it."""
    if arguments.words != ["mcp"]:
        return None
    data = arguments.data_folder(env)
    profile = profile_to_serve(data, arguments.profile, env)
    if profile is None:
        return None
    options = {"data_dir": arguments.data_dir or None, "profile": arguments.profile or None}
    proxy = EditorProxy(data, profile, options, env, load_whole_program)
    if not proxy.connect() and not start(data):
        return None
    try:
        return proxy.run()
    except (KeyboardInterrupt, BrokenPipeError):
        return INTERRUPTED


class EditorProxy:
    """One window: what its editor sent, what it waits for, and the server that it is given to."""

    def __init__(
        self,
        data: str,
        profile: str,
        options: Mapping[str, str | None],
        env: Mapping[str, str],
        load_whole_program: LoadForEditors,
    ) -> None:
        self._data, self._profile, self._options, self._env = data, profile, options, env
        self._load_whole_program = load_whole_program
        self._prepared = PreparedReplies(data, profile, window_name(current_folder(), env))
        self._link: Link | None = None
        self._own_server: OwnServer | None = None
        self._in, self._out = 0, EditorOutput(1)
        self._input = bytearray()
        self._input_open = True
        # Lines for the next server, lines that the server was given, and requests that it has taken.
        self._waiting: deque[Line] = deque()
        self._given: deque[Line] = deque()
        self._begun: dict[int | str, Line] = {}
        # What every server has to be told first, and the ids of answers that the editor has already.
        self._handshake: list[Line] = []
        self._answered: set[int | str] = set()
        self._lost = self._starts = 0
        # Whether there was a store: one that is gone is not begun anew.
        self._store, self._had_store = os.path.join(data, DATABASE_NAME), False
        self._start_seconds = seconds_allowed(env, START_SECONDS)
        self._greeting_seconds = seconds_allowed(env, GREETING_SECONDS)
        self._hang_seconds = seconds_allowed(env, HANG_SECONDS)
        self._deadline = time.monotonic() + self._start_seconds
        self._look_at = time.monotonic() + ALIVE_SECONDS
        self._code = 0

    def run(self) -> int:
        """Pass lines on until the editor closes its end and has its answers."""
        if sys.platform == "win32":
            # No other system needs it.
            from commonplace.fast.stdio_link import readable_stdin

            self._in = readable_stdin()
        while not self._is_finished():
            self._wait()
            self._look_after_link()
        if self._own_server is not None:
            # It closes its end before it says with which code it ends.
            self._own_server.wait()
        return self._code

    def _is_finished(self) -> bool:
        if self._input_open or self._out.waiting:
            return False
        if self._link is None:
            return not any(line.id is not None for line in self._waiting)
        if not (self._waiting or self._link.outgoing):
            # It answers what it has, and then closes its end.
            self._link.close_writing()
        return False

    def _wait(self) -> None:
        """Wait for something to happen, and move what can be moved."""
        link, out = self._link, self._out.descriptor
        reads, writes = self._descriptors()
        readable, writable, _ = select(reads, writes, [], self._seconds_to_wait())
        if self._in in readable:
            self._read_input()
        if link is not None:
            if link.writes in writable:
                link.send()
            if link.reads in readable:
                self._receive(link)
        if self._out.waiting:
            self._out.send(ready=out in writable)

    def _descriptors(self) -> tuple[list[int], list[int]]:
        """What to wait for, until it can be read or written."""
        reads, writes = [], []
        waiting = sum(len(line.raw) for line in self._waiting)
        if self._input_open and waiting < MAX_WAITING_BYTES:
            reads.append(self._in)
        if self._out.waiting and sys.platform != "win32":
            writes.append(self._out.descriptor)
        if self._link is not None:
            reads.append(self._link.reads)
            if self._link.outgoing:
                writes.append(self._link.writes)
        return reads, writes

    def _seconds_to_wait(self) -> float | None:
        link = self._link
        if link is None:
            return POLL_SECONDS if self._is_wanted() else None
        if not link.is_greeted:
            return max(0.0, self._deadline - time.monotonic())
        return PING_SECONDS if link.confirms and (self._begun or self._given) else None

    def _is_wanted(self) -> bool:
        """Whether a server is needed: from the start, so that it is ready, and later for what waits."""
        return bool(self._waiting) or not self._lost

    def _read_input(self) -> None:
        chunk = os.read(self._in, CHUNK)
        if not chunk:
            self._input_open = False
            if self._input:
                chunk = b"\n"
        self._input += chunk
        if b"\n" not in chunk:
            return
        *lines, rest = bytes(self._input).split(b"\n")
        self._input[:] = rest
        for line in lines:
            self._take(line + b"\n")
        self._give()

    def _take(self, raw: bytes) -> None:
        """Take a line of the editor: answer it if that needs no server, else it waits for one."""
        line = Line(raw, message := _parse(raw))
        if line.method == CANCELLED:
            params = message.get("params")
            self._begun.pop(params.get("requestId") if isinstance(params, dict) else None, None)  # type: ignore[arg-type]
        is_ready = self._link is not None and self._link.is_greeted
        result = None if is_ready or line.id is None else self._prepared.result(message)
        if result is None:
            self._waiting.append(line)
            return
        self._out.waiting += b'%s%s,"result":%s}\n' % (_REPLY, write_json(line.id).encode(), result)
        if line.method == HANDSHAKE:
            self._remember_handshake(line)

    def _remember_handshake(self, line: Line) -> None:
        line.repeated = True
        self._handshake = [line]

    def _give(self) -> None:
        """Give what waits to the server."""
        link = self._link
        if link is None or not link.is_greeted:
            return
        if not (self._given or self._begun):
            link.heard = time.monotonic()
        while self._waiting:
            line = self._waiting.popleft()
            link.outgoing += line.raw
            if link.confirms:
                self._given.append(line)
            else:
                self._begin(line)
        link.send()

    def _begin(self, line: Line) -> None:
        """The server works on it from now on."""
        if line.id is not None:
            if line.repeated:
                self._answered.add(line.id)
            self._begun[line.id] = line
        elif line.method == INITIALIZED and not line.repeated:
            line.repeated = True
            self._handshake.append(line)

    def _receive(self, link: Link) -> None:
        lines = link.receive()
        if lines is None:
            self._lose("ended")
            return
        for line in lines:
            if not link.is_greeted:
                self._be_greeted(link, line)
            elif line == RECEIVED and self._given:
                self._begin(self._given.popleft())
            elif line not in (RECEIVED, PONG):
                self._pass_on(line)

    def _be_greeted(self, link: Link, line: bytes) -> None:
        if "result" not in _parse(line):
            # It does not serve us: other settings, another environment, or it ends just now.
            self._close_link()
            self._serve_here()
            return
        link.is_greeted = True
        self._note_store()
        self._waiting.extendleft(reversed(self._handshake))
        self._give()

    def _pass_on(self, line: bytes) -> None:
        """Pass what the server says on to the editor, unless that has heard it before."""
        id_ = _reply_id(line)
        request = self._begun.pop(id_, None) if id_ is not None else None
        if id_ in self._answered:
            self._answered.discard(id_)
            return
        self._out.waiting += line
        if request is not None and request.method == HANDSHAKE:
            self._remember_handshake(request)
        self._note_store()

    def _note_store(self) -> None:
        self._had_store = self._had_store or os.path.exists(self._store)

    def _is_store_gone(self) -> bool:
        """Whether the data folder or the store in it was moved or removed. The folder is made before we begin."""
        if os.path.exists(self._store) or (os.path.isdir(self._data) and not self._had_store):
            return False
        return not is_remote_store(self._data, self._env)

    def connect(self) -> bool:
        """Connect to the resident process, if it listens."""
        connected = connect(self._data, self._greeting_seconds)
        if connected is None:
            return False
        connection, proof = connected
        greeting = hello("mcp", self._data, proof, self._env, profile=self._options["profile"])
        self._link = Link.over_socket(connection, greeting)
        self._deadline = time.monotonic() + self._greeting_seconds
        return True

    def _look_after_link(self) -> None:
        """Connect if that is needed, and notice a server that hangs."""
        link, now = self._link, time.monotonic()
        if link is None:
            self._look_for_server(now)
        elif not link.is_greeted:
            if now > self._deadline:
                self._close_link()
                self._serve_here()
        elif link.confirms and (self._begun or self._given):
            self._look_for_life(link, now - link.heard)

    def _look_for_server(self, now: float) -> None:
        if not self._is_wanted() or not (self._input_open or self._waiting):
            return
        if self._is_store_gone():
            self._refuse_what_waits(now)
        elif not self.connect():
            self._start_again(now)

    def _look_for_life(self, link: Link, silent_seconds: float) -> None:
        """Ask a server that owes an answer whether it lives, and give it up if it does not say so."""
        if silent_seconds > PING_SECONDS + self._hang_seconds:
            self._lose("does not answer", hangs=True)
        elif silent_seconds > PING_SECONDS and not link.is_pinged:
            link.is_pinged = True
            link.outgoing += PING

    def _start_again(self, now: float) -> None:
        """Start the process if it is not there, unless that was tried often enough."""
        if now > self._deadline or self._lost > MAX_LOST:
            self._serve_here()
        elif now > self._look_at:
            self._look_at = now + ALIVE_SECONDS
            if not is_running(self._data):
                self._starts += 1
                if self._starts > MAX_LOST or not start(self._data):
                    self._serve_here()

    def _refuse_what_waits(self, now: float) -> None:
        """Answer without a server that the store is gone. Once it is back, a server is looked for again."""
        # Nearly every window works without it.
        from commonplace.errors import StoreMissing

        error = StoreMissing(f"The store {self._store} was removed or moved while it was in use.")
        for line in self._waiting:
            if line.id is not None and not line.repeated:
                self._out.waiting += _failed(line.id, error)
        self._waiting.clear()
        self._starts = 0
        self._deadline, self._look_at = now + self._start_seconds, 0.0

    def _close_link(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None

    def _lose(self, why: str, *, hangs: bool = False) -> None:
        """The server is gone: what it may have done is answered with an error, the rest waits for the next one."""
        ours = self._link is not None and not self._link.confirms
        self._close_link()
        self._lost += 1
        begun = [*self._begun.values(), *(self._given if hangs else ())]
        again = [] if hangs else list(self._given)
        self._begun.clear()
        self._given.clear()
        self._answered.clear()
        for line in begun:
            if line.method == CALL and not self._only_reads(line):
                self._out.waiting += _interrupted(line.id, why)
            elif line.id is not None:
                again.append(line)
        self._waiting.extendleft(line for line in reversed(again) if not line.repeated)
        if ours:
            # There is nobody else, and it said why.
            self._waiting.clear()
            self._input_open = False
        self._deadline, self._look_at = time.monotonic() + self._start_seconds, 0.0
        if hangs:
            self._serve_here()

    def _only_reads(self, line: Line) -> bool:
        """Whether a call may be made again: its tool says that it changes nothing."""
        return line.tool in self._load_whole_program().read_only_tools(self._profile)

    def _serve_here(self) -> None:
        """Go on with a server in this process."""
        if self._is_store_gone():
            return
        self._lost = MAX_LOST
        self._own_server = server = OwnServer(self._options, self._load_whole_program)
        self._in, self._out.descriptor = server.private_streams(self._in)
        self._link = server.start(lambda code: setattr(self, "_code", code))
        self._waiting.extendleft(reversed(self._handshake))
        self._give()


class OwnServer:
    """A server in a thread of this process, with pipes for its streams, if the resident one cannot be had."""

    def __init__(self, options: Mapping[str, str | None], load_whole_program: LoadForEditors) -> None:
        self._options, self._load_whole_program = options, load_whole_program
        self._thread: Thread | None = None

    def private_streams(self, stdin: int) -> tuple[int, int]:
        """The streams of the editor for the front alone: what else runs in this process must not use them."""
        if stdin != 0 or sys.platform == "win32":
            return stdin, 1
        private_in, private_out, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2 if _is_open(2) else null, 1)
        os.close(null)
        return private_in, private_out

    def start(self, ended: Callable[[int], object]) -> Link:
        """Start it; `ended` is called with the exit code if it fails."""
        # Nearly every window is served by the resident process.
        from threading import Thread

        (reads, to_server), (from_server, writes) = os.pipe(), os.pipe()
        self._thread = Thread(target=self._run, args=(reads, writes, ended), name="commonplace-own-server")
        self._thread.start()
        return Link.over_pipes(from_server, to_server)

    def wait(self) -> None:
        """Until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, reads: int, writes: int, ended: Callable[[int], object]) -> None:
        code = self._load_whole_program().serve(self._options, reads, writes)
        if code:
            ended(code)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _parse(raw: bytes) -> dict[str, Any]:
    """The message of a line; empty if it is none that we have to know."""
    try:
        message = parse_json(raw.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _reply_id(line: bytes) -> int | str | None:
    """The id of a reply; None if the line is something else."""
    if not line.startswith(_REPLY):
        return None
    try:
        start = line[len(_REPLY) : len(_REPLY) + 1000].decode("utf-8", "replace")
        id_, end = read_value(start)
    except ValueError:
        return None
    return id_ if start.startswith((',"result"', ',"error"'), end) and isinstance(id_, (int, str)) else None


def _interrupted(id_: int | str | None, why: str) -> bytes:
    # Only for a call that is lost.
    from commonplace.errors import Interrupted

    return _failed(id_, Interrupted(f"The process that worked on this call {why}."))


def _failed(id_: int | str | None, error: CommonplaceError) -> bytes:
    shown = {"code": -32603, "message": error.message, "data": {"code": error.code, "details": error.hint}}
    return write_json({"jsonrpc": "2.0", "id": id_, "error": shown}).encode() + b"\n"
