"""Runs a program until a moment comes at which it dies, or at which the disk is full.

    python -m torture.crash_runner MOMENT HOW REPORT MODULE ARGUMENT...

A moment is a write, sync, truncation or deletion by SQLite, or a file made, renamed or removed in the data folder;
they are counted, so that the same moment can be met again. Moment 0 never comes, and tells how many there were.
"""

from __future__ import annotations

import errno
import json
import os
import runpy
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import apsw

KILL, TORN, POWER, FULL = HOWS = ("kill", "torn", "power", "full")
# SIGKILL; Windows knows it by its number only.
_AT_ONCE = 9
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FILES = {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "os.link"}


class CrashPoint:
    """Counts moments; at the chosen one, the end comes as it was told to."""

    def __init__(self, moment: int, how: str, report: Path) -> None:
        self._left, self.how, self._report = moment, how, report
        self.moments: list[str] = []
        self.unsynced: dict[str, Unsynced] = {}
        self._lock = threading.RLock()
        self._data = os.environ["COMMONPLACE_DATA_DIR"]

    def comes(self, what: str, name: str) -> bool:
        """Whether this is the moment; on a full disk, every one from then on."""
        with self._lock:
            self.moments.append(f"{what} {Path(name).name}")
            self._left -= 1
            return self._left == 0 or (self._left < 0 and self.how == FULL and len(self.moments) + self._left > 0)

    def die(self) -> None:
        """Without a word. As of a power cut, what was not synced may not have happened."""
        if self.how == POWER:
            for name, pending in self.unsynced.items():
                pending.settle(name, Random(f"{name[-9:]}{len(self.moments)}"))
        self.tell()
        os.kill(os.getpid(), _AT_ONCE)

    def tell(self) -> None:
        self._report.write_text(json.dumps(self.moments), encoding="utf-8")

    def heed(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook: Python is about to do something to a file."""
        if event not in _FILES or (event == "open" and not _changes(arguments)):
            return
        path = os.fspath(arguments[0]) if isinstance(arguments[0], (str, bytes, os.PathLike)) else ""
        name = os.fsdecode(path)
        if name.startswith(self._data) and self.comes(event, name):
            if self.how == FULL and event != "os.remove":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
            if self.how != FULL:
                self.die()


def _changes(arguments: tuple[Any, ...]) -> bool:
    return isinstance(arguments[2], int) and bool(arguments[2] & _CHANGES)


class Unsynced:
    """Writes to a file since its last sync, and what was there before them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._before: list[tuple[int, bytes]] = []
        self._written: list[tuple[int, bytes]] = []

    def note(self, offset: int, before: bytes, data: bytes) -> None:
        self._before.append((offset, before))
        self._written.append((offset, data))

    def settle(self, name: str, random: Random) -> None:
        """Leave the file as it was synced, and of what came later any part, in any order the disk likes."""
        if not Path(name).exists():
            return
        with Path(name).open("r+b") as file:
            for offset, before in reversed(self._before):
                file.seek(offset)
                file.write(before)
            file.truncate(self._size)
            share = random.random()
            for offset, data in self._written:
                if random.random() < share:
                    file.seek(offset)
                    file.write(data)


class CrashingFile(apsw.VFSFile):
    """A file of SQLite."""

    def __init__(self, base: str, name: Any, flags: list[int], crash_point: CrashPoint) -> None:
        super().__init__(base, name, flags)
        self._crash_point = crash_point
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else str(name or "")

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if self._crash_point.how == POWER:
            self._remember(data, offset)
        if self._crash_point.comes("write", self._name):
            if self._crash_point.how == FULL:
                raise apsw.FullError("the disk is full")
            if self._crash_point.how == TORN:
                super().xWrite(data[: len(data) // 2], offset)
            self._crash_point.die()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._crash_point.comes("sync", self._name) and self._crash_point.how != FULL:
            self._crash_point.die()
        super().xSync(flags)
        self._crash_point.unsynced.pop(self._name, None)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if self._crash_point.comes("truncate", self._name) and self._crash_point.how != FULL:
            self._crash_point.die()
        super().xTruncate(size)
        # A shorter file is taken to be on the disk: what was cut off had been copied and synced elsewhere before.
        self._crash_point.unsynced.pop(self._name, None)

    def xLock(self, level: int) -> None:  # noqa: N802
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # A file that is only read cannot be had alone: SQLite passes over that, Python does not.
            raise apsw.BusyError("only read") from error

    def _remember(self, data: bytes, offset: int) -> None:
        size = self.xFileSize()
        if self._name:
            pending = self._crash_point.unsynced.setdefault(self._name, Unsynced(size))
            there = max(0, min(len(data), size - offset))
            pending.note(offset, self.xRead(there, offset) if there else b"", data)


class CrashingDisk(apsw.VFS):
    """SQLite's own way to the disk, watched."""

    def __init__(self, crash_point: CrashPoint) -> None:
        self._base, self._crash_point = apsw.vfs_names()[0], crash_point
        super().__init__("doomed", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> CrashingFile:  # noqa: N802
        return CrashingFile(self._base, name, flags, self._crash_point)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        if self._crash_point.comes("delete", name) and self._crash_point.how != FULL:
            self._crash_point.die()
        super().xDelete(name, sync)
        self._crash_point.unsynced.pop(name, None)


def main(arguments: list[str]) -> None:
    moment, how, report, module, *rest = arguments
    crash_point = CrashPoint(int(moment), how, Path(report))
    disk = CrashingDisk(crash_point)
    sys.addaudithook(crash_point.heed)
    sys.argv = [module, *rest]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        crash_point.tell()
        del disk


if __name__ == "__main__":
    main(sys.argv[1:])
