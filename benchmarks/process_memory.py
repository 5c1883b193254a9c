"""What a process has in memory. Linux tells."""

from __future__ import annotations

from pathlib import Path

MB = 1e6


def memory_mb(process: int | str = "self") -> float:
    output = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (line,) = (line for line in output.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / MB
