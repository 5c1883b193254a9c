"""The vectors of passages: how many passages wait for one, their int8 values, and their signs to scan.

The int8 values are the truth; of them an engine derives signs as bits, 48 bytes a passage, which each process keeps.
They are compared by XOR and bit count, exactly and for all; the nearest few hundred are then scored with their values,
which a process keeps of spaces that are not very large.

Some models also make token vectors: bytes that only they can read, for comparing a question word by word with a few
candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import KINDS, Kind, Scope, VectorHit
from commonplace.store.sql.connection import Connection, Space, allow_replica
from commonplace.store.sql.items import filter_of
from commonplace.store.types import MAX_EMBED_TRIES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many of the nearest are scored.
RESCORED = 300
# When more than this share of what was scanned as near is no longer there, the signs are read anew.
GONE_SHARE = 0.25
SCAN_ROWS, SCANS_KEPT = 32_768, 2
# Of a long queue, so many of the newest are looked at to see which are inside a filter.
LOOKED_AT = 5_000
WAITING = f"space_id = ? AND kind = 'embed' AND tries < {MAX_EMBED_TRIES}"
NEWEST_WAITING = f"(SELECT space_id, id, passage_id FROM jobs WHERE {WAITING} ORDER BY id DESC LIMIT {LOOKED_AT}) j"
OF_ITEMS = (
    "CROSS JOIN passages p ON p.space_id = j.space_id AND p.id = j.passage_id"
    " CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
)


class SpaceVectors(Space):
    """The vectors of one space, and the model that makes them."""

    # The number and the dimensions of the model that this store has adopted.
    _model: tuple[int, int] | None = None

    def pending(self, scope: Scope | None = None) -> int:
        with self._database.read() as connection:
            if scope is None:
                return pending(connection, self._space_id)
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return 0
            condition, bindings = filter_.sql(connection)
            select = f"SELECT count(*) FROM {NEWEST_WAITING} {OF_ITEMS} WHERE {condition}"
            return int(connection.value(select, (self._space_id, *bindings)))

    @allow_replica
    def token_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """The token vectors of those passages for which this model made some."""
        with self._database.read(self._query_timeout) as connection:
            if self._model is None:
                return {}
            rows = connection.rows(
                "SELECT t.passage_id, t.tokens FROM json_each(?1) j"
                " CROSS JOIN token_vectors t ON t.space_id = ?2 AND t.passage_id = j.value AND t.model_id = ?3",
                (connection.array(sorted(set(passage_ids))), self._space_id, self._model[0]),
                binary=True,
                prepared=True,
            )
            # A damaged row may hold something else.
            return {passage_id: tokens for passage_id, tokens in rows if isinstance(tokens, bytes) and tokens}

    def scan_ahead(self, query: NDArray[np.float32]) -> None:
        """Nothing, unless an engine can begin a search by vector before it is asked for, in another thread."""

    def _is_current(self, connection: Connection) -> bool:
        """Whether our model is still the one of the space: another process may have changed it."""
        return self._model is not None and current_model(connection, self._space_id) == self._model[0]

    def _adopt(self, name: str, model_id: int, dim: int) -> None:
        """Search with this model from now on."""
        self._model = (model_id, dim)


class VectorIndex:
    """The signs of the vectors of passages, with where these belong. Not for two threads at once.

    The vectors themselves are kept, too, until there are more than `most_cached`.
    """

    def __init__(self, dim: int, most_cached: int) -> None:
        import numpy as np

        self.dim, self._most_cached = dim, most_cached
        # The number of the last row that was read, and how many there are.
        self.seen = self.size = 0
        # One row per 64 dimensions: the scan then runs along contiguous memory.
        self._bits = np.empty(((dim + 63) // 64, 0), np.uint64)
        self._passages = np.empty(0, np.int64)
        self._seqs = np.empty(0, np.int64)
        self._projects = np.empty(0, np.int32)
        self._kinds = np.empty(0, np.uint8)
        # Which kinds there are.
        self._present: set[int] = set()
        self._scanned: dict[bytes, NDArray[np.uint16]] = {}
        self.caches_vectors = True
        self._scales = np.empty(0, np.float32)
        self._values = np.empty((0, dim), np.int8)
        # Where the vector of a passage is kept.
        self._row_of: dict[int, int] = {}

    def add(
        self,
        seqs: Sequence[int],
        passages: Sequence[int],
        projects: Sequence[int],
        kinds: Sequence[int],
        bits: NDArray[np.uint64],
        vectors: tuple[Sequence[float], NDArray[np.int8]] | None,
    ) -> None:
        """Take in rows by their numbers in the store, with their scales and values as long as vectors are kept.

        Then one of a passage that is known takes the place of the earlier one.
        """
        self.seen = seqs[-1]
        self._scanned = {}
        if not self.caches_vectors or vectors is None or self.size + len(passages) > self._most_cached:
            self.drop_vectors()
            rows = list(range(self.size, self.size + len(passages)))
        else:
            row_of = self._row_of
            rows = [row_of.setdefault(passage, len(row_of)) for passage in passages]
        self.size = max([self.size - 1, *rows]) + 1
        self._reserve()
        self._bits[:, rows] = bits.T
        self._seqs[rows], self._passages[rows] = seqs, passages
        self._projects[rows], self._kinds[rows] = projects, kinds
        self._present.update(kinds)
        if self.caches_vectors and vectors is not None:
            self._scales[rows], self._values[rows] = vectors

    def drop_vectors(self) -> None:
        """Keep signs alone from now on."""
        self.caches_vectors, self._row_of = False, {}
        self._scales, self._values = self._scales[:0].copy(), self._values[:0].copy()

    def nearest(
        self,
        query: NDArray[np.float32],
        projects: Sequence[int],
        kinds: Sequence[Kind],
        global_kinds: Sequence[Kind],
        among: Sequence[int] | None,
        most: int,
    ) -> NDArray[np.intp]:
        """The rows of about so many passages whose signs are nearest, inside these projects and kinds (empty: all).

        Of what belongs to no project only `global_kinds`, if there are any.
        """
        import numpy as np

        wanted = {KINDS.index(kind) for kind in kinds} or self._present
        if self._present.isdisjoint(wanted):
            return np.empty(0, np.intp)
        distances = self.distances(query)
        masks = []
        if projects:
            masks.append(np.isin(self._projects[: self.size], projects))
        if not self._present <= wanted:
            masks.append(self._of_kinds(wanted))
        if global_kinds:
            applying = {KINDS.index(kind) for kind in global_kinds}
            masks.append((self._projects[: self.size] != 0) | self._of_kinds(applying))
        if among is not None:
            masks.append(np.isin(self._passages[: self.size], among))
        if not masks:
            return _smallest(distances, most)
        inside = np.flatnonzero(np.logical_and.reduce(masks))
        return inside[_smallest(distances[inside], most)]

    def _of_kinds(self, wanted: Collection[int]) -> NDArray[np.bool_]:
        import numpy as np

        is_wanted = np.zeros(256, np.bool_)
        is_wanted[list(wanted)] = True
        found: NDArray[np.bool_] = is_wanted[self._kinds[: self.size]]
        return found

    def passages(self, rows: NDArray[np.intp]) -> list[int]:
        """The passage of each of some rows."""
        passages: list[int] = self._passages[rows].tolist()
        return passages

    def seq_of_passages(self, rows: NDArray[np.intp]) -> dict[int, int]:
        """The passages of some rows, each with the number of its latest row in the store."""
        import numpy as np

        rows = rows[np.argsort(self._seqs[rows])]
        return dict(zip(self.passages(rows), self._seqs[rows].tolist(), strict=True))

    def scored(self, query: NDArray[np.float32], rows: NDArray[np.intp]) -> list[tuple[int, float]]:
        """The passages of some rows with the cosines of their vectors, which are kept, to the query, best first."""
        import numpy as np

        cosines, passages = _cosines(query, self._scales[rows], self._values[rows]), self._passages[rows]
        order = np.lexsort((-passages, -cosines))
        return list(zip(passages[order].tolist(), cosines[order].tolist(), strict=True))

    def cosines(self, query: NDArray[np.float32], passages: Iterable[int]) -> dict[int, float]:
        """The cosine to the query of each of these passages whose vector is kept."""
        row_of = self._row_of
        known = {passage: row_of[passage] for passage in passages if passage in row_of}
        if not known:
            return {}
        rows = list(known.values())
        found = _cosines(query, self._scales[rows], self._values.take(rows, axis=0))
        return dict(zip(known, found.tolist(), strict=True))

    def _reserve(self) -> None:
        if self.size > len(self._passages):
            room = max(1024, self.size, len(self._passages) * 9 // 8)
            for name in ("_bits", "_seqs", "_passages", "_projects", "_kinds"):
                setattr(self, name, _enlarged(getattr(self, name), room, axis=-1))
        if self.caches_vectors and self.size > len(self._scales):
            room = max(64, self.size, len(self._scales) * 9 // 8)
            self._scales, self._values = _enlarged(self._scales, room, axis=0), _enlarged(self._values, room, axis=0)

    def distances(self, query: NDArray[np.float32]) -> NDArray[np.uint16]:
        """Differing sign bits per passage. The last ones are kept: one question often asks twice, by kind."""
        import numpy as np

        key = query.tobytes()
        if (known := self._scanned.get(key)) is not None:
            return known
        signs = pack_bits((query > 0)[None, :])[0]
        distances = np.zeros(self.size, np.uint16)
        for start in range(0, self.size, SCAN_ROWS):
            part = distances[start : start + SCAN_ROWS]
            for row, sign in zip(self._bits, signs, strict=True):
                part += np.bitwise_count(row[start : start + len(part)] ^ sign)
        self._scanned = dict([*self._scanned.items()][1 - SCANS_KEPT :]) | {key: distances}
        return distances


def _enlarged(array: NDArray[Any], room: int, *, axis: int) -> NDArray[Any]:
    """The same array with room for more along an axis."""
    import numpy as np

    shape = list(array.shape)
    shape[axis] = room
    larger = np.empty(shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger


def pending(connection: Connection, space_id: int) -> int:
    """How many passages still wait; those that failed too often do not."""
    select = f"SELECT count(*) FROM jobs WHERE {WAITING}"
    return int(connection.until_changed(("pending", space_id), lambda: connection.value(select, (space_id,))))


def known_model(connection: Connection, name: str, dim: int) -> int | None:
    row = connection.first("SELECT id FROM models WHERE name = ? AND dim = ?", (name, dim))
    return None if row is None else int(row[0])


def current_model(connection: Connection, space_id: int) -> int | None:
    """The model whose vectors the space compares."""
    number = connection.until_changed(("model", space_id), lambda: connection.get_setting(space_id, "model"))
    return None if number is None else int(number)


def quantise(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """A vector as (scale, int8 bytes)."""
    import numpy as np

    scale = float(np.abs(vector).max()) / 127.0 or 1.0
    return scale, np.rint(vector / scale).astype(np.int8).tobytes()


def score(
    connection: Connection,
    space_id: int,
    model_id: int,
    query: NDArray[np.float32],
    passage_ids: Iterable[int],
    seq_of: Mapping[int, int] | None = None,
) -> list[tuple[int, float]]:
    """Each of these passages that has a vector with its cosine to the query, best first.

    In a snapshot each is read once: what is near in meaning is often found by its words too, and in other scopes. It is
    faster with the numbers of their rows.
    """
    import numpy as np

    known = connection.once(("cosines", space_id, model_id, query.tobytes()), dict[int, float | None])
    wanted = set(passage_ids)
    if missing := wanted - known.keys():
        known |= dict.fromkeys(missing)
        by = "+v.space_id = ?2 AND v.seq" if seq_of else "v.space_id = ?2 AND v.passage_id"
        rows = connection.rows(
            f"SELECT v.passage_id, v.scale, v.v FROM json_each(?1) j CROSS JOIN vectors v ON {by} = j.value"
            " WHERE v.model_id = ?3",
            # In the order in which most were written, so that neighbours are read together.
            (connection.array(sorted([seq_of[id_] for id_ in missing] if seq_of else missing)), space_id, model_id),
            binary=True,
            prepared=True,
        )
        if rows:
            ids, scales, blobs = zip(*rows, strict=True)
            values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), len(query))
            known |= zip(ids, _cosines(query, np.asarray(scales, np.float32), values).tolist(), strict=True)
    found = [(cosine, id_) for id_ in wanted if (cosine := known[id_]) is not None]
    found.sort(reverse=True)
    return [(id_, cosine) for cosine, id_ in found]


def vector_hits(
    connection: Connection, space_id: int, scored: Sequence[tuple[int, float]], cached_model: int | None = None
) -> list[VectorHit]:
    """Scored passages with the items that they belong to, in the same order.

    With the model of vectors that were kept in memory, only those that still have one of it.
    """
    if not scored:
        return []
    select = "SELECT p.id, p.item_id FROM json_each(?1) j CROSS JOIN passages p ON p.space_id = ?2 AND p.id = j.value"
    bindings = [connection.array(sorted([id_ for id_, _cosine in scored])), space_id]
    if cached_model is not None:
        select += " WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space_id = ?2 AND v.passage_id = p.id"
        select += " AND v.model_id = ?3)"
        bindings.append(cached_model)
    item_of = dict(connection.rows(select, bindings, prepared=True))
    return [VectorHit(id_, item_of[id_], cosine) for id_, cosine in scored if id_ in item_of]


def _cosines(query: NDArray[np.float32], scales: NDArray[np.float32], values: NDArray[np.int8]) -> NDArray[np.float32]:
    import numpy as np

    found: NDArray[np.float32] = values.astype(np.float32) @ query * scales
    return np.minimum(np.maximum(found, -1.0), 1.0)


def pack_bits(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
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
