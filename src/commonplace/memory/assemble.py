"""Assemble: the messages that a model should see beside a question, the most relevant first, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.recall import Hit, recall_in_sessions
from commonplace.model import KINDS, Item, Scope, Session
from commonplace.ranking.budget import Budget
from commonplace.text.folders import folder_path, lies_in

# More than any budget holds, so that what is excluded leaves no gaps.
CANDIDATES = 200
# What a preferred label counts for beside a relevance of 0 to 1.
PREFERENCE = 0.15
# No single message takes more than this share; a longer one is shown by the passage that answers.
LONGEST_SHARE = 0.5
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")


@dataclass(frozen=True, slots=True)
class Cited:
    """A message to show, whole or by its best passage, and the conversation that it is from."""

    item: Item
    content: str
    relevance: float
    session: Session | None
    whole: bool


Measure = Callable[[Cited], int]
"""How many tokens one takes in the reply, as the caller will write it."""


def assemble(
    book: Book,
    question: str,
    budget: int,
    measure: Measure,
    preferred: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> list[Cited]:
    """What fits the budget. Folders that are excluded stay out with all below them."""
    trees = [folder_path(folder) for folder in excluded]
    recalled, sessions = recall_in_sessions(book, question, Scope(kinds=_FOUND), CANDIDATES)
    wanted = {label.strip().casefold() for label in preferred}
    ranked = []
    for hit in recalled.hits:
        session = sessions.get(hit.item.id)
        if session is None or not any(lies_in(session.folder, tree) for tree in trees):
            boost = PREFERENCE if session is not None and wanted.intersection(_labels(session)) else 0.0
            ranked.append((hit.relevance + boost, hit, session))
    ranked.sort(key=lambda entry: -entry[0])
    spent, chosen = Budget(budget), []
    for _score, hit, session in ranked:
        cited = _cited(book, hit, session, int(budget * LONGEST_SHARE), measure)
        if spent.spend(measure(cited)):
            chosen.append(cited)
    return chosen


def _labels(session: Session) -> set[str]:
    return {name.strip().casefold() for name in (session.label, *session.label.split("/"), *session.folder.split("/"))}


def _cited(book: Book, hit: Hit, session: Session | None, longest: int, measure: Measure) -> Cited:
    item = hit.item
    whole = Cited(item, item.text or item.told("snapshot") or item.title, hit.relevance, session, True)
    if measure(whole) <= longest:
        return whole
    passage = book.store.passage_texts([hit.passage_id]).get(hit.passage_id)
    if passage is None or len(passage.text) >= len(whole.content):
        return whole
    return Cited(item, passage.text, hit.relevance, session, False)
