"""What a drain is working on, left on the disk, so that the next drain knows at which event the last one died.

An event at which a process died or was ended is read alone and after all others from then on, and set aside when that
happens again: what waits behind it is stored in any case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

BEGUN, NOW = "begun", "now"
# How often an event may be there, alone, when a drain dies: once may be by chance, as when the machine is turned off.
MOST_DEATHS = 2


class DrainAttempts:
    """Used under the lock of the spool, by one drain at a time."""

    def __init__(self, spool: Path) -> None:
        self._path = spool / BEGUN
        self._deaths = self._read(spool)

    def _read(self, spool: Path) -> dict[str, int]:
        """The events that were worked on when a drain died, and how often each of them was alone then."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return {}
        deaths: dict[str, int] = {}
        begun: list[str] = []
        for line in lines:
            count, _, name = line.partition(" ")
            if not name or not (spool / name).exists():
                continue
            deaths.setdefault(name, 0)
            if count == NOW:
                begun.append(name)
            elif count.isdecimal():
                deaths[name] = int(count)
        if len(begun) == 1:
            deaths[begun[0]] += 1
        return deaths

    def take_hopeless(self) -> list[str]:
        """Events to set aside, which are tried no more."""
        hopeless = [name for name, count in self._deaths.items() if count >= MOST_DEATHS]
        for name in hopeless:
            del self._deaths[name]
        if hopeless:
            self._write(self._lines())
        return hopeless

    def batches(self, names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
        """The events in the order in which to try them: in batches, and then each of those at which a drain died."""
        usual = [name for name in names if name not in self._deaths]
        for start in range(0, len(usual), size):
            yield usual[start : start + size]
        for name in names:
            if name in self._deaths:
                yield [name]

    @contextlib.contextmanager
    def at_work(self, names: Sequence[str]) -> Iterator[None]:
        """While these are worked on; what a drain itself gives up is no death."""
        known = self._lines()
        self._write([*known, *(f"{NOW} {name}" for name in names)])
        try:
            yield
        except Exception:
            self._write(known)
            raise
        for name in names:
            self._deaths.pop(name, None)
        self._write(self._lines())

    def _lines(self) -> list[str]:
        return [f"{count} {name}" for name, count in self._deaths.items()]

    def _write(self, lines: Sequence[str]) -> None:
        with contextlib.suppress(OSError):
            if lines:
                self._path.write_text("\n".join(lines), encoding="utf-8")
            else:
                self._path.unlink(missing_ok=True)
