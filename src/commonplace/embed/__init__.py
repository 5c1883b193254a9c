"""Texts to vectors: what the rest of the house may expect of any embedder.

Importing this room costs nothing; numpy and the model are loaded by the first call of `embed`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Turns any text into a point; near points mean near things. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Which model this is, revision included: vectors of two names must not be compared."""
        ...

    @property
    def dim(self) -> int:
        """Numbers per vector. An endpoint may have to ask for it, and so may raise EmbedderUnavailable."""
        ...

    @property
    def at_hand(self) -> bool:
        """Whether a question takes milliseconds, because nobody else has to be asked."""
        ...

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        """Unit rows of shape (len(texts), dim), in the order of the texts. Raises EmbedderUnavailable.

        `before` is what stands before each text, where that is known: a help to understand it, and no part of it. An
        embedder that cannot read a text so leaves it unread.
        """
        ...

    def state(self) -> str:
        """`not loaded`, `ready`, or `failed: ` and why. Never loads anything."""
        ...


def without_surrogates(text: str) -> str:
    """The text without lone surrogates, which no tokenizer and no UTF-8 can carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
