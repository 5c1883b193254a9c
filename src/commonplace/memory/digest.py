"""Digest: what a conversation was about lately, in its own sentences. No model writes it, so nothing is made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.conversations import find
from commonplace.model import Session
from commonplace.text.sentences import main_sentences
from commonplace.text.summarise import shorten
from commonplace.text.tokens import count_tokens

_DAY = 86_400_000
# How far each level looks back from the last message, and how many tokens it takes at most.
LEVELS: Mapping[str, tuple[int, int]] = {
    "daily": (_DAY, 200),
    "weekly": (7 * _DAY, 500),
    "monthly": (30 * _DAY, 1000),
}
METHOD = "extractive"


@dataclass(frozen=True, slots=True)
class Digest:
    """The main sentences of some messages, and how many those were."""

    session: Session
    level: str
    text: str
    messages: int
    tokens: int
    made_ms: int


def digest(book: Book, id_: int | str, level: str) -> Digest:
    """The last day, week or month of a conversation, counted back from its last message."""
    if level not in LEVELS:
        raise InvalidInput(f"level is {level[:60]!r}.", f"Choose one of {', '.join(LEVELS)}.")
    session = find(book, id_)
    back, tokens = LEVELS[level]
    said = [item for item in book.store.messages_of(session.id) if item.created_ms > session.ended_ms - back]
    bodies = [item.body for item in said]
    chosen = main_sentences(bodies, tokens * 4) or [shorten(body, tokens * 4) for body in bodies[:1]]
    text = " ".join(chosen)
    return Digest(session, level, text, len(said), count_tokens(text), book.clock())
