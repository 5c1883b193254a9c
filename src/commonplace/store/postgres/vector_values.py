"""Vectors as they are kept: int8 values with a scale, which are the truth, and their signs as bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from commonplace.store.sql.vectors import by_cosine

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


class VectorCache:
    """The vectors of passages, with the item of each. Not for two threads at once."""

    def __init__(self, dim: int) -> None:
        import numpy as np

        self._rows: dict[int, int] = {}
        self._items: list[int | None] = []
        self._scales = np.empty(0, np.float32)
        self._values = np.empty((0, dim), np.int8)

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, passages: Sequence[int], items: Sequence[int | None], scales: Sequence[float], blobs: Iterable[bytes]
    ) -> None:
        """Take in vectors; one of a passage that is known takes the place of the earlier one."""
        import numpy as np

        start = len(self._items)
        self._rows.update((passage, start + n) for n, passage in enumerate(passages))
        self._items.extend(items)
        self._scales = np.concatenate([self._scales, np.asarray(scales, np.float32)])
        new = np.frombuffer(b"".join(blobs), np.int8).reshape(len(passages), -1)
        self._values = np.concatenate([self._values, new])
        if len(self._items) > len(self._rows):
            self._close_up()

    def item_of(self, passage: int) -> int | None:
        return self._items[self._rows[passage]]

    def cosines(self, query: NDArray[np.float32], passages: Iterable[int]) -> list[tuple[int, float]]:
        """Each of these passages that has a vector with its cosine to the query, best first."""
        known = [passage for passage in passages if passage in self._rows]
        rows = [self._rows[passage] for passage in known]
        return by_cosine(query, known, self._scales[rows], self._values[rows]) if rows else []

    def _close_up(self) -> None:
        """Leave out what is no passage's vector any more."""
        rows = list(self._rows.values())
        self._items = [self._items[row] for row in rows]
        self._scales, self._values = self._scales[rows], self._values[rows]
        self._rows = {passage: n for n, passage in enumerate(self._rows)}
