"""Servers for the tests without waiting for imports: forked from a process that has imported the program already.

`commonplace mcp` and `commonplace serve` import for a second before they do anything, and the tests start hundreds of
them. What is forked is a process of its own with its own environment, folder and standard streams, and runs the same
entry point. Starting for real is tested in tests/mcp/test_stdio.py, tests/cli, tests/packaging and by the hooks.

Run as a script this is a command that does the same for programs that start a server by themselves:

    python -IS tests/fork_server.py SOCKET mcp --profile core
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

_LENGTH = struct.Struct("!I")


def request(path: str, arguments: Sequence[str], env: Mapping[str, str], streams: Sequence[int]) -> socket.socket:
    """Ask for a process with these standard streams. The connection tells its id and how it ended; closed, it kills."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    body = json.dumps({"arguments": list(arguments), "env": dict(env), "folder": os.getcwd()}).encode()  # noqa: PTH109
    socket.send_fds(connection, [_LENGTH.pack(len(body))], list(streams))
    connection.sendall(body)
    return connection


def read_number(connection: socket.socket) -> int:
    """The next number that a connection tells: first the process id, then what `waitpid` says of its end."""
    data = connection.recv(_LENGTH.size, socket.MSG_WAITALL)
    if len(data) < _LENGTH.size:
        raise ConnectionError("The fork server is gone.")
    return int(_LENGTH.unpack(data)[0])


def _serve(path: str) -> list[str]:
    """Fork whenever somebody asks, until standard input ends; returns its arguments in each forked process."""
    import selectors

    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    waiting = selectors.DefaultSelector()
    waiting.register(listening, selectors.EVENT_READ)
    waiting.register(0, selectors.EVENT_READ)
    callers: dict[socket.socket, int] = {}
    running: dict[int, tuple[int, socket.socket]] = {}
    os.write(1, b"ready\n")
    while True:
        for key, _events in waiting.select():
            if key.fileobj is listening:
                connection = listening.accept()[0]
                body, streams = _read(connection)
                pid = os.fork()
                if not pid:
                    for open_socket in (listening, connection, *callers):
                        open_socket.detach()
                    waiting.close()
                    return _become(body, streams)
                for stream in streams:
                    os.close(stream)
                connection.sendall(_LENGTH.pack(pid))
                handle = os.pidfd_open(pid)
                callers[connection], running[handle] = pid, (pid, connection)
                waiting.register(connection, selectors.EVENT_READ)
                waiting.register(handle, selectors.EVENT_READ)
            elif key.fd in running:
                pid, connection = running.pop(key.fd)
                waiting.unregister(key.fd)
                os.close(key.fd)
                status = os.waitpid(pid, 0)[1]
                if callers.pop(connection, None):
                    waiting.unregister(connection)
                    _tell(connection, status)
                connection.close()
            elif key.fd == 0:
                for pid in callers.values():
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            elif isinstance(key.fileobj, socket.socket):
                # Whoever asked is gone.
                waiting.unregister(key.fileobj)
                os.kill(callers.pop(key.fileobj), signal.SIGKILL)


def _tell(connection: socket.socket, number: int) -> None:
    try:
        connection.sendall(_LENGTH.pack(number))
    except OSError:
        # Nobody waits for it any more.
        return


def _read(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    length, streams, _flags, _address = socket.recv_fds(connection, _LENGTH.size, 3)
    return json.loads(connection.recv(_LENGTH.unpack(length)[0], socket.MSG_WAITALL)), streams


def _become(question: dict[str, Any], streams: list[int]) -> list[str]:
    """Take on the environment, folder and streams that were asked for; what the command line is."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(question["env"])
    os.chdir(question["folder"])
    return list(question["arguments"])


def _fork_server(path: str) -> None:
    import gc
    import importlib

    for name in PREPARED:
        importlib.import_module(name)
    # Nobody looks through what was imported again: each page that is touched would be copied.
    gc.collect()
    gc.freeze()
    arguments = _serve(path)
    sys.argv = ["commonplace", *arguments]
    from commonplace.__main__ import main

    main()


# What both servers import, at once or with their first request.
PREPARED = (
    "anyio._backends._asyncio",
    "commonplace.cli.main",
    "commonplace.cli.serve_and_hooks",
    "commonplace.mcp.stdio",
    "commonplace.http_server.server",
    "commonplace.store.sqlite.store",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
)


def _command(path: str, arguments: list[str]) -> NoReturn:
    """Stand for a forked process towards whoever started this one: pass on signals, end as it ends."""
    connection = request(path, arguments, os.environ, (0, 1, 2))
    pid = read_number(connection)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    os.closerange(0, 2)
    status = read_number(connection)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _fork_server(sys.argv[2])
    else:
        _command(sys.argv[1], sys.argv[2:])
