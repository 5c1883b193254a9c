"""How many contradictions are found, and reported where there is none: `python -m benchmarks.contradictions`.

The pairs are our own. Those of *_blind.txt were written after the rules and run once: these figures count, as long as
nobody changes a rule for them. contradictions.txt and no_contradictions.txt were used to make the rules. Every second
pair was kept apart, but their words went into the tables, and false reports among the look-alikes were read and
corrected: figures of them are too good, and serve to notice what gets worse. Also compared are lines of one world of
the training corpus that share two words and more: real look-alikes of which some do change something, so that what is
reported there has to be read (--show). Those of *_second_blind.txt were written without looking at the rules, twelve of
each kind; to their look-alikes pairs of lines of one world are added, so that there are a thousand.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from commonplace.text.statement_comparison import contradiction_kind
from commonplace.text.statement_reading import statements_in

HERE = Path(__file__).parent
THOUSAND = 1000
WORLDS = HERE.parent / "training" / "worlds"
_STATEMENT = re.compile(r"^\d+ (?:decision|rule|fact|note|preference|constraint): (.*)$", re.MULTILINE)


class Pair(NamedTuple):
    """Two texts; `is_kept_apart` for every second one that was not read while the rules were made."""

    kind: str
    earlier: str
    later: str
    is_kept_apart: bool


def read_pairs(name: str) -> list[Pair]:
    """The pairs of a file, in its order."""
    pairs, kind, number = [], "", 0
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind, number = line[3:], 0
        elif " | " in line and not line.startswith("#"):
            earlier, later = line.split(" | ", 1)
            pairs.append(Pair(kind, earlier, later, number % 2 == 1 and "(tuning)" not in kind))
            number += 1
    return pairs


def found(pairs: Sequence[Pair]) -> dict[str, tuple[int, int]]:
    """How many of each kind are reported as contradictions, of how many."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair in pairs:
        counts[pair.kind][0] += bool(contradiction_kind(pair.earlier, pair.later))
        counts[pair.kind][1] += 1
    return {kind: (some, total) for kind, (some, total) in counts.items()}


def world_pairs() -> Iterator[tuple[str, str]]:
    """Lines of one world that share two words and more."""
    for path in sorted(WORLDS.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if "# kind: notes" in text:
            lines = _STATEMENT.findall(text)
            words = [{word for one in statements_in(line) for word in one.subject} for line in lines]
            for first, second in combinations(range(len(lines)), 2):
                if len(words[first] & words[second]) >= 2:
                    yield lines[first], lines[second]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print what is reported among the lines of worlds")
    options = parser.parse_args(arguments)
    names = ("second_blind", "blind", "")
    for name in [f"{start}contradictions{'_' * bool(end)}{end}" for end in names for start in ("", "no_")]:
        pairs_read = read_pairs(f"{name}.txt")
        counts = found([pair for pair in pairs_read if pair.is_kept_apart or name.endswith("_blind")])
        print(f"{name}: {sum(a for a, _b in counts.values())} of {sum(b for _a, b in counts.values())} reported")
        print("  " + ", ".join(f"{kind} {some}/{total}" for kind, (some, total) in counts.items()))
    pairs = list(world_pairs())
    apart = [(pair.earlier, pair.later) for pair in read_pairs("no_contradictions_second_blind.txt")]
    step = len(pairs) // (THOUSAND - len(apart))
    thousand = apart + pairs[::step][: THOUSAND - len(apart)]
    count = sum(bool(contradiction_kind(a, b)) for a, b in thousand)
    print(f"a thousand look-alikes: {count} of {len(thousand)} reported")
    reported = [(a, b) for a, b in pairs if contradiction_kind(a, b)]
    print(f"lines of one world: {len(reported)} of {len(pairs)} pairs with two words in common reported")
    for earlier, later in reported if options.show else ():
        print(f"  {earlier}\n    {later}")


if __name__ == "__main__":
    main()
