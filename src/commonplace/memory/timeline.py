"""Timeline: what happened around an item, in a period, since an event, and day by day with each session.

Days are made of one bounded look, as the report is; nothing is made up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from commonplace.memory.failed_commands import find_failed_commands
from commonplace.memory.items import get_item, make_cursor, parse_cursor
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import GLOBAL_KINDS, Item, Kind, Scope, Session
from commonplace.store.types import EVENT_MARK as EVENT_MARK
from commonplace.store.types import Event as Event
from commonplace.store.types import ItemHeader
from commonplace.text.dates import DAY_MS, day_start_ms, utc_day
from commonplace.text.sentences import sentences, shorten

# Summaries and checkpoints speak about a time; these happened in it.
EVENT_KINDS: tuple[Kind, ...] = ("observation", "memory", "message")
_ABOUT_A_TIME = ("summary", "checkpoint")


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An item and where it stands: negative before the anchor, 0 the anchor, positive after."""

    item: Item
    position: int

    @property
    def text(self) -> str:
        """What the item says."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class PeriodPage:
    """Some of what happened, the newest first, in which sessions, and where what is newer and older begins."""

    items: tuple[Item, ...]
    sessions: Mapping[int, Session]
    newer: str | None
    older: str | None


def timeline(
    memory: LocalMemory, anchor_id: int | str, before: int = 5, after: int = 5, *, own_project: bool = False
) -> list[TimelineEntry]:
    """The anchor and its neighbours in time, oldest first: of all projects, or only of the anchor's own.

    What applies everywhere has others of its sort around it, and no private chats.
    """
    anchor = get_item(memory, anchor_id)
    scope = Scope(kinds=EVENT_KINDS)
    if own_project and anchor.project is None and anchor.kind in GLOBAL_KINDS:
        scope = Scope.around(None, kinds=EVENT_KINDS)
    elif own_project:
        scope = Scope.inside(anchor.project, kinds=EVENT_KINDS)
    items = memory.store.around(anchor, before, after, scope)
    at = next(n for n, item in enumerate(items) if item.id == anchor.id)
    return [TimelineEntry(item, n - at) for n, item in enumerate(items)]


def items_in_period(
    memory: LocalMemory,
    scope: Scope,
    from_ms: int,
    to_ms: int,
    limit: int,
    *,
    older_than: str = "",
    newer_than: str = "",
) -> PeriodPage:
    """A page of what happened from a moment up to another; without a cursor the newest."""
    beyond = parse_cursor(newer_than or older_than) if newer_than or older_than else None
    up = bool(newer_than)
    found = memory.store.items_between(scope, from_ms, to_ms, limit, beyond, oldest_first=up)
    items = found[::-1] if up else found
    if not items:
        return PeriodPage((), {}, None, None)
    first, last = ((one.created_ms, one.id) for one in (items[0], items[-1]))
    return PeriodPage(
        tuple(items),
        sessions_by_item(memory, items),
        make_cursor(*first) if memory.store.items_between(scope, from_ms, to_ms, 1, first, oldest_first=True) else None,
        make_cursor(*last) if memory.store.items_between(scope, from_ms, to_ms, 1, last) else None,
    )


def sessions_by_item(memory: LocalMemory, items: Sequence[Item]) -> Mapping[int, Session]:
    """The session of each item that is part of one, by the item's id."""
    return memory.store.sessions_of([item.id for item in items])


MAX_EVENTS = 200


def events_since(memory: LocalMemory, after: str | None) -> tuple[Sequence[Event], str]:
    """Events after a mark, some at a time, and the mark to go on from; without one, where the news are now."""
    return memory.store.events(after, MAX_EVENTS)


# What is looked at in one go, and what is told of each part, at most.
MAX_ENTRIES = 5_000
FILES, STEPS, STATEMENTS = 8, 5, 40
# Characters of what was asked, and of what was found.
REQUEST, FOUND = 140, 260


@dataclass(frozen=True, slots=True)
class DaySession:
    """One session on one day. `statements` are the memories of it that say more than what was asked.

    `failed` counts the commands that failed in it, `fixed` those that passed later on.
    """

    session: Session
    start_ms: int
    end_ms: int
    request: str
    found: str
    author: str
    files: tuple[str, ...]
    failed: int
    fixed: int
    next_steps: tuple[str, ...]
    statements: tuple[ItemHeader, ...]
    entries: int


@dataclass(frozen=True, slots=True)
class DayOfWork:
    """One day: its sessions and what was stated outside of them, the newest first."""

    day: date
    sessions: tuple[DaySession, ...]
    statements: tuple[ItemHeader, ...]
    entries: int


