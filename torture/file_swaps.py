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

from commonplace.memory.check_and_repair import check_store
from commonplace.model import Scope
from commonplace.store.sqlite.store import SqliteStore
from torture.clients import Client, EditorClient, HttpClient
from torture.workspace import TIMEOUT, Workspace
from torture.writers import text_of

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


class Swapped(Client):
    """Writes one memory after the other; refusals that name the swap are counted."""

    writes: Writes
    acknowledged = 0
    enough: int | None = None
    """How many acknowledged writes it waits with, for the others to get as far; None: it writes on and on."""

    def add(self, text: str) -> dict[str, Any]:
        raise NotImplementedError

    def speak(self) -> None:
        if not self._may_write():
            with self._news:
                self._news.wait_for(self._may_write, TIMEOUT)
            # A server closes a connection over which nothing comes.
            self.hang_up()
        text, began = text_of(self.random, self.name, self.answers + 1)[:2000].strip(), time.monotonic()
        output = self.add(text)
        if "uid" in output:
            self.writes.add(text, began)
            self.acknowledged += 1
            self.answered()
            return
        error = output.get("error")
        code = error.get("code", "") if isinstance(error, dict) else str(output)
        if code in ALLOWED:
            self.workspace.outcome.count(code)
            self.answered()
        else:
            self.refused(output)

    def until(self, acknowledged: int) -> None:
        """Until so many writes were acknowledged, or it ended."""
        with self._news:
            self._news.wait_for(lambda: self.acknowledged >= acknowledged or self._over, TIMEOUT)
        if self.acknowledged < acknowledged:
            self.refused(f"it did not go on: {self.acknowledged} of {acknowledged} were acknowledged")

    def _may_write(self) -> bool:
        return self.enough is None or self.acknowledged < self.enough

    def limit(self, enough: int | None) -> None:
        with self._news:
            self.enough = enough
            self._news.notify_all()


class SwappedCaller(Swapped, HttpClient):
    def add(self, text: str) -> dict[str, Any]:
        connection = self.connected()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/items", json.dumps({"content": text}), headers)
        output: dict[str, Any] = json.loads(connection.getresponse().read())
        return output


class SwappedEditor(Swapped, EditorClient):
    def add(self, text: str) -> dict[str, Any]:
        self.greet()
        output = self._request("tools/call", name="add_memory", arguments={"content": text})
        return dict(output.get("structuredContent") or json.loads(output["content"][0]["text"]))


class SwappedCommand(Swapped):
    """`commonplace add`, one after the other."""

    def begun(self) -> subprocess.Popen[bytes]:
        return self.workspace.start("commonplace", "--version")

    def add(self, text: str) -> dict[str, Any]:
        output: dict[str, Any] = json.loads(self.workspace.run("commonplace", "add", text, "--json").stdout)
        return output


@dataclass(frozen=True, slots=True)
class Swap:
    """`does` swaps the files and yields while they are in the way; `keeps` if what they held is found again."""

    name: str
    does: Callable[[Workspace, Path], Iterator[None]]
    keeps: bool = True
    commands: bool = True


def swapped(workspace: Workspace) -> None:
    """Servers, editors and commands write while the files are swapped in each of the ways, one after the other."""
    writes = Writes()
    Swapped.writes = writes
    kinds: tuple[type[Swapped], ...] = (SwappedCaller, SwappedCaller, SwappedEditor)
    clients: list[Swapped] = []
    for number, kind in enumerate(kinds):
        clients.append(kind(workspace, f"{kind.__name__.lower()}n{number}"))
        clients[-1].until(1)
    for round_ in range(workspace.effort):
        for swap in workspace.random.sample(SWAPS, len(SWAPS)):
            command = SwappedCommand(workspace, f"command{round_}{swap.name}")
            every = [*clients, command]
            _each(every)
            if not swap.commands:
                _end(command)
            copied = time.monotonic()
            copy = workspace.folder / "copy.db"
            with workspace.memory() as memory:
                memory.maintenance.backup(copy)
            with contextmanager(swap.does)(workspace, copy):
                pass
            done = time.monotonic()
            _each(every if swap.commands else clients)
            if swap.commands:
                _end(command)
            workspace.outcome.count(f"swaps ({swap.name})")
            _judge(workspace, writes, swap, copied, done)
    for client in clients:
        _end(client)
    _check(workspace, "at last")
    workspace.outcome.acknowledged += len(writes.all())


