"""The watched folder: files put into it are imported once they have stopped growing, and moved away.

They go to `imported/`, or those that could not be read to `failed/`. A text file next to one says what was skipped.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.capture.import_files import import_path
from commonplace.capture.import_report import ImportReport
from commonplace.errors import CommonplaceError, Conflict
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.dates import iso_time

IMPORTED, FAILED = "imported", "failed"
EVERY_SECONDS = 2.0
# Endings that programs give to unfinished files.
UNFINISHED = (".part", ".partial", ".crdownload", ".download", ".tmp")

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """One file that was imported: where it is now, and the report."""

    name: str
    moved_to: Path
    report: ImportReport


class _Interrupted(Exception):
    """The watch ended in the middle of a file, which stays where it is."""


class WatchedFolder:
    """The watched folder. `open_memory` gives the memory; `warn` gets each problem that may pass, once."""

    def __init__(
        self, open_memory: Callable[[], LocalMemory], folder: Path, warn: Callable[[str], object] = lambda _text: None
    ) -> None:
        self._open_memory, self._folder, self._warn = open_memory, folder, warn
        self._seen: dict[str, Stamp] = {}
        self._warnings: set[str] = set()
        self._stop = threading.Event()

    def run(self, stop: threading.Event, every: float = EVERY_SECONDS) -> None:
        """Watch until `stop` is set, even in the middle of a file."""
        self._stop = stop
        with contextlib.suppress(_Interrupted):
            while not stop.is_set():
                self.step()
                stop.wait(every)

    def step(self) -> list[WatchedFile]:
        """Import the files that have not changed since the last look."""
        imported = []
        for name in self._complete_files():
            try:
                imported.append(self._import(self._folder / name))
            except (CommonplaceError, OSError) as error:
                # The file stays where it is and is tried again next time.
                self._warn_once(f"{name} in {self._folder} waits: {error}")
        return imported

    def _complete_files(self) -> list[str]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            found = {path.name: _stamp(path) for path in sorted(self._folder.iterdir()) if _wanted(path)}
        except OSError as error:
            self._warn_once(f"{self._folder} cannot be watched: {error}")
            return []
        complete = [name for name, stamp in found.items() if self._seen.get(name) == stamp]
        self._seen = found
        return complete

    def _import(self, path: Path) -> WatchedFile:
        memory = self._open_memory()
        report = import_path(memory, path, advance=self._check_stop)
        moved = self._move_away(path, FAILED if report.nothing_read else IMPORTED, iso_time(memory.clock()))
        if report.examples:
            lines = [f"{one.what}: {one.why}" for one in report.examples]
            moved.with_name(f"{moved.name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return WatchedFile(path.name, moved, report)

    def _check_stop(self, _bytes: int) -> None:
        if self._stop.is_set():
            raise _Interrupted

    def _move_away(self, path: Path, where: str, now: str) -> Path:
        """Move a file away under a name that begins with the time and is not taken."""
        folder = self._folder / where
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise Conflict(f"{folder} is a link", "Put a folder in its place.")
        time = now[:19].replace("-", "").replace(":", "")
        number, moved = 1, folder / f"{time}-{path.name}"
        while moved.exists():
            number += 1
            moved = folder / f"{time}-{number}-{path.name}"
        return path.rename(moved)

    def _warn_once(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.add(text)
            self._warn(text)


def _wanted(path: Path) -> bool:
    # A link may lead to a file that its maker could not read.
    return (
        path.is_file()
        and not path.is_symlink()
        and not path.name.startswith(".")
        and not path.name.lower().endswith(UNFINISHED)
    )


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def watch_folder(
    open_memory: Callable[[], LocalMemory], folder: str, warn: Callable[[str], object], every: float = EVERY_SECONDS
) -> Iterator[None]:
    """Watch a folder for the length of the block; without one, do nothing."""
    if not folder:
        yield
        return
    watched, stop = WatchedFolder(open_memory, Path(folder).expanduser(), warn), threading.Event()
    thread = threading.Thread(target=watched.run, args=(stop, every), name="watched-folder", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
