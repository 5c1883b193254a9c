"""Contradictions: earlier rules, decisions and facts that a new one opposes or replaces. A hint, not a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.recall import candidates
from commonplace.model import Item, Scope
from commonplace.ranking.fusion import best_first, fuse
from commonplace.text.disagreement import disagreement
from commonplace.text.query import plain
from commonplace.text.summarise import title_of

STATED = ("rule", "decision", "fact", "constraint")
CANDIDATES = 40
MOST = 3
# Statements are short; of a long text the beginning says what it is about.
_READ = 2_000


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An earlier item and in what the new statement differs from it: "opposite", "number" or "choice"."""

    item: Item
    reason: str


def contradictions(book: Book, item: Item, *, by_meaning: bool = True) -> list[Contradiction]:
    """Earlier statements in the same scope that this one may replace, the likeliest first.

    Without `by_meaning` only words are compared, and no model is loaded.
    """
    if item.kind != "memory" or item.type not in STATED:
        return []
    said = statement(item)
    # As words, never as operators: a statement may say NOT and hold quotes.
    query = plain(said)
    scope = Scope(project=item.project, only_global=item.project is None, kinds=("memory",), types=STATED)
    vector = book.meaning.of_question(query.text) if by_meaning else None
    evidence, owner, _total = candidates(book, query, vector, scope, CANDIDATES)
    nearest = dict.fromkeys(owner[passage] for passage in best_first(fuse(evidence), newest=owner))
    items = book.store.get(nearest)
    cosines: dict[int, float] = {}
    for passage, seen in evidence.items():
        cosines[owner[passage]] = max(cosines.get(owner[passage], 0.0), seen.cosine or 0.0)
    found = []
    for id_ in nearest:
        other = items.get(id_)
        if other is None or id_ == item.id:
            continue
        reason = disagreement(statement(other), said, cosines[id_])
        if reason:
            found.append(Contradiction(other, reason))
    return found[:MOST]


def statement(item: Item) -> str:
    """What a memory states: its text, after a title of its own."""
    text = item.body.strip()
    named = "" if title_of(text) == item.title else item.title
    return "\n".join(part for part in (named, text) if part)[:_READ]
