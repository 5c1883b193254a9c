"""Review: one inbox of what waits for a person, decided one by one from the keyboard, each decision with undo.

Proposals, statements that contradict or repeat each other, and old conversations; several proposals or conversations
can be decided at once. With the page's script a decision is sent in the background: then only what undoes it is asked
for (the part `undo`), and the list stays where it is.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.memory import review
from commonplace.memory.conversations import (
    ConversationChanges,
    unarchive_conversation,
    undo_conversation_change,
    update_conversation,
)
from commonplace.memory.edit_and_forget import Changes
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE
from commonplace.memory.review import (
    MOST_PROPOSALS,
    Inbox,
    PruneThresholds,
    opposed_by,
    proposals_by_session,
    read_inbox,
    said_besides,
)
from commonplace.memory.settle_contradictions import KEEP, reopen_contradiction, settle_contradiction
from commonplace.memory.timeline import sessions_by_item
from commonplace.model import MEMORY_TYPES, Item
from commonplace.text.paths import ROOT_FOLDER
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact
from commonplace.text.validity import describe_interval
from commonplace.web.page_handler import (
    PART_HEADER,
    FileReply,
    PageReply,
    PageRequest,
    Redirect,
    Rendered,
    project_names,
    with_query,
)

ADDRESS = "/review"
# What the page can be limited to, in the order in which it is shown.
KINDS = ("proposals", "contradictions", "duplicates", "old")
FILTERS = ("show", "project", "days", "importance", "folder")
# Of each kind so many are shown at once.
AT_ONCE = 25
# Two statements up to so long are shown with their differences.
COMPARED = 1_000
_SHORT_ID = re.compile(r"[0-9a-f]{1,12}")
_CHANGED = re.compile(r"([0-9a-f]{1,12})\.([0-9]{1,9})")
_ALL_CHANGED = re.compile(rf"{_CHANGED.pattern}(?:,{_CHANGED.pattern})*")
# The revision of each proposal on the page.
_NAMED_REV = re.compile(r"\b([0-9a-f]{1,12})\.([0-9]{1,9})\b")
_WORD = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Side:
    """One of two statements: its item, its text with what differs marked, and what keeping it is called."""

    item: Item
    text: Markup
    keep: str

    @property
    def interval(self) -> str:
        return describe_interval(self.item.valid_from_ms, self.item.valid_until_ms)


def review_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What waits for a decision: everything or one kind, of every project or of one."""
    if request.headers.get(PART_HEADER):
        return Rendered("review", _undo_values(request))
    return _page(memory, request)


def count_page(memory: LocalMemory, _request: PageRequest) -> FileReply:
    """How much waits, for the number in the menu."""
    waiting = read_inbox(memory)
    return FileReply(json.dumps({"total": waiting.total}).encode(), "application/json")


def contradictions_moved(_memory: LocalMemory, request: PageRequest) -> Redirect:
    """The address that the page of contradictions had."""
    show = "duplicates" if request.one("twins") else "contradictions"
    return Redirect(with_query(ADDRESS, {"show": show, "project": request.one("project")}))


def prune_moved(_memory: LocalMemory, request: PageRequest) -> Redirect:
    """The address that the page of old conversations had."""
    names = ("days", "importance", "folder")
    return Redirect(with_query(ADDRESS, {"show": "old", **{name: request.one(name) for name in names}}))


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
        return _refused(memory, request, error, old)
    return _done(request, "accepted", f"proposal:{old.short_id}")


