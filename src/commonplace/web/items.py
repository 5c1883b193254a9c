"""Item: everything known about one remembered thing, what it was, and what leads on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.memory.edit_and_forget import forget_items, mark_superseded, restore_items
from commonplace.memory.graph import related_items
from commonplace.memory.items import changed_file, get_item, list_projects
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, as_new_item, remember, remember_all, rewrite_item
from commonplace.memory.revisions import FieldChange, Revision, item_revisions, item_state, revert_to_revision
from commonplace.memory.revisions import diff_states as fields_compared
from commonplace.model import DETAIL_FIELDS, MEMORY_TYPES, Item
from commonplace.text.diff import DiffHunk, diff_texts
from commonplace.text.redact import redact
from commonplace.text.titles import title_of
from commonplace.web.page import PageReply, PageRequest, Redirect, Rendered

# As much of a long text as is shown at once, and as many changes as are compared.
SHOWN = 20_000
COMPARED = 30
# Longer ones are compared word by word by nobody.
LONGEST_COMPARED = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that a change changed; a short one is told as a whole, a long one by what differs."""

    name: str
    change: FieldChange
    stretches: tuple[DiffHunk, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A change as it is shown."""

    revision: Revision
    differences: tuple[Difference, ...]


def show_item(memory: LocalMemory, request: PageRequest) -> Rendered:
    """One item by any spelling of its id. What is not there is said kindly."""
    return item_page(memory, request, request.path["id"])


def item_page(
    memory: LocalMemory,
    request: PageRequest,
    id_: str,
    wrong: CommonplaceError | None = None,
    written: Mapping[str, str] | None = None,
    status: int = 200,
) -> Rendered:
    """The page of an item; `written` is what somebody wrote there that could not be kept, and is still to be seen."""
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
        "plain": bool(request.one("plain")),
        "details": [(name, redact(found.details[name])) for name in DETAIL_FIELDS[found.kind] if _own(found, name)],
        "meta": [(name, redact(_as_text(value))) for name, value in found.meta.items()],
        "changed_file": changed_file(found),
        "related": related_items(memory, found),
        "versions": _versions(memory, found) if found.rev > 1 else [],
        "may_change": may_change and found.forgotten_ms is None,
        "may_restore": may_change,
        "editing": editing,
        "wrong": wrong,
        "written": {**form_values(found), "rev": found.rev, **(written or {})} if editing else {},
        "replacing": {"replacement": "", "by": ""},
    }
    return Rendered("item", values | (choices(memory) if editing else {}), status)


def heading(found: Item) -> str:
    """What to call it: its title, or else how its text begins."""
    return redact(found.title) or title_of(found.text) or found.short_id


def choices(memory: LocalMemory) -> dict[str, Any]:
    """What forms about items offer."""
    return {"types": MEMORY_TYPES, "projects": [project.name for project in list_projects(memory)]}


def form_values(found: Item) -> dict[str, str]:
    """An item as the fields of its form."""
    return {
        "title": redact(found.title),
        "content": redact(found.body),
        "type": found.type,
        "project": found.project or "",
        "tags": redact(", ".join(found.tags)),
        "importance": "" if found.importance is None else f"{found.importance:g}",
        **{f"details.{name}": redact(value) for name, value in found.details.items()},
    }


def compare_field(change: FieldChange) -> Difference:
    """A changed field, ready to be shown."""
    before, after = redact(change.before), redact(change.after)
    if max(len(before), len(after)) > LONGEST_COMPARED:
        before, after = before[:LONGEST_COMPARED], after[:LONGEST_COMPARED]
    return Difference(change.name, change, tuple(diff_texts(before, after)))


@dataclass(frozen=True, slots=True)
class _Part:
    """A text, or as much of it as is shown."""

    title: str
    shown: str
    length: int
    is_whole: bool

    @property
    def below_title(self) -> str:
        """The text without a heading at its beginning that says what the title says."""
        first, _, rest = self.shown.lstrip().partition("\n")
        return rest if first.startswith("#") and rest.strip() and title_of(first) == self.title else self.shown


def _text(found: Item, *, whole: bool) -> _Part:
    text = found.text
    if whole or len(text) <= SHOWN:
        return _Part(found.title, text, len(text), is_whole=True)
    border = text.rfind("\n", SHOWN // 2, SHOWN)
    return _Part(found.title, text[: border if border > 0 else SHOWN], len(text), is_whole=False)


def _own(found: Item, name: str) -> bool:
    """Whether a field is told by itself; a narrative that stands for the text is told as that."""
    return bool(found.details.get(name)) and not (name == "narrative" and not found.body.strip())


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _versions(memory: LocalMemory, found: Item) -> list[Version]:
    changes = item_revisions(memory, found.id)
    return [
        Version(one, tuple(map(compare_field, one.changed)) if n < COMPARED else ()) for n, one in enumerate(changes)
    ]


_FIELDS = ("title", "content", "type", "project", "tags", "importance")


def edit_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Let an item say what the form says, unless somebody else was quicker: then both are shown."""
    old = get_item(memory, request.path["id"], forgotten=True)
    rev = request.number("rev", 0, 0, 2**31)
    written = {**_read_item_form(request), "rev": str(rev)}
    try:
        note = _noted(old, written)
        if old.rev != rev:
            return _conflict_page(old, note, written)
        if note == as_new_item(old):
            return Redirect(_path(old))
        rewrite_item(memory, old, note, rev)
    except Conflict as error:
        current = get_item(memory, old.id, forgotten=True)
        if current.rev != rev:
            return _conflict_page(current, _noted(current, written), written)
        return item_page(memory, request, old.short_id, error, written, error.http_status)
    except CommonplaceError as error:
        return item_page(memory, request, old.short_id, error, written, error.http_status)
    return Redirect(_path(old), "changed", old.short_id)


def supersede_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Another item takes the place of this one: one that is named, or one that is written now."""
    old = get_item(memory, request.path["id"])
    named, text = request.given("by").strip(), request.given("replacement")
    try:
        if not named and not text.strip():
            raise InvalidInput("Nothing takes its place.", "Write what does, or name its id.")
        # A replacement that differs in a full stop or capitals only is a change all the same.
        by = named or remember_all(memory, [_replacement(old, text)])[0].id
        _old, new = mark_superseded(memory, old.id, by)
    except CommonplaceError as error:
        kept = {"replacement": text, "by": named}
        shown = item_page(memory, request, old.short_id, error, None, error.http_status)
        return replace(shown, values={**shown.values, "replacing": kept})
    return Redirect(_path(new), "replaced", old.short_id)


def forget_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Take it out of every answer."""
    (item,) = forget_items(memory, [request.path["id"]])
    return Redirect(_path(item), "forgot", item.short_id)


def restore_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Undo forgetting or superseding."""
    (item,) = restore_items(memory, [request.path["id"]])
    return Redirect(_path(item), "restored", item.short_id)


def revert_item(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Let it say again what it said at a revision."""
    item = revert_to_revision(memory, request.path["id"], request.number("rev", 0, 1, 2**31))
    return Redirect(_path(item), "reverted", item.short_id)


def parse_tags(text: str) -> tuple[str, ...]:
    """Tags as people write them, with commas between."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def parse_importance(text: str) -> float | None:
    """How important something is, 0 to 10; empty if nobody said."""
    if not text.strip():
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no importance.", "Write a number from 0 to 10.") from None


def _read_item_form(request: PageRequest) -> dict[str, str]:
    """What the form holds, with the line ends that a browser makes as they were."""
    names = [*_FIELDS, *(name for name in request.form if name.startswith("details."))]
    return {name: request.given(name).replace("\r\n", "\n") for name in names if name in request.form}


def _noted(old: Item, written: dict[str, str]) -> NewItem:
    """The item with what was written; what was not touched stays as it is. A title taken from the text follows it."""
    was = form_values(old)
    new = {name: text for name, text in written.items() if text != was.get(name, text).replace("\r\n", "\n")}
    note = as_new_item(old)
    if "title" in new or ("content" in new and old.title == title_of(old.body)):
        note = replace(note, title=new.get("title", "").strip())
    if "project" in new:
        note = replace(note, project=new["project"].strip() or None)
    if "tags" in new:
        note = replace(note, tags=parse_tags(new["tags"]))
    if "importance" in new:
        note = replace(note, importance=parse_importance(new["importance"]))
    details = {name: new.get(f"details.{name}", value) for name, value in old.details.items()}
    return replace(
        note, content=new.get("content", note.content), type=new.get("type", note.type).strip(), details=details
    )


def _conflict_page(current: Item, mine: NewItem, written: dict[str, str]) -> Rendered:
    """Both versions, and how they differ."""
    theirs = item_state(current)
    ours = {**theirs, **{name: getattr(mine, name) for name in ("type", "project", "importance", "details")}}
    ours |= {"title": mine.title or title_of(mine.content), "body": mine.content, "tags": mine.tags}
    changed = [compare_field(one) for one in fields_compared(theirs, ours)]
    values = {"item": current, "heading": heading(current), "written": written, "differences": changed}
    return Rendered("item_conflict", values, 409)


def _replacement(old: Item, text: str) -> NewItem:
    """What is written in place of an item belongs where that did."""
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


_NEW_ITEM_FIELDS = ("title", "content", "type", "project", "tags", "importance")


def new_item_form(memory: LocalMemory, request: PageRequest) -> Rendered:
    """An empty form; a link may fill in some of it."""
    written = {name: request.one(name) for name in _NEW_ITEM_FIELDS}
    return Rendered("add", {"written": written | {"type": written["type"] or "note"}, "wrong": None, **choices(memory)})


def add_item(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Keep what was written; what cannot be kept stays in the form."""
    written = {name: request.given(name).replace("\r\n", "\n") for name in _NEW_ITEM_FIELDS}
    try:
        note = NewItem(
            written["content"],
            type=written["type"].strip(),
            title=written["title"].strip(),
            project=written["project"].strip() or None,
            tags=parse_tags(written["tags"]),
            importance=parse_importance(written["importance"]),
        )
        stored = remember(memory, note)
    except CommonplaceError as error:
        return Rendered("add", {"written": written, "wrong": error, **choices(memory)}, error.http_status)
    return Redirect(f"/items/{stored.uid[-12:]}", "known" if stored.duplicate else "added")
