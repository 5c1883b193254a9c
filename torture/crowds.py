"""Crowds on one file: killed at random, starting all at once, staying for a while; and a store that is forked."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from torture.arena import PATIENCE, Arena
from torture.judge import judge, judge_at_last, judge_book
from torture.ledger import Ledger
from torture.voices import Adding, Caller, Editor, Reader, Scribe, Voice

# Who is killed in a round: the doors in about the proportions in which they are used.
VICTIMS: Sequence[type[Voice]] = (Scribe, Scribe, Editor, Editor, Adding, Adding, Caller, Reader)
TWENTY: Sequence[type[Voice]] = (*[Editor] * 6, *[Scribe] * 6, *[Adding] * 4, *[Caller] * 2, *[Reader] * 2)
CROWD = 1_000


def killed(arena: Arena) -> None:
    """Each of them dies after some answers or while it starts, whatever the others do; then all is looked up.

    Somebody who never dies reads along all the time, and has to have seen everything.
    """
    with arena.book() as watching:
        for round_ in range(arena.effort):
            victims = [kind(arena, f"{kind.__name__.lower()}{round_}n{n}") for n, kind in enumerate(VICTIMS)]
            ends = [
                threading.Thread(
                    target=victim.dies_after,
                    # Some do not live to say anything.
                    args=(arena.random.choice((0, 1, 2, 5, 12)), arena.random.random() * arena.random.random()),
                )
                for victim in victims
            ]
            for end in ends:
                end.start()
            for end in ends:
                end.join(PATIENCE)
            judge_book(arena, watching, f"round {round_}, by somebody who watched")
        judge(arena, "by somebody who came later")
    judge_at_last(arena)


def at_once(arena: Arena) -> None:
    """A thousand processes open a store that is not there yet, and write, all at the same moment; again and again."""
    for _ in range(arena.effort):
        told = arena.run("torture.deeds", "crowd", str(CROWD))
        lines = told.stdout.decode().splitlines()
        if told.returncode or len(lines) != CROWD + 1:
            arena.outcome.refused.append(f"{len(lines)} of {CROWD} answered: {told.stderr!r}")
        for line in lines:
            said = arena.ledger.hear(line)
            if "refused" in said:
                arena.outcome.refused.append(said["refused"])
        arena.outcome.count("starts", CROWD)
        judge(arena, f"after {CROWD} starts")
        arena.turn_page(Ledger())
        arena.data.rename(arena.folder / f"data-{arena.outcome.done['starts']}")


def staying(arena: Arena, kinds: Sequence[type[Voice]]) -> None:
    """They all work at once for a while, and end as they should. Nobody is refused anything."""
    voices = [kind(arena, f"{kind.__name__.lower()}n{n}") for n, kind in enumerate(kinds)]
    for voice in voices:
        voice.wait_for(1)
    threading.Event().wait(arena.effort)
    for voice in voices:
        voice.stop()
    for voice in voices:
        voice.ended()
        if not voice.heard:
            arena.outcome.refused.append(f"{voice.name} was never answered")
    arena.outcome.count("processes", len(voices))
    judge_at_last(arena)


def twenty(arena: Arena) -> None:
    staying(arena, TWENTY)


def editors(arena: Arena) -> None:
    staying(arena, [Editor] * 10)


def forked(arena: Arena) -> None:
    """A process with an open store forks while its threads write; parent and children go on."""
    began = time.monotonic()
    for round_ in range(arena.effort):
        told = arena.run("torture.forking", f"r{round_}")
        for line in told.stdout.decode().splitlines():
            arena.ledger.hear(line)
        if told.returncode:
            arena.outcome.refused.append(told.stderr.decode()[-400:])
        arena.outcome.count("forks", 5)
        judge(arena, f"round {round_} after {time.monotonic() - began:.0f} s")
    judge_at_last(arena)
