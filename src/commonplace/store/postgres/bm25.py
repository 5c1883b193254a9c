"""What BM25 needs to know of a space: how many rows have a leaf, how many rows there are, how long they are.

Counting the rows of a word is most of the work of a search. In a large space a process remembers what it counted for
as long as the space has about as many rows: what a word is worth hardly changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.text_query import (
    Bound,
    Leaf,
    Leaves,
    bm25_score,
    compile_leaves,
    condition_of_leaves,
    idf,
    idf_sql,
)
from commonplace.text.query import COMMON_MOST, SAMPLE_ROWS

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


class CountCache:
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
        wanted = list(dict.fromkeys(leaves))
        unknown = [leaf for leaf in wanted if leaf not in self.counts.of_leaves]
        bound = Bound(self.space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in unknown]
        found = dict(zip(unknown, (all_ for _some, all_ in count_rows(self.connection, having, bound)), strict=True))
        most = [leaf for leaf in unknown if found[leaf] >= COMMON_MOST]
        for leaf, share in zip(most, self.shares([(leaf,) for leaf in most]), strict=True):
            found[leaf] = max(found[leaf], int(self.rows * share))
        self.counts.of_leaves.update(found)
        return {leaf: idf(self.rows, self.counts.of_leaves[leaf]) for leaf in wanted}

    def shares(self, words: Sequence[Leaves]) -> list[float]:
        """The share of rows that have each of these, judged by the newest: counting all would cost too much."""
        known = self.counts.shares
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        known.update(zip(unknown, self.glance(unknown, SAMPLE_ROWS), strict=True))
        return [known[word] for word in words]

    def glance(self, words: Sequence[Leaves], sample: int) -> list[float]:
        """The same by so many of the newest, not remembered."""
        if not words:
            return []
        bound = Bound(self.space_id)
        seen = ", ".join(f"count(*) FILTER (WHERE {condition_of_leaves(leaves, bound)})" for leaves in words)
        newest = f"SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {sample:d}"
        rows, *found = self.connection.native_rows(f"SELECT count(*), {seen} FROM ({newest}) w", bound.values)[0]
        return [int(n) / max(1, int(rows)) for n in found]


def count_rows(
    connection: Connection, rows: Sequence[str], bound: Bound, limit: int = COMMON_MOST
) -> list[tuple[int, int]]:
    """How many passages each of these has, and how many rows with the wholes of cut items, counted up to a limit."""
    if not rows:
        return []
    both = "SELECT ARRAY[count(*) FILTER (WHERE id > 0), count(*)]"
    counts = ", ".join(f"({both} FROM (SELECT w.id {some} LIMIT {limit:d}) c)" for some in rows)
    return [(int(some), int(all_)) for some, all_ in connection.native_rows(f"SELECT {counts}", bound.values)[0]]


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(compile_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows (id, score), best first, and how many were compared.

    `items` tells of which item each of those is that is a passage, `having` which of them, and of others asked about,
    have each leaf, `passages` how many passages have each word.
    """

    best: Sequence[tuple[int, float]] = ()
    total: int = 0
    items: Mapping[int, int] = field(default_factory=dict)
    having: Mapping[Leaf, frozenset[int]] = field(default_factory=dict)
    passages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows of a space to be scored by the words in them; `worth` is None if they are all that have any of the words."""

    condition: str
    bound: Bound
    all_rows: int
    average: float
    worth: Mapping[Leaf, float] | None = None
    # Whether the index finds them all, whatever the words are: then one plan will do.
    by_index: bool = False

    def scored(
        self, connection: Connection, words: Sequence[Leaves], k: int, also: Sequence[int] = (), only: str = "true"
    ) -> Scored:
        """The best `k` of these rows and `also`, of those that satisfy `only`; the others just count."""
        leaves = [leaf for word in words for leaf in word]
        name = {leaf: f"f{n}" for n, leaf in enumerate(dict.fromkeys(leaves))}
        weights = [f"({leaf.weight(self.bound)})::float8 AS {column}" for leaf, column in name.items()]
        # Bound, not written out: spaces then share their statements.
        rows = self.bound.add(self.all_rows)
        idfs = [f"{leaves.count(leaf)} * {self._idf(leaf, column, rows)} AS i{column}" for leaf, column in name.items()]
        score = bm25_score([*name.values()], [f"i{column}" for column in name.values()], self.average, self.bound)
        holding = [" OR ".join(f"{name[leaf]} > 0" for leaf in word) for word in words]
        counts = ", ".join(f"count(*) FILTER (WHERE id > 0 AND ({held}))" for held in holding)
        known = [f"count(*) FILTER (WHERE {only}) AS total", f"ARRAY[{counts}]::bigint[] AS passages", *idfs]
        found = connection.native_rows(
            f"""
            WITH found AS MATERIALIZED (SELECT {", ".join(["w.id", "w.length", *weights])} {self.condition}),
                 known AS MATERIALIZED (SELECT {", ".join(known)} FROM found)
            SELECT total, passages, chosen.*, CASE WHEN is_best THEN (
                   SELECT p.item_id FROM passages p WHERE p.space_id = %(space)s AND p.id = chosen.id) END
              FROM known, (
                (SELECT {score} AS score, id, {", ".join(["true AS is_best", *name.values()])} FROM found, known
                  WHERE {only} ORDER BY score DESC, id DESC LIMIT {int(k)})
                UNION ALL
                (SELECT 0.0, id, {", ".join(["false", *name.values()])} FROM found
                  WHERE {only} AND id = ANY({self.bound.add(connection.array(also))}::bigint[]))) chosen
            """,
            self.bound.values,
            prepared=self.by_index,
        )
        if not found:
            return Scored(passages=[0] * len(words))
        best = sorted(((row[2], row[3]) for row in found if row[4]), reverse=True)
        items = {row[3]: row[-1] for row in found if row[-1] is not None}
        having = {leaf: frozenset(row[3] for row in found if row[place]) for place, leaf in enumerate(name, start=5)}
        return Scored([(rowid, score) for score, rowid in best], found[0][0], items, having, found[0][1])

    def _idf(self, leaf: Leaf, column: str, rows: str) -> str:
        if self.worth is None:
            return idf_sql(rows, f"count(*) FILTER (WHERE {column} > 0)")
        return f"{self.bound.add(self.worth[leaf])}::float8"
