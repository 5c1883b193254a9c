"""Prune: conversations that could go, why, and what they weigh; chosen ones are archived, and brought back again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.organise import Arrangement, arrange, unarchive
from commonplace.memory.prune import DEFAULT_DAYS, DEFAULT_IMPORTANCE, MAX_DAYS, prune
from commonplace.text.folders import ROOT
from commonplace.web.page import Asked, Gone, Shown

# As many as a person looks through at once; the rest is proposed when these are decided.
AT_ONCE = 100
FILTERS = ("days", "importance", "folder")
_SHORT_ID = re.compile(r"[0-9a-f]{12}")


def candidates(book: Book, asked: Asked) -> Shown:
    """What could go."""
    days = asked.number("days", DEFAULT_DAYS, 0, MAX_DAYS)
    importance = asked.number("importance", int(DEFAULT_IMPORTANCE), 1, 10)
    folder = asked.one("folder", ROOT)
    found = prune(book, days, float(importance), folder)
    values = {
        "candidates": found.candidates[:AT_ONCE],
        "total": len(found.candidates),
        "bytes": found.bytes,
        "days": days,
        "importance": importance,
        "folder": folder,
        "undoable": [id_ for id_ in asked.one("undo").split(",") if _SHORT_ID.fullmatch(id_)][:AT_ONCE],
        "may_change": asked.may("write"),
    }
    return Shown("prune", values)


def archive(book: Book, asked: Asked) -> Gone:
    """Archive what was chosen."""
    ids = _chosen(asked)
    for id_ in ids:
        arrange(book, id_, Arrangement(status="archived"))
    return Gone(_address(asked, undo=",".join(ids)), "archived", str(len(ids)))


def bring_back(book: Book, asked: Asked) -> Gone:
    """Undo archiving."""
    ids = _chosen(asked)
    for id_ in ids:
        unarchive(book, id_)
    return Gone(_address(asked), "unarchived", str(len(ids)))


def _address(asked: Asked, **more: str) -> str:
    """The page with the filters that it had."""
    kept = {name: asked.given(name) for name in FILTERS} | more
    told = urlencode({name: value for name, value in kept.items() if value})
    return "/prune" + (f"?{told}" if told else "")


def _chosen(asked: Asked) -> Sequence[str]:
    ids = [id_ for id_ in dict.fromkeys(asked.chosen("id")) if _SHORT_ID.fullmatch(id_)][:AT_ONCE]
    if not ids:
        raise InvalidInput("No conversation was chosen.", "Go back and choose at least one.")
    return ids
