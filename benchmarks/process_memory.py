"""What processes have in memory, and how much of the processor they have used. Linux tells."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

MB = 1e6
# Processes that use less of a core than this for so many seconds have loaded what they load after a call.
IDLE_SHARE, IDLE_SECONDS, MOST_SECONDS = 0.05, 1.5, 30.0


def memory_mb(process: int | str = "self") -> float:
    """Resident memory; pages that others share count in full."""
    return _kilobytes(f"/proc/{process}/status", "VmRSS:") * 1024 / MB


def shared_memory_mb(processes: Sequence[int]) -> float:
    """What some processes take together: a page that several share counts once among all that have it."""
    return sum(_kilobytes(f"/proc/{process}/smaps_rollup", "Pss:") for process in processes) * 1024 / MB


def cpu_seconds(processes: Sequence[int]) -> float:
    """Seconds of one core that processes have used so far."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_until_idle(processes: Sequence[int]) -> None:
    """Wait until processes have done what they do in the background."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        before = cpu_seconds(processes)
        time.sleep(IDLE_SECONDS)
        if cpu_seconds(processes) - before < IDLE_SHARE * IDLE_SECONDS:
            return


def children(process: int) -> list[int]:
    """The processes that a process started."""
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()]


def _kilobytes(path: str, name: str) -> int:
    (line,) = (line for line in Path(path).read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1])
