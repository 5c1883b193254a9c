"""Plain data passed between rooms, with no behaviour beyond what a value knows about itself; and the ids of items.

An id has three spellings: an integer, a UUIDv7, and the UUID's last twelve hex digits.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from commonplace.errors import InvalidInput

Kind = Literal["observation", "memory", "message", "summary", "checkpoint"]
KINDS: tuple[Kind, ...] = ("observation", "memory", "message", "summary", "checkpoint")

# What only one kind has, by its own names. Stored together as the item's `details`.
DETAIL_FIELDS: Mapping[Kind, tuple[str, ...]] = {
    "observation": ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified"),
    "memory": ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified", "category", "paths"),
    "message": ("role", "speaker", "files", "commands", "errors"),
    "summary": ("request", "investigated", "learned", "completed", "next_steps", "notes"),
    "checkpoint": ("task", "progress", "next_steps", "open_questions", "relevant_files", "snapshot"),
}

KNOWLEDGE_TYPES = frozenset({"decision", "constraint", "heuristic", "rejected"})
# What a key may do; each includes those before it.
KEY_SCOPES = ("read", "write", "admin")
# What people call whoever has a key of that scope.
ROLES = {"read": "reader", "write": "writer", "admin": "admin"}
# The name of the key that a server makes when it starts for the first time.
FIRST_KEY_NAME = "first"
# How what an item says came to be there, the most trusted first; None: not known.
ORIGINS = ("person", "agreed", "agent", "captured", "imported")
# From 1 downwards.
_TRUST = {origin: 1.0 - place / len(ORIGINS) for place, origin in enumerate(ORIGINS)}
# What became of a proposal: it waits to be reviewed, was accepted, or was dismissed (and forgotten). None: no proposal.
REVIEW_STATES = PROPOSED, ACCEPTED, DISMISSED = ("proposed", "accepted", "dismissed")
SETTLED = "settled"
"""In a scope: what does not wait to be reviewed."""
VIA = " via "
"""Between a person and the agent that writes for them, in the name of an author: "anna via claude-code"."""
# When an item holds, from a moment up to but without another, and when it expires; who said it, and its review.
VALIDITY_FIELDS = ("valid_from_ms", "valid_until_ms", "expires_ms")
SOURCE_FIELDS = ("author", "origin", "review")
PRIVATE_TAG = "private"
"""The tag of what others are neither told nor sent."""
PINNED_TAG, HIDDEN_TAG = "profile-pinned", "profile-hidden"
"""Tags by which a person shows a memory in the profile, or hides it from it."""
SAME_AS = "same_as"
"""The field of the metadata that has the uids of statements which say the same."""
# Who says a message, and how important a conversation is that nobody has rated.
MESSAGE_ROLES = ("user", "assistant", "system", "tool")
DEFAULT_IMPORTANCE = 5.0
MEMORY_TYPES = ("rule", "decision", "fact", "note", "skill", "constraint", "heuristic", "rejected")
# What has to be followed until somebody takes it back.
BINDING_TYPES = ("rule", "constraint")

# Of a title where an item is shown to a programmer.
_LONGEST_REPR = 60


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of an item that is indexed and ranked; `text` is None when the item is its only passage."""

    seq: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """An item about to be written: validated, redacted, hashed and cut, but without an identity yet."""

    kind: Kind
    type: str
    title: str
    body: str
    content_hash: bytes
    details: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)
    project: str | None = None
    session: str | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    tokens: int = 0
    created_ms: int = 0
    passages: tuple[Passage, ...] = (Passage(0),)
    uid: str | None = None
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    expires_ms: int | None = None
    author: str | None = None
    origin: str | None = None
    review: str | None = None


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes or changes something, and in which way (ORIGINS); None where that is not known.

    `may_quote`: whether records that a person brings may name other authors than themselves and their agents.
    `by_agent`: whether it is an agent who imports.
    """

    name: str | None = None
    origin: str | None = None
    may_quote: bool = field(default=True, compare=False)
    by_agent: bool = field(default=False, compare=False)


UNKNOWN_AUTHOR = Author()


@dataclass(frozen=True, slots=True, repr=False)
class Item:
    """One remembered thing, as it is in the store."""

    id: int
    uid: str
    kind: Kind
    type: str
    title: str
    body: str
    details: Mapping[str, str]
    meta: Mapping[str, object]
    project: str | None
    session: str | None
    tags: tuple[str, ...]
    importance: float | None
    status: str
    tokens: int
    created_ms: int
    updated_ms: int
    rev: int
    forgotten_ms: int | None = None
    superseded_by: int | None = None
    content_hash: bytes = b""
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    expires_ms: int | None = None
    author: str | None = None
    origin: str | None = None
    review: str | None = None
    # Fields that could not be read as they should be, each with what was found there (store/damaged_values.py).
    damaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def metadata(self) -> Mapping[str, object]:
        """What programs noted with it: the same as `meta`."""
        return self.meta

    @property
    def short_id(self) -> str:
        """What to look it up by; its number where the uid is damaged."""
        return str(self.id) if "uid" in self.damaged else self.uid[-12:]

    @property
    def text(self) -> str:
        """What it says in running text: its body, or the narrative that stands for one."""
        return self.body.strip() or self.details.get("narrative", "").strip()

    def __repr__(self) -> str:
        title = self.title if len(self.title) <= _LONGEST_REPR else self.title[: _LONGEST_REPR - 1] + "…"
        project = "" if self.project is None else f", project={self.project!r}"
        return f"Item({self.id}, {self.type!r}, {title!r}{project})"

    @property
    def trust(self) -> float:
        """How far it is trusted, 0 to 1; what nobody knows the origin of counts as written by an agent."""
        return 0.0 if self.review == PROPOSED else _TRUST.get(self.origin or "agent", _TRUST["agent"])

    @property
    def is_dated(self) -> bool:
        """Whether it says since when or until when it holds."""
        return self.valid_from_ms is not None or self.valid_until_ms is not None

    def holds_at(self, moment_ms: int) -> bool:
        """Whether it is valid at a moment, and not expired."""
        return (
            (self.valid_from_ms is None or self.valid_from_ms <= moment_ms)
            and (self.valid_until_ms is None or moment_ms < self.valid_until_ms)
            and (self.expires_ms is None or moment_ms < self.expires_ms)
        )

    def details_text(self, *but: str) -> str:
        """The fields of its kind that it has, a line each, `but` for some."""
        names = (name for name in DETAIL_FIELDS[self.kind] if name not in but and self.details.get(name))
        return "\n".join(f"{name}: {self.details[name]}" for name in names)


def linked_uids(written: Draft | Item, field: str) -> list[str]:
    """The uids of the items that the metadata of one names in a field."""
    value = written.meta.get(field)
    return [uid for uid in value if isinstance(uid, str)] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Session:
    """A sequence of items by one agent or person: a conversation, a coding session, a transcript.

    `key` is what its source calls it; `messages`, `words` and `bytes` count the live messages in it.
    """

    id: int
    uid: str
    key: str
    source: str
    project: str | None
    label: str
    folder: str
    status: str
    importance: float
    meta: Mapping[str, object]
    started_ms: int
    ended_ms: int
    updated_ms: int
    accessed_ms: int | None
    rev: int
    messages: int
    words: int
    bytes: int
    forgotten_ms: int | None = None
    damaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def metadata(self) -> Mapping[str, object]:
        """What programs noted with it: the same as `meta`."""
        return self.meta

    @property
    def short_id(self) -> str:
        """What to look it up by; its number where the uid is damaged."""
        return str(self.id) if "uid" in self.damaged else self.uid[-12:]


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one draft: its item's id, and whether the same content was there already."""

    id: int
    uid: str
    duplicate: bool


