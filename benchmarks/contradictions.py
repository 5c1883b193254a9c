"""How many contradictions are found, and reported where there is none: `python -m benchmarks.contradictions`.

The pairs are our own, and go through the product: the earlier statement is stored, then the later one, and what the
reply says counts. Those of *_blind.txt were written by people who knew neither the code nor the pairs that the model
learned from: these figures count. Those of *_earlier.txt are like them, but showed what to teach more of.
contradictions.txt and no_contradictions.txt were used to teach the model, so their figures only show what gets worse.
Also compared are lines of one world kept apart from training that share two words and more: real look-alikes, of which
some do change something, so that what is reported there has to be read (--show).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from training.statement_pairs import NONE
from training.statement_pairs import read_pairs as read_training_pairs
from training.worlds import read_worlds

from commonplace import config
from commonplace.memory.judge import compare
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_all, remember_item
from commonplace.text.statement_guards import read_statement

HERE = Path(__file__).parent
THOUSAND = 1000
# In fourteen voices, by writers who had seen nothing else: as people write it down, and told only indirectly.
VOICES = ("voices_blind.txt", "voices_indirect_blind.txt")


class Pair(NamedTuple):
    """Two texts, and how they contradict each other or look alike."""

    kind: str
    earlier: str
    later: str


def read_pairs(name: str) -> list[Pair]:
    """The pairs of a file, in its order."""
    pairs, kind = [], ""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind = line[3:]
        elif " | " in line and not line.startswith("#"):
            pairs.append(Pair(kind, *line.split(" | ", 1)))
    return pairs


def read_voices(name: str) -> tuple[list[Pair], list[Pair]]:
    """The pairs of a file in many voices: those that contradict each other, and look-alikes."""
    pairs = [Pair(one.kind, one.earlier, one.later) for one in read_training_pairs(HERE / name)]
    return [pair for pair in pairs if pair.kind != NONE], [pair for pair in pairs if pair.kind == NONE]


def found_by_words(pairs: Sequence[Pair]) -> list[bool]:
    """Which of the pairs the words alone show, as without a model."""
    return [compare(None, pair.earlier, pair.later).is_against for pair in pairs]


def found_by_product(memory: LocalMemory, pairs: Sequence[Pair]) -> list[bool]:
    """Which of the pairs the reply to a write reports, each in a project of its own."""
    first = memory.store.counts().passages
    projects = [f"pair{first + number}" for number in range(len(pairs))]
    types = [("rule", "decision") if pair.kind.startswith("rule") else ("fact", "fact") for pair in pairs]
    rows = list(zip(pairs, projects, types, strict=True))
    remember_all(memory, [NewItem(pair.earlier, type=old, project=project) for pair, project, (old, _) in rows])
    memory.embeddings.catch_up()
    return [
        bool(remember_item(memory, NewItem(pair.later, type=new, project=project)).contradictions)
        for pair, project, (_, new) in rows
    ]


def by_kind(pairs: Sequence[Pair], found: Sequence[bool]) -> dict[str, tuple[int, int]]:
    """How many of each kind are reported, of how many."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair, is_found in zip(pairs, found, strict=True):
        counts[pair.kind][0] += is_found
        counts[pair.kind][1] += 1
    return {kind: (some, total) for kind, (some, total) in counts.items()}


def world_pairs() -> Iterator[Pair]:
    """Lines of one world that share two words and more."""
    for world in read_worlds():
        if world.kind == "notes" and world.held_out:
            lines = [line.text for line in world.lines]
            words = [set(read_statement(line).words) for line in lines]
            for first, second in combinations(range(len(lines)), 2):
                if len(words[first] & words[second]) >= 2:
                    yield Pair(world.name, lines[first], lines[second])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", action="store_true", help="only what the rules find, as without a model")
    parser.add_argument("--show", action="store_true", help="print what is reported among the lines of worlds")
    options = parser.parse_args(arguments)
    embedder = "off" if options.words else "builtin"
    with tempfile.TemporaryDirectory() as folder:
        memory = open_memory(config.load({"data_dir": folder, "embedder": embedder, "resident": "off"}, env={}))
        for name in VOICES:
            for pairs in read_voices(name):
                found = found_by_product(memory, pairs)
                print(f"{name}: {sum(found)} of {len(found)} reported")
                print("  " + ", ".join(f"{kind} {some}/{all_}" for kind, (some, all_) in by_kind(pairs, found).items()))
        for name in [f"{start}contradictions{end}" for end in ("_blind", "_earlier", "") for start in ("", "no_")]:
            pairs = read_pairs(f"{name}.txt")
            found = found_by_product(memory, pairs)
            print(f"{name}: {sum(found)} of {len(found)} reported")
            print("  " + ", ".join(f"{kind} {some}/{total}" for kind, (some, total) in by_kind(pairs, found).items()))
        pairs = list(world_pairs())
        pairs = pairs[:: max(1, len(pairs) // THOUSAND)][:THOUSAND]
        found = found_by_product(memory, pairs)
        print(f"lines of one world: {sum(found)} of {len(pairs)} pairs with two words in common reported")
        for pair in [pair for pair, is_found in zip(pairs, found, strict=True) if is_found and options.show]:
            print(f"  {pair.earlier}\n    {pair.later}")
        memory.close()


if __name__ == "__main__":
    main()
