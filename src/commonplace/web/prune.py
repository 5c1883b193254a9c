"""Prune: conversations that could be archived, why, and their size; archiving the chosen ones, and undoing that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import ConversationChanges, unarchive_conversation, update_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, find_prunable
from commonplace.text.paths import ROOT_FOLDER
from commonplace.web.page import PageRequest, Redirect, Rendered, with_query

# As many as a person looks through at once; the rest follow when these are archived.
AT_ONCE = 100
FILTERS = ("days", "importance", "folder")
_SHORT_ID = re.compile(r"[0-9a-f]{12}")


def candidates(memory: LocalMemory, request: PageRequest) -> Rendered:
    """Conversations that could be archived."""
    days = request.number("days", PRUNE_DAYS, 0, MAX_DAYS)
    importance = request.number("importance", int(PRUNE_IMPORTANCE), 1, 10)
    folder = request.one("folder", ROOT_FOLDER)
    found = find_prunable(memory, days, float(importance), folder)
    values = {
        "candidates": found.candidates[:AT_ONCE],
        "total": len(found.candidates),
        "bytes": found.bytes,
        "days": days,
        "importance": importance,
        "folder": folder,
        "undoable": [id_ for id_ in request.one("undo").split(",") if _SHORT_ID.fullmatch(id_)][:AT_ONCE],
        "may_change": request.may("write"),
    }
    return Rendered("prune", values)


def archive_chosen(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Archive the chosen conversations."""
    ids = _chosen(request)
    for id_ in ids:
        update_conversation(memory, id_, ConversationChanges(status="archived"))
    return Redirect(_address(request, undo=",".join(ids)), "archived", str(len(ids)))


def undo_archiving(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Undo archiving."""
    ids = _chosen(request)
    for id_ in ids:
        unarchive_conversation(memory, id_)
    return Redirect(_address(request), "unarchived", str(len(ids)))


def _address(request: PageRequest, **more: str) -> str:
    """The page with the filters it had."""
    return with_query("/prune", {name: request.given(name) for name in FILTERS} | more)


def _chosen(request: PageRequest) -> Sequence[str]:
    ids = [id_ for id_ in dict.fromkeys(request.chosen("id")) if _SHORT_ID.fullmatch(id_)][:AT_ONCE]
    if not ids:
        raise InvalidInput("No conversation was chosen.", "Go back and choose at least one.")
    return ids
