"""Finding the nearest vectors: by their signs first, as on SQLite, and then by their int8 values, which are the truth.

The signs of the newest vectors are kept by each process and compared there, exactly (store/sql/vectors.py): for all but
very large spaces those are all of them. The older ones of such a space are in an index of the server (HNSW over Hamming
distances), a few more with each batch of new vectors. A filter that leaves only few of them is served without the
index, which would have to look for them. Of a small space the vectors themselves are kept, too.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import KINDS, Scope, VectorHit
from commonplace.store.postgres.connection import translate
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.pool_and_replicas import Connection
from commonplace.store.sql.connection import IN_LIST, allow_replica
from commonplace.store.sql.connection import Connection as SharedConnection
from commonplace.store.sql.embedding_jobs import EmbeddingJobs
from commonplace.store.sql.items import Filter, filter_of
from commonplace.store.sql.vectors import GONE_SHARE, RESCORED, VectorIndex, score, vector_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def signs_of(values: bytes) -> str:
    """The signs of int8 values."""
    import numpy as np

    return signs(np.frombuffer(values, np.int8))


def signs(vector: NDArray[np.float32] | NDArray[np.int8]) -> str:
    """Which values are positive, as PostgreSQL writes bits."""
    import numpy as np

    return (np.asarray(vector > 0).view(np.uint8) + ord("0")).astype(np.uint8).tobytes().decode("ascii")


# A space with more is no small one: of a hundred such spaces a process keeps 120 MB.
SMALL_SPACE = 3_000


# So many of the newest vectors of a space are not in the index.
LOOSE = 200_000
READ_ROWS = 20_000
# So many vectors of the index are compared one by one by the server, if a filter leaves no more.
FEW = 10_000

_OF_MODEL = "v.space_id = %(space)s AND v.model_id = %(model)s"
# Always a row: whether the model is still that of the space, whether anything is in the index and how many vectors
# there are, beside each new vector, or beside nothing.
_NEWS = f"""
SELECT EXISTS (SELECT 1 FROM meta m WHERE m.space_id = %(space)s AND m.key = 'model' AND m.value = %(model)s::text),
       EXISTS (SELECT 1 FROM vectors v WHERE {_OF_MODEL} AND v.indexed), {{count}}, new.*
  FROM (SELECT) one LEFT JOIN LATERAL (
       SELECT v.seq, v.passage_id, v.project_id, v.kind, v.bits{{more}} FROM vectors v {{join}}
        WHERE {_OF_MODEL} AND NOT v.indexed AND v.seq > %(seen)s ORDER BY v.seq LIMIT %(most)s) new ON true
