"""Contradictions: earlier rules, decisions and facts that a new one opposes or replaces. A hint, not a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope
from commonplace.text.query import plain_query
from commonplace.text.sentences import title_of
from commonplace.text.statement_comparison import Statement, contradiction_kind

STATEMENT_TYPES = ("rule", "decision", "fact", "constraint")
CANDIDATES = 10
MAX_CONTRADICTIONS = 3
# The longest words of a statement are looked for: they say what it is about.
LONGEST_WORDS = 4
# Statements are short; of a long text the beginning says what it is about.
_READ = 2_000


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An earlier item and in what the new statement differs from it: "opposite", "number" or "choice"."""

    item: Item
    reason: str


def find_contradictions(memory: LocalMemory, item: Item) -> list[Contradiction]:
    """Earlier statements in the same scope that this one may replace, the likeliest first.

    Looked up by their words alone: this is asked at every write, which must not wait for a model.
    """
    if item.kind != "memory" or item.type not in STATEMENT_TYPES:
        return []
    text = statement_text(item)
    # As words, never as operators: a statement may say NOT and hold quotes.
    query = plain_query(text)
    query = replace(query, words=tuple(sorted(query.words, key=lambda word: -len(word.surface))[:LONGEST_WORDS]))
    scope = Scope.inside(item.project, kinds=("memory",), types=STATEMENT_TYPES)
    hits = memory.store.search_text(query, scope, CANDIDATES, shares=False).hits
    items = memory.store.get(hit.item_id for hit in hits)
    new = Statement(text)
    found = []
    for id_ in dict.fromkeys(hit.item_id for hit in hits):
        if id_ == item.id or id_ not in items:
            continue
        reason = contradiction_kind(Statement(statement_text(items[id_])), new)
        if reason:
            found.append(Contradiction(items[id_], reason))
    return found[:MAX_CONTRADICTIONS]


def statement_text(item: Item) -> str:
    """What a memory states: its text, after a title of its own."""
    text = item.body.strip()
    named = "" if title_of(text) == item.title else item.title
    return "\n".join(part for part in (named, text) if part)[:_READ]
