"""What BM25 needs to know of a space: how many rows have a leaf, how many rows there are, how long they are.

Counting the rows of a word is most of the work of a search. In a large space a process remembers what it counted for
as long as the space has about as many rows: what a word is worth hardly changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sought import Bound, Leaf, bm25, condition_of_leaves, idf, sought_leaves

# Rows are counted so far; how many more there are is judged by the newest few thousand.
COMMON_MOST = 10_000
SAMPLE = 5_000
# From so many rows on counts are remembered, at most so many, until the rows are this share more or fewer.
REMEMBERED_FROM, REMEMBERED_MOST, REMEMBERED_SHARE = 20_000, 20_000, 0.01

_ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "

Leaves = tuple[Leaf, ...]
"""What a word may be: it is where any of them is."""


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
    """The average length of a row, and what each leaf is worth."""

    average: float
    idfs: tuple[float, ...]

    @classmethod
    def of(
        cls, connection: Connection, space_id: int, leaves: Sequence[Leaf], rows: int, words: int, counts: Counts
    ) -> Statistics:
        """In a space of so many rows with so many words. Leaves that were not counted yet are."""
        unknown = [leaf for leaf in dict.fromkeys(leaves) if leaf not in counts.of_leaves]
        bound = Bound(space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in unknown]
        found = dict(zip(unknown, (all_ for _some, all_ in counted(connection, having, bound)), strict=True))
        most = [leaf for leaf in unknown if found[leaf] >= COMMON_MOST]
        for leaf, share in zip(most, shares(connection, space_id, [(leaf,) for leaf in most], counts), strict=True):
            found[leaf] = max(found[leaf], int(rows * share))
        counts.of_leaves.update(found)
        return cls(words / max(rows, 1), tuple(idf(rows, counts.of_leaves[leaf]) for leaf in leaves))


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows by BM25 (id, score), best first; how many were compared; which leaves those and others asked about have."""

    best: list[tuple[int, float]]
    total: int
    has: dict[int, frozenset[Leaf]]


def scored(
    connection: Connection,
    rows: str,
    bound: Bound,
    leaves: Sequence[Leaf],
    statistics: Statistics,
    k: int,
    also: Sequence[int] = (),
) -> Scored:
    """The best of these rows, and which leaves they and `also` have."""
    distinct = list(dict.fromkeys(leaves))
    worth = [sum(w for leaf, w in zip(leaves, statistics.idfs, strict=True) if leaf == one) for one in distinct]
    names = [f"f{n}" for n in range(len(distinct))]
    weights = [f"({leaf.weight(bound)})::float8 AS {name}" for leaf, name in zip(distinct, names, strict=True)]
    score = bm25(names, worth, statistics.average)
    has = ", ".join(f"{name} > 0" for name in names)
    found = sql.rows(
        connection,
        f"WITH found AS MATERIALIZED (SELECT {', '.join(['w.id', 'w.length', *weights])} {rows}), placed AS ("
        f" SELECT id, score, ARRAY[{has}]::boolean[] AS has, count(*) OVER () AS total,"
        "         row_number() OVER (ORDER BY score DESC, id DESC) AS place"
        f"   FROM (SELECT *, {score} AS score FROM found) scored)"
        f" SELECT place, id, score, total, has FROM placed"
        f"  WHERE place <= {int(k)} OR id = ANY({bound.add(list(also))}::bigint[]) ORDER BY place",
        bound.values,
    )
    return Scored(
        [(rowid, value) for place, rowid, value, _total, _has in found if place <= k],
        found[0][3] if found else 0,
        {row[1]: frozenset(leaf for leaf, there in zip(distinct, row[4], strict=True) if there) for row in found},
    )


def counted(
    connection: Connection, rows: Sequence[str], bound: Bound, limit: int = COMMON_MOST
) -> list[tuple[int, int]]:
    """How many passages each of these has, and how many rows with the wholes of cut items, counted up to a limit."""
    if not rows:
        return []
    both = "SELECT ARRAY[count(*) FILTER (WHERE id > 0), count(*)]"
    counts = ", ".join(f"({both} FROM (SELECT w.id {some} LIMIT {limit:d}) c)" for some in rows)
    return [(int(some), int(all_)) for some, all_ in sql.first(connection, f"SELECT {counts}", bound.values)]


def shares(connection: Connection, space_id: int, words: Sequence[Leaves], counts: Counts) -> list[float]:
    """The share of rows that have each of these, judged by the newest: counting all would cost too much."""
    unknown = [word for word in dict.fromkeys(words) if word not in counts.shares]
    if unknown:
        bound = Bound(space_id)
        seen = ", ".join(f"count(*) FILTER (WHERE {condition_of_leaves(leaves, bound)})" for leaves in unknown)
        newest = f"SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {SAMPLE}"
        rows, *found = sql.first(connection, f"SELECT count(*), {seen} FROM ({newest}) w", bound.values)
        counts.shares.update((word, int(n) / max(1, int(rows))) for word, n in zip(unknown, found, strict=True))
    return [counts.shares[word] for word in words]


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(sought_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"