"""
_SIGNS = _NEWS.format(count="0", more="", join="")
_WHOLE = _NEWS.format(
    count=f"(SELECT count(*) FROM vectors v WHERE {_OF_MODEL})",
    more=", p.item_id, v.scale, v.v",
    join="LEFT JOIN passages p ON p.space_id = v.space_id AND p.id = v.passage_id",
)


def catch_up(connection: SharedConnection, space_id: int, model_id: int, most: int) -> None:
    """Let the index have the oldest vectors of a space that has too many to compare all of them."""
    loose = "SELECT seq FROM vectors WHERE space_id = :space AND model_id = :model AND NOT indexed ORDER BY seq"
    bindings = {"space": space_id, "model": model_id, "loose": LOOSE, "most": most}
    last = connection.first(f"{loose} DESC OFFSET :loose LIMIT 1", bindings)
    if last is None:
        return
    chosen = [row[0] for row in connection.rows(f"{loose} LIMIT :most", bindings) if row[0] <= last[0]]
    connection.run(
        f"UPDATE vectors SET indexed = true WHERE space_id = ? AND seq {IN_LIST}",
        (space_id, connection.array(chosen)),
    )


class Vectors(EmbeddingJobs):
    """The vectors of one space, and what waits for one."""

    _database: Database

    _nearest: Nearest | None = None

    @allow_replica
    def search_vectors(self, query: NDArray[np.float32], scope: Scope, k: int) -> list[VectorHit]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None or self._nearest is None:
                return []
            nearest, breaks, moment = self._nearest, self._database.breaks, self._database.moment
            inside, most = filter_.including_lapsed, filter_.overfetch(k)
            return filter_.holding(nearest(connection, query, inside, most, breaks, moment))[:k]

    @allow_replica
    def cosines(self, query: NDArray[np.float32], passage_ids: Sequence[int]) -> dict[int, float]:
        with self._database.read(self._query_timeout) as connection:
            if self._nearest is None:
                return {}
            return self._nearest.cosines(connection, query, passage_ids, self._database.moment)

    def _add_model(self, connection: SharedConnection, name: str, dim: int) -> int:
        """With the index for its vectors."""
        connection.run(
            f"CREATE INDEX IF NOT EXISTS vectors_signs_{dim:d} ON vectors"
            f" USING hnsw ((bits::bit({dim:d})) bit_hamming_ops) WHERE indexed AND length(bits) = {dim:d}"
        )
        return super()._add_model(connection, name, dim)

    def _adopt(self, name: str, model_id: int, dim: int) -> None:
        if self._model != (model_id, dim):
            self._nearest = Nearest(self._space_id, model_id, dim)
        super()._adopt(name, model_id, dim)

    def _insert_vectors(self, connection: SharedConnection, model_id: int, made: Sequence[tuple[Any, ...]]) -> None:
        """With their signs as bits; the index gets as many again of the oldest."""
        connection.run_all(
            "INSERT INTO vectors (space_id, model_id, passage_id, project_id, kind, scale, v, bits)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS varbit))",
            [(self._space_id, model_id, *one, signs_of(one[-1])) for one in made],
        )
        if made:
            catch_up(connection, self._space_id, model_id, 2 * len(made))


class Nearest:
    """The vectors of one model in one space, caught up with the server before each use."""

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self._lock = threading.Lock()
        self._breaks = self._moment = 0
        self._start_over()

    def __call__(
        self,
        connection: Connection,
        query: NDArray[np.float32],
        filter_: Filter,
        k: int,
        breaks: int,
        moment: int,
        *,
        afresh: bool = False,
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query; none if another model is used.

        After a break (database.py) all are read again: numbers of rows that were lost are given to others.
        """
        most = max(RESCORED, k)
        with self._lock:
            if breaks != self._breaks:
                self._start_over()
                self._breaks = breaks
            is_current, has_older = self._catch_up(connection)
            if not is_current:
                return []
            self._moment = moment
            among = self._among(connection, filter_)
            rows = self._index.nearest(query, filter_.projects, filter_.kinds, filter_.global_kinds, among, most)
            if self._index.caches_vectors:
                nearest = [(id_, self._items[id_], cosine) for id_, cosine in self._index.scored(query, rows)[:k]]
                return [VectorHit(id_, item, cosine) for id_, item, cosine in nearest if item is not None]
            near = self._index.passages(rows)
        older = self._older(connection, query, filter_, most) if has_older else []
        either = {*near, *older}
        scored = score(connection, self.space_id, self.model_id, query, either) if either else []
        if afresh or len(scored) >= len(either) * (1 - GONE_SHARE):
            return vector_hits(connection, self.space_id, scored[:k])
        with self._lock:
            self._start_over()
        return self(connection, query, filter_, k, breaks, moment, afresh=True)

    def cosines(
        self, connection: Connection, query: NDArray[np.float32], passage_ids: Sequence[int], moment: int
    ) -> dict[int, float]:
        """The cosine to the query of each of these passages that has a vector."""
        with self._lock:
            if self._index.caches_vectors and moment <= self._moment:
                return self._index.cosines(query, passage_ids)
        return dict(score(connection, self.space_id, self.model_id, query, passage_ids))

    def _start_over(self) -> None:
        self._index = VectorIndex(self.dim, SMALL_SPACE)
        # The item of each passage whose vector is kept.
        self._items: dict[int, int | None] = {}

    def _catch_up(self, connection: Connection, *, afresh: bool = False) -> tuple[bool, bool]:
        """Read what is new, and tell whether the model is still that of the space, and whether the index has others.

        Rows become visible in the order of their numbers (database.py).
        """
        if self._index.size > 2 * LOOSE:
            # Half of them are in the index by now.
            self._start_over()
        while True:
            rows = self._news(connection)
            is_current, has_older, count, *_none = rows[0]
            if rows[0][3] is not None:
                self._add(rows)
                continue
            if not self._index.caches_vectors or self._index.size == count:
                return is_current, has_older
            if afresh:
                # The server's index has some, though the space is small by now.
                self._index.drop_vectors()
                return is_current, has_older
            # Some are gone, and only those that are there tell which.
            self._start_over()
            return self._catch_up(connection, afresh=True)

    def _news(self, connection: Connection) -> list[tuple[Any, ...]]:
        seen = {"space": self.space_id, "model": self.model_id, "seen": self._index.seen}
        if not self._index.caches_vectors:
            return connection.native_rows(_SIGNS, seen | {"most": READ_ROWS}, binary=True, prepared=True)
        return connection.native_rows(_WHOLE, seen | {"most": SMALL_SPACE + 1}, binary=True, prepared=True)

    def _add(self, rows: list[tuple[Any, ...]]) -> None:
        import numpy as np

        _current, _older, _count, seqs, ids, projects, kinds, bits, *whole = zip(*rows, strict=True)
        # The server tells first how many bits there are.
        bit_bytes = np.frombuffer(b"".join(bits), np.uint8).reshape(len(rows), -1)[:, 4:]
        words = np.pad(bit_bytes, ((0, 0), (0, -bit_bytes.shape[1] % 8))).view(np.uint64)
        vectors = None
        if whole:
            items, scales, blobs = whole
            self._items |= zip(ids, items, strict=True)
            vectors = scales, np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), -1)
        self._index.add(seqs, ids, projects, kinds, words, vectors)
        if not self._index.caches_vectors:
            self._items = {}

    def _among(self, connection: Connection, filter_: Filter) -> list[int] | None:
        """The passages inside what is not kept with the signs, None if that is all of them."""
        inside, bindings = _beyond_signs(connection, filter_)
        if not inside:
            return None
        return [row[0] for row in connection.native_rows(inside, bindings | {"space": self.space_id})]

    def _older(self, connection: Connection, query: NDArray[np.float32], filter_: Filter, most: int) -> list[int]:
        """The nearest passages of those that are in the index."""
        inside, bindings = _inside(connection, filter_)
        bindings |= {"space": self.space_id, "model": self.model_id, "most": most, "few": FEW, "signs": signs(query)}
        some = f"FROM vectors v WHERE {_OF_MODEL} AND v.indexed AND {inside}"
        count = f"SELECT count(*) FROM (SELECT 1 {some} LIMIT %(few)s) counted"
        if connection.native_rows(count, bindings)[0][0] < FEW:
            nearest = f"SELECT v.passage_id {some} ORDER BY hamming_distance(v.bits, %(signs)s::varbit), v.seq DESC"
        else:
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 400")
            nearest = (
                f"SELECT v.passage_id {some} AND length(v.bits) = {self.dim:d}"
                f" ORDER BY v.bits::bit({self.dim:d}) <~> %(signs)s::bit({self.dim:d})"
            )
        return [row[0] for row in connection.native_rows(f"{nearest} LIMIT %(most)s", bindings)]


