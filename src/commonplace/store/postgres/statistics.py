"""What BM25 needs to know of a space: how many rows have a leaf, how many rows there are, how long they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sought import Bound, Leaf, bm25, condition_of_leaves, idf, sought_leaves

# Rows are counted so far; how many more there are is judged by the newest few thousand.
COMMON_MOST = 10_000
SAMPLE = 5_000

_ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "


@dataclass(frozen=True, slots=True)
class Statistics:
    """The average length of a row, and what each leaf is worth."""

    average: float
    idfs: tuple[float, ...]

    @classmethod
    def of(
        cls, connection: Connection, space_id: int, leaves: Sequence[Leaf], known: Mapping[Leaf, int] | None = None
    ) -> Statistics:
        """`known` tells of some leaves how many rows have them."""
        row = sql.first(connection, "SELECT rows, length FROM word_totals WHERE space_id = %s", (space_id,))
        rows, length = (int(row[0]), int(row[1])) if row else (0, 0)
        count = dict(known or {})
        unknown = [leaf for leaf in dict.fromkeys(leaves) if leaf not in count]
        bound = Bound(space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in unknown]
        count |= dict(zip(unknown, (all_ for _some, all_ in counted(connection, having, bound)), strict=True))
        most = [leaf for leaf in unknown if count[leaf] >= COMMON_MOST]
        for leaf, share in zip(most, estimated(connection, space_id, [[leaf] for leaf in most]), strict=True):
            count[leaf] = max(count[leaf], int(rows * share))
        return cls(length / max(rows, 1), tuple(idf(rows, count[leaf]) for leaf in leaves))


def scored(
    connection: Connection, rows: str, bound: Bound, leaves: Sequence[Leaf], statistics: Statistics, k: int
) -> tuple[int, list[tuple[int, float]]]:
    """How many of these rows there are, and the best of them by BM25 (id, score)."""
    distinct = list(dict.fromkeys(leaves))
    worth = [sum(w for leaf, w in zip(leaves, statistics.idfs, strict=True) if leaf == one) for one in distinct]
    weights = [f"({leaf.weight(bound)})::float8 AS f{n}" for n, leaf in enumerate(distinct)]
    score = bm25([f"f{n}" for n in range(len(distinct))], worth, statistics.average)
    found = sql.rows(
        connection,
        f"WITH found AS MATERIALIZED (SELECT {', '.join(['w.id', 'w.length', *weights])} {rows})"
        f" SELECT id, {score} AS score, count(*) OVER () FROM found ORDER BY score DESC, id DESC LIMIT {int(k)}",
        bound.values,
    )
    return (found[0][2] if found else 0), [(rowid, value) for rowid, value, _total in found]


def counted(
    connection: Connection, rows: Sequence[str], bound: Bound, limit: int = COMMON_MOST
) -> list[tuple[int, int]]:
    """How many passages each of these has, and how many rows with the wholes of cut items, counted up to a limit."""
    if not rows:
        return []
    both = "SELECT ARRAY[count(*) FILTER (WHERE id > 0), count(*)]"
    counts = ", ".join(f"({both} FROM (SELECT w.id {some} LIMIT {limit:d}) c)" for some in rows)
    return [(int(some), int(all_)) for some, all_ in sql.first(connection, f"SELECT {counts}", bound.values)]


def estimated(connection: Connection, space_id: int, sought: Sequence[Sequence[Leaf]]) -> list[float]:
    """The share of rows that have any leaf of each of these, judged by the newest: counting all would cost too much."""
    if not sought:
        return []
    bound = Bound(space_id)
    seen = ", ".join(f"count(*) FILTER (WHERE {condition_of_leaves(leaves, bound)})" for leaves in sought)
    newest = f"SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {SAMPLE}"
    rows, *found = sql.first(connection, f"SELECT count(*), {seen} FROM ({newest}) w", bound.values)
    return [int(n) / max(1, int(rows)) for n in found]


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(sought_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"
