"""Items over HTTP: remembered, changed, read, listed and forgotten, under the names that their record has; streams.

A stream is a memory that arrives in chunks.
"""

from __future__ import annotations

import functools
import operator
import re
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired, Self, TypedDict

from pydantic import ConfigDict, Discriminator, Field, RootModel, Tag, create_model, model_validator

from commonplace.dialects.records import (
    ChangeRecord,
    ContradictionRecord,
    ItemBrief,
    ItemRecord,
    StreamRecord,
    change_record,
    contradiction_record,
    item_brief,
    item_record,
    parse_id,
    stream_record,
)
from commonplace.dialects.reply_schema import Json, component
from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory import edit_and_forget, streamed_memories
from commonplace.memory.draft import MAX_PATHS
from commonplace.memory.edit_and_forget import Changes, edit_item, parse_validity, with_validity
from commonplace.memory.items import MAX_PAGE, browse_items, get_item
from commonplace.memory.items import item_history as changes_of_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.memory.recall import record_use
from commonplace.memory.remember import NewItem, Remembered, remember_all, remember_item
from commonplace.memory.timeline import timeline
from commonplace.model import DETAIL_FIELDS, ID_HINT, KINDS, PROPOSED, Item, Kind, ref
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest, etag_of
from commonplace.rest.fields import Strict

MAX_BATCH = 500
DETAILS: tuple[str, ...] = tuple(dict.fromkeys(name for names in DETAIL_FIELDS.values() for name in names))
# Lists in requests; one text each where they are stored.
_LISTS = {"concepts": ", ", "files_read": ", ", "files_modified": ", ", "relevant_files": ", ", "paths": "\n"}
_Names = Annotated[list[fields.Text], Field(max_length=1000)]
_Globs = Annotated[list[fields.Glob], Field(max_length=MAX_PATHS)]
_TYPES: dict[str, Any] = dict.fromkeys(_LISTS, _Names) | {"paths": _Globs, "category": fields.Category}
_VISIBLE = re.compile(fields.VISIBLE_CHARACTER)


class _ItemFields(Strict):
    content: fields.Text | None = None
    type: fields.Type | None = None
    title: fields.Title | None = None
    project: fields.ProjectName | None = None
    tags: fields.Tags | None = None
    importance: fields.Importance | None = None
    valid_from: fields.Bound | None = None
    valid_until: fields.Bound | None = None
    expires: fields.Bound | None = None
    metadata: dict[str, Any] | None = None


class NewItemFields(_ItemFields):
    """What every kind has. Null is as good as leaving it out."""

    session: fields.SessionKey | None = None
    created_at_epoch: fields.EpochMs | None = None
    proposed: bool = Field(False, description="It waits for a person's review.")

    @model_validator(mode="after")
    def says_something(self) -> Self:
        texts = (getattr(self, name) for name in _text_fields(type(self)))
        if not any(isinstance(text, str) and _VISIBLE.search(text) for text in texts):
            raise ValueError("There is nothing to remember. Give some content")
        return self


def _text_fields(shape: type[NewItemFields]) -> list[str]:
    return ["content", "title", *(name for name in shape.model_fields if name in DETAILS and name not in _TYPES)]


def _require_some_text(schema: dict[str, Any], shape: type[NewItemFields]) -> None:
    """Tell in the document what `says_something` checks."""
    schema["anyOf"] = [
        {"required": [name], "properties": {name: {"type": "string", "pattern": fields.VISIBLE_CHARACTER}}}
        for name in _text_fields(shape)
    ]


def _details(*names: str) -> dict[str, Any]:
    return {name: (_TYPES.get(name, fields.Text) | None, None) for name in names}


def _shape(kind: Kind) -> Any:
    """What a new item of this kind may say. Without a kind it is a memory."""
    kind_field: dict[str, Any] = {"kind": (Literal[kind], "memory" if kind == "memory" else ...)}

    class Shaped(NewItemFields):
        model_config = ConfigDict(json_schema_extra=_require_some_text)

    return create_model(f"New{kind.capitalize()}", __base__=Shaped, **kind_field, **_details(*DETAIL_FIELDS[kind]))


def _kind_of(given: Any) -> str:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    kind = "memory" if kind is None else kind
    return kind if isinstance(kind, str) else ""