def dismiss_proposal(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Dismiss a proposal."""
    try:
        (item,) = review.dismiss(memory, [request.path["id"]])
    except CommonplaceError as error:
        return _refused(memory, request, error)
    return _done(request, "dismissed", f"proposal:{item.short_id}")


def accept_proposals(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Accept several proposals as they are."""
    seen = dict(_NAMED_REV.findall(" ".join(request.chosen("rev"))))

    def decide(memory: LocalMemory, ids: Sequence[str]) -> list[Item]:
        return review.accept(memory, ids, {id_: int(rev) for id_, rev in seen.items()})

    return _decide_proposals(memory, request, decide, "accepted")


def dismiss_proposals(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Dismiss several proposals."""
    return _decide_proposals(memory, request, review.dismiss, "dismissed")


def _decide_proposals(
    memory: LocalMemory,
    request: PageRequest,
    decide: Callable[[LocalMemory, Sequence[str]], list[Item]],
    did: str,
) -> PageReply:
    try:
        items = decide(memory, _ids(request))
    except CommonplaceError as error:
        return _refused(memory, request, error)
    return _done(request, f"{did}_all", f"proposals:{','.join(item.short_id for item in items)}", str(len(items)))


def settle_pair(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Say which of two statements holds."""
    keep = next((one for one in KEEP if one == request.given("keep")), None)
    if keep is None:
        raise InvalidInput("The request does not say which one is right.", "Choose one of the two, or both.")
    try:
        settled = settle_contradiction(memory, request.given("one"), request.given("other"), keep)
    except CommonplaceError as error:
        return _refused(memory, request, error)
    did = "both_hold" if keep == "both" else "merged" if request.given("twins") else "superseded"
    return _done(request, did, f"pair:{settled.older.short_id},{settled.newer.short_id}")


def archive_conversations(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Archive conversations: one or several."""
    ids = _ids(request)
    try:
        for id_ in ids:
            update_conversation(memory, id_, ConversationChanges(status="archived"))
    except CommonplaceError as error:
        return _refused(memory, request, error)
    return _done(request, "archived", f"archived:{','.join(ids)}", str(len(ids)))


def keep_conversations(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Let conversations be important enough that they are not suggested again."""
    ids = _ids(request)
    try:
        conversations = [
            update_conversation(memory, id_, ConversationChanges(importance=PRUNE_IMPORTANCE)) for id_ in ids
        ]
    except CommonplaceError as error:
        return _refused(memory, request, error)
    did = "kept" if len(conversations) == 1 else "kept_all"
    return _done(
        request, did, f"kept:{','.join(f'{one.short_id}.{one.rev}' for one in conversations)}", str(len(conversations))
    )


def undo_decision(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Take back a decision: what it was about waits again."""
    kind, _, named = request.given("undo").partition(":")
    ids = [id_ for id_ in named.split(",") if _SHORT_ID.fullmatch(id_)]
    changed = _CHANGED.findall(named) if _ALL_CHANGED.fullmatch(named) else []
    try:
        if kind in ("proposal", "proposals") and ids:
            for id_ in ids:
                review.undo_review(memory, id_)
        elif kind == "pair" and len(ids) == 2:
            reopen_contradiction(memory, ids[0], ids[1])
        elif kind == "archived" and ids:
            for id_ in ids:
                unarchive_conversation(memory, id_)
        elif kind == "kept" and changed:
            for id_, rev in changed:
                undo_conversation_change(memory, id_, int(rev))
        else:
            raise InvalidInput("The request does not say what to undo.", "Go back, and try it from there.")
    except CommonplaceError as error:
        return _refused(memory, request, error)
    return _done(request, "undone_decision", "")


def _done(request: PageRequest, did: str, undo: str, about: str = "") -> Redirect:
    """Back to the page with the filters it had."""
    address = with_query(ADDRESS, {name: request.given(f"at_{name}") for name in FILTERS} | {"undo": undo})
    return Redirect(address, did, about)


def _refused(memory: LocalMemory, request: PageRequest, error: CommonplaceError, held: Item | None = None) -> Rendered:
    """The page with what went wrong; a decision that was sent in the background gets only that."""
    if request.headers.get(PART_HEADER):
        raise error
    return _page(memory, request, error, held)


def _page(
    memory: LocalMemory, request: PageRequest, wrong: CommonplaceError | None = None, held: Item | None = None
) -> Rendered:
    chosen = {name: (request.one(name) or request.given(f"at_{name}"))[:500] for name in FILTERS}
    chosen["show"] = chosen["show"] if chosen["show"] in KINDS else ""
    try:
        project = normalise_project(chosen["project"]) if chosen["project"] else ""
        found = read_inbox(memory, project, _thresholds(chosen))
    except CommonplaceError as error:
        wrong, found = error, read_inbox(memory)
    shown = {kind: not chosen["show"] or chosen["show"] == kind for kind in KINDS}
    values = {
        **_undo_values(request),
        "chosen": chosen,
        "at": {name: value for name, value in chosen.items() if value},
        "shown": shown,
        "counts": _counts(found),
        "kinds": KINDS,
        "proposals": proposals_by_session(memory, found.proposals[:AT_ONCE]),
        "said_in": sessions_by_item(memory, found.proposals[:AT_ONCE]),
        "said_besides": {item.id: said_besides(memory, item) for item in found.proposals[:AT_ONCE]},
        "opposed_by": opposed_by(memory, found.proposals[:AT_ONCE]),
        "contradictions": [(pair, _sides(pair.older, pair.newer)) for pair in found.contradictions[:AT_ONCE]],
        "duplicates": [(pair, _sides(pair.older, pair.newer)) for pair in found.twins[:AT_ONCE]],
        "old": found.conversations[:AT_ONCE],
        "at_once": AT_ONCE,
        "most": MOST_PROPOSALS,
        "bytes": sum(one.session.bytes for one in found.conversations),
        "importance_kept": f"{PRUNE_IMPORTANCE:g}",
        "wrong": wrong,
        "held": held,
        "written": request.given("content"),
        "types": MEMORY_TYPES,
        "projects": project_names(memory),
    }
    return Rendered("review", values, 200 if wrong is None else wrong.http_status)


def _undo_values(request: PageRequest) -> dict[str, Any]:
    filters = {name: request.one(name) or request.given(f"at_{name}") for name in FILTERS}
    return {
        "undoable": request.one("undo")[:2_000],
        "at": {name: value for name, value in filters.items() if value},
        "may_change": request.may("write"),
    }


def _thresholds(chosen: dict[str, str]) -> PruneThresholds:
    return PruneThresholds(
        _number(chosen["days"], PRUNE_DAYS, 0, MAX_DAYS),
        float(_number(chosen["importance"], int(PRUNE_IMPORTANCE), 1, 10)),
        chosen["folder"] or ROOT_FOLDER,
    )


def _number(text: str, default: int, least: int, most: int) -> int:
    if not text:
        return default
    if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise InvalidInput(f"{text[:40]!r} is out of range.", f"Choose a whole number from {least} to {most}.")
    return int(text)


def _counts(found: Inbox) -> dict[str, int]:
    counts = (len(found.proposals), len(found.contradictions), len(found.twins), len(found.conversations))
    return {"": found.total, **dict(zip(KINDS, counts, strict=True))}


def _ids(request: PageRequest) -> Sequence[str]:
    ids = [id_ for id_ in dict.fromkeys(request.chosen("id")) if _SHORT_ID.fullmatch(id_)][:AT_ONCE]
    if not ids:
        raise InvalidInput("Nothing is selected.", "Go back and select at least one.")
    return ids


def _sides(older: Item, newer: Item) -> tuple[Side, Side]:
    """Two statements, the older first, with the words marked that are only in one of them."""
    texts = [redact(item.text) for item in (older, newer)]
    words = [_WORD.findall(text) for text in texts]
    if max(map(len, texts)) > COMPARED:
        return Side(older, escape(texts[0]), "old"), Side(newer, escape(texts[1]), "new")
    found = difflib.SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes()
    marked = (Markup(""), Markup(""))
    for tag, a, b, c, d in found:
        parts = [escape("".join(words[side][start:end])) for side, start, end in ((0, a, b), (1, c, d))]
        if tag != "equal":
            parts = [Markup('<b class="differs">{}</b>').format(part) if part.strip() else part for part in parts]
        marked = (marked[0] + parts[0], marked[1] + parts[1])
    return Side(older, marked[0], "old"), Side(newer, marked[1], "new")
