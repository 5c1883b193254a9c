"""Token vectors: a short vector for each token of a passage, to compare a question with it word by word.

The vector of a passage says what it is about as a whole; this says whether it holds what each word of the question asks
for. They are stored in four bits a number, which ranks as well as more would: 24 bytes a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# A number is stored in steps of this size, from -7 to 7: few are larger.
STEP = 1 / 16
MOST, ZERO = 7, 8


class AskedTokens(NamedTuple):
    """The tokens of a question: their vectors, and how much each matters, which is 1 together."""

    vectors: NDArray[float32]
    weights: NDArray[float32]


def pack(vectors: NDArray[float32]) -> bytes:
    """Token vectors as they are stored, two numbers a byte."""
    import numpy as np

    numbers = (np.clip(np.rint(vectors / STEP), -MOST, MOST) + ZERO).astype(np.uint8)
    packed: bytes = (numbers[:, 0::2] | numbers[:, 1::2] << 4).tobytes()
    return packed


def compare(asked: AskedTokens, passages: Sequence[bytes]) -> list[float]:
    """How well each passage holds what the question asks for, up to 1. ValueError for what is no token vectors.

    Each token of the question counts for the most similar one of the passage, as far as it matters.
    """
    import numpy as np

    size = asked.vectors.shape[1] // 2
    if any(not packed or len(packed) % size for packed in passages):
        raise ValueError(f"token vectors take {size} bytes each")
    if not passages:
        return []
    numbers = _numbers()[np.frombuffer(b"".join(passages), np.uint8)].reshape(-1, 2 * size)
    lengths = [len(packed) // size for packed in passages]
    starts = np.cumsum([0, *lengths[:-1]])
    # The rows are tokens of passages: the most similar one of each passage is a maximum over neighbouring rows.
    best = np.maximum.reduceat(numbers @ asked.vectors.T, starts, axis=0)
    scores: list[float] = (best @ asked.weights).tolist()
    return scores


@cache
def _numbers() -> NDArray[float32]:
    """The two numbers of each byte."""
    import numpy as np

    halves = np.arange(256)
    pairs = np.stack([halves & 15, halves >> 4], axis=1)
    return ((pairs - ZERO) * STEP).astype(np.float32)
