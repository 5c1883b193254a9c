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

    `items` tells of which item each of those is that is a passage, `having` which of them, and of others asked about,
    have each leaf, `passages` how many passages have each word.
    """

    best: Sequence[tuple[int, float]] = ()
    total: int = 0
    items: Mapping[int, int] = field(default_factory=dict)
    having: Mapping[Leaf, frozenset[int]] = field(default_factory=dict)
    passages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Rows:
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
        score = bm25([*name.values()], [f"i{column}" for column in name.values()], self.average, self.bound)
        holding = [" OR ".join(f"{name[leaf]} > 0" for leaf in word) for word in words]
        counts = ", ".join(f"count(*) FILTER (WHERE id > 0 AND ({held}))" for held in holding)
        known = [f"count(*) FILTER (WHERE {only}) AS total", f"ARRAY[{counts}]::bigint[] AS passages", *idfs]
        found = sql.rows(
            connection,
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
                  WHERE {only} AND id = ANY({self.bound.add(sql.ids(also))}::bigint[]))) chosen
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
