"""What BM25 needs to know of a space: how many rows have a leaf, how many rows there are, how long they are."""

from __future__ import annotations

from collections.abc import Sequence
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
    def of(cls, connection: Connection, space_id: int, leaves: Sequence[Leaf]) -> Statistics:
        row = sql.first(connection, "SELECT rows, length FROM word_totals WHERE space_id = %s", (space_id,))
        rows, length = (int(row[0]), int(row[1])) if row else (0, 0)
        distinct = list(dict.fromkeys(leaves))
        bound = Bound(space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in distinct]
        count = dict(zip(distinct, counted(connection, having, bound, COMMON_MOST), strict=True))
        for leaf, found in count.items():
            if found >= COMMON_MOST:
                count[leaf] = max(found, int(rows * estimated(connection, space_id, [leaf])))
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


def counted(connection: Connection, rows: Sequence[str], bound: Bound, limit: int) -> list[int]:
    """How many rows each of these has, counted up to a limit."""
    if not rows:
        return []
    counts = ", ".join(f"(SELECT count(*) FROM (SELECT 1 {some} LIMIT {limit:d}) c)" for some in rows)
    return [int(count) for count in sql.first(connection, f"SELECT {counts}", bound.values)]


def estimated(connection: Connection, space_id: int, leaves: Sequence[Leaf]) -> float:
    """The share of rows that have any of these, judged by the newest: counting them all would cost too much."""
    bound = Bound(space_id)
    having = condition_of_leaves(leaves, bound)
    seen, rows = sql.first(
        connection,
        f"SELECT count(*) FILTER (WHERE {having}), count(*)"
        f"  FROM (SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {SAMPLE}) w",
        bound.values,
    )
    return int(seen) / max(1, int(rows))


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(sought_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"
