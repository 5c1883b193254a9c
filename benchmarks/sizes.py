"""How large things are: a store on disk, and the memory of a server that answers questions about it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.process_memory import MB, memory_mb
from benchmarks.tool_clients import Served


def file_mb(database: Path) -> float:
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*")) / MB


def server_mb(data_dir: Path, settings: dict[str, str], questions: Sequence[str]) -> float:
    """The memory of a `commonplace serve` that has answered these questions."""
    with contextlib.closing(Served(data_dir, **settings)) as server:
        for question in questions:
            server.call("search", query=question)
        return memory_mb(server.pid)
