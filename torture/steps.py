"""Named steps, each broken at a moment of the disk (doomed.py): a kill, a torn write, a power cut, a full disk.

Afterwards nothing acknowledged is lost and all is sound; done again, the step ends as if it had never been broken.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torture.arena import Arena
from torture.doomed import FULL, HOWS
from torture.judge import judge
from torture.ledger import Ledger

_KILLED = (-9, 9)
PREPARED = "prepared"
# About as many as so many writes take.
MOST_MOMENTS, WRITES = 1200, 25

Prepare = Callable[[Arena], object]
Settled = Callable[[Arena], Sequence[str]]
"""What is wrong after the step was done to its end."""


def nothing(_arena: Arena) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Step:
    """Something a user or a server does in one go. Words in braces are what `prepare` left in a file of that name."""

    command: tuple[str, ...]
    prepare: Prepare
    settled: Settled = nothing
    judged: Callable[[Arena, str], None] = judge
    # Of some steps the second time is refused: the first was done, though nobody was told.
    again: tuple[int, ...] = (0,)
    hows: Sequence[str] = field(default=HOWS)
    stdin: bytes = b""


def broken(step: Step) -> Callable[[Arena], None]:
    """A scenario: the step, broken at some of its moments in some of the ways."""

    def play(arena: Arena) -> None:
        step.prepare(arena)
        shutil.copytree(arena.data, arena.folder / PREPARED)
        known, moments = arena.ledger.copy(), moments_of(arena, step)
        for number in sorted(arena.random.sample(range(1, len(moments) + 1), min(arena.effort, len(moments)))):
            break_at(arena, step, number, arena.random.choice(step.hows), moments[number - 1], known)

    return play


def dying(arena: Arena) -> None:
    """One writer after the other dies at some moment, in some way, always on the same store."""
    for round_ in range(arena.effort):
        how = arena.random.choice(HOWS)
        doom = ("torture.doomed", str(arena.random.randrange(1, MOST_MOMENTS)), how, str(_report(arena)))
        told = arena.run(*doom, "torture.deeds", "write", f"d{round_}", str(WRITES))
        _hear(arena, told.stdout)
        if told.returncode in _KILLED:
            arena.outcome.count("kills")
        elif how == FULL:
            arena.outcome.count("full disks")
        judge(arena, f"{' '.join(doom[1:3])} in round {round_}")


def moments_of(arena: Arena, step: Step) -> list[str]:
    """What the step does to the disk if it is let alone, which it has to survive, too."""
    told = _doomed(arena, step, 0, "kill")
    if told != 0:
        raise AssertionError(f"undisturbed, it ended with {told}")
    _settle(arena, step, "undisturbed")
    return [str(one) for one in json.loads(_report(arena).read_text(encoding="utf-8"))]


def break_at(arena: Arena, step: Step, number: int, how: str, what: str, known: Ledger) -> None:
    """Break it at one moment, look at what is there, and do it again."""
    shutil.rmtree(arena.data)
    shutil.copytree(arena.folder / PREPARED, arena.data)
    arena.turn_page(known.copy())
    when = f"{how} at moment {number} ({what})"
    code = _doomed(arena, step, number, how)
    if how == FULL:
        arena.outcome.count("full disks")
    elif code in _KILLED:
        arena.outcome.count("kills")
    else:
        # Threads of its own made it pass by that moment.
        arena.outcome.count("moments missed")
    step.judged(arena, when)
    told = arena.run(*_command(arena, step), stdin=step.stdin)
    _hear(arena, told.stdout)
    if told.returncode not in step.again:
        arena.outcome.refused.append(f"{when}; again: {told.returncode} {told.stdout[-300:]!r} {told.stderr[-600:]!r}")
    _settle(arena, step, f"{when}, then done again")


def _settle(arena: Arena, step: Step, when: str) -> None:
    arena.outcome.unsound += [f"{when}: {one}" for one in step.settled(arena)]
    judge(arena, when)


def _doomed(arena: Arena, step: Step, number: int, how: str) -> int:
    doom = ("torture.doomed", str(number), how, str(_report(arena)))
    told = arena.run(*doom, *_command(arena, step), stdin=step.stdin)
    _hear(arena, told.stdout)
    if how == FULL and told.returncode == 1:
        arena.outcome.refused.append(f"full at {number}: {told.stdout[-300:]!r} {told.stderr[-600:]!r}")
    return told.returncode


def _hear(arena: Arena, told: bytes) -> None:
    """What a scribe had said by then was acknowledged; of other steps nothing is."""
    for line in told.splitlines(keepends=True):
        if line.startswith((b'{"is"', b'{"may"')) and line.endswith(b"\n"):
            arena.ledger.hear(line.decode())


def _report(arena: Arena) -> Path:
    return arena.folder / "moments.json"


def _command(arena: Arena, step: Step) -> list[str]:
    return [
        (arena.folder / part[1:-1]).read_text(encoding="utf-8") if part.startswith("{") else part
        for part in step.command
    ]
