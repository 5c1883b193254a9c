"""Items over HTTP: remember, read, change, forget, and what became of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.dialects.records import brief, change_record, contradiction_record, id_of, record
from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.identity import HINT, ref
from commonplace.memory.book import Book
from commonplace.memory.browse import MAX_PAGE, browse
from commonplace.memory.contradictions import contradictions
from commonplace.memory.edit import Changes, edit
from commonplace.memory.enrich import enrich
from commonplace.memory.fetch import fetch_one
from commonplace.memory.fetch import history as changes_of_item
from commonplace.memory.forget import forget as take_out
from commonplace.memory.forget import restore as bring_back
from commonplace.memory.remember import remember, remember_all
from commonplace.memory.revert import revert as go_back
from commonplace.memory.supersede import supersede as replace_by
from commonplace.memory.timeline import timeline as moments_around
from commonplace.model import DETAIL_FIELDS, Item, Kind, Scope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked, etag_of
from commonplace.rest.fields import Strict
from commonplace.rest.notes import ItemChanges, NewItem, NewItems, changes_of, note_of
from commonplace.text.periods import stretch

Kinds = Annotated[list[Kind], Field(max_length=10)]
Types = Annotated[list[fields.Type], Field(max_length=50)]
DEEPEST = 50


class Narrowed(Strict):
    """Which part of the memory is meant."""

    project: fields.Place | None = Field(None, description="Only this project; all of them if omitted.")
    global_: bool = Field(False, alias="global", description="Only what belongs to no project.")
    kind: Kinds = Field([], description="Only this kind; may be repeated.")
    type: Types = Field([], description="Only this type; may be repeated.")
    tag: Annotated[str, Field(max_length=1000)] = Field("", description="Only with a tag that contains this.")
    since: fields.Since | None = None
    until: fields.Until | None = None

    def scope(self, now_ms: int) -> Scope:
        time = stretch(self.since, self.until, now_ms)
        return Scope(
            project=self.project,
            only_global=self.global_,
            kinds=tuple(self.kind),
            types=tuple(self.type),
            tag=self.tag,
            since_ms=time.from_ms,
            until_ms=time.to_ms,
        )


class Listed(Narrowed):
    """A page of items."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 20
    cursor: fields.Cursor | None = None


class Seen(Strict):
    """How an item is read."""

    forgotten: bool = Field(False, description="Show it even if it was forgotten.")


class Around(Strict):
    """How far a timeline reaches."""

    before: Annotated[int, Field(ge=0, le=DEEPEST), fields.WHOLE] = 5
    after: Annotated[int, Field(ge=0, le=DEEPEST), fields.WHOLE] = 5


class Reverted(Strict):
    """Which revision to go back to; without one, what was before the last change."""

    rev: fields.Rev | None = None


class Superseding(Strict):
    """Which item takes the place of this one."""

    by: fields.Id


def listing(book: Book, asked: Asked[Listed, None]) -> Answer:
    """A page of what is remembered, newest first."""
    wanted = asked.query
    page = browse(book, wanted.scope(book.clock()), wanted.limit, wanted.cursor or None)
    return Answer({"items": [record(item) for item in page.items], "next_cursor": page.next_cursor})


def create(book: Book, asked: Asked[None, NewItem]) -> Answer:
    """Remember one thing. The same again is found, and gets the tags and metadata it did not have."""
    note = note_of(asked.body)
    stored = remember(book, note)
    item = fetch_one(book, stored.id)
    if stored.duplicate:
        item = enrich(book, item, note.tags, note.meta)
    data = created(book, item, duplicate=stored.duplicate)
    headers = {"Location": f"/api/v1/items/{item.id}"}
    return Answer(data, status=200 if stored.duplicate else 201, etag=etag_of(item), headers=headers)


def create_batch(book: Book, asked: Asked[None, NewItems]) -> Answer:
    """Remember several things in one transaction."""
    stored = remember_all(book, [note_of(new) for new in asked.body.items])
    rows = [{"id": one.id, "uid": one.uid, "short_id": one.uid[-12:], "duplicate": one.duplicate} for one in stored]
    again = sum(one.duplicate for one in stored)
    return Answer({"items": rows, "stored": len(rows) - again, "duplicates": again}, status=201)


