"""A folder that is watched: files put into it are imported once they have settled, and put aside.

What was read goes to `imported/`, what could not be read to `failed/`; a text file beside it says what was skipped.
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
# Names that programs give to what is not finished yet.
UNFINISHED = (".part", ".partial", ".crdownload", ".download", ".tmp")

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class InboxFile:
    """One file that was read: where it is now, and what came of it."""

    name: str
    moved_to: Path
    summary: ImportReport


class _Interrupted(Exception):
    """The watch ends in the middle of a file, which stays where it is."""


class Inbox:
    """The watched folder. `reach` gives the memory; `complain` is told, once for each, of troubles that may pass."""

    def __init__(
        self, reach: Callable[[], LocalMemory], folder: Path, complain: Callable[[str], object] = lambda _words: None
    ) -> None:
        self._reach, self._folder, self._complain = reach, folder, complain
        self._seen: dict[str, Stamp] = {}
        self._told: set[str] = set()
        self._stop = threading.Event()

    def run(self, stop: threading.Event, every: float = EVERY_SECONDS) -> None:
        """Look again and again until `stop` is set, even in the middle of a file."""
        self._stop = stop
        with contextlib.suppress(_Interrupted):
            while not stop.is_set():
                self.step()
                stop.wait(every)

    def step(self) -> list[InboxFile]:
        """Import the files that have not changed since the last look."""
        handled = []
        for name in self._settled():
            try:
                handled.append(self._handle(self._folder / name))
            except (CommonplaceError, OSError) as error:
                # The file stays where it is and is tried again with the next look.
                self._tell(f"{name} in {self._folder} waits: {error}")
        return handled

    def _settled(self) -> list[str]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            found = {path.name: _stamp(path) for path in sorted(self._folder.iterdir()) if _wanted(path)}
        except OSError as error:
            self._tell(f"{self._folder} cannot be watched: {error}")
            return []
        settled = [name for name, stamp in found.items() if self._seen.get(name) == stamp]
        self._seen = found
        return settled

    def _handle(self, path: Path) -> InboxFile:
        memory = self._reach()
        summary = import_path(memory, path, report=self._go_on)
        moved = self._aside(path, FAILED if summary.nothing_read else IMPORTED, iso_time(memory.clock()))
        if summary.examples:
            lines = [f"{one.what}: {one.why}" for one in summary.examples]
            moved.with_name(f"{moved.name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return InboxFile(path.name, moved, summary)

    def _go_on(self, _bytes: int) -> None:
        if self._stop.is_set():
            raise _Interrupted

    def _aside(self, path: Path, where: str, now: str) -> Path:
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

    def _tell(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self._complain(words)


def _wanted(path: Path) -> bool:
    # A link may lead to what whoever put it here could not read.
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
def watch_inbox(
    reach: Callable[[], LocalMemory], folder: str, complain: Callable[[str], object], every: float = EVERY_SECONDS
) -> Iterator[None]:
    """Watch a folder for the length of the block; without one, do nothing."""
    if not folder:
        yield
        return
    inbox, stop = Inbox(reach, Path(folder).expanduser(), complain), threading.Event()
    thread = threading.Thread(target=inbox.run, args=(stop, every), name="inbox", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
