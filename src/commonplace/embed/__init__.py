"""Embedders turn texts into vectors: the protocol that each of them implements.

Importing this package costs nothing; numpy and the model are loaded by the first call of `embed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

NOT_LOADED = "not loaded"
READY = "ready"


def failed_state(why: str) -> str:
    """The state of an embedder that cannot work, and why."""
    return f"failed: {why}"


class Embedder(Protocol):
    """Turns any text into a vector; near vectors mean similar things. Safe to call from several threads.

    One that reads questions differently from what answers them also has a method `embed_query(text)`. One that also
    compares word by word has `embed_with_tokens(texts, before)`, which returns the vectors and, for each text, bytes to
    be kept with it; and `compare_tokens(text, tokens)`, which returns how well each of such bytes answers a question.
    It raises ValueError for bytes that it cannot read. What it needs for that, `prepare_to_compare(text)` may do ahead.
    """

    @property
    def name(self) -> str:
        """Which model this is, revision included: vectors of two names must not be compared."""
        ...

    @property
    def dim(self) -> int:
        """Numbers per vector. An endpoint may have to call its server for it, and so may raise EmbedderUnavailable."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether embedding a question takes milliseconds, because no server has to be called."""
        ...

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        """Unit rows of shape (len(texts), dim), in the order of the texts. Raises EmbedderUnavailable.

        `before` is the text before each one, where it is known: context that is not part of the vector. An embedder
        that cannot use it ignores it.
        """
        ...

    def state(self) -> str:
        """`not loaded`, `ready`, or `failed: ` and why. Never loads anything."""
        ...


def embed_with_tokens(
    embedder: Embedder, texts: Sequence[str], before: Sequence[str] = ()
) -> tuple[NDArray[float32], Sequence[bytes]]:
    """The vectors of texts, and their token vectors: none if the embedder makes none."""
    own = getattr(embedder, "embed_with_tokens", None)
    made: tuple[NDArray[float32], Sequence[bytes]] = (
        (embedder.embed(texts, before), ()) if own is None else own(texts, before)
    )
    return made


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What a model on this machine takes and gives, as far as its files say: nothing is loaded to find out."""

    bytes: int
    dim: int | None
    max_tokens: int
