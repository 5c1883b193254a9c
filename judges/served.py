"""The product as its users run it, with a month of a small team in its memory: over HTTP and over stdio."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.mcp.conftest import Served, environment
from tests.web.month import fill

from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from judges.key_proxy import SavedKey, introduced

# No judge is slowed down for asking much.
UNLIMITED = {"COMMONPLACE_RATE_LIMIT": "1000000", "COMMONPLACE_RATE_BURST": "1000000"}


@contextlib.contextmanager
def remembered(folder: Path, **env: str) -> Iterator[LocalMemory]:
    """The memory in a folder, filled."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(open_memory(config.load(env=environment(folder, **env)))) as memory:
        fill(memory)
        yield memory


@contextlib.contextmanager
def served(folder: Path, **env: str) -> Iterator[Served]:
    """A `commonplace serve` process on a filled memory."""
    with remembered(folder, **env):
        pass
    server = Served(folder, "--port", "0", **UNLIMITED, **env)
    try:
        yield server
    finally:
        server.end()


@contextlib.contextmanager
def open_to_all(server: Served, saved: SavedKey | None = None) -> Iterator[str]:
    """An address at which the server knows whoever calls; `kept` takes what was said."""
    with introduced(int(server.url.rpartition(":")[2]), server.key, saved) as url:
        yield f"{url}/mcp"


def stdio(folder: Path) -> list[str]:
    """The command of a `commonplace mcp` process on the memory in a folder."""
    return [sys.executable, "-m", "commonplace", "mcp", "--data-dir", str(folder / "data")]
