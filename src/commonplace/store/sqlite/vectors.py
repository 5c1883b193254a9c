"""Vectors: int8 rows are the truth; each process keeps a derived matrix of their sign bits to scan.

48 bytes a passage are compared by XOR and bit count, exactly and for all; the nearest few hundred are then scored
with their int8 rows, read from the file, which also drops those that have gone since the matrix was made.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from commonplace.model import KINDS, VectorHit
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.scope import Filter, choose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESCORED = 300
SCAN_ROWS = 32_768
READ_ROWS = 20_000
# When more than this share of what was scanned as near is no longer in the file, the matrix is read anew.
GONE_SHARE = 0.25


class SignMatrix:
    """The sign bits of one model's vectors in one space, caught up with the file before each use."""

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        """Start anew, with new arrays: another thread may still be reading the old ones."""
        import numpy as np

        self._seen = self._size = 0
        # One row per 64 dimensions: the scan then runs along contiguous memory.
        self._bits = np.empty(((self.dim + 63) // 64, 0), np.uint64)
        self._passages = np.empty(0, np.int64)
        self._projects = np.empty(0, np.int32)
        self._kinds = np.empty(0, np.uint8)
        self._memo: tuple[bytes, int, NDArray[np.uint16]] = (b"", 0, np.empty(0, np.uint16))

    def nearest(
        self, connection: apsw.Connection, query: NDArray[np.float32], filter_: Filter, k: int, *, afresh: bool = False
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query."""
        import numpy as np

        with self._lock:
            self._catch_up(connection)
            distances = self._distances(query)
            passages = self._passages[: self._size]
            mask = self._mask(connection, filter_)
        if mask is not None:
            inside = np.flatnonzero(mask)
            distances, passages = distances[inside], passages[inside]
        if not len(passages):
            return []
        near = passages[_smallest(distances, max(RESCORED, k))].tolist()
        hits = score(connection, self.space_id, self.model_id, query, near)
        if afresh or len(hits) >= len(set(near)) * (1 - GONE_SHARE):
            return hits[:k]
        with self._lock:
            self._empty()
        return self.nearest(connection, query, filter_, k, afresh=True)

    def _catch_up(self, connection: apsw.Connection) -> None:
        import numpy as np

        while True:
            rows = sql.rows(
                connection,
                "SELECT seq, passage_id, project_id, kind, v FROM vectors"
                " WHERE seq > ? AND +space_id = ? AND +model_id = ? ORDER BY seq LIMIT ?",
                (self._seen, self.space_id, self.model_id, READ_ROWS),
            )
            if not rows:
                return
            seqs, passages, projects, kinds, blobs = zip(*rows, strict=True)
            signs = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), self.dim) > 0
            end = self._size + len(rows)
            self._reserve(end)
            self._bits[:, self._size : end] = _packed(signs).T
            self._passages[self._size : end] = passages
            self._projects[self._size : end] = projects
            self._kinds[self._size : end] = kinds
            self._size, self._seen = end, seqs[-1]

    def _reserve(self, size: int) -> None:
        import numpy as np

        if size <= len(self._passages):
            return
        room = max(1024, size, len(self._passages) * 9 // 8)
        for name in ("_bits", "_passages", "_projects", "_kinds"):
            old: NDArray[Any] = getattr(self, name)
            new = np.empty((*old.shape[:-1], room), old.dtype)
            new[..., : self._size] = old[..., : self._size]
            setattr(self, name, new)

    def _distances(self, query: NDArray[np.float32]) -> NDArray[np.uint16]:
        """Differing sign bits per passage. The last answer is kept: one question often asks twice, by kind."""
        import numpy as np

        key, size, known = self._memo
        if key == query.tobytes() and size == self._size:
            return known
        signs = _packed((query > 0)[None, :])[0]
        distances = np.zeros(self._size, np.uint16)
        for start in range(0, self._size, SCAN_ROWS):
            part = distances[start : start + SCAN_ROWS]
            for row, sign in zip(self._bits, signs, strict=True):
                part += np.bitwise_count(row[start : start + len(part)] ^ sign)
        self._memo = (query.tobytes(), self._size, distances)
        return distances

    def _mask(self, connection: apsw.Connection, filter_: Filter) -> NDArray[np.bool_] | None:
        import numpy as np

        masks = []
        if filter_.projects:
            masks.append(np.isin(self._projects[: self._size], filter_.projects))
        if filter_.kinds:
            masks.append(np.isin(self._kinds[: self._size], [KINDS.index(kind) for kind in filter_.kinds]))
        if filter_.types or filter_.tag:
            condition, bindings = Filter(types=filter_.types, tag=filter_.tag).sql()
            rows = sql.rows(
                connection,
                f"SELECT p.id FROM items i JOIN passages p ON p.item_id = i.id WHERE i.space_id = ? AND {condition}",
                [self.space_id, *bindings],
            )
            masks.append(np.isin(self._passages[: self._size], [row[0] for row in rows]))
        if filter_.sessions is not None:
            choose(connection, self.space_id, filter_)
            rows = sql.rows(connection, "SELECT id FROM temp.chosen WHERE id > 0")
            masks.append(np.isin(self._passages[: self._size], [row[0] for row in rows]))
        return np.logical_and.reduce(masks) if masks else None


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


def _packed(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of booleans as rows of 64-bit words."""
    import numpy as np

    short = -signs.shape[1] % 64
    if short:
        signs = np.pad(signs, ((0, 0), (0, short)))
    return np.packbits(signs, axis=1).view(np.uint64)


def _smallest(distances: NDArray[np.uint16], k: int) -> NDArray[np.intp]:
    """Positions of the `k` smallest and all that tie with the last, bounded to twice `k`."""
    import numpy as np

    if len(distances) <= k:
        return np.arange(len(distances))
    within = np.cumsum(np.bincount(distances))
    limit = int(np.searchsorted(within, k))
    below = np.flatnonzero(distances < limit)
    return np.concatenate([below, np.flatnonzero(distances == limit)[-(2 * k - len(below)) :]])
