"""The files of a store are swapped under everybody who uses it: nothing acknowledged may be lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.memory.check import check
from commonplace.model import Scope
from commonplace.store.sqlite.store import SqliteStore
from torture.arena import PATIENCE, Arena
from torture.deeds import text_of
from torture.voices import Caller, Editor, Voice

# What a writer may be told while the files are being swapped; NOT_FOUND if what it wrote is looked up for the reply in
# the file that has just come into the place.
ALLOWED = {"DB_MISSING", "DB_REPLACED", "SERVICE_UNAVAILABLE", "NOT_FOUND"}
_ALL = 1_000_000
# Of every door at least so many writes are acknowledged before and after each swap.
WRITES = 3


@dataclass(frozen=True, slots=True)
class Write:
    """An acknowledged write: what it says, and when it began and ended."""

    text: str
    began: float
    ended: float


class Writes:
    """What was acknowledged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Write] = []
        self.overwritten: set[str] = set()

    def add(self, text: str, began: float) -> None:
        with self._lock:
            self._all.append(Write(text, began, time.monotonic()))

    def all(self) -> list[Write]:
        with self._lock:
            return list(self._all)


class Swapped(Voice):
    """Writes one memory after the other; refusals that name the swap are counted."""

    writes: Writes
    acknowledged = 0

    def add(self, text: str) -> dict[str, Any]:
        raise NotImplementedError

    def speak(self) -> None:
        text, began = text_of(self.random, self.name, self.heard + 1)[:2000].strip(), time.monotonic()
        told = self.add(text)
        if "uid" in told:
            self.writes.add(text, began)
            self.acknowledged += 1
            self.answered()
            return
        error = told.get("error")
        code = error.get("code", "") if isinstance(error, dict) else str(told)
        if code in ALLOWED:
            self.arena.outcome.count(code)
            self.answered()
        else:
            self.refused(told)

    def until(self, acknowledged: int) -> None:
        """Until so many writes were acknowledged, or it ended."""
        with self._news:
            self._news.wait_for(lambda: self.acknowledged >= acknowledged or self._over, PATIENCE)
        if self.acknowledged < acknowledged:
            self.refused(f"it did not go on: {self.acknowledged} of {acknowledged} were acknowledged")


class SwappedCaller(Swapped, Caller):
    def add(self, text: str) -> dict[str, Any]:
        connection = self.connected()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/items", json.dumps({"content": text}), headers)
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        return told


class SwappedEditor(Swapped, Editor):
    def add(self, text: str) -> dict[str, Any]:
        self.greet()
        told = self._request("tools/call", name="add_memory", arguments={"content": text})
        return dict(told.get("structuredContent") or json.loads(told["content"][0]["text"]))


class SwappedCommand(Swapped):
    """`commonplace add`, one after the other."""

    def begun(self) -> subprocess.Popen[bytes]:
        return self.arena.start("commonplace", "--version")

    def add(self, text: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.arena.run("commonplace", "add", text, "--json").stdout)
        return told


@dataclass(frozen=True, slots=True)
class Swap:
    """`does` swaps the files and yields while they are in the way; `keeps` if what they held is found again."""

    name: str
    does: Callable[[Arena, Path], Iterator[None]]
    keeps: bool = True
    commands: bool = True


def swapped(arena: Arena) -> None:
    """Servers, editors and commands write while the files are swapped in each of the ways, one after the other."""
    writes = Writes()
    Swapped.writes = writes
    kinds: tuple[type[Swapped], ...] = (SwappedCaller, SwappedCaller, SwappedEditor)
    voices: list[Swapped] = []
    for number, kind in enumerate(kinds):
        voices.append(kind(arena, f"{kind.__name__.lower()}n{number}"))
        voices[-1].until(1)
    for round_ in range(arena.effort):
        for swap in arena.random.sample(SWAPS, len(SWAPS)):
            command = SwappedCommand(arena, f"command{round_}{swap.name}")
            every = [*voices, command]
            _each(every)
            if not swap.commands:
                _end(command)
            copied = time.monotonic()
            copy = arena.folder / "copy.db"
            with arena.book() as book:
                book.store.backup(copy)
            with contextmanager(swap.does)(arena, copy):
                pass
            done = time.monotonic()
            _each(every if swap.commands else voices)
            if swap.commands:
                _end(command)
            arena.outcome.count(f"swaps ({swap.name})")
            _judge(arena, writes, swap, copied, done)
    for voice in voices:
        _end(voice)
    _check(arena, "at last")
    arena.outcome.acknowledged += len(writes.all())


