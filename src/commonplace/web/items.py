"""Items: one with its text, fields, links and history; adding, editing, superseding, forgetting, reverting."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from commonplace.capture.hooks.shown_texts import ShownItem, sessions_shown
from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.memory.conversations import find_session
from commonplace.memory.draft import as_new_item
from commonplace.memory.edit_and_forget import (
    follows_text,
    forget_items,
    is_read_from_text,
    mark_superseded,
    parse_validity,
    restore_items,
    revert_to_revision,
    rewrite_item,
    with_validity,
)
from commonplace.memory.entities import named_in
from commonplace.memory.graph import related_items
from commonplace.memory.history import FieldChange, Stage, belief_history, diff_states, item_state
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import changed_file, record_use
from commonplace.memory.remember import NewItem, remember_all, remember_item
from commonplace.memory.spaces import is_server_admin
from commonplace.model import DETAIL_FIELDS, MEMORY_TYPES, VALIDITY_FIELDS, Item, Session
from commonplace.text.dates import DAY_MS, local_day, parse_time
from commonplace.text.diff import DiffHunk, diff_texts
from commonplace.text.redact import redact
from commonplace.text.sentences import title_of
from commonplace.text.validity import NO_BOUND, describe_interval, read_validity
from commonplace.web.page_handler import PageReply, PageRequest, Redirect, Rendered, project_names
from commonplace.web.rendering import format_moment

# What the program itself notes about an item, which says nothing to people.
OWN_META = (
    "digest",
    "root",
    "printed",
    "went_well",
    "both_hold",
    "same_as",
    "contradicts",
    "compatible",
    "heard",
    "left",
    "verbs",
)
# How many characters of a long text are shown at once, and how many changes are compared.
SHOWN = 20_000
COMPARED = 30
# So long a text is its own heading, unless it is more than a sentence or two.
LONGEST_HEADING = 160
MOST_NAMES = 12
# Sessions that were shown an item, the latest.
MOST_SESSIONS = 8
_MARKUP = re.compile(r"[`*_#\[\n|]")
# Longer texts are compared only up to here.
LONGEST_COMPARED = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A changed field, and how its texts differ."""

    name: str
    change: FieldChange
    hunks: tuple[DiffHunk, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A stage of the history as it is shown; `days` is how long it was so."""

    stage: Stage
    differences: tuple[Difference, ...]
    days: int


def show_item(memory: LocalMemory, request: PageRequest) -> Rendered:
    """One item by any spelling of its id; a friendly page if there is none."""
    page = item_page(memory, request, request.path["id"])
    if "item" in page.values:
        record_use(memory, [page.values["item"]])
    return page


def item_page(
    memory: LocalMemory,
    request: PageRequest,
    id_: str,
    wrong: CommonplaceError | None = None,
    written: Mapping[str, str] | None = None,
    status: int = 200,
) -> Rendered:
    """The page of an item; `written` is what somebody entered that could not be saved, to be shown again."""
    try:
        found = get_item(memory, id_, forgotten=True)
    except (NotFound, InvalidInput):
        return Rendered("item_none", {"id": id_[:100]}, 404)
    may_change = request.may("write")
    editing = may_change and found.forgotten_ms is None and bool(request.one("edit") or written)
    values: dict[str, Any] = {
        "item": found,
        "heading": heading(found),
        "text": _text(found, whole=bool(request.one("all"))),
        "names": names_in(found),
        "plain": bool(request.one("plain")),
        "details": [(name, found.details[name]) for name in DETAIL_FIELDS[found.kind] if _own(found, name)],
        "meta": [(name, _as_text(value)) for name, value in found.meta.items() if name not in OWN_META],
        "changed_file": changed_file(found),
        "related": related_items(memory, found),
        "versions": _versions(memory, found),
        "may_change": may_change and found.forgotten_ms is None,
        "may_restore": may_change,
        "interval": describe_interval(found.valid_from_ms, found.valid_until_ms),
        "interval_read": is_read_from_text(found),
        "holds": found.holds_at(memory.clock()),
        "shown": _shown(memory, request, found),
        "editing": editing,
        "wrong": wrong,
        "written": {**form_values(found), "rev": found.rev, **(written or {})} if editing else {},
        "replacing": {"replacement": "", "by": ""},
    }
    return Rendered("item", values | (choices(memory) if editing else {}), status)


def heading(found: Item) -> str:
    """Its title, or else the beginning of its text; instead of a title that was cut off, a short text as a whole."""
    title, text = redact(found.title), redact(found.text[: 2 * LONGEST_HEADING]).strip()
    was_cut = title.endswith("…") and text.startswith(title.removesuffix("…"))
    if was_cut and len(text) <= LONGEST_HEADING and not _MARKUP.search(text):
        return text
    return title or title_of(found.text) or found.short_id


def _shown(memory: LocalMemory, request: PageRequest, found: Item) -> list[tuple[ShownItem, Session | None]]:
    """The sessions of this machine that were shown an item, for those who may know what happens on it."""
    if found.kind != "memory" or not (request.may("admin") and is_server_admin(memory, request.key)):
        return []
    return [
        (one, _stored(memory, one.session)) for one in sessions_shown(memory.settings, found.short_id, MOST_SESSIONS)
    ]


def _stored(memory: LocalMemory, key: str) -> Session | None:
    """A session by its key, if anything of it has been stored."""
    with contextlib.suppress(NotFound, InvalidInput):
        return find_session(memory, key)
    return None


def names_in(found: Item) -> list[str]:
    """The people and things that a statement names, and of which something is known therefore."""
    if found.kind != "memory" or found.forgotten_ms is not None:
        return []
    return [one.name for one in named_in(found).values() if one.strong][:MOST_NAMES]


def choices(memory: LocalMemory) -> dict[str, Any]:
    """What forms for items offer to choose from."""
    return {"types": MEMORY_TYPES, "projects": project_names(memory)}


def form_values(found: Item) -> dict[str, str]:
    """The fields of an item as its form shows them: without secrets, so that what was not touched compares equal."""
    return {
        "title": redact(found.title),
        "content": redact(found.body),
        "type": found.type,
        "project": found.project or "",
        "tags": redact(", ".join(found.tags)),
        "importance": "" if found.importance is None else f"{found.importance:g}",
        "valid_from": "" if found.valid_from_ms is None else local_day(found.valid_from_ms),
        # The last day on which it holds, or is shown.
        "valid_until": "" if found.valid_until_ms is None else local_day(found.valid_until_ms - 1),
        "expires": "" if found.expires_ms is None else local_day(found.expires_ms - 1),
        **{f"details.{name}": redact(value) for name, value in found.details.items()},
    }


def compare_field(change: FieldChange) -> Difference:
    """A changed field, ready to be shown."""
    before, after = redact(change.before), redact(change.after)
    if f"{change.name}_ms" in VALIDITY_FIELDS:
        before, after = (format_moment(parse_time(text, local=False)) if text else "" for text in (before, after))
    if max(len(before), len(after)) > LONGEST_COMPARED:
        before, after = before[:LONGEST_COMPARED], after[:LONGEST_COMPARED]
    return Difference(change.name, change, tuple(diff_texts(before, after)))


@dataclass(frozen=True, slots=True)
class _Part:
    """A text, or its shown part."""

    title: str
    shown: str
    length: int
    is_whole: bool

    @property
    def opens_with_title(self) -> bool:
        """Whether the text begins with its title, which then need not be shown above it."""
        start = " ".join(self.title.removesuffix("…").split())
        return bool(start) and self.is_whole and " ".join(self.shown[: 2 * len(start) + 20].split()).startswith(start)

    @property
    def below_title(self) -> str:
        """The text without a first heading that only repeats the title."""
        first, _, rest = self.shown.lstrip().partition("\n")
        return rest if first.startswith("#") and rest.strip() and title_of(first) == self.title else self.shown


def _text(found: Item, *, whole: bool) -> _Part:
    text = found.text
    if whole or len(text) <= SHOWN:
        return _Part(found.title, text, len(text), is_whole=True)
    border = text.rfind("\n", SHOWN // 2, SHOWN)
    return _Part(found.title, text[: border if border > 0 else SHOWN], len(text), is_whole=False)


def _own(found: Item, name: str) -> bool:
    """Whether a field is shown by itself; a narrative without a text is shown as the text."""
    return bool(found.details.get(name)) and not (name == "narrative" and not found.body.strip())


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _versions(memory: LocalMemory, found: Item) -> list[Version]:
    stages, now = belief_history(memory, found), memory.clock()
    return [
        Version(
            stage,
            _differences(stage) if n < COMPARED else (),
            max(0, (now if stage.until_ms is None else stage.until_ms) - stage.at_ms) // DAY_MS,
        )
        for n, stage in enumerate(stages)
    ]


def _differences(stage: Stage) -> tuple[Difference, ...]:
    """What changed. A title that only repeats the beginning of the text is not told twice."""
    own = title_of(stage.text)
    return tuple(compare_field(one) for one in stage.changed if one.name != "title" or one.after != own)


_FIELDS = ("title", "content", "type", "project", "tags", "importance", "valid_from", "valid_until", "expires")


def edit_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Save what the form holds, unless somebody else changed the item meanwhile: then both versions are shown."""
    old = get_item(memory, request.path["id"], forgotten=True)
    rev = request.number("rev", 0, 0, 2**31)
    written = {**_read_item_form(request), "rev": str(rev)}
    try:
        new_item = _edited(old, written, memory.clock())
        if old.rev != rev:
            return _conflict_page(old, new_item, written)
        if new_item == as_new_item(old):
            return Redirect(_path(old))
        rewrite_item(memory, old, new_item, rev)
    except Conflict as error:
        current = get_item(memory, old.id, forgotten=True)
        if current.rev != rev:
            return _conflict_page(current, _edited(current, written, memory.clock()), written)
        return item_page(memory, request, old.short_id, error, written, error.http_status)
    except CommonplaceError as error:
        return item_page(memory, request, old.short_id, error, written, error.http_status)
    return Redirect(_path(old), "changed", old.short_id)


def supersede_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Supersede an item by another, named by its id or written now."""
    old = get_item(memory, request.path["id"])
    named, text = request.given("by").strip(), request.given("replacement")
    try:
        if not named and not text.strip():
            raise InvalidInput("Nothing replaces it.", "Write what does, or give its id.")
        # A replacement that differs only in a full stop or capitals is a change too.
        by = named or remember_all(memory, [_replacement(old, text)])[0].id
        _old, new = mark_superseded(memory, old.id, by)
    except CommonplaceError as error:
        entered = {"replacement": text, "by": named}
        shown = item_page(memory, request, old.short_id, error, None, error.http_status)
        return replace(shown, values={**shown.values, "replacing": entered})
    return Redirect(_path(new), "replaced", old.short_id)


def forget_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Forget an item: it is left out of every answer."""
    (item,) = forget_items(memory, [request.path["id"]])
    return Redirect(_path(item), "forgot", item.short_id)


def restore_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Restore an item that was forgotten or superseded."""
    (item,) = restore_items(memory, [request.path["id"]])
    return Redirect(_path(item), "restored", item.short_id)


def revert_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Go back to an earlier revision of an item."""
    item = revert_to_revision(memory, request.path["id"], request.number("rev", 0, 1, 2**31))
    return Redirect(_path(item), "reverted", item.short_id)


def parse_tags(text: str) -> tuple[str, ...]:
    """Tags separated by commas."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def parse_importance(text: str) -> float | None:
    """An importance from 0 to 10; None if the text is empty."""
    if not text.strip():
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is not an importance.", "Write a number from 0 to 10.") from None


def _read_item_form(request: PageRequest) -> dict[str, str]:
    """The fields of the form, with the line ends that a browser adds undone."""
    names = [*_FIELDS, *(name for name in request.form if name.startswith("details."))]
    return {name: request.given(name).replace("\r\n", "\n") for name in names if name in request.form}


def _edited(old: Item, written: dict[str, str], now_ms: int) -> NewItem:
    """The item with the changed fields. A title that was taken from the text, or when it holds, is taken again."""
    was = form_values(old)
    new = {name: text for name, text in written.items() if text != was.get(name, text).replace("\r\n", "\n")}
    new_item = as_new_item(old)
    if "title" in new or ("content" in new and old.title == title_of(old.body)):
        new_item = replace(new_item, title=new.get("title", "").strip())
    if "project" in new:
        new_item = replace(new_item, project=new["project"].strip() or None)
    if "tags" in new:
        new_item = replace(new_item, tags=parse_tags(new["tags"]))
    if "importance" in new:
        new_item = replace(new_item, importance=parse_importance(new["importance"]))
    bounds = {name: new[name] or NO_BOUND for name in ("valid_from", "valid_until", "expires") if name in new}
    moments: dict[str, Any] = parse_validity(now_ms, **bounds)
    for name in moments:
        moments[name] = None if moments[name] == NO_BOUND else moments[name]
    new_item = replace(new_item, **moments)
    if "content" in new and not {"valid_from", "valid_until"} & bounds.keys() and follows_text(old):
        read = read_validity(new["content"], now_ms)
        new_item = replace(new_item, valid_from_ms=read.from_ms, valid_until_ms=read.until_ms)
    details = {name: new.get(f"details.{name}", value) for name, value in old.details.items()}
    return replace(
        new_item,
        content=new.get("content", new_item.content),
        type=new.get("type", new_item.type).strip(),
        details=details,
    )


def _conflict_page(current: Item, mine: NewItem, written: dict[str, str]) -> Rendered:
    """The current version and the one that was entered, with their differences."""
    theirs = item_state(current)
    names = ("type", "project", "importance", "details", *VALIDITY_FIELDS)
    ours = {**theirs, **{name: getattr(mine, name) for name in names}}
    ours |= {"title": mine.title or title_of(mine.content), "body": mine.content, "tags": mine.tags}
    changed = [compare_field(one) for one in diff_states(theirs, ours)]
    values = {"item": current, "heading": heading(current), "written": written, "differences": changed}
    return Rendered("item_conflict", values, 409)


def _replacement(old: Item, text: str) -> NewItem:
    """A replacement belongs to the same project, session and tags."""
    is_event = old.kind in ("message", "summary", "checkpoint")
    return NewItem(
        text.replace("\r\n", "\n"),
        kind="memory" if is_event else old.kind,
        type="note" if is_event else old.type,
        project=old.project,
        session=None if old.kind == "memory" else old.session,
        tags=old.tags,
        importance=old.importance,
    )


def _path(item: Item) -> str:
    return f"/items/{item.short_id}"


def new_item_form(memory: LocalMemory, request: PageRequest) -> Rendered:
    """A form for a new item; a link may fill in some of it. Most of what is added is about the last project."""
    written = {name: request.one(name) for name in _FIELDS}
    written["type"] = written["type"] or "note"
    offered = choices(memory)
    written["project"] = written["project"] or next(iter(offered["projects"]), "")
    return Rendered("add", {"written": written, "wrong": None, **offered})


def add_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Store a new item; after an error the form keeps what was written."""
    written = {name: request.given(name).replace("\r\n", "\n") for name in _FIELDS}
    try:
        new_item = NewItem(
            written["content"],
            type=written["type"].strip(),
            title=written["title"].strip(),
            project=written["project"].strip() or None,
            tags=parse_tags(written["tags"]),
            importance=parse_importance(written["importance"]),
        )
        times = (written[name] for name in ("valid_from", "valid_until", "expires"))
        stored = remember_item(memory, with_validity(new_item, memory.clock(), *times))
    except CommonplaceError as error:
        return Rendered("add", {"written": written, "wrong": error, **choices(memory)}, error.http_status)
    return Redirect(f"/items/{stored.item.short_id}", "known" if stored.duplicate else "added")
