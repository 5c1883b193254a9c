"""Finding the nearest vectors: by their signs first, as on SQLite, and then by the vectors themselves.

The signs of a few ten thousand vectors are compared one by one, exactly. Of a larger space the older ones are in an
index (HNSW over Hamming distances), and the newest are still compared one by one until they get there, a few with each
batch of new vectors. A filter that leaves only few is served without the index, which would have to look for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.model import KINDS, VectorHit
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scope import Filter
from commonplace.store.postgres.vectors import score, signs

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

RESCORED = 300
# So many vectors are compared one by one.
EXACT = 10_000

_OF_MODEL = "v.space_id = %(space)s AND v.model_id = %(model)s"


def add_index(connection: Connection, dim: int) -> None:
    """The index for vectors of so many dimensions; only the rows that are marked as indexed are in it."""
    sql.run(
        connection,
        f"CREATE INDEX IF NOT EXISTS vectors_signs_{dim:d} ON vectors"
        f" USING hnsw ((bits::bit({dim:d})) bit_hamming_ops) WHERE indexed AND length(bits) = {dim:d}",
    )


def catch_up(connection: Connection, space_id: int, model_id: int, most: int) -> None:
    """Let the index have the oldest vectors of a space that has too many to compare all of them."""
    loose = f"SELECT v.seq FROM vectors v WHERE {_OF_MODEL} AND NOT v.indexed ORDER BY v.seq"
    bindings = {"space": space_id, "model": model_id, "exact": EXACT, "most": most}
    last = sql.first(connection, f"{loose} DESC OFFSET %(exact)s LIMIT 1", bindings)
    if last is None:
        return
    chosen = [row[0] for row in sql.rows(connection, f"{loose} LIMIT %(most)s", bindings) if row[0] <= last[0]]
    sql.run(
        connection,
        "UPDATE vectors SET indexed = true WHERE space_id = %s AND seq = ANY(%s::bigint[])",
        (space_id, chosen),
    )


def nearest(
    connection: Connection, space_id: int, model: tuple[int, int], query: NDArray[float32], filter_: Filter, k: int
) -> list[VectorHit]:
    """The `k` passages inside the filter whose vectors are nearest to the query."""
    model_id, dim = model
    inside, bindings = _inside(filter_)
    bindings |= {
        "space": space_id,
        "model": model_id,
        "signs": signs(query),
        "most": max(RESCORED, k),
        "exact": EXACT,
    }
    one_by_one = f"""
        SELECT passage_id FROM (
            SELECT v.passage_id, v.seq, hamming_distance(v.bits, %(signs)s::varbit) AS far
              FROM vectors v WHERE {_OF_MODEL} AND {{some}} AND {inside}) v
         ORDER BY far, seq DESC LIMIT %(most)s
        """
    if _few(connection, inside, bindings):
        near = sql.rows(connection, one_by_one.format(some="true"), bindings)
    else:
        sql.run(connection, "SET LOCAL hnsw.iterative_scan = relaxed_order")
        sql.run(connection, "SET LOCAL hnsw.ef_search = 400")
        near = sql.rows(
            connection,
            f"""
            ({one_by_one.format(some="NOT v.indexed")}) UNION ALL
            (SELECT v.passage_id FROM vectors v
              WHERE {_OF_MODEL} AND v.indexed AND length(v.bits) = {dim:d} AND {inside}
              ORDER BY v.bits::bit({dim:d}) <~> %(signs)s::bit({dim:d}) LIMIT %(most)s)
            """,
            bindings,
        )
    return score(connection, space_id, model_id, query, [row[0] for row in near])[:k]


def _few(connection: Connection, inside: str, bindings: dict[str, object]) -> bool:
    """Whether so few vectors are inside that each of them can be compared."""
    counted = f"SELECT 1 FROM vectors v WHERE {_OF_MODEL} AND {inside} LIMIT 2 * %(exact)s"
    return int(sql.value(connection, f"SELECT count(*) FROM ({counted}) counted", bindings)) < 2 * EXACT


def _inside(filter_: Filter) -> tuple[str, dict[str, object]]:
    """A condition on `vectors v`."""
    clauses: list[str] = ["true"]
    bindings: dict[str, object] = {}
    if filter_.projects:
        clauses.append("v.project_id = ANY(%(projects)s::bigint[])")
        bindings["projects"] = list(filter_.projects)
    if filter_.kinds:
        clauses.append("v.kind = ANY(%(kinds)s::smallint[])")
        bindings["kinds"] = [KINDS.index(kind) for kind in filter_.kinds]
    if filter_.types or filter_.tag or filter_.sessions is not None:
        condition, values = Filter(types=filter_.types, tag=filter_.tag, sessions=filter_.sessions).sql()
        for n, value in enumerate(values):
            condition = condition.replace("%s", f"%(inside{n})s", 1)
            bindings[f"inside{n}"] = value
        clauses.append(
            "v.passage_id IN (SELECT p.id FROM items i"
            " JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id"
            f" WHERE i.space_id = %(space)s AND {condition})"
        )
    return " AND ".join(clauses), bindings
