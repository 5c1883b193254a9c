"""The filters of a search: what is chosen in an address or a form, and which part of the memory that means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from markupsafe import Markup

from commonplace.errors import InvalidInput
from commonplace.memory.items import browse_items, list_projects
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import MAX_QUERY, Hit, query_tokens, recall, sessions_of_hits
from commonplace.model import KINDS, MEMORY_TYPES, Item, Scope, Session, SessionScope
from commonplace.text.dates import period_end, period_start
from commonplace.text.paths import ROOT_FOLDER, normalise_folder
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact
from commonplace.text.sentences import excerpt
from commonplace.web.page import PART_HEADER, PageRequest, Rendered
from commonplace.web.rendering import highlight

FILTER_NAMES = ("project", "kind", "type", "tag", "folder", "when", "since", "until")
T = TypeVar("T")

# Stretches of time that one click chooses.
SPANS = ("today", "7d", "30d", "365d")
# What belongs to no project.
NOWHERE = "*"


@dataclass(frozen=True, slots=True)
class Filters:
    """What is chosen, what it means, and what of it means nothing: that is left out, and told."""

    chosen: dict[str, str]
    scope: Scope
    unclear: tuple[str, ...]

    @property
    def are_set(self) -> bool:
        return any(self.chosen.values())

    def address(self, question: str, **more: str) -> str:
        """Where this is found again."""
        named = {"q": question, **self.chosen, **more}
        return "/search?" + urlencode({name: value for name, value in named.items() if value})


def read_filters(request: PageRequest, now_ms: int) -> Filters:
    """Read them leniently: no address is an error."""
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
    nowhere = chosen["project"] == NOWHERE
    scope = Scope(
        project=None if nowhere else read(chosen["project"], normalise_project),
        only_global=nowhere,
        kinds=tuple(kind for kind in KINDS if kind == chosen["kind"]),
        types=(chosen["type"],) if chosen["type"] else (),
        tag=chosen["tag"],
        sessions=SessionScope(folder=folder) if folder and folder != ROOT_FOLDER else None,
        since_ms=read(chosen["since"] or span, lambda text: period_start(text, now_ms)),
        until_ms=read(chosen["until"], lambda text: period_end(text, now_ms)),
    )
    return Filters(chosen, scope, tuple(unclear))


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


def search_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What is found; without a question, the newest of what the filters leave; without either, where to begin."""
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
    # Whoever types has the rest of the page already.
    return Rendered("search", values if request.headers.get(PART_HEADER) else values | _choices(memory))


def _found(memory: LocalMemory, question: str, chosen: Filters, limit: int) -> dict[str, Any]:
    found = recall(memory, question, chosen.scope, limit)
    sessions = sessions_of_hits(memory, found.hits)
    sought = query_tokens(question)
    more = len(found.hits) == limit < min(MOST, found.total)
    return {
        "results": [_result(hit, sought, sessions.get(hit.item.id)) for hit in found.hits],
        # Few are told of what only shares a common word.
        "total": max(found.total, limit) if len(found.hits) == limit else len(found.hits),
        "by_meaning": found.by_meaning,
        "waiting": found.waiting,
        "more": chosen.address(question, n=str(min(MOST, limit + RESULTS))) if more else "",
    }


def _newest(memory: LocalMemory, chosen: Filters, cursor: str) -> dict[str, Any]:
    try:
        page = browse_items(memory, chosen.scope, RESULTS, cursor or None)
    except InvalidInput:
        page = browse_items(memory, chosen.scope, RESULTS)
    results = [Result(item, *_highlighted(item, frozenset()), None, {}) for item in page.items]
    return {"results": results, "more": chosen.address("", cursor=page.next_cursor) if page.next_cursor else ""}


def _result(hit: Hit, sought: frozenset[str], session: Session | None) -> Result:
    why = {"relevance": hit.relevance, "meaning": hit.semantic, "words": hit.lexical}
    known = {name: share for name, share in why.items() if share > 0.0}
    return Result(hit.item, *_highlighted(hit.item, sought), session, known)


def _highlighted(item: Item, sought: frozenset[str]) -> tuple[Markup, Markup]:
    """Title and excerpt; what the title says already is not said again."""
    title = redact(item.title)
    repeated = (name for name, value in item.details.items() if value == item.title)
    text = _after(title, redact((item.text or item.told("snapshot", *repeated))[:READ]))
    return highlight(title, sought), highlight(_after(title, _running(excerpt(text, sought, EXCERPT))), sought)


def _after(title: str, text: str) -> str:
    """A text without the title at its beginning."""
    said, start = title.removesuffix("…"), text.lstrip("#*->_` \n")
    rest = start.removeprefix(said)
    return rest.lstrip(" \n*_`:.;,") if said and start.startswith(said) and not rest[:1].isalnum() else text


def _running(text: str) -> str:
    """A piece of Markdown as running text, without the marks that only make sense on lines of their own."""
    lines = (_LEADER.sub("", line).strip() for line in text.splitlines())
    return " ".join(line for line in lines if line).replace("**", "").replace("`", "")


def _choices(memory: LocalMemory) -> dict[str, Any]:
    names = [project.name for project in list_projects(memory)]
    return {"kinds": KINDS, "types": MEMORY_TYPES, "spans": SPANS, "projects": names, "nowhere": NOWHERE}


def _number(text: str) -> int:
    """How many results; whatever is no such number means the usual."""
    return min(MOST, max(RESULTS, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else RESULTS