def read(book: Book, asked: Asked[Seen, None]) -> Answer:
    """Everything about an item."""
    return _told(_meant(book, asked.path["id"], forgotten=asked.query.forgotten))


def change(book: Book, asked: Asked[None, ItemChanges]) -> Answer:
    """Change what is named; the rest stays. What it was goes to its history."""
    wanted = asked.body
    item = _meant(book, asked.path["id"])
    rev = asked.rev_of(item, wanted.rev)
    changes = changes_of(wanted)
    unknown = sorted(set(changes.details or ()) - set(DETAIL_FIELDS[item.kind]))
    if unknown:
        raise Conflict(
            f"Item {item.id} is a {item.kind}, and those have no {', '.join(unknown)}.",
            f"Their fields are {', '.join(DETAIL_FIELDS[item.kind])}.",
        )
    old = None if wanted.supersedes is None else _meant(book, wanted.supersedes).id
    if changes == Changes() and old is None:
        return _told(item)
    return _told(edit(book, item.id, changes, rev, old))


def forget(book: Book, asked: Asked[None, None]) -> Answer:
    """Take an item out of every answer; it can be restored."""
    item = _meant(book, asked.path["id"], forgotten=True)
    asked.rev_of(item)
    take_out(book, [item.id])
    return Answer({"forgotten": brief(item)})


def restore(book: Book, asked: Asked[None, None]) -> Answer:
    """Bring a forgotten or superseded item back."""
    item = _meant(book, asked.path["id"], forgotten=True)
    asked.rev_of(item)
    bring_back(book, [item.id])
    return _told(fetch_one(book, item.id))


def history(book: Book, asked: Asked[None, None]) -> Answer:
    """What an item was before each change, oldest first."""
    item = _meant(book, asked.path["id"], forgotten=True)
    changes = [change_record(one) for one in changes_of_item(book, item.id)]
    return Answer({"id": item.id, "uid": item.uid, "rev": item.rev, "changes": changes})


def revert(book: Book, asked: Asked[None, Reverted]) -> Answer:
    """Bring back what an item said before; that is a change too."""
    item = _meant(book, asked.path["id"])
    asked.rev_of(item)
    try:
        return _told(go_back(book, item.id, asked.body.rev))
    except InvalidInput as error:
        # The request is sound; it is the item that has nothing to go back to.
        raise Conflict(error.message, error.hint) from error


def supersede(book: Book, asked: Asked[None, Superseding]) -> Answer:
    """Let another item take the place of this one."""
    item = _meant(book, asked.path["id"])
    asked.rev_of(item)
    replaced, replacing = replace_by(book, item.id, by=_meant(book, asked.body.by).id)
    return Answer({"superseded": brief(replaced), "by": brief(replacing)})


def timeline(book: Book, asked: Asked[Around, None]) -> Answer:
    """What happened before and after an item, in any project, oldest first."""
    item = _meant(book, asked.path["id"])
    moments = moments_around(book, item.id, asked.query.before, asked.query.after)
    return Answer({"timeline": [{**record(one.item), "position": one.position} for one in moments]})


def created(book: Book, item: Item, *, duplicate: bool) -> dict[str, object]:
    """A new item, and the earlier ones that it may contradict."""
    against = [contradiction_record(one) for one in contradictions(book, item)]
    return {**record(item), "duplicate": duplicate, "contradicts": against}


def _told(item: Item) -> Answer:
    return Answer(record(item), etag=etag_of(item))


def _meant(book: Book, text: str, *, forgotten: bool = False) -> Item:
    """The item that an id of any spelling means. What cannot be an id is one that nothing answers to."""
    try:
        ref(text)
    except InvalidInput as error:
        raise NotFound(f"There is no item {text[:60]!r}.", HINT) from error
    return fetch_one(book, id_of(text), forgotten=forgotten)