def _inside(connection: Connection, filter_: Filter) -> tuple[str, dict[str, object]]:
    """A condition on `vectors v`."""
    clauses: list[str] = ["true"]
    among, bindings = _beyond_signs(connection, filter_)
    if among:
        clauses.append(f"v.passage_id IN ({among})")
    if filter_.projects:
        clauses.append("v.project_id = ANY(%(projects)s::bigint[])")
        bindings["projects"] = list(filter_.projects)
    if filter_.global_kinds:
        clauses.append("(v.project_id <> 0 OR v.kind = ANY(%(global_kinds)s::smallint[]))")
        bindings["global_kinds"] = [KINDS.index(kind) for kind in filter_.global_kinds]
    if filter_.kinds:
        clauses.append("v.kind = ANY(%(kinds)s::smallint[])")
        bindings["kinds"] = [KINDS.index(kind) for kind in filter_.kinds]
    return " AND ".join(clauses), bindings


def _beyond_signs(connection: Connection, filter_: Filter) -> tuple[str, dict[str, object]]:
    """A question for the passages of some types, tags, sessions or times; empty if all of them will do."""
    beyond = filter_.anywhere
    if beyond == Filter():
        return "", {}
    shared, values = beyond.sql(connection)
    condition = translate(shared)
    bindings: dict[str, object] = {}
    for n, value in enumerate(values):
        condition = condition.replace("%s", f"%(inside{n})s", 1)
        bindings[f"inside{n}"] = value
    chosen = (
        "SELECT p.id FROM items i JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id"
        f" WHERE i.space_id = %(space)s AND {condition}"
    )
    return chosen, bindings
