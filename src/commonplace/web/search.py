"""Search: one box for words, questions and the query language, narrowed by where, what and when; and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.browse import browse, projects
from commonplace.memory.recall import MAX_QUERY, Hit, recall, sessions_of_hits, words_sought
from commonplace.model import KINDS, MEMORY_TYPES, Item, Session
from commonplace.text.excerpt import excerpt
from commonplace.text.redact import redact
from commonplace.web.frame import PART
from commonplace.web.marks import marked
from commonplace.web.page import Asked, Shown
from commonplace.web.search_filters import NOWHERE, SPANS, Filters, filters

RESULTS, MOST = 20, 200
EXCERPT = 320
# As much of a long text as is looked through for the place to show.
READ = 20_000
_LEADER = re.compile(r"^\s*(?:(?:`{3,}|~{3,}).*|#{1,6}\s|>\s?|[-*+]\s|\|)")


@dataclass(frozen=True, slots=True)
class Result:
    """An item as it is shown: its words marked, where it was said, and what speaks for it as shares of a whole."""

    item: Item
    title: Markup
    excerpt: Markup
    session: Session | None
    why: Mapping[str, float]


def search(book: Book, asked: Asked) -> Shown:
    """What is found; without a question, the newest of what the filters leave; without either, where to begin."""
    question = asked.one("q")[:MAX_QUERY]
    chosen = filters(asked, book.clock())
    values: dict[str, Any] = {
        "q": question,
        "chosen": chosen.chosen,
        "unclear": chosen.unclear,
        "listed": not question and chosen.are_set,
        "results": (),
        "total": 0,
        "by_meaning": True,
        "waiting": 0,
        "more": "",
        "may_add": asked.may("write"),
    }
    if question:
        values |= _found(book, question, chosen, _number(asked.one("n")))
    elif chosen.are_set:
        values |= _newest(book, chosen, asked.one("cursor"))
    # Whoever types has the rest of the page already.
    return Shown("search", values if asked.headers.get(PART) else values | _choices(book))


def _found(book: Book, question: str, chosen: Filters, limit: int) -> dict[str, Any]:
    found = recall(book, question, chosen.scope, limit)
    sessions = sessions_of_hits(book, found.hits)
    sought = words_sought(question)
    more = len(found.hits) == limit < min(MOST, found.total)
    return {
        "results": [_result(hit, sought, sessions.get(hit.item.id)) for hit in found.hits],
        # Few are told of what only shares a common word.
        "total": max(found.total, limit) if len(found.hits) == limit else len(found.hits),
        "by_meaning": found.by_meaning,
        "waiting": found.waiting,
        "more": chosen.address(question, n=str(min(MOST, limit + RESULTS))) if more else "",
    }


def _newest(book: Book, chosen: Filters, cursor: str) -> dict[str, Any]:
    try:
        page = browse(book, chosen.scope, RESULTS, cursor or None)
    except InvalidInput:
        page = browse(book, chosen.scope, RESULTS)
    results = [Result(item, *_told(item, frozenset()), None, {}) for item in page.items]
    return {"results": results, "more": chosen.address("", cursor=page.next_cursor) if page.next_cursor else ""}


def _result(hit: Hit, sought: frozenset[str], session: Session | None) -> Result:
    why = {"relevance": hit.relevance, "meaning": hit.semantic, "words": hit.lexical}
    known = {name: share for name, share in why.items() if share > 0.0}
    return Result(hit.item, *_told(hit.item, sought), session, known)


def _told(item: Item, sought: frozenset[str]) -> tuple[Markup, Markup]:
    """Title and excerpt; what the title says already is not said again."""
    title = redact(item.title)
    repeated = (name for name, value in item.details.items() if value == item.title)
    text = _after(title, redact((item.text or item.told("snapshot", *repeated))[:READ]))
    return marked(title, sought), marked(_after(title, _running(excerpt(text, sought, EXCERPT))), sought)


def _after(title: str, text: str) -> str:
    """A text without the title at its beginning."""
    said, start = title.removesuffix("…"), text.lstrip("#*->_` \n")
    rest = start.removeprefix(said)
    return rest.lstrip(" \n*_`:.;,") if said and start.startswith(said) and not rest[:1].isalnum() else text


def _running(text: str) -> str:
    """A piece of Markdown as running text, without the marks that only make sense on lines of their own."""
    lines = (_LEADER.sub("", line).strip() for line in text.splitlines())
    return " ".join(line for line in lines if line).replace("**", "").replace("`", "")


def _choices(book: Book) -> dict[str, Any]:
    names = [project.name for project in projects(book)]
    return {"kinds": KINDS, "types": MEMORY_TYPES, "spans": SPANS, "projects": names, "nowhere": NOWHERE}


def _number(text: str) -> int:
    """How many results; whatever is no such number means the usual."""
    return min(MOST, max(RESULTS, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else RESULTS
