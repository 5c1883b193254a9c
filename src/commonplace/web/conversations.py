"""Conversations: every session in its folder, listed like mail; chosen ones are put elsewhere, and back again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.conversations import STATUSES, find, latest
from commonplace.memory.organise import Arrangement, arrange, status_before_archiving, undo
from commonplace.memory.reading import what_is_in
from commonplace.memory.stats import totals
from commonplace.model import Session, SessionScope
from commonplace.text.folders import ROOT, folder_path, lies_in, names_in
from commonplace.web.page import Asked, Gone, Shown, own_path

PAGE = 50
FOLDERS = 200
# What is shown unless asked otherwise: archived ones were put aside.
CURRENT = ("active", "pinned")
VIEWS: Mapping[str, tuple[str, ...]] = {"": CURRENT, **{name: (name,) for name in STATUSES[1:]}, "all": ()}
# What can be done to conversations, and how it is told afterwards.
DONE = {"move": "moved", "archive": "archived", "unarchive": "unarchived", "pin": "pinned", "unpin": "unpinned"}
FILTERS = ("folder", "status", "source", "project", "named")
# How a conversation is named at the revision that somebody saw.
_SEEN = re.compile(r"([0-9a-f]{12})\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Folder:
    """One line of the tree: `count` is of all below it, too."""

    path: str
    name: str
    depth: int
    count: int
    is_open: bool


def conversations(book: Book, asked: Asked) -> Shown:
    """The list."""
    chosen = {name: asked.one(name) for name in FILTERS}
    scope = _scope(chosen)
    page = latest(book, scope, PAGE, asked.one("cursor") or None)
    everywhere = _scope({**chosen, "folder": ""})
    counts = totals(book, everywhere)
    values: dict[str, Any] = {
        "chosen": chosen,
        "views": VIEWS,
        "sessions": page.sessions,
        "kinds_in": what_is_in(book, page.sessions),
        "older": page.next_cursor and _address({**chosen, "cursor": page.next_cursor}),
        "newest": _address(chosen) if asked.one("cursor") else "",
        "tree": tree_of(counts.folders, scope.folder or ROOT),
        "all_folders": sorted(counts.folders)[:FOLDERS],
        "sources": sorted(counts.sources),
        "projects": [project.name for project in projects(book)],
        "address": lambda **more: _address({**chosen, **more}),
        "undoable": undoable(asked),
        "may_change": asked.may("write"),
    }
    return Shown("conversations", values)


def change_chosen(book: Book, asked: Asked) -> Gone:
    """Archive, bring back or move all that were chosen, unless somebody was quicker with one of them."""
    back = own_path(asked.given("back"), "/conversations")
    do, folder = asked.given("do"), asked.given("to")
    if do not in DONE:
        raise InvalidInput("It is not said what to do with them.", "Choose to archive or to move them.")
    seen = [_checked(book, id_, rev) for id_, rev in _seen(asked)]
    changed = [arrange(book, session.uid, arrangement(book, session, do, folder), session.rev) for session in seen]
    return Gone(with_undo(back, changed), DONE[do], str(len(changed)))


def undo_changes(book: Book, asked: Asked) -> Gone:
    """Take back what was just done."""
    back = own_path(asked.given("back"), "/conversations")
    seen = [_checked(book, id_, rev) for id_, rev in _seen(asked)]
    for session in seen:
        undo(book, session.uid, session.rev)
    return Gone(back, "undone", str(len(seen)))


def arrangement(book: Book, session: Session, do: str, folder: str = "") -> Arrangement:
    """What one of DONE means for a conversation."""
    match do:
        case "move":
            return Arrangement(folder=folder)
        case "archive":
            return Arrangement(status="archived")
        case "pin":
            return Arrangement(status="pinned")
        case "unarchive":
            return Arrangement(status=status_before_archiving(book, session))
    return Arrangement(status="active")


def tree_of(counts: Mapping[str, int], at: str) -> list[Folder]:
    """The folders on the way to one and those beside them; what is further below opens when one goes there."""
    below: dict[str, int] = {}
    for path, count in counts.items():
        names = names_in(path)
        for depth in range(len(names) + 1):
            place = ROOT + "/".join(names[:depth])
            below[place] = below.get(place, 0) + count
    shown = [path for path in sorted(below, key=_by_name) if path == ROOT or lies_in(at, _above(path))]
    return [
        Folder(path, (names_in(path) or [""])[-1], len(names_in(path)), below[path], lies_in(at, path))
        for path in shown[:FOLDERS]
    ]


def with_undo(path: str, sessions: Sequence[Session]) -> str:
    """An address that also tells what can be undone there."""
    told = urlencode({"undo": ",".join(f"{one.short_id}.{one.rev}" for one in sessions)})
    return f"{path}{'&' if '?' in path else '?'}{told}"


def undoable(asked: Asked) -> list[str]:
    """What the address says can be undone."""
    return [one for one in asked.one("undo").split(",")[:PAGE] if _SEEN.fullmatch(one)]


def _scope(chosen: Mapping[str, str]) -> SessionScope:
    if chosen["status"] not in VIEWS:
        raise InvalidInput(f"status is {chosen['status'][:40]!r}.", f"Choose one of {', '.join(filter(None, VIEWS))}.")
    return SessionScope(
        folder=folder_path(chosen["folder"]) if chosen["folder"] else "",
        statuses=VIEWS[chosen["status"]],
        project=chosen["project"] or None,
        source=chosen["source"],
        empty=True,
        named=chosen["named"],
    )


def _address(values: Mapping[str, str]) -> str:
    told = {name: value for name, value in values.items() if value}
    return "/conversations" + (f"?{urlencode(told)}" if told else "")


def _seen(asked: Asked) -> list[tuple[str, int]]:
    found = [_SEEN.fullmatch(value) for value in dict.fromkeys(asked.chosen("id"))]
    seen = [(one[1], int(one[2])) for one in found if one][:PAGE]
    if not seen:
        raise InvalidInput("No conversation was chosen.", "Go back and choose at least one.")
    return seen


def _checked(book: Book, id_: str, rev: int) -> Session:
    """A conversation as it was seen. All are, or nothing is done."""
    session = find(book, id_)
    if session.rev != rev:
        raise Conflict(
            f"Somebody changed the conversation {session.label[:60]!r} meanwhile. Nothing was done.",
            "Load the list again and choose once more.",
        )
    return session


def _above(path: str) -> str:
    return ROOT + "/".join(names_in(path)[:-1])


def _by_name(path: str) -> list[str]:
    return [name.casefold() for name in names_in(path)]
