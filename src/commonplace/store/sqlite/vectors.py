"""Vectors: int8 rows are the truth; each process keeps their sign bits to scan (store/signs.py)."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from commonplace.model import VectorHit
from commonplace.store.signs import GONE_SHARE, RESCORED, Signs, packed
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.scope import Filter, choose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READ_ROWS = 20_000


class SignMatrix:
    """The sign bits of one model's vectors in one space, caught up with the file before each use."""

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self._lock = threading.Lock()
        self._signs = Signs(dim)

    def nearest(
        self, connection: apsw.Connection, query: NDArray[np.float32], filter_: Filter, k: int, *, afresh: bool = False
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query."""
        with self._lock:
            self._catch_up(connection)
            among = self._among(connection, filter_)
            near = self._signs.nearest(query, filter_.projects, filter_.kinds, among, max(RESCORED, k))
        hits = score(connection, self.space_id, self.model_id, query, near) if near else []
        if afresh or len(hits) >= len(near) * (1 - GONE_SHARE):
            return hits[:k]
        with self._lock:
            self._signs = Signs(self.dim)
        return self.nearest(connection, query, filter_, k, afresh=True)

    def _catch_up(self, connection: apsw.Connection) -> None:
        import numpy as np

        while True:
            rows = sql.rows(
                connection,
                "SELECT seq, passage_id, project_id, kind, v FROM vectors"
                " WHERE seq > ? AND +space_id = ? AND +model_id = ? ORDER BY seq LIMIT ?",
                (self._signs.seen, self.space_id, self.model_id, READ_ROWS),
            )
            if not rows:
                return
            seqs, passages, projects, kinds, blobs = zip(*rows, strict=True)
            values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), self.dim)
            self._signs.add(seqs[-1], passages, projects, kinds, packed(values > 0))

    def _among(self, connection: apsw.Connection, filter_: Filter) -> list[int] | None:
        """The passages inside what is not kept with the signs, None if that is all of them."""
        chosen: list[set[int]] = []
        if filter_.types or filter_.tag:
            condition, bindings = Filter(types=filter_.types, tag=filter_.tag).sql()
            rows = sql.rows(
                connection,
                f"SELECT p.id FROM items i JOIN passages p ON p.item_id = i.id WHERE i.space_id = ? AND {condition}",
                [self.space_id, *bindings],
            )
            chosen.append({row[0] for row in rows})
        if filter_.sessions is not None:
            choose(connection, self.space_id, filter_)
            chosen.append({row[0] for row in sql.rows(connection, "SELECT id FROM temp.chosen WHERE id > 0")})
        return [*set.intersection(*chosen)] if chosen else None


def score(
    connection: apsw.Connection, space_id: int, model_id: int, query: NDArray[np.float32], passage_ids: Sequence[int]
) -> list[VectorHit]:
    """Cosine of the query to each of these passages that has a vector, best first."""
    import numpy as np

    rows = sql.rows(
        connection,
        "SELECT v.passage_id, p.item_id, v.scale, v.v FROM json_each(?1) j"
        " CROSS JOIN vectors v ON v.space_id = ?3 AND v.passage_id = j.value AND v.model_id = ?2"
        " CROSS JOIN passages p ON p.id = v.passage_id",
        (json.dumps(list(dict.fromkeys(passage_ids))), model_id, space_id),
    )
    if not rows:
        return []
    passages, items, scales, blobs = zip(*rows, strict=True)
    values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), len(query))
    cosines = np.clip(values.astype(np.float32) @ query * np.asarray(scales, np.float32), -1.0, 1.0)
    hits = [VectorHit(p, i, float(c)) for p, i, c in zip(passages, items, cosines, strict=True)]
    return sorted(hits, key=lambda hit: (-hit.cosine, -hit.passage_id))


def quantised(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """A vector as (scale, int8 bytes)."""
    import numpy as np

    scale = float(np.abs(vector).max()) / 127.0 or 1.0
    return scale, np.rint(vector / scale).astype(np.int8).tobytes()
