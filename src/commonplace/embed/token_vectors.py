"""Token vectors: a short vector for each token of a text, to compare a question with a passage word by word.

The vector of a passage says what it is about as a whole; these say whether it holds what each word of the question asks
for. They are stored in four bits a number, which ranks as well as more would: 24 bytes a token.

A graph of their own makes them (packaging/minilm_token_graph.py). It reads what the last layers of the model read, so
that the vector of a question is there before its token vectors are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# What the graph of a text's vector gives out for the graph of its token vectors.
STATES_OUTPUT = "states"
# Short vectors of the tokens, and how much each matters in a question.
OUTPUTS = ("token_vectors", "token_weights")
# A number is stored in steps of this size, from -7 to 7: few are larger.
TOKEN_STEP = 1 / 16
MOST_STEPS, ZERO = 7, 8
# Tokens that are compared at a time: of more, BLAS makes work for several threads, which wait for each other.
UNPACKED = 256
# The tokens of so many questions are remembered: they are compared just after the question was embedded.
REMEMBERED = 256


class QuestionTokens(NamedTuple):
    """The tokens of a question: their vectors, and how much each matters, which is 1 together."""

    vectors: NDArray[float32]
    weights: NDArray[float32]


class Question:
    """The tokens of a question, made by the first who needs them, while others wait."""

    def __init__(self, make: Callable[[], QuestionTokens]) -> None:
        self._lock = threading.Lock()
        self._make: Callable[[], QuestionTokens] | None = make
        self._made: QuestionTokens | None = None

    def tokens(self) -> QuestionTokens:
        with self._lock:
            if self._made is None:
                assert self._make is not None
                # What they are made of is not kept.
                self._made, self._make = self._make(), None
            return self._made


class LatestQuestions:
    """The latest questions by their texts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions: dict[str, Question] = {}

    def add(self, text: str, question: Question) -> None:
        with self._lock:
            while len(self._questions) >= REMEMBERED:
                del self._questions[next(iter(self._questions))]
            self._questions[text] = question

    def get(self, text: str) -> Question | None:
        return self._questions.get(text)


def pack_tokens(vectors: NDArray[float32]) -> bytes:
    """Token vectors as they are stored, two numbers a byte."""
    import numpy as np

    numbers = (np.clip(np.rint(vectors / TOKEN_STEP), -MOST_STEPS, MOST_STEPS) + ZERO).astype(np.uint8)
    packed: bytes = (numbers[:, 0::2] | numbers[:, 1::2] << 4).tobytes()
    return packed


def compare_tokens(question: QuestionTokens, passages: Sequence[bytes]) -> list[float]:
    """How well each passage holds what the question asks for, up to 1. ValueError for what is no token vectors.

    Each token of the question counts for the most similar one of the passage, as far as it matters.
    """
    import numpy as np

    size = question.vectors.shape[1] // 2
    if any(not packed or len(packed) % size for packed in passages):
        raise ValueError(f"token vectors take {size} bytes each")
    if not passages:
        return []
    packed = np.frombuffer(b"".join(passages), np.uint8).reshape(-1, size)
    similar = np.empty((len(packed), len(question.weights)), np.float32)
    # A few at a time, in the same place: the system clears the memory of large arrays each time they are made.
    numbers = np.empty((min(UNPACKED, len(packed)), size, 2), np.float32)
    for start in range(0, len(packed), UNPACKED):
        some = packed[start : start + UNPACKED]
        unpacked = _numbers().take(some, axis=0, out=numbers[: len(some)], mode="clip").reshape(len(some), 2 * size)
        np.matmul(unpacked, question.vectors.T, out=similar[start : start + UNPACKED])
    starts = np.cumsum([0, *(len(passage) // size for passage in passages[:-1])])
    # The rows are tokens of passages: the most similar one of each passage is a maximum over neighbouring rows.
    scores: list[float] = (np.maximum.reduceat(similar, starts, axis=0) @ question.weights).tolist()
    return scores


@cache
def _numbers() -> NDArray[float32]:
    """The two numbers of each byte."""
    import numpy as np

    halves = np.arange(256)
    pairs = np.stack([halves & 15, halves >> 4], axis=1)
    return ((pairs - ZERO) * TOKEN_STEP).astype(np.float32)
