"""Remember: validate, clean, redact, hash and split new items, then store each once, and say what it contradicts.

Contradictions are earlier rules, decisions and facts that a new one opposes or replaces: a hint, not a verdict.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.errors import InvalidInput, NothingToRemember, StoreReplaced, TooLarge
from commonplace.memory.authors import sign
from commonplace.memory.contradictions import Compared, Contradiction, compare_statement, find_contradictions
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved, is_person, must_propose_rewriting
from commonplace.model import (
    DETAIL_FIELDS,
    DISMISSED,
    KINDS,
    ORIGINS,
    PROPOSED,
    REVIEW_STATES,
    Draft,
    Item,
    Kind,
    Passage,
    Scope,
    Stored,
    ref,
)
from commonplace.store.rows import QUERY_COLUMNS, embedding_text
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, clamp_time
from commonplace.text.passages import split_passages
from commonplace.text.paths import check_glob, checked_category
from commonplace.text.project_names import normalise_project
from commonplace.text.query import parse_query
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
# Statements of so few characters are compared in their plain form, with so many that hold the same words.
MAX_STATEMENT, SAME_STATEMENTS = 500, 10

_TYPE = re.compile(r"[\w][\w .:/-]{0,99}")
# A word that is written with a capital letter because of where it stands or what it is, such as Fridays.
_CAPITAL = re.compile(r"\b[A-Z][a-z]+\b")
# Marks between words; a question mark tells a question from a statement.
_PUNCTUATION = re.compile(
    r"(?<![.,;:!\"'“”„’)\]])[.,;:!\"'“”„’)\]]++(?=\s|$)|(?:(?<=\s)|^)[\"'“”„(\[]+|(?<=\s)[–—-]+(?=\s)"
)
# What neither a database column nor a JSON reply can carry.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Fields that are stored with a line for each entry.
_LINES = ("paths", "next_steps", "open_questions")
_DEFAULT_TYPE: Mapping[Kind, str] = {
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


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a new item: as it was stored, whether it was known, and what it may contradict or replace.

    `twins` say the same in other words.
    """

    item: Item
    duplicate: bool
    contradictions: tuple[Contradiction, ...] = ()
    twins: tuple[Item, ...] = ()


def remember_item(memory: LocalMemory, new: NewItem) -> Remembered:
    """Remember one thing as every door does it: the same again gets the tags and metadata that are new.

    What its author said before in other words is linked with it.
    """
    # They are about items that are there, and import this module.
    from commonplace.memory.edit_and_forget import enrich_item
    from commonplace.memory.items import get_item
    from commonplace.memory.proposed_changes import is_only_proposed, propose_restoring
    from commonplace.memory.review import accept

    check_reserved(memory, new.tags, new.meta)
    now = memory.clock()
    draft = make_draft(new, now)

    def compare() -> tuple[Item | None, Compared]:
        known = _find_same_statement(memory, new, draft)
        return known, Compared() if known is not None else compare_statement(memory, sign(memory, draft))

    known, compared = memory.store.snapshot(compare)
    if known is None:
        found = compared.metadata(draft, memory.writer.name)
        stored = _put(memory, [replace(draft, meta={**draft.meta, **found}) if found else draft], now)[0]
    else:
        stored = Stored(known.id, known.uid, duplicate=True)
    item = written_item(memory, stored)
    if item.forgotten_ms is not None or item.superseded_by is not None:
        # It was proposed again after it was dismissed, or taken back by somebody who may not be overruled.
        proposed = item if item.review == DISMISSED else propose_restoring(memory, item)
        return Remembered(proposed, duplicate=True)
    if not stored.duplicate:
        return Remembered(item, False, compared.contradictions, compared.twins)
    validity = (draft.valid_from_ms, draft.valid_until_ms, draft.expires_ms)
    enriched = enrich_item(memory, item, new.tags, new.meta, validity)
    if enriched.id != item.id and is_only_proposed(enriched):
        # The caller is told that what was added only waits.
        return Remembered(enriched, duplicate=True)
    item = enriched
    if item.review == PROPOSED and new.review is None and is_person(memory):
        # What a person says themselves they agree with, in other capitals too.
        accept(memory, [item.id])
        item = get_item(memory, item.id)
    return Remembered(item, True, tuple(find_contradictions(memory, item)))


def written_item(memory: LocalMemory, stored: Stored) -> Item:
    """What was just stored, read again: refused if another file has come into its place meanwhile."""
    item = memory.store.get([stored.id]).get(stored.id)
    if item is None or item.uid != stored.uid:
        raise StoreReplaced(
            "The database file was replaced while this was being stored.",
            "Search for it, and store it again if it is not there.",
        )
    return item


def remember(memory: LocalMemory, note: NewItem) -> Stored:
    """Store one thing. Saying the same again in the same place finds it instead of repeating it.

    A statement is the same with other punctuation, another spacing, or without its capital letters.
    """
    check_reserved(memory, note.tags, note.meta)
    now = memory.clock()
    draft = make_draft(note, now)
    known = memory.store.snapshot(lambda: _find_same_statement(memory, note, draft))
    return _put(memory, [draft], now)[0] if known is None else Stored(known.id, known.uid, duplicate=True)


