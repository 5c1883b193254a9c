"""Changing an item on its page: write it anew, replace it, forget it, bring it back. Nothing written is lost."""

from __future__ import annotations

from dataclasses import replace

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget, restore
from commonplace.memory.remember import Note, note_of, remember_all, rewrite
from commonplace.memory.revert import revert
from commonplace.memory.revisions import compared as fields_compared
from commonplace.memory.revisions import state_of
from commonplace.memory.supersede import supersede
from commonplace.model import Item
from commonplace.text.summarise import title_of
from commonplace.web.item import compared, heading, page_of, written_in
from commonplace.web.page import Asked, Gone, Reply, Shown

_FIELDS = ("title", "content", "type", "project", "tags", "importance")


def change(book: Book, asked: Asked) -> Reply:
    """Let an item say what the form says, unless somebody else was quicker: then both are shown."""
    old = fetch_one(book, asked.path["id"], forgotten=True)
    rev = asked.number("rev", 0, 0, 2**31)
    written = {**_written(asked), "rev": str(rev)}
    try:
        note = _noted(old, written)
        if old.rev != rev:
            return _quicker(old, note, written)
        if note == note_of(old):
            return Gone(_path(old))
        rewrite(book, old, note, rev)
    except Conflict as error:
        current = fetch_one(book, old.id, forgotten=True)
        if current.rev != rev:
            return _quicker(current, _noted(current, written), written)
        return page_of(book, asked, old.short_id, error, written, error.http_status)
    except CommonplaceError as error:
        return page_of(book, asked, old.short_id, error, written, error.http_status)
    return Gone(_path(old), "changed", old.short_id)


def replace_it(book: Book, asked: Asked) -> Reply:
    """Another item takes the place of this one: one that is named, or one that is written now."""
    old = fetch_one(book, asked.path["id"])
    named, text = asked.given("by").strip(), asked.given("replacement")
    try:
        if not named and not text.strip():
            raise InvalidInput("Nothing takes its place.", "Write what does, or name its id.")
        # A replacement that differs in a full stop or capitals only is a change all the same.
        by = named or remember_all(book, [_replacement(old, text)])[0].id
        _old, new = supersede(book, old.id, by)
    except CommonplaceError as error:
        kept = {"replacement": text, "by": named}
        shown = page_of(book, asked, old.short_id, error, None, error.http_status)
        return replace(shown, values={**shown.values, "replacing": kept})
    return Gone(_path(new), "replaced", old.short_id)


def forget_it(book: Book, asked: Asked) -> Gone:
    """Take it out of every answer."""
    (item,) = forget(book, [asked.path["id"]])
    return Gone(_path(item), "forgot", item.short_id)


def bring_back(book: Book, asked: Asked) -> Gone:
    """Undo forgetting or superseding."""
    (item,) = restore(book, [asked.path["id"]])
    return Gone(_path(item), "restored", item.short_id)


def go_back(book: Book, asked: Asked) -> Gone:
    """Let it say again what it said at a revision."""
    item = revert(book, asked.path["id"], asked.number("rev", 0, 1, 2**31))
    return Gone(_path(item), "reverted", item.short_id)


def tags_of(text: str) -> tuple[str, ...]:
    """Tags as people write them, with commas between."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def importance_of(text: str) -> float | None:
    """How important something is, 0 to 10; empty if nobody said."""
    if not text.strip():
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no importance.", "Write a number from 0 to 10.") from None


def _written(asked: Asked) -> dict[str, str]:
    """What the form holds, with the line ends that a browser makes as they were."""
    names = [*_FIELDS, *(name for name in asked.form if name.startswith("details."))]
    return {name: asked.given(name).replace("\r\n", "\n") for name in names if name in asked.form}


def _noted(old: Item, written: dict[str, str]) -> Note:
    """The item with what was written; what was not touched stays as it is. A title taken from the text follows it."""
    was = written_in(old)
    new = {name: text for name, text in written.items() if text != was.get(name, text).replace("\r\n", "\n")}
    note = note_of(old)
    if "title" in new or ("content" in new and old.title == title_of(old.body)):
        note = replace(note, title=new.get("title", "").strip())
    if "project" in new:
        note = replace(note, project=new["project"].strip() or None)
    if "tags" in new:
        note = replace(note, tags=tags_of(new["tags"]))
    if "importance" in new:
        note = replace(note, importance=importance_of(new["importance"]))
    details = {name: new.get(f"details.{name}", value) for name, value in old.details.items()}
    return replace(
        note, content=new.get("content", note.content), type=new.get("type", note.type).strip(), details=details
    )


def _quicker(current: Item, mine: Note, written: dict[str, str]) -> Shown:
    """Both versions, and how they differ."""
    theirs = state_of(current)
    ours = {**theirs, **{name: getattr(mine, name) for name in ("type", "project", "importance", "details")}}
    ours |= {"title": mine.title or title_of(mine.content), "body": mine.content, "tags": mine.tags}
    changed = [compared(one) for one in fields_compared(theirs, ours)]
    values = {"item": current, "heading": heading(current), "written": written, "differences": changed}
    return Shown("item_conflict", values, 409)


def _replacement(old: Item, text: str) -> Note:
    """What is written in place of an item belongs where that did."""
    is_event = old.kind in ("message", "summary", "checkpoint")
    return Note(
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
