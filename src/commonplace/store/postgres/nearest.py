"""Finding the nearest vectors: by their signs first, as on SQLite, and then by the vectors themselves.

The signs of the newest vectors are kept by each process and compared there, exactly (store/signs.py): for all but very
large spaces those are all of them. The older ones of such a space are in an index of the server (HNSW over Hamming
distances), a few more with each batch of new vectors. A filter that leaves only few of them is served without the
index, which would have to look for them.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.model import KINDS, VectorHit
from commonplace.store.postgres import passages, sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scope import Filter
from commonplace.store.postgres.vectors import cosines, signs
from commonplace.store.signs import GONE_SHARE, RESCORED, Signs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many of the newest vectors of a space are not in the index.
LOOSE = 200_000
READ_ROWS = 20_000
# So many vectors of the index are compared one by one by the server, if a filter leaves no more.
FEW = 10_000

_OF_MODEL = "v.space_id = %(space)s AND v.model_id = %(model)s"
# Always a row: whether anything is in the index, beside each new vector, or beside nothing.
_NEWS = f"""
SELECT EXISTS (SELECT 1 FROM vectors v WHERE {_OF_MODEL} AND v.indexed), new.*
  FROM (SELECT) one LEFT JOIN LATERAL (
       SELECT v.seq, v.passage_id, v.project_id, v.kind, v.bits FROM vectors v
        WHERE {_OF_MODEL} AND NOT v.indexed AND v.seq > %(seen)s ORDER BY v.seq LIMIT %(most)s) new ON true
"""


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
    bindings = {"space": space_id, "model": model_id, "loose": LOOSE, "most": most}
    last = sql.first(connection, f"{loose} DESC OFFSET %(loose)s LIMIT 1", bindings)
    if last is None:
        return
    chosen = [row[0] for row in sql.rows(connection, f"{loose} LIMIT %(most)s", bindings) if row[0] <= last[0]]
    sql.run(
        connection,
        "UPDATE vectors SET indexed = true WHERE space_id = %s AND seq = ANY(%s::bigint[])",
        (space_id, chosen),
    )


class Nearest:
    """The vectors of one model in one space, caught up with the server before each use."""

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self._lock = threading.Lock()
        self._signs, self._breaks = Signs(dim), 0

    def __call__(
        self,
        connection: Connection,
        query: NDArray[np.float32],
        filter_: Filter,
        k: int,
        breaks: int,
        *,
        afresh: bool = False,
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query.

        After a break (database.py) all are read again: numbers of rows that were lost are given to others.
        """
        most = max(RESCORED, k)
        with self._lock:
            if breaks != self._breaks:
                self._signs, self._breaks = Signs(self.dim), breaks
            has_older = self._catch_up(connection)
            among = self._among(connection, filter_)
            near = self._signs.nearest(query, filter_.projects, filter_.kinds, among, most)
        older = self._older(connection, query, filter_, most) if has_older else []
        either = {*near, *older}
        found = cosines(connection, self.space_id, self.model_id, query, either) if either else []
        if afresh or len(found) >= len(either) * (1 - GONE_SHARE):
            items = passages.items_of(connection, self.space_id, [id_ for id_, _cosine in found[:k]])
            return [VectorHit(id_, items[id_], cosine) for id_, cosine in found[:k] if id_ in items]
        with self._lock:
            self._signs = Signs(self.dim)
        return self(connection, query, filter_, k, breaks, afresh=True)

    def _catch_up(self, connection: Connection) -> bool:
        """Read the signs of what is new, and tell whether the index has others.

        Rows become visible in the order of their numbers (database.py).
        """
        import numpy as np

        if self._signs.size > 2 * LOOSE:
            # Half of them are in the index by now.
            self._signs = Signs(self.dim)
        while True:
            rows = sql.rows(
                connection,
                _NEWS,
                {"space": self.space_id, "model": self.model_id, "seen": self._signs.seen, "most": READ_ROWS},
                binary=True,
            )
            has_older, *_none = rows[0]
            if rows[0][1] is None:
                return bool(has_older)
            _has_older, seqs, ids, projects, kinds, bits = zip(*rows, strict=True)
            # The server tells first how many bits there are.
            told = np.frombuffer(b"".join(bits), np.uint8).reshape(len(rows), -1)[:, 4:]
            words = np.pad(told, ((0, 0), (0, -told.shape[1] % 8))).view(np.uint64)
            self._signs.add(seqs[-1], ids, projects, kinds, words)

    def _among(self, connection: Connection, filter_: Filter) -> list[int] | None:
        """The passages inside what is not kept with the signs, None if that is all of them."""
        inside, bindings = _beyond_signs(filter_)
        if not inside:
            return None
        return [row[0] for row in sql.rows(connection, inside, bindings | {"space": self.space_id})]

    def _older(self, connection: Connection, query: NDArray[np.float32], filter_: Filter, most: int) -> list[int]:
        """The nearest passages of those that are in the index."""
        inside, bindings = _inside(filter_)
        bindings |= {"space": self.space_id, "model": self.model_id, "most": most, "few": FEW, "signs": signs(query)}
        some = f"FROM vectors v WHERE {_OF_MODEL} AND v.indexed AND {inside}"
        if sql.value(connection, f"SELECT count(*) FROM (SELECT 1 {some} LIMIT %(few)s) counted", bindings) < FEW:
            nearest = f"SELECT v.passage_id {some} ORDER BY hamming_distance(v.bits, %(signs)s::varbit), v.seq DESC"
        else:
            sql.run(connection, "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 400")
            nearest = (
                f"SELECT v.passage_id {some} AND length(v.bits) = {self.dim:d}"
                f" ORDER BY v.bits::bit({self.dim:d}) <~> %(signs)s::bit({self.dim:d})"
            )
        return [row[0] for row in sql.rows(connection, f"{nearest} LIMIT %(most)s", bindings)]


def _inside(filter_: Filter) -> tuple[str, dict[str, object]]:
    """A condition on `vectors v`."""
    clauses: list[str] = ["true"]
    among, bindings = _beyond_signs(filter_)
    if among:
        clauses.append(f"v.passage_id IN ({among})")
    if filter_.projects:
        clauses.append("v.project_id = ANY(%(projects)s::bigint[])")
        bindings["projects"] = list(filter_.projects)
    if filter_.kinds:
        clauses.append("v.kind = ANY(%(kinds)s::smallint[])")
        bindings["kinds"] = [KINDS.index(kind) for kind in filter_.kinds]
    return " AND ".join(clauses), bindings


def _beyond_signs(filter_: Filter) -> tuple[str, dict[str, object]]:
    """A question for the passages of some types, tags, sessions or times; empty if all of them will do."""
    beyond = replace(filter_, projects=(), kinds=())
    if beyond == Filter():
        return "", {}
    condition, values = beyond.sql()
    bindings: dict[str, object] = {}
    for n, value in enumerate(values):
        condition = condition.replace("%s", f"%(inside{n})s", 1)
        bindings[f"inside{n}"] = value
    chosen = (
        "SELECT p.id FROM items i JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id"
        f" WHERE i.space_id = %(space)s AND {condition}"
    )
    return chosen, bindings