def days_of_work(memory: LocalMemory, scope: Scope, days: Sequence[date]) -> list[DayOfWork]:
    """What was done on these days, the newest first."""
    if not days:
        return []
    from_ms, to_ms = day_start_ms(min(days)), day_start_ms(max(days)) + DAY_MS
    headers = memory.store.item_headers(scope, from_ms, to_ms, MAX_ENTRIES)
    by_day: dict[date, dict[int | None, list[ItemHeader]]] = {}
    for one in headers:
        by_day.setdefault(utc_day(one.at_ms), {}).setdefault(one.session_id, []).append(one)
    ids = {id_ for of_day in by_day.values() for id_ in of_day if id_ is not None}
    sessions = memory.store.get_sessions(sorted(ids))
    authors = _authors(memory, headers)
    return [_day(memory, day, by_day[day], sessions, authors) for day in sorted(by_day, reverse=True)]


def _day(
    memory: LocalMemory,
    day: date,
    of_day: Mapping[int | None, list[ItemHeader]],
    sessions: Mapping[int, Session],
    authors: Mapping[int, str],
) -> DayOfWork:
    blocks = [
        _session(memory, sessions[id_], headers, authors.get(id_, ""))
        for id_, headers in of_day.items()
        if id_ is not None and id_ in sessions
    ]
    outside = [one for id_, headers in of_day.items() if id_ not in sessions for one in headers]
    return DayOfWork(
        day,
        tuple(sorted(blocks, key=lambda one: -one.start_ms)),
        tuple(one for one in outside if one.kind == "memory")[:STATEMENTS],
        sum(map(len, of_day.values())),
    )


def _session(memory: LocalMemory, session: Session, headers: Sequence[ItemHeader], author: str) -> DaySession:
    """A session as its entries of one day tell it; they come the newest first."""
    noted = _noted(headers)
    request = _request(session, headers, noted)
    happened = [one for one in headers if one.kind not in _ABOUT_A_TIME] or headers
    steps = [line.strip() for line in noted.get("next_steps", "").splitlines()]
    failures = find_failed_commands(headers, lambda ids: _bodies(memory, ids))
    return DaySession(
        session=session,
        start_ms=happened[-1].at_ms,
        end_ms=happened[0].at_ms,
        request=request,
        found=shorten(_finding(headers, noted).strip().replace("\n", " "), FOUND),
        author=author,
        files=_changed_files(headers)[:FILES],
        failed=len(failures),
        fixed=sum(one.fixed_ms is not None for one in failures),
        next_steps=tuple(filter(None, steps))[:STEPS],
        statements=tuple(one for one in headers if one.kind == "memory" and one.title.rstrip("…") not in request),
        entries=len(headers),
    )


def _noted(headers: Sequence[ItemHeader]) -> dict[str, str]:
    """The fields of its summaries and checkpoints; of each field what was written last."""
    noted: dict[str, str] = {}
    for one in headers:
        if one.kind in _ABOUT_A_TIME:
            for name, text in one.details.items():
                if text.strip():
                    noted.setdefault(name, text)
    return noted


def _request(session: Session, headers: Sequence[ItemHeader], noted: Mapping[str, str]) -> str:
    """What was asked: as a summary says, else the label, else the first words of the day."""
    first_words = ""
    for one in headers:
        if one.type == "prompt" or one.kind == "message":
            first_words = one.title
    request = noted.get("request") or noted.get("task") or session.label or first_words or session.key
    first_sentence = next(iter(sentences(request)), request)
    return shorten(first_sentence, REQUEST)


def _finding(headers: Sequence[ItemHeader], noted: Mapping[str, str]) -> str:
    """What came of it: as a summary says, or else the last answer."""
    if noted.get("learned"):
        return noted["learned"]
    for one in headers:
        if one.type == "answer":
            return one.details.get("narrative") or one.title
    return ""


def _changed_files(headers: Sequence[ItemHeader]) -> tuple[str, ...]:
    files: dict[str, None] = {}
    for one in headers:
        for path in one.details.get("files_modified", "").split(", "):
            if path.strip():
                files[path] = None
    return tuple(files)


def _bodies(memory: LocalMemory, item_ids: Sequence[int]) -> dict[int, str]:
    return {id_: item.body for id_, item in memory.store.get(item_ids).items()}


def _authors(memory: LocalMemory, headers: Sequence[ItemHeader]) -> dict[int, str]:
    """Who each session was with: whoever its summary, or else its newest entry, is by."""
    chosen: dict[int, int] = {}
    for one in headers:
        if one.session_id is not None and (one.kind == "summary" or one.session_id not in chosen):
            chosen[one.session_id] = one.item_id
    items = memory.store.get(chosen.values())
    return {session: items[id_].author or "" for session, id_ in chosen.items() if id_ in items}
