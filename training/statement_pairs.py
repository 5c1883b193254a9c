"""Pairs of statements that the contradiction model learns from: the format of `statement_pairs*.txt`."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FILES = tuple(Path(__file__).with_name(f"statement_pairs{part}.txt") for part in ("", "_in_voices", "_in_more_voices"))
NONE = "none"
# How a later statement contradicts an earlier one, or that it does not.
KINDS = (
    *("moved", "switched", "took-over", "postponed", "renamed", "changed-number", "opposite", "negation", "no-longer"),
    *("rule-decision", "implied", "do-not-keep", "status", "choice-of-one", "preference", "mixed", NONE),
)


class Pair(NamedTuple):
    """An earlier and a later statement, and how the later one contradicts it, or `NONE`."""

    kind: str
    earlier: str
    later: str

    @property
    def held_out(self) -> bool:
        """Whether it is kept apart for checking: a tenth, and all pairs with the same earlier statement together."""
        return zlib.crc32(self.earlier.encode()) % 10 == 0


def read_pairs(*paths: Path) -> list[Pair]:
    """The pairs of some files, or of all: kind, earlier and later statement, with tabs between."""
    lines = [line for path in paths or FILES for line in path.read_text(encoding="utf-8").splitlines()]
    return [Pair(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def faults_of_pairs(pairs: Sequence[Pair]) -> list[str]:
    """What is wrong, a line each."""
    known: dict[tuple[str, str], str] = {}
    faults = []
    for pair in pairs:
        if pair.kind not in KINDS:
            faults.append(f"{pair.kind!r} is not a kind: {pair.earlier}")
        if not all(text == text.strip() and 0 < len(text) <= 400 for text in (pair.earlier, pair.later)):
            faults.append(f"a statement is empty, too long, or has space around it: {pair.earlier}")
        if known.setdefault((pair.earlier, pair.later), pair.kind) != pair.kind:
            faults.append(f"stands there as {known[pair.earlier, pair.later]} and as {pair.kind}: {pair.earlier}")
    if len(known) < len(pairs):
        faults.append(f"{len(pairs) - len(known)} pairs stand there twice")
    return faults
