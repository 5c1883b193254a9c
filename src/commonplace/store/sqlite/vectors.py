"""Finding the nearest vectors: by their sign bits, which each process keeps, and then by the vectors themselves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.model import Scope, VectorHit
from commonplace.store.sql.items import Filter, filter_of
from commonplace.store.sql.vectors import GONE_SHARE, RESCORED, EmbeddingJobs, SignBits, pack_bits, score, vector_hits
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.fulltext import chosen_passages, wide_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READ_ROWS = 20_000


class Vectors(EmbeddingJobs):
    """The vectors of one space, and what waits for one."""

    _database: Database

    _model_name = ""
    _matrix: SignMatrix | None = None

    def search_vectors(self, query: NDArray[np.float32], scope: Scope, k: int) -> list[VectorHit]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            matrix = self._current_matrix(connection)
            if filter_ is None or matrix is None:
                return []
            return filter_.without_lapsed(k, lambda inside, most: matrix.nearest(connection, query, inside, most))

    def cosines(self, query: NDArray[np.float32], passage_ids: Sequence[int]) -> dict[int, float]:
        with self._database.read(self._query_timeout) as connection:
            if self._model is None:
                return {}
            return dict(score(connection, self._space_id, self._model[0], query, passage_ids))

    def _reread_vectors(self) -> None:
        """Another file has taken the place of the store."""
        model, self._model, self._matrix = self._model, None, None
        if model is not None and self._space_id:
            self.use_model(self._model_name, model[1])

    def _adopt(self, name: str, model_id: int, dim: int) -> None:
        super()._adopt(name, model_id, dim)
        self._model_name = name

    def _current_matrix(self, connection: SqliteConnection) -> SignMatrix | None:
        if self._model is None or not self._is_current(connection):
            return None
        model_id, dim = self._model
        with self._lock:
            if self._matrix is None or self._matrix.model_id != model_id:
                self._matrix = SignMatrix(self._space_id, model_id, dim)
            return self._matrix


class SignMatrix:
    """The sign bits of one model's vectors in one space, caught up with the file before each use."""

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self._lock = threading.Lock()
        self._signs = SignBits(dim)

    def nearest(
        self, connection: SqliteConnection, query: NDArray[np.float32], filter_: Filter, k: int, *, afresh: bool = False
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query."""
        with self._lock:
            # In a snapshot once, for all scopes of a question.
            connection.once(self._signs, lambda: self._catch_up(connection))
            near = self._near(connection, query, filter_, max(RESCORED, k))
        scored = score(connection, self.space_id, self.model_id, query, near) if near else []
        if afresh or len(scored) >= len(near) * (1 - GONE_SHARE):
            return vector_hits(connection, self.space_id, scored[:k]) if scored else []
        with self._lock:
            self._signs = SignBits(self.dim)
        return self.nearest(connection, query, filter_, k, afresh=True)

    def _catch_up(self, connection: SqliteConnection) -> None:
        import numpy as np

        while True:
            rows = connection.rows(
                "SELECT seq, passage_id, project_id, kind, v FROM vectors"
                " WHERE seq > ? AND +space_id = ? AND +model_id = ? ORDER BY seq LIMIT ?",
                (self._signs.seen, self.space_id, self.model_id, READ_ROWS),
            )
            if not rows:
                return
            seqs, passages, projects, kinds, blobs = zip(*rows, strict=True)
            values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), self.dim)
            self._signs.add(seqs[-1], passages, projects, kinds, pack_bits(values > 0))

    def _near(
        self, connection: SqliteConnection, query: NDArray[np.float32], filter_: Filter, most: int
    ) -> Sequence[int]:
        """About so many passages inside the filter whose signs are nearest."""
        beyond = replace(filter_, projects=(), kinds=())
        if beyond == Filter():
            return self._signs.nearest(query, filter_.projects, filter_.kinds, None, most)
        if not beyond.types and (share := wide_share(connection, self.space_id, beyond, self._signs.size)):
            more = int(2 * most / share)
            near = self._signs.nearest(query, filter_.projects, filter_.kinds, None, more)
            inside = [*chosen_passages(connection, self.space_id, beyond, near)]
            if len(inside) >= most or len(near) < more:
                return inside
        among = [*chosen_passages(connection, self.space_id, beyond)]
        return self._signs.nearest(query, filter_.projects, filter_.kinds, among, most)
