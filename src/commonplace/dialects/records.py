"""Things as flat records: what `--json` prints and the HTTP interface answers, under the names that both read.

Secrets are still in them: they are removed where a reply leaves (`rest/api_handler.py`, `cli/command.py`,
`cli/terminal.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict, cast

from commonplace.dialects.reply_schema import Json, component
from commonplace.memory.edit_and_forget import is_read_from_text
from commonplace.memory.recall import is_left_behind, is_stale
from commonplace.model import DETAIL_FIELDS, SOURCE_FIELDS, Change, Item, Key, Kind, Project, Session, Stream
from commonplace.text.dates import iso_time, short_iso_time

if TYPE_CHECKING:
    from commonplace.memory.contradictions import Contradiction
    from commonplace.memory.recall import Hit
    from commonplace.memory.spaces import SpaceEntry
    from commonplace.memory.statement_pairs import StatementPair


Origin = Literal["person", "agreed", "agent", "captured", "imported"]
Time = Annotated[str, Json(description="2025-03-15T14:30:00.000Z")]


class ItemHead(TypedDict):
    """Which item it is."""

    id: int
    uid: str
    short_id: str
    kind: Kind
    type: str
    title: str


class _Remarks(TypedDict, total=False):
    # When it holds, where that is limited; whether that was read from its text, and whether it holds now.
    valid_from: str
    valid_until: str
    expires_at: str
    validity_from_text: bool
    # Of a damaged item: the fields that could not be read as they should be, and what was found there.
    damaged: dict[str, Any]


class _ItemContent(ItemHead):
    content: str


class ItemDetails(_ItemContent, total=False):
    """The fields of all kinds (model.DETAIL_FIELDS); an item has some of those of its own kind."""

    subtitle: str
    narrative: str
    facts: str
    concepts: str
    files_read: str
    files_modified: str
    category: str
    paths: str
    role: str
    speaker: str
    files: str
    commands: str
    errors: str
    request: str
    investigated: str
    learned: str
    completed: str
    next_steps: str
    notes: str
    task: str
    progress: str
    open_questions: str
    relevant_files: str
    snapshot: str


@component("Item")
class ItemRecord(ItemDetails, _Remarks):
    """Everything about an item."""

    project: str | None
    session: str | None
    tags: list[str]
    importance: float | None
    created_at: Time
    created_at_epoch: int
    updated_at: Time
    updated_at_epoch: int
    rev: int
    is_stale: bool
    forgotten_at: str | None
    superseded_by: int | None
    author: Annotated[str | None, Json(description="A person, or an agent for one: anna via claude-code.")]
    origin: Origin | None
    review: Literal["proposed", "accepted", "dismissed"] | None
    metadata: dict[str, Any]


@component("Brief")
class ItemBrief(ItemHead):
    """Which item it was, for replies to a change."""

    project: str | None


class ContradictionRecord(ItemBrief):
    """An earlier item that a new one may replace, and why, in a word and in a sentence.

    `supersede` if the same author said both.
    """

    reason: str
    why: str
    supersede: bool


class StatementBrief(ItemBrief):
    """Which statement it is, and who made it."""

    author: str | None


class PairRecord(TypedDict):
    """Two statements to settle: why, and whether the newer one should supersede the older one."""

    older: StatementBrief
    newer: StatementBrief
    reason: str
    supersede: bool


class HitRecord(_ItemContent, _Remarks):
    """A search result: the item in short, and what speaks for it."""

    project: str | None
    created_at: Time
    created_at_epoch: int
    relevance: Annotated[float, Json(minimum=0, maximum=1)]
    semantic: float
    lexical: float
    is_stale: bool
    left_behind: NotRequired[Annotated[bool, Json(description="The conversation went on without this message.")]]
    author: NotRequired[str]
    origin: NotRequired[Origin]
    review: NotRequired[str]
    why: NotRequired[Annotated[dict[str, float], Json(description="What each part added to the score.")]]
    twins: NotRequired[list[ItemBrief]]


class ChangeRecord(TypedDict):
    """One line of the history of an item or a conversation; `before` is what it was."""

    rev: int
    op: str
    at: Time
    at_epoch: int
    before: dict[str, Any]
    author: NotRequired[str]
    origin: NotRequired[Origin]


class ProjectRecord(TypedDict):
    """A project, and how much it has."""

    name: str
    aliases: list[str]
    items: int
    last_at: str | None
    last_at_epoch: int | None


@component("Stream")
class StreamRecord(TypedDict):
    """A memory that arrives in chunks."""

    stream_id: str
    status: Annotated[Any, Json(enum=["open", "finalized", "cancelled"])]
    type: str
    tags: list[str]
    project: str | None
    chunks: int
    characters: int
    created_at: Time
    touched_at: Time
    touched_at_epoch: int


@component("Key")
class KeyRecord(TypedDict):
    """A key, without what makes it one."""

    id: int
    name: str
    prefix: str
    scope: str
    role: Annotated[Any, Json(enum=["reader", "writer", "admin"])]
    project: str | None
    state: Literal["works", "expired", "revoked"]
    created_at: Time
    expires_at: str | None
    revoked_at: str | None
    used_at: str | None
    used_at_epoch: int | None


@component("Space")
class SpaceRecord(TypedDict):
    """A space: what it holds and may hold, and how many keys to it work."""

    name: str
    created_at: Time
    items: int
    bytes: int
    keys: int
    max_items: int | None
    max_bytes: int | None


# Names of fields that are others outside.
_OUTER = {"body": "content", "meta": "metadata", "created_ms": "created_at", "updated_ms": "updated_at"}


def item_record(item: Item) -> ItemRecord:
    """Everything about an item. Of the fields of its kind, those that it has."""
    details = {name: item.details[name] for name in DETAIL_FIELDS[item.kind] if item.details.get(name)}
    record: Any = {
        **_head(item),
        "content": item.body,
        **details,
        "project": item.project,
        "session": item.session,
        "tags": list(item.tags),
        "importance": item.importance,
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "updated_at": iso_time(item.updated_ms),
        "updated_at_epoch": item.updated_ms,
        "rev": item.rev,
        "is_stale": is_stale(item),
        "forgotten_at": iso_or_none(item.forgotten_ms),
        "superseded_by": item.superseded_by,
        "author": item.author,
        "origin": item.origin,
        "review": item.review,
        "metadata": dict(item.meta),
        **validity_record(item),
        **_damage(item),
    }
    return cast(ItemRecord, record)


def source_fields(of: Item | Change) -> dict[str, Any]:
    """Who wrote or did something and how sure that is, as far as it is known; and whether it waits for review."""
    known = {name: getattr(of, name, None) for name in SOURCE_FIELDS}
    return {name: value for name, value in known.items() if value is not None}


def validity_record(item: Item) -> dict[str, Any]:
    """When an item holds; nothing where that is not limited."""
    times = (("valid_from", item.valid_from_ms), ("valid_until", item.valid_until_ms), ("expires_at", item.expires_ms))
    record: dict[str, Any] = {name: iso_time(ms) for name, ms in times if ms is not None}
    if is_read_from_text(item):
        record["validity_from_text"] = True
    return record


def hit_record(hit: Hit, *, why: bool = False) -> HitRecord:
    """A search result; with `why`, what each part added to its score."""
    item = hit.item
    record: Any = {
        **_head(item),
        "content": item_content(item),
        "project": item.project,
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "relevance": round(hit.relevance, 4),
        "semantic": round(hit.semantic, 4),
        "lexical": round(hit.lexical, 4),
        "is_stale": is_stale(item),
        **({"left_behind": True} if is_left_behind(item) else {}),
        **source_fields(item),
        **({"why": dict(hit.why)} if why else {}),
        **validity_record(item),
        **({"twins": [item_brief(twin) for twin in hit.twins]} if hit.twins else {}),
        **_damage(item),
    }
    return cast(HitRecord, record)


def change_record(change: Change) -> ChangeRecord:
    """One line of an item's history; `before` is what it was, with `body` under its outer name."""
    before: dict[str, Any] = {"content" if name == "body" else name: value for name, value in change.before.items()}
    record: Any = {
        "rev": change.rev,
        "op": change.op,
        "at": iso_time(change.at_ms),
        "at_epoch": change.at_ms,
        "before": before,
        **source_fields(change),
    }
    return cast(ChangeRecord, record)


