"""Where input goes that has to be kept: a data folder and a memory of this process, made when somebody needs them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory, open_memory

# The moment of all that is written: the same input is to do the same.
NOW = 1_742_049_000_000


@cache
def folder() -> Path:
    """A folder of this process, gone with it."""
    made = Path(tempfile.mkdtemp(prefix="commonplace-fuzzing-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def settings() -> Settings:
    return Settings(folder() / "data", embedder="off", durability="normal", rate_limit=1e6, rate_burst=1_000_000)


@cache
def memory() -> LocalMemory:
    """A memory that knows words only."""
    opened = open_memory(settings(), lambda: NOW)
    atexit.register(opened.close)
    return opened


def file(name: str, content: bytes) -> Path:
    """A file with this content."""
    path = folder() / "files" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
