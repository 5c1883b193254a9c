"""What BM25 needs to know of a space: how many rows have a leaf, how many rows there are, how long they are.

Counting the rows of a word is most of the work of a search. In a large space a process remembers what it counted for
as long as the space has about as many rows: what a word is worth hardly changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sought import Bound, Leaf, Leaves, condition_of_leaves, idf, sought_leaves

# Rows are counted so far; how many more there are is judged by the newest few thousand.
COMMON_MOST = 10_000
SAMPLE = 5_000
# From so many rows on counts are remembered, at most so many, until the rows are this share more or fewer.
REMEMBERED_FROM, REMEMBERED_MOST, REMEMBERED_SHARE = 2_000, 20_000, 0.01

_ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "


@dataclass(slots=True)
class Counts:
    """What was counted in a space of so many rows: rows of a leaf, passages of a word, the share that has a word."""

    rows: int = 0
    of_leaves: dict[Leaf, int] = field(default_factory=dict)
    of_words: dict[Leaves, int] = field(default_factory=dict)
    shares: dict[Leaves, float] = field(default_factory=dict)

    def still_hold(self, rows: int) -> bool:
        few = len(self.of_leaves) + len(self.of_words) + len(self.shares) < REMEMBERED_MOST
        return rows >= REMEMBERED_FROM and abs(rows - self.rows) <= self.rows * REMEMBERED_SHARE and few


class Remembered:
    """The counts of one space in this process."""

    def __init__(self) -> None:
        self._counts = Counts()

    def counts(self, rows: int) -> Counts:
        """What is known of a space that has so many rows now; empty if too much has changed."""
        known = self._counts
        if not known.still_hold(rows):
            known = self._counts = Counts(rows)
        return known


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many rows of words a space has, how many words are in them, and what was counted there before."""

    connection: Connection
    space_id: int
    rows: int
    words: int
    counts: Counts

    @property
    def average(self) -> float:
        return self.words / max(self.rows, 1)

    def worth(self, leaves: Iterable[Leaf]) -> dict[Leaf, float]:
        """What each leaf is worth to BM25. Those that were not counted yet are."""
        asked = list(dict.fromkeys(leaves))
        unknown = [leaf for leaf in asked if leaf not in self.counts.of_leaves]
        bound = Bound(self.space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in unknown]
        found = dict(zip(unknown, (all_ for _some, all_ in counted(self.connection, having, bound)), strict=True))
        most = [leaf for leaf in unknown if found[leaf] >= COMMON_MOST]
        for leaf, share in zip(most, self.shares([(leaf,) for leaf in most]), strict=True):
            found[leaf] = max(found[leaf], int(self.rows * share))
        self.counts.of_leaves.update(found)
        return {leaf: idf(self.rows, self.counts.of_leaves[leaf]) for leaf in asked}

    def shares(self, words: Sequence[Leaves]) -> list[float]:
        """The share of rows that have each of these, judged by the newest: counting all would cost too much."""
        known = self.counts.shares
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        known.update(zip(unknown, self.glance(unknown, SAMPLE), strict=True))
        return [known[word] for word in words]

    def glance(self, words: Sequence[Leaves], sample: int) -> list[float]:
        """The same by so many of the newest, not remembered."""
        if not words:
            return []
        bound = Bound(self.space_id)
        seen = ", ".join(f"count(*) FILTER (WHERE {condition_of_leaves(leaves, bound)})" for leaves in words)
        newest = f"SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {sample:d}"
        rows, *found = sql.first(self.connection, f"SELECT count(*), {seen} FROM ({newest}) w", bound.values)
        return [int(n) / max(1, int(rows)) for n in found]


def counted(
    connection: Connection, rows: Sequence[str], bound: Bound, limit: int = COMMON_MOST
) -> list[tuple[int, int]]:
    """How many passages each of these has, and how many rows with the wholes of cut items, counted up to a limit."""
    if not rows:
        return []
    both = "SELECT ARRAY[count(*) FILTER (WHERE id > 0), count(*)]"
    counts = ", ".join(f"({both} FROM (SELECT w.id {some} LIMIT {limit:d}) c)" for some in rows)
    return [(int(some), int(all_)) for some, all_ in sql.first(connection, f"SELECT {counts}", bound.values)]


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(sought_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"
