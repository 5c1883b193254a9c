"""Asking the resident process: one question, or one command line to run there.

A call is a line of JSON, and so is what comes back. Whoever calls goes on alone if there is no such process, or it does
not answer in time.
"""

from __future__ import annotations

import os
import time

from commonplace.resident.address import GREETING_SECONDS, caller_environment, connect, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping
    from typing import Any

OFF_VARIABLE = "COMMONPLACE_RESIDENT"
_CHUNK = 1 << 16


def ask(
    method: str,
    params: Mapping[str, Any] | None = None,
    timeout_s: float = GREETING_SECONDS,
    *,
    data: str = "",
    env: Mapping[str, str] = os.environ,
) -> dict[str, Any] | None:
    """What the resident process of a data folder answers; None if there is none, or it fails or takes too long.

    `method` is a row of `resident/questions.py`. It answers with the settings of `env`, for the current folder.
    """
    from commonplace.data_folder import data_folder

    if env.get(OFF_VARIABLE, "").lower() == "off":
        return None
    folder = data or os.path.expanduser(data_folder("", env))
    deadline = time.monotonic() + timeout_s
    connected = connect(folder, timeout_s)
    if connected is None:
        return None
    import json

    connection, proof = connected
    try:
        connection.sendall(hello("ask", folder, proof, env, method=method, params=dict(params or {})))
        line = _read_line(connection, deadline)
        reply = json.loads(line) if line else {}
    except (OSError, ValueError):
        return None
    finally:
        connection.close()
    result: dict[str, Any] | None = reply.get("result") if isinstance(reply, dict) else None
    return result


def hello(kind: str, data: str, proof: str, env: Mapping[str, str], **more: object) -> bytes:
    """The first line of a connection: who calls, from where, with which settings, and what for."""
    import json

    try:
        cwd = os.getcwd()
    except OSError:
        cwd = ""
    said = {"kind": kind, "identity": identity(), "proof": proof, "data_dir": os.path.abspath(data), "cwd": cwd}
    return json.dumps({**said, "pid": os.getpid(), "env": caller_environment(env), **more}).encode() + b"\n"


def _read_line(connection: _socket.socket, deadline: float) -> bytes:
    """One line, however long; empty if the other end closes before it is whole."""
    parts: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        part = connection.recv(_CHUNK)
        parts.append(part)
        if not part or part.endswith(b"\n"):
            break
    return b"".join(parts) if parts and parts[-1].endswith(b"\n") else b""
