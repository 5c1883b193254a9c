"""Check the corpus: `python -m training.lint [WORLD.txt ...]`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from training.statement_pairs import NONE, faults_of_pairs, read_pairs
from training.worlds import World, read_world, read_worlds


def faults_of(worlds: Sequence[World]) -> list[str]:
    """What is wrong, a line each: in a world, or between two of them."""
    faults = [f"{world.name}: {fault}" for world in worlds for fault in world.faults]
    first: dict[str, str] = {}
    for world in worlds:
        # Short replies recur in real talk; a long line that stands twice was copied.
        faults += [
            f"{world.name}: line {line.number} stands in {first[line.text]} too"
            for line in world.lines
            if len(line.text) >= 60 and first.setdefault(line.text, world.name) != world.name
        ]
    return faults


def main(arguments: Sequence[str]) -> int:
    named = [read_world(Path(path).stem, Path(path).read_text(encoding="utf-8")) for path in arguments]
    worlds = named or list(read_worlds())
    pairs = [] if named else read_pairs()
    faults = faults_of(worlds) + faults_of_pairs(pairs)
    for fault in faults:
        print(fault)
    kinds = Counter(world.kind for world in worlds)
    types = Counter(question.type for world in worlds for question in world.questions)
    print(f"{len(worlds)} worlds ({_counts(kinds)}), {sum(world.held_out for world in worlds)} kept apart")
    print(f"{types.total()} questions ({_counts(types)})")
    if pairs:
        print(f"{len(pairs)} pairs of statements, {sum(pair.kind != NONE for pair in pairs)} of them contradict")
    return 1 if faults else 0


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counter.most_common())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