def project_record(project: Project) -> ProjectRecord:
    return {
        "name": project.name,
        "aliases": list(project.aliases),
        "items": project.items,
        "last_at": iso_or_none(project.last_ms),
        "last_at_epoch": project.last_ms,
    }


def stream_record(stream: Stream) -> StreamRecord:
    """A stream as a program reads it."""
    return {
        "stream_id": stream.id,
        "status": stream.status,
        "type": stream.type,
        "tags": list(stream.tags),
        "project": stream.project,
        "chunks": stream.chunks,
        "characters": stream.characters,
        "created_at": iso_time(stream.created_ms),
        "touched_at": iso_time(stream.touched_ms),
        "touched_at_epoch": stream.touched_ms,
    }


def key_record(key: Key, now_ms: int) -> KeyRecord:
    """A key as a program reads it, without what makes it one."""
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "scope": key.scope,
        "role": key.role,
        "project": key.project,
        "state": "revoked" if key.revoked_ms is not None else "works" if key.works(now_ms) else "expired",
        "created_at": iso_time(key.created_ms),
        "expires_at": iso_or_none(key.expires_ms),
        "revoked_at": iso_or_none(key.revoked_ms),
        "used_at": iso_or_none(key.used_ms),
        "used_at_epoch": key.used_ms,
    }


