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
from commonplace.memory.book import open_book
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember
from commonplace.store.spaces import Limits
from commonplace.store.sqlite.migrate import migrations
from torture.arena import Arena
from torture.deeds import text_of
from torture.judge import judge, judge_at_last
from torture.named_steps import fill

MOST_ITEMS, AT_ONCE = 40, 4
_DAY_MS = 86_400_000


def add(arena: Arena, name: str, number: int = 0) -> str:
    """`commonplace add`: the code of its refusal, or nothing."""
    text = text_of(arena.random, name, number)
    told = arena.run("commonplace", "add", text, "--json")
    try:
        answer: dict[str, Any] = json.loads(told.stdout)
    except ValueError:
        return f"{told.returncode} {told.stdout[-200:]!r} {told.stderr[-400:]!r}"
    if "uid" in answer:
        arena.ledger.is_(answer["uid"], text)
        return ""
    return str(answer["error"]["code"])


def expect(arena: Arena, told: str, wanted: str, when: str) -> None:
    arena.outcome.count(wanted or "accepted")
    if told != wanted:
        arena.outcome.refused.append(f"{when}: {told or 'accepted'} instead of {wanted or 'accepted'}")


def full(arena: Arena) -> None:
    """A disk of its own fills up: whoever writes is told so, readers go on, and with room again all is well."""
    with _disk(arena, "4m") as may:
        if not may:
            arena.outcome.count("not possible for this user")
            return
        fill(arena, items=10)
        for round_ in range(arena.effort):
            filling = arena.data / "filling"
            with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            expect(arena, add(arena, f"full{round_}"), "DB_FULL", "on a full disk")
            found = arena.run("commonplace", "search", "wkeptx1", "--json")
            if found.returncode or b"wkeptx1" not in found.stdout:
                arena.outcome.refused.append(f"reading a full disk: {found.stdout[-200:]!r} {found.stderr[-400:]!r}")
            filling.unlink()
            expect(arena, add(arena, f"room{round_}"), "", "with room again")
            judge(arena, "after a full disk")


def read_only(arena: Arena) -> None:
    """A folder that cannot be written: a clear refusal, and nothing is changed."""
    with _disk(arena, "16m") as may:
        if not may:
            arena.outcome.count("not possible for this user")
            return
        fill(arena, items=10)
        for round_ in range(arena.effort):
            _mount("-o", "remount,ro", str(arena.data))
            expect(arena, add(arena, f"ro{round_}"), "DB_READ_ONLY", "in a folder that cannot be written")
            _mount("-o", "remount,rw", str(arena.data))
            expect(arena, add(arena, f"rw{round_}"), "", "in one that can be written again")
            judge(arena, "after a folder that could not be written")


@contextlib.contextmanager
def _disk(arena: Arena, size: str) -> Iterator[bool]:
    """A small disk for the data folder, where this user may have one."""
    arena.data.mkdir()
    if (
        sys.platform != "linux"
        or os.geteuid()
        or not _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(arena.data))
    ):
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(arena.data)], check=True)


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def quota(arena: Arena) -> None:
    """Several processes fill a space at once: not one item more than it may hold, and the rest is told so."""
    with arena.book() as book:
        spaces.limit(book, "default", Limits(items=arena.effort))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = list(pool.map(lambda number: add(arena, f"q{number}"), range(arena.effort + AT_ONCE)))
    if told.count("") != arena.effort or told.count("QUOTA_EXCEEDED") != AT_ONCE:
        arena.outcome.refused.append(f"of {len(told)} in a space of {arena.effort}: {told}")
    arena.outcome.count("QUOTA_EXCEEDED", told.count("QUOTA_EXCEEDED"))
    judge(arena, "with a full space")
    with arena.book() as book:
        spaces.limit(book, "default", Limits())
    expect(arena, add(arena, "more"), "", "with more room")
    judge_at_last(arena)


def wrong_clock(arena: Arena) -> None:
    """The clock jumps years ahead and back between writes and while vectors are made."""
    now = 1_742_049_000_000

    def clock() -> int:
        nonlocal now
        now += arena.random.choice((1, 1, 1, 1000, -5, -3_600_000, _DAY_MS, -400 * _DAY_MS, 400 * _DAY_MS))
        return now

    book, mine = open_book(arena.settings, clock), list[str]()
    try:
        for number in range(arena.effort):
            text = text_of(arena.random, "clock", number)
            if mine and number % 4 == 3:
                edit(book, mine[-1], Changes(content=text))
                arena.ledger.is_(mine[-1], text)
            elif mine and number % 9 == 8:
                forget(book, [mine[0]])
                arena.ledger.is_(mine.pop(0), None)
            else:
                mine.append(remember(book, Note(text, session="s")).uid)
                arena.ledger.is_(mine[-1], text)
            if number % 5 == 0:
                # As of a process that dies with a lease of a wrong time.
                book.store.claim_jobs("somebody else", 2, clock(), 60_000)
                book.meaning.catch_up()
        arena.outcome.count("jumps of the clock", arena.effort)
    finally:
        book.close()
    judge_at_last(arena)


def newer(arena: Arena) -> None:
    """A newer version has migrated the file: an older one refuses to write it, and changes nothing."""
    fill(arena, items=10)
    newest = migrations()[-1][0]
    for round_ in range(arena.effort):
        with arena.book() as open_before:
            _set_version(arena.settings.database, newest + 1 + round_)
            text = text_of(arena.random, "older", round_)
            try:
                remember(open_before, Note(text))
                arena.outcome.refused.append("an older version wrote to a file that a newer one had migrated")
            except Exception as error:  # noqa: BLE001 - its code is what counts
                expect(arena, str(getattr(error, "code", error)), "DB_TOO_NEW", "by whoever had it open before")
        before = arena.settings.database.read_bytes()
        expect(arena, add(arena, f"newer{round_}"), "DB_TOO_NEW", "by whoever opens it")
        if arena.settings.database.read_bytes() != before:
            arena.outcome.unsound.append("a file of a newer version was changed")
        _set_version(arena.settings.database, newest)
        expect(arena, add(arena, f"same{round_}"), "", "by the version that it has")
        judge(arena, "after a newer version")


def _set_version(path: Path, version: int) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", version)
    connection.close()