@dataclass(frozen=True, slots=True)
class SessionScope:
    """Which sessions a question is about. Empty fields mean "no restriction".

    `folder` means its whole tree, and `folders` the trees of any of several. A label is met, in any case, by a
    session's label, by a part of it between slashes, or by a name along its folder; `named` is met by what contains it
    in its label, or in its key if it has none.
    With `since_ms` and `until_ms`, only sessions that ended at or after the first and began before the second.
    `empty` adds sessions without messages, if they hold anything else.
    """

    folder: str = ""
    labels: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    project: str | None = None
    source: str = ""
    empty: bool = False
    named: str = ""
    ids: tuple[int, ...] | None = None
    folders: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SessionDraft:
    """A session about to be written, without an identity yet.

    One that `follows` its source lets messages change as they do there, and leaves alone what was forgotten here.
    """

    key: str
    label: str
    folder: str
    status: str
    importance: float
    started_ms: int
    source: str = ""
    project: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    accessed_ms: int | None = None
    updated_ms: int | None = None
    uid: str | None = None
    follows: bool = False


# What belongs to no project applies everywhere if somebody stated it. Conversations, observations and summaries without
# a project, such as imported chats, are only told to who asks for them.
GLOBAL_KINDS: tuple[Kind, ...] = ("memory",)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a space a question is about. Empty tuples and None mean "no restriction".

    `project` is any spelling of a project; `with_global` adds what applies everywhere: the statements (GLOBAL_KINDS)
    that belong to none, `with_unfiled` all that belongs to none. `only_global` means all that belongs to none; with
    `with_global`, what applies everywhere.
    `tag` narrows to items with a tag that contains it, or one of its comma separated parts. `sessions` narrows to some
    sessions' items, and `since_ms` and `until_ms` to those of a time, from the one up to but without the other.
    `author` is a person, with the agents that write for them, or an agent; `review` is PROPOSED or SETTLED. What does
    not hold at `at_ms`, by default now, is left out, unless `lapsed`; with `coming` what begins later is there too.
    """

    project: str | None = None
    with_global: bool = False
    with_unfiled: bool = False
    only_global: bool = False
    kinds: tuple[Kind, ...] = ()
    types: tuple[str, ...] = ()
    tag: str = ""
    sessions: SessionScope | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    author: str = ""
    origins: tuple[str, ...] = ()
    review: str = ""
    at_ms: int | None = None
    lapsed: bool = False
    coming: bool = False

    @classmethod
    def inside(cls, project: str | None, kinds: tuple[Kind, ...] = (), types: tuple[str, ...] = ()) -> Scope:
        """Only what belongs to the project; without one, only what belongs to none."""
        return cls(project=project, only_global=project is None, kinds=kinds, types=types)

    @classmethod
    def around(
        cls, project: str | None, kinds: tuple[Kind, ...] = (), types: tuple[str, ...] = (), tag: str = ""
    ) -> Scope:
        """What holds in the project: its own, and the statements that apply everywhere; without one, only these."""
        return cls(project, with_global=True, only_global=project is None, kinds=kinds, types=types, tag=tag)

    def has_place_of(self, item: Item, project: str | None) -> bool:
        """Whether it is in the part of an item, by its project; `project` is the canonical name of the scope's own."""
        if item.project is not None:
            return not self.only_global and (self.project is None or item.project == project)
        if self.with_unfiled or (self.project is None and not self.with_global):
            return True
        return self.with_global and item.kind in GLOBAL_KINDS


