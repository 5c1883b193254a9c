"""The resident processes of a data folder, of this and other versions: what they say of themselves, and their end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.detached_process import take_lock
from commonplace.fast.ask_resident import LineReader, hello
from commonplace.fast.find_or_start import connect, is_private, resident_folder, seconds_allowed
from commonplace.text.dates import describe_seconds

# Seconds for an answer, and for the end after that was asked for.
ANSWER_SECONDS, END_SECONDS = 2.0, 10.0
_PAUSE = 0.02
# What a memory whose model is loaded says of it.
READY = "ready"


def resident_processes(data: str) -> list[dict[str, Any]]:
    """What each says of itself; of one that does not answer only `name`, `pid` and `hangs`."""
    return [_ask(data, address, "status") for address in _addresses(data)]


def describe(one: Mapping[str, Any]) -> str:
    """What one says of itself, as a sentence."""
    if "hangs" in one:
        return f"The background process {one['pid']} (version {one['name']}) does not answer."
    model = "" if READY in one["models"] else ", the model is not loaded"
    windows = {0: "no editor open", 1: "one editor window"}.get(one["windows"], f"{one['windows']} editor windows")
    seconds = max(0, time.time_ns() // 1_000_000 - one["since_ms"]) // 1000
    running = f"running for {describe_seconds(seconds)}, {one['memory_bytes'] / 1e6:.0f} MB, {windows}{model}"
    return f"Background process: {running}."


def stop_residents(data: str) -> list[int]:
    """End all of them, also one that hangs; their process ids. Nothing acknowledged is lost by that."""
    stopped = []
    for address in _addresses(data):
        reply = _ask(data, address, "stop")
        if _ends(address, END_SECONDS if "hangs" not in reply else 0.0) or _kill(reply["pid"], address):
            stopped.append(int(reply["pid"]))
    return stopped


def retire_others(data: str, own: str) -> None:
    """Have those of other versions end as soon as their last window is closed."""
    for address in _addresses(data):
        if address.stem != own:
            _ask(data, address, "retire")


def _addresses(data: str) -> list[Path]:
    """The addresses of processes that live."""
    if not is_private(resident_folder(data)):
        return []
    found = sorted(Path(resident_folder(data)).glob("*.address"))
    return [address for address in found if not _ends(address, 0.0)]


def _ask(data: str, address: Path, method: str) -> dict[str, Any]:
    unanswered = {"name": address.stem, "pid": _pid(address), "hangs": True}
    answer_seconds = seconds_allowed(os.environ, ANSWER_SECONDS)
    connected = connect(data, answer_seconds, str(address))
    if connected is None:
        return unanswered
    connection, proof = connected
    try:
        connection.sendall(hello("ask", data, proof, os.environ, method=method, params={}))
        result = json.loads(LineReader(connection).next(time.monotonic() + answer_seconds))["result"]
    except (OSError, ValueError, KeyError):
        return unanswered
    finally:
        connection.close()
    return {"name": address.stem, **result}


def _pid(address: Path) -> int:
    """From the second line of the address."""
    try:
        return int(address.read_text(encoding="utf-8").splitlines()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _ends(address: Path, seconds: float) -> bool:
    """Whether the process ends within so many seconds: then nobody holds its lock."""
    end = time.monotonic() + seconds
    while (lock := take_lock(str(address.with_suffix(".lock")))) is None:
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    os.close(lock)
    return True


def _kill(pid: int, address: Path) -> bool:
    """End a process that does not end by itself; it is the one that holds the lock."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    except OSError:
        return False
    return _ends(address, END_SECONDS)
