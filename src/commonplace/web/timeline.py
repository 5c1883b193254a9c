"""Timeline: a project, a session or everything as it happened; from years to days, and around one item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from commonplace.memory.activity import day_of, items_per_day
from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.conversations import find
from commonplace.memory.reading import read
from commonplace.memory.timeline import sessions_of, stretch, timeline
from commonplace.model import KINDS, Item, Kind, Scope, Session
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten
from commonplace.web.page import Asked, Shown
from commonplace.web.timeline_spans import HEIGHT, Span, bars_of, span_of, width_of

PAGE = 60
SESSION_PAGE = 100
BESIDE = 15
EXCERPT, FEW = 220, 60


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened, in short."""

    item: Item
    title: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Sitting:
    """What happened one after the other in one session, or outside of any."""

    session: Session | None
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the timeline; so many `quiet` ones lie between it and the one shown before."""

    day: date
    quiet: int
    sittings: tuple[Sitting, ...]


def show(book: Book, asked: Asked) -> Shown:
    """What happened: around an item, in a session, or in a stretch of time."""
    chosen = {"project": asked.one("project"), "kind": [kind for kind in KINDS if kind in asked.many("kind")]}
    values: dict[str, Any] = {
        "chosen": chosen,
        "kinds": KINDS,
        "projects": [project.name for project in projects(book)],
        "address": lambda **more: _address(chosen, more),
        "anchor": None,
        "session": None,
        "span": span_of(asked.one("year"), asked.one("month"), asked.one("day")),
        "bars": (),
        "bar_height": HEIGHT,
        "newer": "",
        "older": "",
    }
    if around := asked.one("around"):
        return Shown("timeline", values | _around(book, around))
    if session := asked.one("session"):
        return Shown("timeline", values | _session(book, asked, session))
    return Shown("timeline", values | _stretch(book, asked, chosen, values["span"]))


def days_of(items: Sequence[Item], sessions: Mapping[int, Session]) -> list[Day]:
    """Items by day and session, in the order they are in."""
    days: list[Day] = []
    for day, of_day in groupby(items, key=lambda item: day_of(item.created_ms)):
        sittings = [
            Sitting(sessions.get(some[0].id), tuple(map(line_of, some)))
            for some in (
                list(group) for _, group in groupby(of_day, key=lambda item: _session_id(sessions.get(item.id)))
            )
        ]
        quiet = abs((days[-1].day - day).days) - 1 if days else 0
        days.append(Day(day, quiet, tuple(sittings)))
    return days


def line_of(item: Item) -> Line:
    """A line of the timeline: what it is called, and what it says if that is more than a few words."""
    whole = item.details.get("narrative") or item.body or " · ".join(filter(None, item.details.values()))
    title, text = redact(item.title), redact(shorten(whole, EXCERPT))
    known = _letters(text).startswith(_letters(title)) and len(text) < len(title) + FEW
    return Line(item, title or text, "" if known or not title else text)


def _stretch(book: Book, asked: Asked, chosen: Mapping[str, Any], span: Span) -> dict[str, Any]:
    scope = Scope(project=chosen["project"] or None, kinds=tuple(chosen["kind"]))
    newer, older = asked.one("newer"), asked.one("older")
    found = stretch(book, scope, span.from_ms, span.to_ms, PAGE, newer_than=newer, older_than=older)
    counted = items_per_day(book, scope, span.bars_from_ms, span.bars_to_ms)
    here = span.asked
    return {
        "days": days_of(found.items, found.sessions),
        "bars": (bars := bars_of(counted, span)),
        "bar_width": width_of(bars),
        "newer": found.newer and _address(chosen, {**here, "newer": found.newer}),
        "older": found.older and _address(chosen, {**here, "older": found.older}),
        "total": _total(counted, span),
    }


def _session(book: Book, asked: Asked, id_: str) -> dict[str, Any]:
    session = find(book, id_)
    page = read(book, session, after=asked.one("newer"), before=asked.one("older"), limit=SESSION_PAGE)
    here = {"session": session.short_id}
    return {
        "session": session,
        "days": days_of(page.items, {item.id: session for item in page.items}),
        # Read from above to below, what came later is the next page.
        "newer": page.earlier and _address({}, {**here, "older": page.earlier}),
        "older": page.later and _address({}, {**here, "newer": page.later}),
    }


def _around(book: Book, id_: str) -> dict[str, Any]:
    moments = timeline(book, id_, BESIDE, BESIDE, own_project=True)
    items = [moment.item for moment in moments]
    anchor = next(moment.item for moment in moments if moment.position == 0)
    first, last = items[0], items[-1]
    return {
        "anchor": anchor,
        "days": days_of(items, sessions_of(book, items)),
        "newer": _address({}, {"around": first.short_id}) if first != anchor else "",
        "older": _address({}, {"around": last.short_id}) if last != anchor else "",
    }


def _total(counted: Mapping[date, Mapping[Kind, int]], span: Span) -> int:
    return sum(sum(kinds.values()) for day, kinds in counted.items() if span.holds(day))


def _address(chosen: Mapping[str, Any], more: Mapping[str, str]) -> str:
    told = {name: value for name, value in {**chosen, **more}.items() if value}
    return "/timeline" + (f"?{urlencode(told, doseq=True)}" if told else "")


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _session_id(session: Session | None) -> int:
    return 0 if session is None else session.id
