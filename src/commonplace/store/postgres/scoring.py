"""Rows in the order of BM25, reckoned by the server: only the best of them come here, and some that are asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sought import Bound, Leaf, Leaves, bm25, idf_sql


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows (id, score), best first, and how many were compared.

    `has` tells which leaves those and others asked about have, `passages` how many passages have each word.
    """

    best: Sequence[tuple[int, float]] = ()
    total: int = 0
    has: Mapping[int, frozenset[Leaf]] = field(default_factory=dict)
    passages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a space to be scored by the words in them; `worth` is None if they are all that have any of the words."""

    condition: str
    bound: Bound
    all_rows: int
    average: float
    worth: Mapping[Leaf, float] | None = None

    def scored(
        self, connection: Connection, words: Sequence[Leaves], k: int, also: Sequence[int] = (), only: str = "true"
    ) -> Scored:
        """The best `k` of these rows and `also`, of those that satisfy `only`; the others just count."""
        leaves = [leaf for word in words for leaf in word]
        name = {leaf: f"f{n}" for n, leaf in enumerate(dict.fromkeys(leaves))}
        weights = [f"({leaf.weight(self.bound)})::float8 AS {column}" for leaf, column in name.items()]
        idfs = [f"{leaves.count(leaf)} * {self._idf(leaf, column)} AS i{column}" for leaf, column in name.items()]
        score = bm25([*name.values()], [f"i{column}" for column in name.values()], self.average)
        has = ", ".join(f"{column} > 0" for column in name.values())
        holding = [" OR ".join(f"{name[leaf]} > 0" for leaf in word) for word in words]
        counts = ", ".join(f"count(*) FILTER (WHERE id > 0 AND ({held}))" for held in holding)
        known = ", ".join(["count(*) AS compared", f"ARRAY[{counts}]::bigint[] AS passages", *idfs])
        found = sql.rows(
            connection,
            f"""
            WITH found AS MATERIALIZED (SELECT {", ".join(["w.id", "w.length", *weights])} {self.condition}),
                 known AS MATERIALIZED (SELECT {known} FROM found),
                 placed AS (
                    SELECT id, score, has, count(*) OVER () AS total,
                           row_number() OVER (ORDER BY score DESC, id DESC) AS place
                      FROM (SELECT id, {score} AS score, ARRAY[{has}]::boolean[] AS has
                              FROM found, known WHERE {only}) scored)
            SELECT place, id, score, total, has, passages FROM placed, known
             WHERE place <= {int(k)} OR id = ANY({self.bound.add(list(also))}::bigint[]) ORDER BY place
            """,
            self.bound.values,
        )
        if not found:
            return Scored(passages=[0] * len(words))
        return Scored(
            [(rowid, value) for place, rowid, value, *_rest in found if place <= k],
            found[0][3],
            {row[1]: frozenset(leaf for leaf, there in zip(name, row[4], strict=True) if there) for row in found},
            found[0][5],
        )

    def _idf(self, leaf: Leaf, column: str) -> str:
        if self.worth is None:
            return idf_sql(self.all_rows, f"count(*) FILTER (WHERE {column} > 0)")
        return f"{self.worth[leaf]!r}::float8"
