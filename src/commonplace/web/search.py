"""Search: one box for words, questions and the query language, filters, and why each hit is one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from markupsafe import Markup

from commonplace.errors import InvalidInput
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.question import MAX_QUERY, query_tokens
from commonplace.memory.recall import Hit, recall, sessions_of_hits
from commonplace.model import KINDS, MEMORY_TYPES, ORIGINS, Item, Scope, Session, SessionScope
from commonplace.text.dates import period_end, period_start
from commonplace.text.paths import ROOT_FOLDER, normalise_folder
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact
from commonplace.text.sentences import excerpt
from commonplace.text.validity import parse_as_of
from commonplace.web.page import PART_HEADER, PageRequest, Rendered, project_names, with_query
from commonplace.web.rendering import highlight

FILTER_NAMES = (
    *("project", "kind", "type", "tag", "folder", "author", "origin", "when", "since", "until"),
    *("as_of", "expired"),
)
T = TypeVar("T")

# Periods that one click chooses.
SPANS = ("today", "7d", "30d", "365d")
# Items that belong to no project.
NO_PROJECT = "*"


@dataclass(frozen=True, slots=True)
class Filters:
    """The chosen filters, the scope they mean, and which of them were not understood and are left out."""

    chosen: dict[str, str]
    scope: Scope
    unclear: tuple[str, ...]

    @property
    def are_set(self) -> bool:
        return any(self.chosen.values())

    def address(self, question: str, **more: str) -> str:
        """The URL of this search."""
        return with_query("/search", {"q": question, **self.chosen, **more})


def read_filters(request: PageRequest, now_ms: int) -> Filters:
    """Read the filters leniently: no URL is an error."""
    chosen = {name: request.one(name)[:1000] for name in FILTER_NAMES}
    unclear: list[str] = []

    def read(text: str, reader: Callable[[str], T]) -> T | None:
        try:
            return reader(text) if text else None
        except InvalidInput:
            unclear.append(text[:60])
            return None

    span = chosen["when"] if chosen["when"] in SPANS else ""
    folder = read(chosen["folder"], normalise_folder)
    only_global = chosen["project"] == NO_PROJECT
    scope = Scope(
        project=None if only_global else read(chosen["project"], normalise_project),
        only_global=only_global,
        kinds=tuple(kind for kind in KINDS if kind == chosen["kind"]),
        types=(chosen["type"],) if chosen["type"] else (),
        tag=chosen["tag"],
        author=chosen["author"],
        origins=tuple(origin for origin in ORIGINS if origin == chosen["origin"]),
        sessions=SessionScope(folder=folder) if folder and folder != ROOT_FOLDER else None,
        since_ms=read(chosen["since"] or span, lambda text: period_start(text, now_ms)),
        until_ms=read(chosen["until"], lambda text: period_end(text, now_ms)),
        at_ms=read(chosen["as_of"], lambda text: parse_as_of(text, now_ms)),
        lapsed=bool(chosen["expired"]),
    )
    return Filters(chosen, scope, tuple(unclear))


RESULTS, MAX_RESULTS = 20, 200
EXCERPT = 320
# How much of a long text is searched for the part to show.
READ = 20_000
_LEADER = re.compile(r"^\s*(?:(?:`{3,}|~{3,}).*|#{1,6}\s|>\s?|[-*+]\s|\|)")


@dataclass(frozen=True, slots=True)
class Result:
    """A found item: title and excerpt with highlighted words, its session, its scores from 0 to 1, and their parts."""

    item: Item
    title: Markup
    excerpt: Markup
    session: Session | None
    why: Mapping[str, float]
    parts: Mapping[str, float] = field(default_factory=dict)


def search_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What a question finds; without one, the newest items within the filters; without either, how to begin."""
    question = request.one("q")[:MAX_QUERY]
    chosen = read_filters(request, memory.clock())
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
        "may_add": request.may("write"),
    }
    if question:
        values |= _found(memory, question, chosen, _number(request.one("n")))
    elif chosen.are_set:
        values |= _newest(memory, chosen, request.one("cursor"))
    # While somebody types, their page has the rest already.
    return Rendered("search", values if request.headers.get(PART_HEADER) else values | _choices(memory))


def _found(memory: LocalMemory, question: str, chosen: Filters, limit: int) -> dict[str, Any]:
    found = recall(memory, question, chosen.scope, limit)
    sessions = sessions_of_hits(memory, found.hits)
    tokens = query_tokens(question)
    more = len(found.hits) == limit < min(MAX_RESULTS, found.total)
    return {
        "results": [_result(hit, tokens, sessions.get(hit.item.id)) for hit in found.hits],
        # Hits that only share a common word are not counted.
        "total": max(found.total, limit) if len(found.hits) == limit else len(found.hits),
        "by_meaning": found.by_meaning,
        "waiting": found.waiting,
        "more": chosen.address(question, n=str(min(MAX_RESULTS, limit + RESULTS))) if more else "",
    }


def _newest(memory: LocalMemory, chosen: Filters, cursor: str) -> dict[str, Any]:
    try:
        page = browse_items(memory, chosen.scope, RESULTS, cursor or None)
    except InvalidInput:
        page = browse_items(memory, chosen.scope, RESULTS)
    results = [Result(item, *_highlighted(item, frozenset()), None, {}) for item in page.items]
    return {"results": results, "more": chosen.address("", cursor=page.next_cursor) if page.next_cursor else ""}


def _result(hit: Hit, tokens: frozenset[str], session: Session | None) -> Result:
    why = {"relevance": hit.relevance, "meaning": hit.semantic, "words": hit.lexical}
    known = {name: share for name, share in why.items() if share > 0.0}
    return Result(hit.item, *_highlighted(hit.item, tokens), session, known, hit.why)


def _highlighted(item: Item, tokens: frozenset[str]) -> tuple[Markup, Markup]:
    """Title and excerpt; the excerpt does not repeat the title."""
    title = redact(item.title)
    repeated = (name for name, value in item.details.items() if value == item.title)
    text = _after(title, redact((item.text or item.details_text("snapshot", *repeated))[:READ]))
    return highlight(title, tokens), highlight(_after(title, _running(excerpt(text, tokens, EXCERPT))), tokens)


def _after(title: str, text: str) -> str:
    """A text without the title at its beginning."""
    heading, start = title.removesuffix("…"), text.lstrip("#*->_` \n")
    rest = start.removeprefix(heading)
    return rest.lstrip(" \n*_`:.;,") if heading and start.startswith(heading) and not rest[:1].isalnum() else text


def _running(text: str) -> str:
    """Markdown as running text, without the signs that only make sense at the beginning of a line."""
    lines = (_LEADER.sub("", line).strip() for line in text.splitlines())
    return " ".join(line for line in lines if line).replace("**", "").replace("`", "")


def _choices(memory: LocalMemory) -> dict[str, Any]:
    names = project_names(memory)
    return {
        "kinds": KINDS,
        "types": MEMORY_TYPES,
        "origins": ORIGINS,
        "spans": SPANS,
        "projects": names,
        "nowhere": NO_PROJECT,
    }


def _number(text: str) -> int:
    """The number of results; anything else means the default."""
    return (
        min(MAX_RESULTS, max(RESULTS, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else RESULTS
    )