_Shapes: Any = functools.reduce(operator.or_, (Annotated[_shape(kind), Tag(kind)] for kind in KINDS))
_Any: Any = Annotated[_Shapes, Discriminator(_kind_of)]


class ItemBody(RootModel[_Any]):
    """One thing to remember, of any kind."""


class ItemsBody(Strict):
    """Several things to remember: all of them, or, if one is wrong, none."""

    items: Annotated[list[ItemBody], Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)]


_Changed: Any = create_model("_Changed", __base__=_ItemFields, **_details(*DETAILS))


class ItemChanges(_Changed):  # type: ignore[misc]
    """New values. What is left out, or null, stays as it is."""

    content: fields.NonBlankText | None = None
    title: Annotated[fields.Title, Field(pattern=fields.VISIBLE_CHARACTER)] | None = None
    rev: fields.Rev | None = None
    supersedes: fields.Id | None = None


def new_item_of(new: ItemBody, now_ms: int) -> NewItem:
    """A request as the note that is remembered."""
    given = new.root
    item = NewItem(
        content=given.content or "",
        kind=given.kind,
        type=given.type or "",
        title=given.title or "",
        details=_detail_texts(given),
        meta=given.metadata or {},
        project=given.project,
        session=given.session,
        tags=given.tags or (),
        importance=given.importance,
        created_ms=given.created_at_epoch,
        review=PROPOSED if given.proposed else None,
    )
    return with_validity(item, now_ms, given.valid_from, given.valid_until, given.expires)


def changes_of(wanted: ItemChanges, now_ms: int) -> Changes:
    """A request as the changes that are made."""
    return Changes(
        content=wanted.content,
        title=wanted.title,
        type=wanted.type,
        project=wanted.project,
        tags=wanted.tags,
        importance=wanted.importance,
        details=_detail_texts(wanted) or None,
        meta=wanted.metadata,
        **parse_validity(now_ms, wanted.valid_from, wanted.valid_until, wanted.expires),
    )