def _each(clients: list[Swapped]) -> None:
    """Every one of them gets some more writes acknowledged. The quick ones wait for the slow ones, then all go on."""
    goals = [(client, client.acknowledged + WRITES) for client in clients]
    for client, goal in goals:
        client.limit(goal)
    for client, goal in goals:
        client.until(goal)
    for client in clients:
        client.limit(None)


def _end(client: Swapped) -> None:
    client.stop()
    client.ended()


def _judge(workspace: Workspace, writes: Writes, swap: Swap, copied: float, done: float) -> None:
    """What began after the swap is in the store; what was before is there, or in a copy that was kept of it."""
    # Before the look: they go on writing.
    acknowledged = writes.all()
    there, saved = _texts(workspace), set[str]()
    for path in workspace.settings.backups.glob("*-replaced-*.db"):
        with closing(SqliteStore(path)) as store:
            saved |= {item.body for item in store.newest(Scope(), _ALL)}
    for one in acknowledged:
        if not swap.keeps and one.ended >= copied and one.began <= done:
            # Overwritten by whoever copied an older file over it.
            writes.overwritten.add(one.text)
        found = one.text in there or (one.began < done and one.text in saved | writes.overwritten)
        if not found:
            when = "after" if one.began >= done else "before or during"
            workspace.outcome.lost.append(f"{one.text.split()[0]} was acknowledged {when} the swap ({swap.name})")
    _check(workspace, swap.name)


def _texts(workspace: Workspace) -> set[str]:
    with workspace.memory() as memory:
        return {item.body for item in memory.store.newest(Scope(), _ALL)}


def _check(workspace: Workspace, when: str) -> None:
    with workspace.memory() as memory:
        for fault in check_store(memory):
            workspace.outcome.unsound.append(f"{when}: {fault.part}: {fault.count} {fault.says}")
    workspace.outcome.count("checks")


def _renamed(workspace: Workspace, copy: Path) -> Iterator[None]:
    copy.replace(workspace.settings.database)
    yield


def _removed(workspace: Workspace, _copy: Path) -> Iterator[None]:
    """All of it is removed; the copy that a server keeps of it is put back."""
    known = _copies(workspace)
    for path in workspace.data.glob("commonplace.db*"):
        path.unlink()
    yield
    shutil.copyfile(_newest_copy(workspace, known), workspace.data / "back")
    (workspace.data / "back").replace(workspace.settings.database)


def _copies(workspace: Workspace) -> set[Path]:
    return set(workspace.settings.backups.glob("*-replaced-*.db"))


def _newest_copy(workspace: Workspace, known: set[Path]) -> Path:
    """The copy that was made since, as soon as there is one."""
    end, pause = time.monotonic() + TIMEOUT, threading.Event()
    while not (found := _copies(workspace) - known):
        if time.monotonic() > end:
            raise FileNotFoundError("No copy was kept of the removed store.")
        pause.wait(0.05)
    return max(found, key=lambda path: path.stat().st_mtime)


def _log_removed(workspace: Workspace, _copy: Path) -> Iterator[None]:
    for end in ("-wal", "-shm"):
        workspace.settings.database.with_name(f"commonplace.db{end}").unlink(missing_ok=True)
    yield


def _moved(workspace: Workspace, _copy: Path) -> Iterator[None]:
    workspace.data.rename(workspace.folder / "moved")
    threading.Event().wait(0.2)
    yield
    (workspace.folder / "moved").rename(workspace.data)


def _overwritten(workspace: Workspace, copy: Path) -> Iterator[None]:
    shutil.copyfile(copy, workspace.settings.database)
    yield


SWAPS = [
    Swap("rename", _renamed),
    Swap("remove", _removed),
    Swap("remove log", _log_removed),
    Swap("move folder", _moved, commands=False),
    Swap("copy in place", _overwritten, keeps=False),
]
