"""A bare JSON-RPC client over stdio: as little between the clock and the server as possible."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.process_memory import memory_mb

PROTOCOL = "2025-11-25"


class StdioClient:
    """One server process, spoken to line by line."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self._id = 0

    def __enter__(self) -> StdioClient:
        self.request(
            "initialize",
            {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}})
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended during {method}")
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return dict(answer["result"])

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return dict(result["structuredContent"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def megabytes(self) -> float:
        """Resident memory of the server process."""
        return memory_mb(self._process.pid)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def commonplace_server(data_dir: Path, **settings: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment of our stdio server on a store."""
    env = environment() | {"COMMONPLACE_DATA_DIR": str(data_dir)}
    env |= {f"COMMONPLACE_{name.upper()}": value for name, value in settings.items()}
    return [sys.executable, "-m", "commonplace", "mcp"], env


def environment() -> dict[str, str]:
    """The caller's environment without settings of its own. Modules are compiled once, as after an installation."""
    import os

    left_out = ("COMMONPLACE_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def median_ms(seconds: list[float]) -> float:
    ordered = sorted(seconds)
    return ordered[len(ordered) // 2] * 1000
