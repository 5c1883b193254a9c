"""How much memory another process takes at most while it answers: on Linux, which counts that; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ALLOWED_PER_BYTE, ALLOWED = 10, 50_000_000
"""What a request may take for each byte that was received, and beyond that."""


@contextmanager
def bounded_memory(pid: int, received: int) -> Iterator[None]:
    """Fail if the process grows by more than a request of so many bytes may take."""
    if sys.platform != "linux":
        yield
        return
    # Only the peak from now on counts.
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    before = _kilobytes(pid, "VmRSS")
    yield
    grown = (_kilobytes(pid, "VmHWM") - before) * 1024
    allowed = ALLOWED_PER_BYTE * received + ALLOWED
    assert grown <= allowed, f"{received:,} bytes took {grown:,} of memory, more than {allowed:,}"


def _kilobytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