class TextHit(NamedTuple):
    """A passage found by words; `score` is BM25, higher is better, comparable within one answer only."""

    passage_id: int
    item_id: int
    score: float


class VectorHit(NamedTuple):
    """A passage found by meaning; `cosine` is exact to the precision of the stored vector."""

    passage_id: int
    item_id: int
    cosine: float


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage with the text that stands for it, for embedding or for showing."""

    id: int
    item_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of an item's history: what it was before `op` made it what came after, and who did that, if known."""

    rev: int
    op: str
    at_ms: int
    before: Mapping[str, object]
    author: str | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """Where things belong: a canonical name and the other names it answers to."""

    id: int
    name: str
    aliases: tuple[str, ...]
    items: int
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class Stream:
    """A memory that arrives in chunks: open, finalized or cancelled."""

    id: str
    type: str
    tags: tuple[str, ...]
    project: str | None
    status: str
    created_ms: int
    touched_ms: int
    chunks: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """Who may call, and what for: `scope` is one of KEY_SCOPES, `project` the only one it may touch, if any.

    The secret itself is kept nowhere; `prefix` is how it begins, to know it by.
    """

    id: int
    name: str
    prefix: str
    scope: str
    project: str | None
    created_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None
    used_ms: int | None = None

    @property
    def role(self) -> str:
        return ROLES[self.scope]

    def allows(self, scope: str) -> bool:
        return KEY_SCOPES.index(scope) <= KEY_SCOPES.index(self.scope)

    def works(self, now_ms: int) -> bool:
        return self.revoked_ms is None and (self.expires_ms is None or now_ms < self.expires_ms)


_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
# A number after it names a part of a long item.
_SHORT = re.compile(r"([0-9a-f]{12})(?:-[0-9]{1,6})?")
_NUMBER = re.compile(r"-?[0-9]{1,40}")
MAX_INTEGER = 2**63 - 1

ID_HINT = "An id is a number, a UUID, or the last twelve hex digits of one. A search or a list shows them."
CONVERSATION_HINT = "`commonplace sessions` lists the ids."

_lock = threading.Lock()
_last = 0


def new_uid(now_ms: int) -> str:
    """A UUIDv7. Within a process they never go back, so that sorting by uid is sorting by birth."""
    global _last
    with _lock:
        # 12 bits of sequence below the 48 bits of time; a burst or a clock going back borrows from the future.
        _last = max(now_ms << 12, _last + 1)
        stamp = _last
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    number = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | random
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Ref(NamedTuple):
    """A spelled identity: the readings to try, in order."""

    text: str
    number: int | None = None
    uid: str | None = None
    short: str | None = None


def is_spelled_out(text: str) -> bool:
    """Whether a text is a UUID or its short form, which no number is taken for."""
    spelled = text.strip().lower()
    return bool(_UUID.fullmatch(spelled) or _SHORT.fullmatch(spelled))


def ref(value: int | str) -> Ref:
    """Read any spelling of an item's identity."""
    text = "" if isinstance(value, bool) else str(value).strip().lower().removeprefix("#")
    if not text:
        raise InvalidInput(f"{value!r} is not an id.", ID_HINT)
    if _UUID.fullmatch(text):
        digits = text.replace("-", "")
        uid = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        return Ref(text, uid=uid)
    spelled = _SHORT.fullmatch(text) if isinstance(value, str) else None
    short = spelled[1] if spelled else None
    number = int(text) if _NUMBER.fullmatch(text) else None
    # What no item can be called is an id all the same: one that nothing answers to.
    return Ref(text, number if number is not None and abs(number) <= MAX_INTEGER else None, short=short)
