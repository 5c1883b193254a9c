"""Labels: which ones a conversation could have: those of conversations like it, and its own distinctive words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.conversations import find
from commonplace.memory.recall import recall_in_sessions
from commonplace.model import Scope, Session, SessionScope
from commonplace.text.folders import ROOT
from commonplace.text.redact import redact
from commonplace.text.sentences import main_sentences
from commonplace.text.topic_names import name_topics

MOST = 5
# How much of a conversation is asked about, and how many messages like it are looked at.
_QUESTION, _NEIGHBOURS = 600, 40
# Its own words may be a good label, but nobody has used it yet.
_NEW = 0.5
# Messages that are enough to tell which words are common everywhere.
_OTHERS = 200


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A label, where its like is kept, how sure that is, and why."""

    label: str
    folder: str
    confidence: float
    known: bool
    reason: str


def suggest(book: Book, id_: int | str, most: int = MOST) -> tuple[Session, list[Suggestion]]:
    """Labels for a conversation, the surest first."""
    session = find(book, id_)
    texts = [item.body for item in book.store.messages_of(session.id)]
    return session, suggest_for(book, texts, most, session)


def suggest_for(book: Book, texts: Sequence[str], most: int = MOST, own: Session | None = None) -> list[Suggestion]:
    """Labels for what was said, whether it is kept or not."""
    texts = list(map(redact, texts))
    question = " ".join(main_sentences(texts, _QUESTION)) or " ".join(texts)[:_QUESTION]
    found = _known(book, question, own) + _named(book, texts, own)
    found.sort(key=lambda one: -one.confidence)
    unlike = {own.label.casefold()} if own else set()
    chosen: list[Suggestion] = []
    for one in found:
        if one.label.casefold() not in unlike:
            unlike.add(one.label.casefold())
            chosen.append(one)
    return chosen[:most]


def _known(book: Book, question: str, own: Session | None) -> list[Suggestion]:
    """Labels of conversations that answer to the same sentences."""
    scope = Scope(kinds=("message",), sessions=SessionScope())
    recalled, sessions = recall_in_sessions(book, question, scope, _NEIGHBOURS)
    best: dict[str, tuple[float, Session]] = {}
    times: dict[str, set[int]] = {}
    for hit in recalled.hits:
        session = sessions.get(hit.item.id)
        if session is None or not session.label or (own is not None and session.id == own.id):
            continue
        times.setdefault(session.label, set()).add(session.id)
        if hit.relevance > best.get(session.label, (0.0, session))[0]:
            best[session.label] = (hit.relevance, session)
    return [
        Suggestion(label, near.folder, round(relevance, 4), True, _like(len(times[label]), near))
        for label, (relevance, near) in best.items()
    ]


def _like(number: int, near: Session) -> str:
    others = "A conversation" if number == 1 else f"{number} conversations"
    return f"{others} like this one {'has' if number == 1 else 'have'} it, in {near.folder}."


def _named(book: Book, texts: Sequence[str], own: Session | None) -> list[Suggestion]:
    """What tells these texts from the others, if a word does."""
    mine = set(texts)
    others = [item.body for item in book.store.newest(Scope(kinds=("message",)), _OTHERS) if item.body not in mine]
    (name,) = name_topics([texts], others)
    if not name:
        return []
    folder = own.folder if own else ROOT
    return [Suggestion(name, folder, _NEW, False, "Its words stand here more often than elsewhere.")]
