"""Contradictions: an earlier rule, decision or fact that a new one opposes or replaces. A hint, not a verdict.

No model judges here. Two statements are about the same if they share most of their telling words, or mean nearly the
same; they disagree if one negates what the other says, if they differ in a number, or if they name different choices
in the same frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.recall import recall
from commonplace.model import Item, Scope
from commonplace.text.tokens import STOP_WORDS, fold, stem

STATED = ("rule", "decision", "fact", "constraint")
CANDIDATES = 8
# Shares of the shorter statement's words, and cosines, from which two statements are about the same thing.
SAME_WORDS, NEAR_WORDS, NEAR_MEANING, SAME_MEANING = 0.6, 0.3, 0.6, 0.8

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATIONS = frozenset(
    "not no never don't dont doesn't avoid without stop forbid forbidden disallow disable disabled deny reject"
    " cannot can't mustn't shouldn't deprecated remove removed drop dropped".split()
)
_POSITIVE = frozenset("use uses using used prefer choose chose chosen adopt enable enabled allow require".split())


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An earlier item and in what the new statement differs from it: "opposite", "number" or "choice"."""

    item: Item
    reason: str


def contradictions(book: Book, item: Item) -> list[Contradiction]:
    """Earlier statements in the same scope that this one may replace, the likeliest first."""
    if item.type not in STATED or not item.body.strip():
        return []
    scope = Scope(project=item.project, only_global=item.project is None, kinds=("memory",), types=STATED)
    found = []
    for hit in recall(book, item.body[:2000], scope, CANDIDATES).hits:
        if hit.item.id == item.id:
            continue
        reason = disagreement(hit.item.body, item.body, hit.semantic)
        if reason:
            found.append(Contradiction(hit.item, reason))
    return found


def disagreement(earlier: str, later: str, cosine: float = 0.0) -> str:
    """How two statements about the same thing disagree; empty if they do not, or are about different things."""
    old, new = _Statement(earlier), _Statement(later)
    if not old.subject or not new.subject:
        return ""
    shared = old.subject & new.subject
    share = len(shared) / min(len(old.subject), len(new.subject))
    if share >= NEAR_WORDS and ((old.denied & new.affirmed) or (new.denied & old.affirmed)):
        return "opposite"
    if not (share >= SAME_WORDS or cosine >= SAME_MEANING or (share >= NEAR_WORDS and cosine >= NEAR_MEANING)):
        return ""
    if old.numbers and new.numbers and old.numbers != new.numbers and share >= SAME_WORDS:
        return "number"
    if old.negated != new.negated and share >= SAME_WORDS:
        return "opposite"
    if old.chooses and new.chooses and old.subject - shared and new.subject - shared and shared:
        return "choice"
    return ""


class _Statement:
    """A statement taken apart: what it is about, what it affirms and denies, its numbers."""

    def __init__(self, text: str) -> None:
        words = [fold(word) for word in _WORD.findall(text)]
        self.numbers = frozenset(_NUMBER.findall(text))
        self.negated = any(word in _NEGATIONS for word in words)
        self.chooses = any(word in _POSITIVE for word in words)
        self.affirmed: set[str] = set()
        self.denied: set[str] = set()
        denying = 0
        for word in words:
            if word in _NEGATIONS:
                # A negation speaks of the few words after it.
                denying = 3
            elif _telling(word):
                (self.denied if denying > 0 else self.affirmed).add(stem(word))
                denying -= 1
            elif word in ("but", "instead", "use", "and"):
                denying = 0
        self.subject = frozenset(self.affirmed | self.denied)
        self.affirmed -= self.denied


def _telling(word: str) -> bool:
    return word not in STOP_WORDS and word not in _POSITIVE and not word[0].isdigit() and word != "always"