def space_record(space: SpaceEntry) -> SpaceRecord:
    """A space as a program reads it: what it holds and may hold, and how many keys to it work."""
    return {
        "name": space.name,
        "created_at": iso_time(space.created_ms),
        "items": space.items,
        "bytes": space.bytes,
        "keys": space.keys,
        "max_items": space.limits.items,
        "max_bytes": space.limits.bytes,
    }


def conversation_record(session: Session) -> dict[str, Any]:
    """Everything about a conversation but what was said in it, under the names that reading one has."""
    from commonplace.memory.export_conversations import conversation_data

    data = conversation_data(session, ())
    del data["messages"]
    more = {
        "short_id": session.short_id,
        "project": session.project,
        "source": session.source,
        "key": session.key,
        "last_message_at": short_iso_time(session.ended_ms),
        "last_message_at_epoch": session.ended_ms,
        "bytes": session.bytes,
        "rev": session.rev,
        "forgotten_at": None if session.forgotten_ms is None else short_iso_time(session.forgotten_ms),
        "metadata": dict(session.meta),
        **_damage(session),
    }
    return data | more


def item_brief(item: Item) -> ItemBrief:
    """Which item it was, for replies to a change."""
    return {**_head(item), "project": item.project}


def contradiction_record(found: Contradiction) -> ContradictionRecord:
    """An earlier item that a new one may replace, and why."""
    return {**item_brief(found.item), "reason": found.reason, "why": found.why, "supersede": found.supersede}


def pair_record(pair: StatementPair) -> PairRecord:
    """Two statements that contradict each other or say the same."""
    older, newer = _statement_brief(pair.older), _statement_brief(pair.newer)
    return {"older": older, "newer": newer, "reason": pair.reason, "supersede": pair.supersede}


def _statement_brief(item: Item) -> StatementBrief:
    return {**item_brief(item), "author": item.author}


def item_content(item: Item) -> str:
    """What an item says: its text, or else what its own fields tell."""
    if item.body.strip():
        return item.body
    return item.details.get("narrative") or item.details_text("snapshot")


def parse_id(text: str) -> int | str:
    """An id as typed: a short number is the integer it looks like, anything else stays as it is spelled."""
    bare = text.strip().removeprefix("#")
    return int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 12 else text


def _head(item: Item) -> ItemHead:
    return {
        "id": item.id,
        "uid": item.uid,
        "short_id": item.short_id,
        "kind": item.kind,
        "type": item.type,
        "title": item.title,
    }


def _damage(one: Item | Session) -> dict[str, Any]:
    """Its damaged fields, with what was found there; absent where all is well."""
    if not one.damaged:
        return {}
    return {"damaged": {_OUTER.get(name, name): found for name, found in one.damaged.items()}}


def iso_or_none(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)