def _each(voices: list[Swapped]) -> None:
    """Every one of them gets some more writes acknowledged."""
    for voice, so_far in [(voice, voice.acknowledged) for voice in voices]:
        voice.until(so_far + WRITES)


def _end(voice: Swapped) -> None:
    voice.stop()
    voice.ended()


def _judge(arena: Arena, writes: Writes, swap: Swap, copied: float, done: float) -> None:
    """What began after the swap is in the store; what was before is there, or in a copy that was kept of it."""
    # Before the look: they go on writing.
    acknowledged = writes.all()
    there, kept = _texts(arena), set[str]()
    for path in arena.settings.backups.glob("*-replaced-*.db"):
        with closing(SqliteStore(path)) as store:
            kept |= {item.body for item in store.newest(Scope(), _ALL)}
    for one in acknowledged:
        if not swap.keeps and one.ended >= copied and one.began <= done:
            # Overwritten by whoever copied an older file over it.
            writes.overwritten.add(one.text)
        found = one.text in there or (one.began < done and one.text in kept | writes.overwritten)
        if not found:
            when = "after" if one.began >= done else "before or during"
            arena.outcome.lost.append(f"{one.text.split()[0]} was acknowledged {when} the swap ({swap.name})")
    _check(arena, swap.name)


def _texts(arena: Arena) -> set[str]:
    with arena.book() as book:
        return {item.body for item in book.store.newest(Scope(), _ALL)}


def _check(arena: Arena, when: str) -> None:
    with arena.book() as book:
        for fault in check(book):
            arena.outcome.unsound.append(f"{when}: {fault.part}: {fault.count} {fault.says}")
    arena.outcome.count("checks")


def _renamed(arena: Arena, copy: Path) -> Iterator[None]:
    copy.replace(arena.settings.database)
    yield


def _removed(arena: Arena, _copy: Path) -> Iterator[None]:
    """All of it is removed; the copy that a server keeps of it is put back."""
    known = _copies(arena)
    for path in arena.data.glob("commonplace.db*"):
        path.unlink()
    yield
    shutil.copyfile(_newest_copy(arena, known), arena.data / "back")
    (arena.data / "back").replace(arena.settings.database)


def _copies(arena: Arena) -> set[Path]:
    return set(arena.settings.backups.glob("*-replaced-*.db"))


def _newest_copy(arena: Arena, known: set[Path]) -> Path:
    """The copy that was made since, as soon as there is one."""
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not (found := _copies(arena) - known):
        if time.monotonic() > end:
            raise FileNotFoundError("No copy was kept of the removed store.")
        pause.wait(0.05)
    return max(found, key=lambda path: path.stat().st_mtime)


def _log_removed(arena: Arena, _copy: Path) -> Iterator[None]:
    for end in ("-wal", "-shm"):
        arena.settings.database.with_name(f"commonplace.db{end}").unlink(missing_ok=True)
    yield


def _moved(arena: Arena, _copy: Path) -> Iterator[None]:
    arena.data.rename(arena.folder / "moved")
    threading.Event().wait(0.2)
    yield
    (arena.folder / "moved").rename(arena.data)


def _overwritten(arena: Arena, copy: Path) -> Iterator[None]:
    shutil.copyfile(copy, arena.settings.database)
    yield


SWAPS = [
    Swap("rename", _renamed),
    Swap("remove", _removed),
    Swap("remove log", _log_removed),
    Swap("move folder", _moved, commands=False),
    Swap("copy in place", _overwritten, keeps=False),
]
