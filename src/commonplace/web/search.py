"""Search: one box for words, questions and the query language, narrowed by where and what, and why each hit is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.recall import Hit, recall
from commonplace.model import KINDS, MEMORY_TYPES, Item, Scope
from commonplace.text.query import plain_words
from commonplace.text.redact import redact
from commonplace.web.marks import marked, marked_excerpt
from commonplace.web.page import Asked, Shown

RESULTS = 20
EXCERPT = 320


@dataclass(frozen=True, slots=True)
class Result:
    """A hit as it is shown: its words marked, and what speaks for it as shares of a whole."""

    item: Item
    title: Markup
    excerpt: Markup
    why: Mapping[str, float]


def search(book: Book, asked: Asked) -> Shown:
    """What is found, or where to begin."""
    question = asked.one("q")
    values: dict[str, Any] = {
        "q": question,
        "kinds": KINDS,
        "types": MEMORY_TYPES,
        "projects": [project.name for project in projects(book)],
        "chosen": {name: asked.one(name) for name in ("project", "kind", "type", "tag")},
        "results": [],
        "total": 0,
        "by_meaning": True,
    }
    if question:
        found = recall(book, question, _scope(asked), RESULTS)
        sought = frozenset(word.token for word in plain_words(question))
        results = [_result(hit, sought) for hit in found.hits]
        values |= {"results": results, "total": found.total, "by_meaning": found.by_meaning}
    return Shown("search", values)


def _scope(asked: Asked) -> Scope:
    kind, type_ = asked.one("kind"), asked.one("type")
    return Scope(
        project=asked.one("project") or None,
        kinds=tuple(known for known in KINDS if known == kind),
        types=(type_,) if type_ else (),
        tag=asked.one("tag"),
    )


def _result(hit: Hit, sought: frozenset[str]) -> Result:
    why = {"relevance": hit.relevance, "meaning": hit.semantic, "words": hit.lexical}
    text = redact(hit.item.text or hit.item.told())
    return Result(hit.item, marked(redact(hit.item.title), sought), marked_excerpt(text, sought, EXCERPT), why)
