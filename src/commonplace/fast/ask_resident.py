"""Asking the resident process: one question, or one command line to run there.

A call is a line of JSON, and so is what comes back. Whoever calls goes on alone if there is no such process, or it does
not answer in time.
"""

from __future__ import annotations

import os
import sys
import time

from commonplace.data_folder import data_folder
from commonplace.fast.arguments import HELP
from commonplace.fast.find_or_start import (
    GREETING_SECONDS,
    caller_environment,
    connect,
    identity,
    seconds_allowed,
)
from commonplace.fast.json_text import parse_json, write_json
from commonplace.fast.settings import is_turned_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping, Sequence
    from typing import Any

    from commonplace.fast.arguments import Arguments

# Seconds that a command may take there.
COMMAND_SECONDS = 60.0
CLOSED_PIPE = 141
_CHUNK = 1 << 16


def ask(
    method: str,
    params: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    *,
    data: str = "",
    env: Mapping[str, str] = os.environ,
) -> dict[str, Any] | None:
    """What the resident process of a data folder answers; None if there is none, or it fails or takes too long.

    `method` is one of QUESTIONS in `resident_process/server.py`. It answers with the settings of `env`, for the
    current folder. Without `timeout_s` it has as long as a greeting may take.
    """
    if is_turned_off(env):
        return None
    folder = data or os.path.expanduser(data_folder("", env))
    timeout_s = timeout_s or seconds_allowed(env, GREETING_SECONDS)
    deadline = time.monotonic() + timeout_s
    connected = connect(folder, timeout_s)
    if connected is None:
        return None
    connection, proof = connected
    try:
        connection.sendall(hello("ask", folder, proof, env, method=method, params=dict(params or {})))
        reply = parse_json(LineReader(connection).next(deadline).decode())
    except (OSError, ValueError):
        return None
    finally:
        connection.close()
    result: dict[str, Any] | None = reply.get("result") if isinstance(reply, dict) else None
    return result


def run_command(arguments: Arguments, env: Mapping[str, str] = os.environ) -> int | None:
    """Have a command line run by the resident process, and print what it prints; its exit code.

    None if it has to be run here: there is no such process, it is not for this command, or it does not answer. What it
    may have done by then does no harm if it is done again.
    """
    folder = _folder_of_command(arguments, env)
    greeting_seconds = seconds_allowed(env, GREETING_SECONDS)
    connected = connect(folder, greeting_seconds) if folder else None
    if connected is None:
        return None
    connection, proof = connected
    terminals, env = _terminals(), dict(env)
    if terminals["1"] and not env.get("COLUMNS"):
        env["COLUMNS"] = str(_terminal_width())
    try:
        lines = LineReader(connection)
        connection.sendall(hello("run", folder, proof, env, arguments=arguments.all, terminals=terminals))
        if "begun" not in parse_json(lines.next(time.monotonic() + greeting_seconds).decode()):
            return None
        result = parse_json(lines.next(time.monotonic() + COMMAND_SECONDS).decode()).get("result")
    except (OSError, ValueError):
        return None
    finally:
        connection.close()
    return _print(result["printed"], result["code"]) if result else None


def _folder_of_command(arguments: Arguments, env: Mapping[str, str]) -> str:
    """The data folder, if the resident process may run this command, which has neither our input nor our files."""
    for word in arguments.words:
        if word in ("-", *HELP) or word.startswith("--jsonl"):
            return ""
    if is_turned_off(env) or (arguments.data_dir and not os.path.isabs(arguments.data_dir)):
        return ""
    return arguments.data_folder(env)


def _terminals() -> dict[str, bool]:
    """Which of the standard streams are terminals."""
    found = {}
    for stream in (0, 1, 2):
        try:
            found[str(stream)] = os.isatty(stream)
        except OSError:
            found[str(stream)] = False
    return found


def _terminal_width() -> int:
    for stream in (0, 1, 2):
        try:
            return os.get_terminal_size(stream).columns
        except OSError:
            continue
    return 80


def _print(parts: Sequence[tuple[int, str]], code: int) -> int:
    try:
        for number, text in parts:
            stream = sys.stdout if number == 1 else sys.stderr
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
            stream.write(text)
            stream.flush()
    except OSError:
        # Whoever reads it went away; nor must the last flush of the interpreter complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return CLOSED_PIPE
    return code


def hello(kind: str, data: str, proof: str, env: Mapping[str, str], **more: object) -> bytes:
    """The first line of a connection: who calls, from where, with which settings, and what for."""
    greeting = {"kind": kind, "identity": identity(), "proof": proof, "data_dir": os.path.abspath(data)}
    caller = {"cwd": current_folder(), "pid": os.getpid(), "env": caller_environment(env)}
    return write_json({**greeting, **caller, **more}).encode() + b"\n"


def current_folder() -> str:
    """Where we run; empty if that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


class LineReader:
    """The lines of a connection, however long."""

    def __init__(self, connection: _socket.socket) -> None:
        self._connection, self._rest = connection, b""

    def next(self, deadline: float) -> bytes:
        """The next line; OSError if it does not come."""
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            self._connection.settimeout(max(0.001, deadline - time.monotonic()))
            part = self._connection.recv(_CHUNK)
            if not part:
                raise ConnectionError
            parts.append(part)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line
