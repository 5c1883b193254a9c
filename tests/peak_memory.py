"""How much memory a server takes at most while it answers: on Linux, which counts that; elsewhere nothing.

Its helper processes count as well, but not what a helper takes to start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ALLOWED_PER_BYTE, ALLOWED = 10, 50_000_000
"""What a request may take for each byte that was received, and beyond that."""
STARTED = 130_000_000
"""What a helper process takes before it has done anything."""


@contextmanager
def bounded_memory(pid: int, received: int) -> Iterator[None]:
    """Fail if the process and its helpers grow by more than a request of so many bytes may take."""
    if sys.platform != "linux":
        yield
        return
    before = {}
    for one in _family(pid):
        with suppress(OSError):
            # Only the peak from now on counts.
            Path(f"/proc/{one}/clear_refs").write_text("5")
            before[one] = _bytes(one, "VmRSS")
    yield
    grown = 0
    for one in _family(pid):
        with suppress(OSError, StopIteration):
            grown += max(0, _bytes(one, "VmHWM") - max(before.get(one, STARTED), 0 if one == pid else STARTED))
    allowed = ALLOWED_PER_BYTE * received + ALLOWED
    assert grown <= allowed, f"{received:,} bytes took {grown:,} of memory, more than {allowed:,}"


def _family(pid: int) -> list[int]:
    """A process and those that it started."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                children.append(int(stat.parent.name))
    return [pid, *children]


def _bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
