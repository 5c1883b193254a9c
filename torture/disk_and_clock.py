"""Places and times that do not suit: a full disk, a read-only folder, a quota, a wrong clock, a newer file."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw

from commonplace.memory import spaces
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.store.maintenance import Limits
from commonplace.store.sqlite.migrate import migrations
from torture.checks import check_all, check_finally
from torture.crash_step_table import fill
from torture.workspace import Workspace
from torture.writers import text_of

MOST_ITEMS, AT_ONCE = 40, 4
_DAY_MS = 86_400_000


def add(workspace: Workspace, name: str, number: int = 0) -> str:
    """`commonplace add`: the code of its refusal, or nothing."""
    text = text_of(workspace.random, name, number)
    output = workspace.run("commonplace", "add", text, "--json")
    try:
        answer: dict[str, Any] = json.loads(output.stdout)
    except ValueError:
        return f"{output.returncode} {output.stdout[-200:]!r} {output.stderr[-400:]!r}"
    if "uid" in answer:
        workspace.ledger.is_(answer["uid"], text)
        return ""
    return str(answer["error"]["code"])


def expect(workspace: Workspace, output: str, wanted: str, when: str) -> None:
    workspace.outcome.count(wanted or "accepted")
    if output != wanted:
        workspace.outcome.refused.append(f"{when}: {output or 'accepted'} instead of {wanted or 'accepted'}")


def full(workspace: Workspace) -> None:
    """A disk of its own fills up: whoever writes is told so, readers go on, and with room again all is well."""
    with _disk(workspace, "4m") as may:
        if not may:
            workspace.outcome.count("not possible for this user")
            return
        fill(workspace, items=10)
        for round_ in range(workspace.effort):
            filling = workspace.data / "filling"
            with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            expect(workspace, add(workspace, f"full{round_}"), "DB_FULL", "on a full disk")
            found = workspace.run("commonplace", "search", "wkeptx1", "--json")
            if found.returncode or b"wkeptx1" not in found.stdout:
                workspace.outcome.refused.append(
                    f"reading a full disk: {found.stdout[-200:]!r} {found.stderr[-400:]!r}"
                )
            filling.unlink()
            expect(workspace, add(workspace, f"room{round_}"), "", "with room again")
            check_all(workspace, "after a full disk")


def read_only(workspace: Workspace) -> None:
    """A folder that cannot be written: a clear refusal, and nothing is changed."""
    with _disk(workspace, "16m") as may:
        if not may:
            workspace.outcome.count("not possible for this user")
            return
        fill(workspace, items=10)
        for round_ in range(workspace.effort):
            _mount("-o", "remount,ro", str(workspace.data))
            expect(workspace, add(workspace, f"ro{round_}"), "DB_READ_ONLY", "in a folder that cannot be written")
            _mount("-o", "remount,rw", str(workspace.data))
            expect(workspace, add(workspace, f"rw{round_}"), "", "in one that can be written again")
            check_all(workspace, "after a folder that could not be written")


@contextlib.contextmanager
def _disk(workspace: Workspace, size: str) -> Iterator[bool]:
    """A small disk for the data folder, where this user may have one."""
    workspace.data.mkdir()
    if (
        sys.platform != "linux"
        or os.geteuid()
        or not _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(workspace.data))
    ):
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(workspace.data)], check=True)


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def quota(workspace: Workspace) -> None:
    """Several processes fill a space at once: not one item more than it may hold, and the rest is told so."""
    with workspace.memory() as memory:
        spaces.set_space_limits(memory, "default", Limits(items=workspace.effort))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        output = list(pool.map(lambda number: add(workspace, f"q{number}"), range(workspace.effort + AT_ONCE)))
    if output.count("") != workspace.effort or output.count("QUOTA_EXCEEDED") != AT_ONCE:
        workspace.outcome.refused.append(f"of {len(output)} in a space of {workspace.effort}: {output}")
    workspace.outcome.count("QUOTA_EXCEEDED", output.count("QUOTA_EXCEEDED"))
    check_all(workspace, "with a full space")
    with workspace.memory() as memory:
        spaces.set_space_limits(memory, "default", Limits())
    expect(workspace, add(workspace, "more"), "", "with more room")
    check_finally(workspace)


def wrong_clock(workspace: Workspace) -> None:
    """The clock jumps years ahead and back between writes and while vectors are made."""
    now = 1_742_049_000_000

    def clock() -> int:
        nonlocal now
        now += workspace.random.choice((1, 1, 1, 1000, -5, -3_600_000, _DAY_MS, -400 * _DAY_MS, 400 * _DAY_MS))
        return now

    memory, mine = open_memory(workspace.settings, clock), list[str]()
    try:
        for number in range(workspace.effort):
            text = text_of(workspace.random, "clock", number)
            if mine and number % 4 == 3:
                edit_item(memory, mine[-1], Changes(content=text))
                workspace.ledger.is_(mine[-1], text)
            elif mine and number % 9 == 8:
                forget_items(memory, [mine[0]])
                workspace.ledger.is_(mine.pop(0), None)
            else:
                mine.append(remember(memory, NewItem(text, session="s")).uid)
                workspace.ledger.is_(mine[-1], text)
            if number % 5 == 0:
                # As of a process that dies with a lease of a wrong time.
                memory.maintenance.claim_jobs("somebody else", 2, clock(), 60_000)
                memory.embeddings.catch_up()
        workspace.outcome.count("jumps of the clock", workspace.effort)
    finally:
        memory.close()
    check_finally(workspace)


def newer(workspace: Workspace) -> None:
    """A newer version has migrated the file: an older one refuses to write it, and changes nothing."""
    fill(workspace, items=10)
    newest = migrations()[-1][0]
    for round_ in range(workspace.effort):
        with workspace.memory() as open_before:
            _set_version(workspace.settings.database, newest + 1 + round_)
            text = text_of(workspace.random, "older", round_)
            try:
                remember(open_before, NewItem(text))
                workspace.outcome.refused.append("an older version wrote to a file that a newer one had migrated")
            except Exception as error:  # noqa: BLE001 - its code is what counts
                expect(workspace, str(getattr(error, "code", error)), "DB_TOO_NEW", "by whoever had it open before")
        before = workspace.settings.database.read_bytes()
        expect(workspace, add(workspace, f"newer{round_}"), "DB_TOO_NEW", "by whoever opens it")
        if workspace.settings.database.read_bytes() != before:
            workspace.outcome.unsound.append("a file of a newer version was changed")
        _set_version(workspace.settings.database, newest)
        expect(workspace, add(workspace, f"same{round_}"), "", "by the version that it has")
        check_all(workspace, "after a newer version")


def _set_version(path: Path, version: int) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", version)
    connection.close()