def remember_all(memory: LocalMemory, notes: Sequence[NewItem]) -> list[Stored]:
    """Store several things in one transaction: all of them, or, if one is wrong, none."""
    for note in notes:
        check_reserved(memory, note.tags, note.meta)
    now = memory.clock()
    return _put(memory, [make_draft(note, now) for note in notes], now)


def _put(memory: LocalMemory, drafts: Sequence[Draft], now: int) -> list[Stored]:
    stored = memory.store.put([sign(memory, draft) for draft in drafts], now)
    memory.embeddings.wake()
    return stored


def _find_same_statement(memory: LocalMemory, note: NewItem, draft: Draft) -> Item | None:
    """The statement that this one repeats with other capitals, another spacing or other punctuation.

    None if it is the very same, which the store itself knows.
    """
    alike = same_statements(memory, note, (note.type or _DEFAULT_TYPE[note.kind],), draft)
    return None if any(item.body.strip() == note.content.strip() for item in alike) else next(iter(alike), None)


def same_statements(
    memory: LocalMemory, note: NewItem, types: tuple[str, ...] = (), draft: Draft | None = None
) -> list[Item]:
    """The memories of these types, or of any, that state the same in the same place.

    `draft` is the note as it will be stored, if somebody has made that already.
    """
    text = note.content.strip()
    if note.kind != "memory" or note.title or note.uid is not None or not 0 < len(text) <= MAX_STATEMENT:
        return []
    draft = draft or make_draft(note, memory.clock())
    # As one phrase, which holds whatever the case and the marks between the words.
    query = parse_query('"' + draft.body.replace('"', " ") + '"', QUERY_COLUMNS)
    if not query.strict:
        return []
    scope = replace(Scope.inside(draft.project, kinds=("memory",), types=types), lapsed=True)
    hits = memory.store.search_text(query, scope, SAME_STATEMENTS, shares=False).hits
    found = memory.store.get(hit.item_id for hit in hits).values()
    return [item for item in found if _plain_form(item) == _plain_form(draft)]


def _plain_form(written: Draft | Item) -> tuple[str, Mapping[str, str]]:
    """A statement without spacing and punctuation, ordinary words in lower case, but not userId and C++."""
    text = " ".join(_PUNCTUATION.sub("", written.body).split())
    fields = {name: value for name, value in written.details.items() if value}
    return _CAPITAL.sub(lambda word: word[0].lower(), text), fields


def make_draft(note: NewItem, now_ms: int, *, dated: bool = True, identity: bytes | None = None) -> Draft:
    """The note as it will be stored. `dated`: an event that says when it happened is another at another time.

    What makes it the same thing is its `identity`, or else what it says.
    """
    if note.kind not in KINDS:
        raise InvalidInput(f"{note.kind!r} is not a kind of item.", f"Choose one of {', '.join(KINDS)}.")
    details = _details(note)
    content = clean_text(note.content, "content")
    title = clean_text(note.title, "title").strip() or title_of(_first(content, *details.values()))
    written = [part for part in (title, content, *details.values()) if part.strip()]
    if not written:
        raise NothingToRemember("There is nothing to remember: content and title are empty.", "Give some content.")
    # A turn of a conversation was there, whatever it said.
    if note.kind != "message" and all(map(only_private, written)):
        raise NothingToRemember("There is nothing to remember: all of it is private.", "There is nothing to do.")
    if len(title) > MAX_TITLE:
        raise TooLarge(f"The title has {len(title)} characters, more than {MAX_TITLE}.", "Put the rest in the content.")
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
        expires_ms=None if note.expires_ms is None else checked_time(note.expires_ms),
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


def rewrite_item(
    memory: LocalMemory, item: Item, note: NewItem, expect_rev: int | None = None, supersedes: int | None = None
) -> Item:
    """Rewrite an item. An event keeps what distinguishes it from others.

    Where this caller may only propose that, the item stays as it is, and this is the proposal.
    """
    from commonplace.memory.proposed_changes import check_editable, propose_edit

    check_editable(item)
    now = memory.clock()
    draft = redraft(item, note, now)
    if must_propose_rewriting(memory, item, draft):
        return propose_edit(memory, item, note, expect_rev)
    draft = sign(memory, draft, item)
    rewritten = memory.store.rewrite(item.id, draft, now, expect_rev, supersedes, memory.writer)
    memory.embeddings.wake()
    return rewritten


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


def _first(*texts: str) -> str:
    return next((text for text in texts if text.strip()), "")


def _type(note: NewItem) -> str:
    type_ = clean_text(note.type, "type").strip() or _DEFAULT_TYPE[note.kind]
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


def _interval(note: NewItem, content: str, stated_ms: int) -> tuple[int | None, int | None]:
    """When it holds: as it is given, or else as its text says."""
    start_ms, end_ms = note.valid_from_ms, note.valid_until_ms
    if note.kind == "memory" and note.reads_validity and start_ms is None and end_ms is None:
        return read_validity(content, stated_ms)
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise InvalidInput("It would end before it begins.", "Give a valid_until later than valid_from.")
    return (None if start_ms is None else checked_time(start_ms)), (None if end_ms is None else checked_time(end_ms))


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
