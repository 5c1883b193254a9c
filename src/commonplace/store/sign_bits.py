"""The signs of vectors as bits, derived from an engine's rows and kept by each process to scan: 48 bytes a passage.

They are compared by XOR and bit count, exactly and for all; an engine then scores the nearest few hundred with their
whole rows, which also drops those that have gone since the signs were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import KINDS, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many of the nearest are scored.
RESCORED = 300
# When more than this share of what was scanned as near is no longer there, the signs are read anew.
GONE_SHARE = 0.25
SCAN_ROWS = 32_768


class SignBits:
    """Sign bits of the vectors of passages, with where these belong. Not for two threads at once."""

    def __init__(self, dim: int) -> None:
        import numpy as np

        self.dim = dim
        # The number of the last row that was read, and how many were.
        self.seen = self.size = 0
        # One row per 64 dimensions: the scan then runs along contiguous memory.
        self._bits = np.empty(((dim + 63) // 64, 0), np.uint64)
        self._passages = np.empty(0, np.int64)
        self._projects = np.empty(0, np.int32)
        self._kinds = np.empty(0, np.uint8)
        self._memo: tuple[bytes, int, NDArray[np.uint16]] = (b"", 0, np.empty(0, np.uint16))

    def add(
        self,
        last: int,
        passages: Sequence[int] | NDArray[Any],
        projects: Sequence[int] | NDArray[Any],
        kinds: Sequence[int] | NDArray[Any],
        bits: NDArray[np.uint64],
    ) -> None:
        """Take in rows up to the number `last`."""
        start, self.size = self.size, self.size + len(passages)
        self._reserve()
        self._bits[:, start : self.size] = bits.T
        self._passages[start : self.size] = passages
        self._projects[start : self.size] = projects
        self._kinds[start : self.size] = kinds
        self.seen = last

    def nearest(
        self,
        query: NDArray[np.float32],
        projects: Sequence[int],
        kinds: Sequence[Kind],
        among: Sequence[int] | None,
        most: int,
    ) -> list[int]:
        """About so many passages whose signs are nearest, inside these projects and kinds; empty means all."""
        import numpy as np

        distances, passages = self._distances(query), self._passages[: self.size]
        masks = []
        if projects:
            masks.append(np.isin(self._projects[: self.size], projects))
        if kinds:
            masks.append(np.isin(self._kinds[: self.size], [KINDS.index(kind) for kind in kinds]))
        if among is not None:
            masks.append(np.isin(passages, among))
        if masks:
            inside = np.flatnonzero(np.logical_and.reduce(masks))
            distances, passages = distances[inside], passages[inside]
        return list(dict.fromkeys(passages[_smallest(distances, most)].tolist()))

    def _reserve(self) -> None:
        import numpy as np

        if self.size <= len(self._passages):
            return
        room = max(1024, self.size, len(self._passages) * 9 // 8)
        for name in ("_bits", "_passages", "_projects", "_kinds"):
            old: NDArray[Any] = getattr(self, name)
            new = np.empty((*old.shape[:-1], room), old.dtype)
            new[..., : old.shape[-1]] = old
            setattr(self, name, new)

    def _distances(self, query: NDArray[np.float32]) -> NDArray[np.uint16]:
        """Differing sign bits per passage. The last answer is kept: one question often asks twice, by kind."""
        import numpy as np

        key, size, known = self._memo
        if key == query.tobytes() and size == self.size:
            return known
        signs = pack_bits((query > 0)[None, :])[0]
        distances = np.zeros(self.size, np.uint16)
        for start in range(0, self.size, SCAN_ROWS):
            part = distances[start : start + SCAN_ROWS]
            for row, sign in zip(self._bits, signs, strict=True):
                part += np.bitwise_count(row[start : start + len(part)] ^ sign)
        self._memo = (query.tobytes(), self.size, distances)
        return distances


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