def _detail_texts(request: Strict) -> dict[str, str]:
    given = {name: getattr(request, name, None) for name in DETAILS}
    return {
        name: _LISTS[name].join(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None
    }


MAX_DEPTH = 50


class Listed(fields.Narrowed):
    """A page of items."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 20
    cursor: fields.Cursor | None = None


class Seen(Strict):
    """How an item is read."""

    forgotten: bool = Field(False, description="Show it even if it was forgotten.")


class Around(Strict):
    """How far a timeline reaches."""

    before: Annotated[int, Field(ge=0, le=MAX_DEPTH), fields.WHOLE] = 5
    after: Annotated[int, Field(ge=0, le=MAX_DEPTH), fields.WHOLE] = 5


class Reverted(Strict):
    """Which revision to go back to; without one, what was before the last change."""

    rev: fields.Rev | None = None


class Superseding(Strict):
    """Which item takes the place of this one."""

    by: fields.Id


@component("Page")
class Page(TypedDict):
    """A page of items."""

    items: list[ItemRecord]
    next_cursor: str | None


@component("Created")
class CreatedItem(ItemRecord):
    """A new item, or the same one as it was remembered before."""

    duplicate: Annotated[bool, Json(description="The same was remembered before.")]
    contradicts: list[ContradictionRecord]


class StoredItem(TypedDict):
    """Which item one of a batch became."""

    id: int
    uid: str
    short_id: str
    duplicate: bool


@component("Batch")
class Batch(TypedDict):
    """What became of a batch."""

    items: list[StoredItem]
    stored: int
    duplicates: int


@component("Forgotten")
class ForgottenItem(TypedDict):
    """Which item was forgotten; or the proposal to forget it, which a person has to accept."""

    forgotten: NotRequired[ItemBrief]
    proposed: NotRequired[ItemBrief]


@component("Superseded")
class SupersededItem(TypedDict):
    """Which item was superseded, and by which; or the proposal of that, which a person has to accept."""

    superseded: NotRequired[ItemBrief]
    by: ItemBrief
    proposed: NotRequired[ItemBrief]


@component("History")
class ItemHistory(TypedDict):
    """What an item was before each change."""

    id: int
    uid: str
    rev: int
    changes: list[ChangeRecord]


class TimelineItem(ItemRecord):
    """An item, and where it stands from the one in the middle."""

    position: int


@component("Timeline")
class ItemTimeline(TypedDict):
    """What happened around an item."""

    timeline: list[TimelineItem]


def list_items(memory: LocalMemory, request: ApiRequest[Listed, None]) -> Answer[Page]:
    """A page of what is remembered, newest first."""
    wanted = request.query
    page = browse_items(memory, wanted.scope(memory.clock()), wanted.limit, wanted.cursor or None)
    return Answer({"items": [item_record(item) for item in page.items], "next_cursor": page.next_cursor})


def create_item(memory: LocalMemory, request: ApiRequest[None, ItemBody]) -> Answer[CreatedItem]:
    """Remember one thing. The same again is found, and gets the tags and metadata it did not have."""
    stored = remember_item(memory, new_item_of(request.body, memory.clock()))
    headers = {"Location": f"/api/v1/items/{stored.item.id}"}
    status = 200 if stored.duplicate else 201
    return Answer(created_item(stored), status, etag_of(stored.item), headers)


def create_items(memory: LocalMemory, request: ApiRequest[None, ItemsBody]) -> Answer[Batch]:
    """Remember several things in one transaction."""
    stored = remember_all(memory, [new_item_of(new, memory.clock()) for new in request.body.items])
    rows: list[StoredItem] = [
        {"id": one.id, "uid": one.uid, "short_id": one.uid[-12:], "duplicate": one.duplicate} for one in stored
    ]
    again = sum(one.duplicate for one in stored)
    return Answer({"items": rows, "stored": len(rows) - again, "duplicates": again}, status=201)


def read_item(memory: LocalMemory, request: ApiRequest[Seen, None]) -> Answer[ItemRecord]:
    """Everything about an item."""
    item = find_item(memory, request.path["id"], forgotten=request.query.forgotten)
    record_use(memory, [item])
    return item_answer(item)


def change_item(memory: LocalMemory, request: ApiRequest[None, ItemChanges]) -> Answer[ItemRecord]:
    """Change what is named; the rest stays. What it was goes to its history."""
    wanted = request.body
    item = find_item(memory, request.path["id"])
    rev = request.expected_rev(item, wanted.rev)
    changes = changes_of(wanted, memory.clock())
    unknown = sorted(set(changes.details or ()) - set(DETAIL_FIELDS[item.kind]))
    if unknown:
        raise Conflict(
            f"Item {item.id} is a {item.kind}, and those have no {', '.join(unknown)}.",
            f"Their fields are {', '.join(DETAIL_FIELDS[item.kind])}.",
        )
    old = None if wanted.supersedes is None else find_item(memory, wanted.supersedes).id
    if changes == Changes() and old is None:
        return item_answer(item)
    return _changed_answer(edit_item(memory, item.id, changes, rev, old))


def _changed_answer(item: Item) -> Answer[ItemRecord]:
    """The item as it is now; with status 202 the proposal of a change, which a person has to accept."""
    answer = item_answer(item)
    return replace(answer, status=202, etag=None) if is_only_proposed(item) else answer


def forget_item(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ForgottenItem]:
    """Take an item out of every answer; it can be restored."""
    item = find_item(memory, request.path["id"], forgotten=True)
    request.expected_rev(item)
    (forgotten,) = edit_and_forget.forget_items(memory, [item.id])
    if forgotten.id != item.id:
        return Answer({"proposed": item_brief(forgotten)}, status=202)
    return Answer({"forgotten": item_brief(item)})


def restore_item(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ItemRecord]:
    """Bring a forgotten or superseded item back."""
    item = find_item(memory, request.path["id"], forgotten=True)
    request.expected_rev(item)
    (restored,) = edit_and_forget.restore_items(memory, [item.id])
    return _changed_answer(get_item(memory, restored.id, forgotten=restored.id != item.id))


def item_history(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ItemHistory]:
    """What an item was before each change, oldest first."""
    item = find_item(memory, request.path["id"], forgotten=True)
    changes = [change_record(one) for one in changes_of_item(memory, item.id)]
    return Answer({"id": item.id, "uid": item.uid, "rev": item.rev, "changes": changes})


def revert_item(memory: LocalMemory, request: ApiRequest[None, Reverted]) -> Answer[ItemRecord]:
    """Bring back what an item said before; that is a change too."""
    item = find_item(memory, request.path["id"])
    request.expected_rev(item)
    try:
        return _changed_answer(edit_and_forget.revert_to_revision(memory, item.id, request.body.rev))
    except InvalidInput as error:
        # The request is sound; it is the item that has nothing to go back to.
        raise Conflict(error.message, error.hint) from error


def supersede_item(memory: LocalMemory, request: ApiRequest[None, Superseding]) -> Answer[SupersededItem]:
    """Let another item take the place of this one."""
    item = find_item(memory, request.path["id"])
    request.expected_rev(item)
    replaced, replacing = edit_and_forget.mark_superseded(memory, item.id, by=find_item(memory, request.body.by).id)
    if is_only_proposed(replaced):
        return Answer({"proposed": item_brief(replaced), "by": item_brief(replacing)}, status=202)
    return Answer({"superseded": item_brief(replaced), "by": item_brief(replacing)})


def item_timeline(memory: LocalMemory, request: ApiRequest[Around, None]) -> Answer[ItemTimeline]:
    """What happened before and after an item, in any project, oldest first."""
    item = find_item(memory, request.path["id"])
    moments = timeline(memory, item.id, request.query.before, request.query.after)
    return Answer({"timeline": [{**item_record(one.item), "position": one.position} for one in moments]})


def created_item(stored: Remembered) -> CreatedItem:
    """A new item, and the earlier ones that it may contradict."""
    contradicts = [contradiction_record(one) for one in stored.contradictions]
    return {**item_record(stored.item), "duplicate": stored.duplicate, "contradicts": contradicts}


def item_answer(item: Item) -> Answer[ItemRecord]:
    """An item, with its revision as the ETag."""
    return Answer(item_record(item), etag=etag_of(item))


def find_item(memory: LocalMemory, text: str, *, forgotten: bool = False) -> Item:
    """The item that an id of any spelling means. What cannot be an id is one that nothing answers to."""
    try:
        ref(text)
    except InvalidInput as error:
        raise NotFound(f"There is no item {text[:60]!r}.", ID_HINT) from error
    return get_item(memory, parse_id(text), forgotten=forgotten)


class NewStream(Strict):
    """What the memory will be."""

    type: fields.Type = "note"
    tags: fields.Tags | None = None
    project: fields.ProjectName | None = None


class Chunk(Strict):
    """The next piece of its text."""

    chunk: Annotated[str, Field(min_length=1, max_length=streamed_memories.MAX_CHUNK)]


@component("Streams")
class StreamList(TypedDict):
    """Streams that can be continued."""

    streams: list[StreamRecord]


@component("Finalized")
class FinalizedStream(StreamRecord):
    """A stream, and the item that was made of it."""

    item: CreatedItem


def list_streams(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[StreamList]:
    """Streams that can be continued, oldest first."""
    return Answer({"streams": [stream_record(stream) for stream in streamed_memories.open_streams(memory)]})


def start_stream(memory: LocalMemory, request: ApiRequest[None, NewStream]) -> Answer[StreamRecord]:
    """Open a stream."""
    wanted = request.body
    return Answer(
        stream_record(streamed_memories.start_stream(memory, wanted.type, wanted.tags or (), wanted.project)),
        status=201,
    )


def append_chunk(memory: LocalMemory, request: ApiRequest[None, Chunk]) -> Answer[StreamRecord]:
    """Add a chunk."""
    return Answer(stream_record(streamed_memories.append_to_stream(memory, request.path["id"], request.body.chunk)))


def finalize_stream(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[FinalizedStream]:
    """Make one memory of the chunks."""
    try:
        stream, remembered = streamed_memories.finalize_stream(memory, request.path["id"])
    except InvalidInput as error:
        # The request is sound; it is the stream that holds nothing yet.
        raise Conflict(error.message, error.hint) from error
    return Answer({**stream_record(stream), "item": created_item(remembered)})


def cancel_stream(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[StreamRecord]:
    """Drop a stream and its chunks."""
    return Answer(stream_record(streamed_memories.cancel_stream(memory, request.path["id"])))
