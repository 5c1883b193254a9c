"""What tells how likely a hit answers? `python -m benchmarks.likelihood`

Fits the weights of `likelihoods` in ranking/scoring.py on the worlds of agents and notes that are kept
apart, several in one memory as a developer's projects are. Every question is asked as it is, and once more as if the
lines that answer it had never been written, which leaves what only resembles them. Then it says what each offset does.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.worlds import read_worlds

from benchmarks.hint_weights import fit
from benchmarks.percentages import FIRST, stored
from commonplace.memory.recall import recall
from commonplace.model import Scope
from commonplace.ranking.scoring import LEAST_RIVAL

TOGETHER = 3
# What decides the order of hits that answer alike says nothing of how likely they answer.
NOT_COUNTED = ("newer", "importance", "trust", "use")
SHIFTS = (0.0, 0.5, 1.0, 1.25, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Found:
    """The scores of the hits of a question and which of them answer; whether its answers were removed."""

    scores: tuple[float, ...]
    right: tuple[bool, ...]
    removed: bool
    answerable: bool

    def signals(self) -> Iterator[list[float]]:
        for place, score in enumerate(self.scores):
            others = self.scores[:place] + self.scores[place + 1 :]
            yield [1.0, score, max([LEAST_RIVAL, *others])]


def find() -> Iterator[Found]:
    worlds = [world for world in read_worlds() if world.held_out and world.kind in ("agent", "notes")]
    for start in range(0, len(worlds), TOGETHER):
        some = worlds[start : start + TOGETHER]
        with tempfile.TemporaryDirectory() as folder, stored(some, folder) as (memory, lines):
            for world in some:
                for question in world.questions:
                    hits = [
                        (sum(v for name, v in hit.why.items() if name not in NOT_COUNTED), lines[hit.item.id])
                        for hit in recall(memory, question.text, Scope(), 2 * FIRST).hits
                    ]
                    gold = {(world.name, number) for number in question.gold}
                    yield _found(hits, gold, removed=False)
                    if gold:
                        yield _found([hit for hit in hits if hit[1] not in gold], gold, removed=True)
        print(start, "of", len(worlds), file=sys.stderr, flush=True)


def _found(hits: Sequence[tuple[float, tuple[str, int]]], gold: set[tuple[str, int]], *, removed: bool) -> Found:
    first = hits[:FIRST]
    return Found(
        tuple(score for score, _line in first), tuple(line in gold for _score, line in first), removed, bool(gold)
    )


def main() -> None:
    found = list(find())
    weights = fit([(signals, right) for one in found for signals, right in zip(one.signals(), one.right, strict=True)])
    print("offset {:.2f}, score {:.2f}, rival {:.2f}".format(*weights))
    for shift in SHIFTS:
        offset, score, rival = weights[0] + shift, *weights[1:]
        kept = refused = removed = wrong = 0
        for one in found:
            odds = [offset + score * own + rival * other for _one, own, other in one.signals()]
            likely = [right for right, value in zip(one.right, odds, strict=True) if 1 / (1 + math.exp(-value)) >= 0.5]
            if one.removed:
                removed += not likely
            elif one.answerable:
                kept += any(likely)
                wrong += likely.count(False)
            else:
                refused += not likely
        answerable = sum(one.answerable and not one.removed for one in found)
        nothing = sum(not one.answerable for one in found)
        print(
            f"offset {offset:.2f}: {kept / answerable:.0%} have a right hit at 50 %, {wrong / answerable:.2f} wrong;"
            f" refused: {refused / nothing:.0%} that nothing answers, {removed / answerable:.0%} without their answers"
        )


if __name__ == "__main__":
    main()
