"""Review: what agents and capture proposed, one under the other, to accept, change or dismiss."""

from __future__ import annotations

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.memory import review
from commonplace.memory.edit_and_forget import Changes
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import MEMORY_TYPES, Item, Scope
from commonplace.text.project_names import normalise_project
from commonplace.web.page import PageReply, PageRequest, Redirect, Rendered, project_names, with_query

AT_ONCE = 30


def review_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What waits for review, of every project or of one, the newest first."""
    return _page(memory, request)


def accept_proposal(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Accept a proposal, as it is or as it was changed in the form; after an error the page keeps what was written."""
    old: Item | None = None
    try:
        old = get_item(memory, request.path["id"])
        content, type_ = request.given("content"), request.given("type").strip()
        changed = Changes(
            content=content if content.strip() and content.strip() != old.body.strip() else None,
            type=type_ if type_ and type_ != old.type else None,
        )
        review.accept_changed(memory, old.id, changed, request.rev or None)
    except CommonplaceError as error:
        return _page(memory, request, error, old)
    return Redirect(_back(request), "accepted", old.short_id)


def dismiss_proposal(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Dismiss a proposal."""
    try:
        (item,) = review.dismiss(memory, [request.path["id"]])
    except CommonplaceError as error:
        return _page(memory, request, error)
    return Redirect(_back(request), "dismissed", item.short_id)


def undo_review(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Let what was accepted or dismissed wait again."""
    try:
        item = review.undo_review(memory, request.path["id"])
    except CommonplaceError as error:
        return _page(memory, request, error)
    return Redirect(_back(request), "undone", item.short_id)


def _page(
    memory: LocalMemory, request: PageRequest, wrong: CommonplaceError | None = None, held: Item | None = None
) -> Rendered:
    named = (request.one("project") or request.given("at_project"))[:500]
    try:
        scope = Scope(project=normalise_project(named) if named else None)
        page = review.list_proposals(memory, scope, AT_ONCE, request.one("cursor") or None)
    except InvalidInput as error:
        wrong, page = error, review.list_proposals(memory, limit=AT_ONCE)
    values = {
        "project": named,
        "proposals": page.items,
        "more": with_query("/review", {"project": named, "cursor": page.next_cursor}) if page.next_cursor else "",
        "may_change": request.may("write"),
        "wrong": wrong,
        "held": held,
        "written": request.given("content"),
        "types": MEMORY_TYPES,
        "projects": project_names(memory),
    }
    return Rendered("review", values, 200 if wrong is None else wrong.http_status)


def _back(request: PageRequest) -> str:
    return with_query("/review", {"project": request.given("at_project")})
