"""Drafts: what someone asks to have remembered, validated, redacted, hashed and split as it will be stored."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace.errors import InvalidInput, NothingToRemember, TooLarge
from commonplace.model import (
    DETAIL_FIELDS,
    KINDS,
    ORIGINS,
    REVIEW_STATES,
    VALIDITY_FIELDS,
    Draft,
    Item,
    Kind,
    Passage,
    ref,
)
from commonplace.store.rows import embedding_text
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, clamp_time
from commonplace.text.passages import split_passages
from commonplace.text.paths import check_glob, checked_category
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import only_private, redact
from commonplace.text.sentences import title_of
from commonplace.text.tokens import count_tokens
from commonplace.text.validity import read_validity

MAX_TITLE = 500
MAX_TEXT = 1_000_000
MAX_TAGS, MAX_TAG = 50, 100
MAX_PATHS = 50
# Deeper than anything real, and shallow enough for every reader on the way out.
MAX_META_DEPTH = 50
MAX_SESSION = 200
MAX_AUTHOR = 200
# Characters that are one passage however they are cut.
SHORT = 1500
_TYPE = re.compile(r"[\w][\w .:/-]{0,99}")
# What neither a database column nor a JSON reply can carry.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Fields that are stored with a line for each entry.
_LINES = ("paths", "next_steps", "open_questions")
DEFAULT_TYPE: Mapping[Kind, str] = {
    "observation": "observation",
    "memory": "note",
    "message": "message",
    "summary": "summary",
    "checkpoint": "checkpoint",
}


@dataclass(frozen=True, slots=True)
class NewItem:
    """What someone asks to have remembered, in their words."""

    content: str = ""
    kind: Kind = "memory"
    type: str = ""
    title: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)
    project: str | None = None
    session: str | None = None
    tags: Sequence[str] = ()
    importance: float | None = None
    created_ms: int | None = None
    uid: str | None = None
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    expires_ms: int | None = None
    author: str | None = None
    origin: str | None = None
    review: str | None = None
    # Whether the interval that its text names counts where none is given.
    reads_validity: bool = True


def make_draft(note: NewItem, now_ms: int, *, dated: bool = True, identity: bytes | None = None) -> Draft:
    """The note as it will be stored. `dated`: an event that says when it happened is another at another time.

    What makes it the same thing is its `identity`, or else what it says.
    """
    if note.kind not in KINDS:
        raise InvalidInput(f"{note.kind!r} is not a kind of item.", f"Choose one of {', '.join(KINDS)}.")
    details = _details(note)
    content = clean_text(note.content, "content")
    title = _title(note, [content, *details.values()])
    type_, tags = _type(note), _tags(note.tags)
    created_ms = now_ms if note.created_ms is None else checked_time(note.created_ms)
    valid_from_ms, valid_until_ms = _interval(note, content, created_ms)
    draft = Draft(
        kind=note.kind,
        type=type_,
        title=title,
        body=content,
        content_hash=identity or b"",
        details=details,
        meta=checked_meta(note.meta),
        project=None if note.project is None else normalise_project(note.project),
        session=_session(note.session),
        tags=tags,
        importance=checked_importance(note.importance),
        tokens=count_tokens(content or details.get("narrative", "")),
        created_ms=created_ms,
        passages=make_passages(note.kind, type_, title, content, details, tags),
        uid=checked_uid(note.uid),
        valid_from_ms=valid_from_ms,
        valid_until_ms=valid_until_ms,
        expires_ms=checked_time_if_given(note.expires_ms),
        author=checked_author(note.author),
        origin=_one_of("origin", note.origin, ORIGINS),
        review=_one_of("review", note.review, REVIEW_STATES),
    )
    if identity is not None:
        return draft
    when = note.created_ms if dated and note.kind != "memory" else None
    return replace(draft, content_hash=_hash(draft, when))


def as_new_item(item: Item) -> NewItem:
    """An item as the new item that it could be stored from, to be changed and written again."""
    return NewItem(
        content=item.body,
        kind=item.kind,
        type=item.type,
        title=item.title,
        details=item.details,
        meta=item.meta,
        project=item.project,
        session=item.session,
        tags=item.tags,
        importance=item.importance,
        created_ms=clamp_time(item.created_ms),
        # A damaged one is replaced when the item is written.
        uid=None if "uid" in item.damaged else item.uid,
        valid_from_ms=item.valid_from_ms,
        valid_until_ms=item.valid_until_ms,
        expires_ms=item.expires_ms,
        author=item.author,
        origin=item.origin,
        review=item.review,
        # What the text says was read when it was written; a person may have said otherwise since.
        reads_validity=False,
    )


def as_it_was(item: Item, before: Mapping[str, Any]) -> NewItem:
    """An item with what it said before a change, to be written again."""
    was = {name: before[name] for name in ("type", "title", "details", "meta", "project", "tags", "importance")}
    was |= {name: before.get(name) for name in VALIDITY_FIELDS}
    return replace(as_new_item(item), content=before["body"], **was)


def redraft(item: Item, note: NewItem, now_ms: int) -> Draft:
    """What the note says, as the item that is there."""
    dated = _hash(item, None) != item.content_hash
    draft = make_draft(note, now_ms, dated=dated)
    if item.kind == "message" and dated and _hash(item, item.created_ms) != item.content_hash:
        # Its conversation tells it apart by its place, and has to know it when it is kept again.
        return replace(draft, content_hash=item.content_hash)
    return draft


def content_hashes(item: Item) -> tuple[bytes, ...]:
    """The hashes that its text may have: without its time, and with it."""
    return _hash(item, None), _hash(item, item.created_ms)


def make_passages(
    kind: Kind, type_: str, title: str, body: str, details: Mapping[str, str], tags: tuple[str, ...]
) -> tuple[Passage, ...]:
    """The passages that an item is searched by."""
    if len(title) + len(body) + sum(map(len, details.values())) <= SHORT:
        return (Passage(0),)
    pieces = split_passages(embedding_text(kind, type_, title, body, details, tags))
    return (Passage(0),) if len(pieces) < 2 else tuple(Passage(n, piece.text) for n, piece in enumerate(pieces))


def _hash(written: Draft | Item, when_ms: int | None) -> bytes:
    """What makes it the same thing. A statement is the same whenever it is made; an event only within its session.

    `when_ms` tells events that repeat apart.
    """
    place = [written.kind, written.session if written.kind != "memory" else None, when_ms]
    details = sorted((name, value) for name, value in written.details.items() if value)
    content = [written.type, written.title, written.body.strip(), details]
    return hashlib.sha256(json.dumps([place, content], ensure_ascii=False).encode()).digest()


def _details(note: NewItem) -> dict[str, str]:
    known = DETAIL_FIELDS[note.kind]
    unknown = sorted(set(note.details) - set(known))
    if unknown:
        raise InvalidInput(
            f"Items of kind {note.kind} have no field {', '.join(map(repr, unknown))}.",
            f"Their fields are {', '.join(known)}.",
        )
    details = {name: clean_text(value, name) for name, value in note.details.items() if value}
    if "paths" in details:
        globs = list(dict.fromkeys(map(check_glob, details["paths"].split("\n"))))
        if len(globs) > MAX_PATHS:
            raise TooLarge(f"{len(globs)} paths are more than {MAX_PATHS}.", "Use wider globs, such as src/api/**.")
        details["paths"] = "\n".join(globs)
    if "category" in details:
        details["category"] = checked_category(details["category"])
    return details


def join_fields(fields: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """The fields of a kind, each as one text: paths and steps a line each, other lists separated by commas."""
    return {
        name: value if isinstance(value, str) else ("\n" if name in _LINES else ", ").join(value)
        for name, value in fields.items()
    }


def clean_text(text: str, name: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be text.")
    if len(text) > MAX_TEXT:
        raise TooLarge(f"{name} has {len(text)} characters, more than {MAX_TEXT}.")
    if "\0" in text or not text.isascii():
        text = UNSTORABLE.sub("\ufffd", text)
    return redact(text)


def _title(note: NewItem, said: Sequence[str]) -> str:
    """Its title, or else the first words of what is said; refused if nothing is said, or only what is private."""
    first = next((text for text in said if text.strip()), "")
    title = clean_text(note.title, "title").strip() or title_of(first)
    written = [text for text in (title, *said) if text.strip()]
    if not written:
        raise NothingToRemember("There is nothing to remember: content and title are empty.", "Give some content.")
    # A turn of a conversation was there, whatever it said.
    if note.kind != "message" and all(map(only_private, written)):
        raise NothingToRemember("There is nothing to remember: all of it is private.", "There is nothing to do.")
    if len(title) > MAX_TITLE:
        raise TooLarge(f"The title has {len(title)} characters, more than {MAX_TITLE}.", "Put the rest in the content.")
    return title


def _type(note: NewItem) -> str:
    type_ = clean_text(note.type, "type").strip() or DEFAULT_TYPE[note.kind]
    if not _TYPE.fullmatch(type_):
        raise InvalidInput(f"{type_[:60]!r} cannot be a type.", "Use up to 100 letters, digits, spaces and . : / - _.")
    return type_


def _session(session: str | None) -> str | None:
    if session is None:
        return None
    session = clean_text(session, "session").strip()
    if not 0 < len(session) <= MAX_SESSION:
        raise InvalidInput(f"A session's name has 1 to {MAX_SESSION} characters.")
    return session


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise TooLarge(f"{len(tags)} tags are more than {MAX_TAGS}.", "Keep those that you will look for.")
    # On one line each, since that is how they are shown.
    cleaned = [" ".join(clean_text(tag, "tag").split()) for tag in tags]
    if any(not 0 < len(tag) <= MAX_TAG for tag in cleaned):
        raise InvalidInput(f"A tag has 1 to {MAX_TAG} characters.")
    return tuple(dict.fromkeys(cleaned))


def checked_importance(importance: float | None) -> float | None:
    if importance is not None and not 0.0 <= importance <= 10.0:
        raise InvalidInput("Invalid importance.", "Must be between 0.0 and 10.0.")
    return importance


def checked_time(created_ms: int) -> int:
    if not EARLIEST_MS <= created_ms <= LATEST_MS:
        raise InvalidInput("The time lies outside the years 1 to 9999.", "Give milliseconds since 1970.")
    return created_ms


def checked_time_if_given(ms: int | None) -> int | None:
    return None if ms is None else checked_time(ms)


def _interval(note: NewItem, content: str, stated_ms: int) -> tuple[int | None, int | None]:
    """When it holds: as it is given, or else as its text says."""
    start_ms, end_ms = note.valid_from_ms, note.valid_until_ms
    if note.kind == "memory" and note.reads_validity and start_ms is None and end_ms is None:
        return read_validity(content, stated_ms)
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise InvalidInput("It would end before it begins.", "Give a valid_until later than valid_from.")
    return checked_time_if_given(start_ms), checked_time_if_given(end_ms)


def checked_author(author: str | None) -> str | None:
    """A name on one line."""
    return None if author is None else " ".join(clean_text(author, "author").split())[:MAX_AUTHOR] or None


def _one_of(name: str, value: str | None, choices: Sequence[str]) -> str | None:
    if value is not None and value not in choices:
        raise InvalidInput(f"{value[:60]!r} is not a valid {name}.", f"Choose one of {', '.join(choices)}.")
    return value


def checked_uid(uid: str | None) -> str | None:
    if uid is None:
        return None
    spelled = ref(uid).uid
    if spelled is None:
        raise InvalidInput(f"{uid[:60]!r} is not a UUID.", "Give the whole UUID, or leave it out.")
    return spelled


def checked_meta(meta: Mapping[str, object]) -> Mapping[str, object]:
    if not meta:
        return {}
    try:
        text = json.dumps(_storable(meta, MAX_META_DEPTH), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata cannot be written as JSON: {error}.") from error
    cleaned: Mapping[str, object] = json.loads(clean_text(text, "metadata"))
    return cleaned


def _storable(value: object, levels: int) -> object:
    """JSON with every text in it cleaned by itself: escaped, a NUL or a key would pass unseen."""
    if isinstance(value, str):
        return clean_text(value, "metadata")
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not levels:
        raise InvalidInput(f"metadata is nested deeper than {MAX_META_DEPTH} levels.", "Make it flatter.")
    if isinstance(value, Mapping):
        return {_storable(key, levels): _storable(entry, levels - 1) for key, entry in value.items()}
    return [_storable(entry, levels - 1) for entry in value]
