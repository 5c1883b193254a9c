"""Contradictions: two statements side by side, settled one by one, with undo."""

from __future__ import annotations

import re

from commonplace.errors import InvalidInput
from commonplace.memory.contradictions import (
    DEFAULT_LIMIT,
    KEEP,
    list_contradictions,
    reopen_contradiction,
    settle_contradiction,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.web.page import PageRequest, Redirect, Rendered, project_names, with_query

_SHORT_ID = re.compile(r"[0-9a-f]{1,12}")


def contradictions_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The pairs to settle, of one project or of all."""
    project, twins = request.one("project"), bool(request.one("twins"))
    pairs = list_contradictions(memory, project or None, DEFAULT_LIMIT, twins=twins)
    values = {
        "pairs": pairs,
        "project": project,
        "twins": twins,
        "limit": DEFAULT_LIMIT,
        "may_change": request.may("write"),
        "undoable": [id_ for id_ in request.one("undo").split(",") if _SHORT_ID.fullmatch(id_)],
    }
    return Rendered("contradictions", values | {"projects": project_names(memory)})


def settle_pair(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Say which of two statements holds."""
    keep = next((one for one in KEEP if one == request.given("keep")), None)
    if keep is None:
        raise InvalidInput("It is not said which one holds.", "Choose one of the two, or both.")
    settled = settle_contradiction(memory, request.given("one"), request.given("other"), keep)
    undo = f"{settled.older.short_id},{settled.newer.short_id}"
    return Redirect(_back(request, undo=undo), "both_hold" if keep == "both" else "superseded")


def undo_settling(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Show two statements again that were settled."""
    ids = request.chosen("id")
    if len(ids) != 2:
        raise InvalidInput("Two statements are settled or undone together.", "Go back and try again.")
    reopen_contradiction(memory, ids[0], ids[1])
    return Redirect(_back(request), "reopened")


def _back(request: PageRequest, **more: str) -> str:
    """The page with the filters it had."""
    return with_query("/contradictions", {name: request.given(f"at_{name}") for name in ("project", "twins")} | more)
