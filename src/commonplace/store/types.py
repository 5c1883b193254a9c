"""What a store offers about sessions, which people know as conversations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.errors import InvalidInput
from commonplace.identity import Ref
from commonplace.model import Change, Draft, Item, Kind, Scope, Session, SessionDraft, SessionScope, Stored
from commonplace.store.damage import texts_of
from commonplace.text.near_duplicates import Sketch
from commonplace.text.query import Word
from commonplace.text.references import References

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray


CONTENT_KEY_PREFIX = "conversation:"
"""How the key of a conversation begins that is known by what it says."""


def session_key_in_project(project: str | None, key: str) -> str:
    """The key of a conversation in a project: where it is known by what it says, the same elsewhere is another."""
    if project is None or not key.startswith(CONTENT_KEY_PREFIX) or "@" in key:
        return key
    return f"{key}@{hashlib.sha256(project.casefold().encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """Sums over some sessions with messages. `labels` has the commonest only; `all_labels` counts them."""

    sessions: int
    messages: int
    words: int
    bytes: int
    importance: float
    oldest_ms: int | None
    newest_ms: int | None
    folders: Mapping[str, int]
    labels: Mapping[str, int]
    all_labels: int
    statuses: Mapping[str, int]
    sources: Mapping[str, int]


class Conversations(Protocol):
    """Sessions of one space. A session that was forgotten is found by its id only."""

    # A session whose uid or key is known gets the messages that are new, and comes back if it was forgotten.
    def store_sessions(
        self, kept: Sequence[tuple[SessionDraft, Sequence[Draft]]], now_ms: int
    ) -> list[tuple[Session, list[Stored]]]: ...
    def append_messages(
        self, session_id: int, drafts: Sequence[Draft], now_ms: int, expect_rev: int | None = None
    ) -> tuple[Session, list[Stored]]: ...
    def change_session(
        self, session_id: int, changes: Mapping[str, object], now_ms: int, expect_rev: int | None = None
    ) -> Session: ...
    def forget_session(self, session_id: int, now_ms: int, expect_rev: int | None = None) -> Session: ...
    def restore_session(self, session_id: int, now_ms: int) -> Session: ...
    # Remembers that it was read, unless the store is busy or cannot be written.
    def touch_session(self, session_id: int, now_ms: int) -> None: ...

    def resolve_session(self, ref: Ref, key: str) -> int | None: ...
    def get_sessions(self, session_ids: Iterable[int]) -> dict[int, Session]: ...
    def sessions_of(self, item_ids: Sequence[int]) -> dict[int, Session]: ...
    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]: ...
    # The one with the newest message first: those after a position, or after so many.
    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]: ...
    def count_sessions(self, scope: SessionScope) -> int: ...
    def session_counts(self, scope: SessionScope, most_labels: int) -> SessionCounts: ...
    # How many live messages were said on each day (UTC, in days since 1970), from a moment on.
    def activity(self, scope: SessionScope, since_ms: int) -> Mapping[int, int]: ...
    def session_history(self, session_id: int) -> list[Change]: ...
    # Active sessions whose last message is older and whose importance is lower, and how alike all sessions are.
    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]: ...
    def sketches(self) -> dict[int, Sketch]: ...


# How much a link of each kind says, between 0 and 1. The first four are lowered by how common their reason is.
LINK_WEIGHTS: Mapping[str, float] = {
    "file": 1.0,
    "error": 0.9,
    "name": 0.8,
    "backref": 0.9,
    "adjacent": 0.5,
    "continued": 0.7,
    "brief": 0.9,
    "debrief": 0.9,
    "linked": 0.8,
}
# What stands in so many passages links no more.
COMMON_MENTIONS = 200
# Links to the latest that mention the same thing, links of a passage by mentions, passages that a session ends with.
MAX_LINKS_PER_MENTION, MAX_MENTION_LINKS, SESSION_END_PASSAGES = 3, 12, 3
# Links that an item's own metadata tells, and the least that one of them weighs.
MAX_STATED_LINKS, MIN_LINK_WEIGHT = 100, 0.05

FindReferences = Callable[[str], References]


@dataclass(frozen=True, slots=True)
class Edge:
    """A passage that came later, one that came earlier, and why they belong together."""

    src: int
    dst: int
    rel: str
    weight: float


class Links(Protocol):
    """The graph of one space. Only live items are shown; what is hidden keeps its links for when it comes back."""

    # Link up to `limit` passages that were written since the last time, in their order. How many were done: none also
    # when another process did them first. StoreBusy if others are writing.
    def link(self, limit: int, describe: FindReferences, now_ms: int) -> int: ...
    def count_unlinked(self) -> int: ...

    # The edges of these passages, the strongest first; of each at most so many to earlier and so many to later ones.
    def neighbours(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]: ...

    # The same passages in the order in which they were said or written.
    def sort_by_time(self, passage_ids: Sequence[int]) -> list[int]: ...


def link_weight(rel: str, mentioned: int = 1) -> float:
    """The weight of a link, given how many earlier passages mention its reason: half for what is nearly common."""
    return LINK_WEIGHTS[rel] * (1 - 0.5 * log(max(mentioned, 1)) / log(COMMON_MENTIONS))


# The last item, change of an item, conversation and change of a conversation that were told.
EVENT_MARK = r"[0-9]{1,18}(-[0-9]{1,18}){3}"

EventMark = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an item or a conversation. `mark` is where to go on after it.

    The rest is as it is now; what was forgotten since tells no title.
    """

    mark: str
    what: str
    at_ms: int
    id: int
    uid: str
    kind: str
    type: str
    title: str
    project: str | None


class News(Protocol):
    """The news of one space."""

    # Up to `limit` events after the mark, and where to go on; without a mark none, and where the news are now.
    def news(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]: ...


def parse_event_mark(text: str) -> EventMark:
    """A mark as numbers."""
    if not re.fullmatch(EVENT_MARK, text):
        raise InvalidInput("The event id is not one of ours.", "Take it unchanged from an event, or leave it out.")
    items, changes, sessions, moves = map(int, text.split("-"))
    return items, changes, sessions, moves


def format_event_mark(mark: EventMark) -> str:
    return "-".join(map(str, mark))


@dataclass(frozen=True, slots=True)
class ItemHeader:
    """An item without its text, which a look over many of them does not need."""

    item_id: int
    kind: Kind
    type: str
    title: str
    details: Mapping[str, str]
    meta: Mapping[str, object]
    project: str | None
    session_id: int | None
    at_ms: int


class Periods(Protocol):
    """The items and sessions of one space, by time: from a moment up to but without another."""

    # Live ones, the newest first.
    def happened(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[ItemHeader]: ...
    # Those that had begun before its end and had not ended before its beginning, the one that ended last first.
    def sessions_during(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Session]: ...
    # How many live items came on which day, by kind; days are counted from 1970 and begin at midnight UTC.
    def items_per_day(self, scope: Scope, from_ms: int, to_ms: int) -> dict[int, dict[Kind, int]]: ...
    # Live ones with their text, the newest first or the oldest; `beyond` is the time and the id to go on from.
    def items_between(
        self,
        scope: Scope,
        from_ms: int,
        to_ms: int,
        limit: int,
        beyond: tuple[int, int] | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[Item]: ...
    # How many live items of each kind there are in some sessions.
    def kinds_in(self, session_ids: Sequence[int]) -> dict[int, dict[Kind, int]]: ...
    # Sessions that continue one, and those of the sub-agents that it started, the oldest first.
    def follow_up_sessions(self, session_id: int) -> list[Session]: ...


@dataclass(frozen=True, slots=True)
class SavedReply:
    """An answer as it left the house."""

    status: int
    headers: str
    body: bytes


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """Whose call it was, under which name, what it asked (`fingerprint`), and which attempt this is (`attempt`)."""

    caller: str
    name: str
    fingerprint: bytes
    attempt: str


@dataclass(frozen=True, slots=True)
class EarlierRequest:
    """A call that was made before under the same name; `answer` is None while it is being worked on."""

    fingerprint: bytes
    answer: SavedReply | None


class Replies(Protocol):
    """The answers of one space."""

    # None if the call is ours to make now; else what is known of the one before. A claim without an answer made
    # before `given_up_ms` is taken over; everything claimed before `forgotten_ms` is dropped.
    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None: ...

    # Nothing happens if another attempt has taken the claim over.
    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None: ...
    def release_claim(self, claim: RequestClaim) -> None: ...


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of passages with the name it is known by; `project` is None for what belongs to none."""

    id: int
    name: str
    size: int
    project: str | None
    built_ms: int


@dataclass(frozen=True, slots=True)
class StaleTopics:
    """What became of a project since its topics were built.

    `place` means it in the other calls. Since they were built from `built` vectors (None if they never were), `fresh`
    ones came and `gone` ones went; `unseen` ones were not looked at yet.
    """

    place: int
    built: int | None
    fresh: int
    gone: int
    unseen: int


@dataclass(frozen=True, slots=True)
class TopicPoints:
    """Passages with the directions of their vectors, in the order they came; `last` is where to go on after.

    `model` made the vectors: those of two models are not compared.
    """

    passages: NDArray[int64]
    rows: NDArray[int8]
    last: int
    model: int | None


@dataclass(frozen=True, slots=True)
class TopicCentre:
    """Where a topic lies. One that is new has no id yet."""

    id: int | None
    name: str
    row: NDArray[float32]


@dataclass(frozen=True, slots=True)
class BuiltTopics:
    """The topics of a place as they were built: their centres, what was taken away before, up to where was looked."""

    centres: Sequence[TopicCentre]
    shift: NDArray[float32]
    seen: int
    model: int | None


# (number of the centre, passage, cosine between them)
TopicMember = tuple[int, int, float]


class Topics(Protocol):
    """The topics of one space. Only passages with a vector of the space's model are in them."""

    # Of one project or of all, the largest first; those that lost all members are not there.
    def topics(self, project: str | None = None) -> list[Topic]: ...
    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]: ...
    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]: ...

    # Work that comes later. Projects whose vectors changed since their topics were built.
    def stale_topics(self) -> list[StaleTopics]: ...
    def points(self, place: int, after: int, limit: int) -> TopicPoints: ...
    def built_topics(self, place: int) -> BuiltTopics | None: ...
    def topic_members(self, place: int) -> Mapping[int, int]: ...

    # Passages up to `last` were looked at, and these belong to centres of `known`. False if someone else did it first.
    def extend_topics(self, place: int, known: BuiltTopics, members: Sequence[TopicMember], last: int) -> bool: ...

    # Only who claimed a place rebuilds it, all at once: topics that are not among the centres are gone.
    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool: ...
    def replace_topics(
        self, place: int, owner: str, built: BuiltTopics, members: Sequence[TopicMember], vectors: int, now_ms: int
    ) -> bool: ...


@dataclass(frozen=True, slots=True)
class Turn:
    """Where an item stands in its session.

    `speaker` and `role` are empty where nobody is named; `size` is a message's in bytes, and None for what is none.
    """

    session_id: int
    speaker: str
    role: str
    size: int | None
    next_id: int | None


def turn_of(row: Sequence[Any]) -> Turn:
    """A turn from the number of its item and of its session, its details, its size and what follows it."""
    _id, session_id, details, size, next_id = row
    kept = texts_of(details)
    return Turn(session_id, kept.get("speaker", ""), kept.get("role", ""), size, next_id)


class Turns(Protocol):
    """The order in which the items of one space were said."""

    # Those of the words that are part of the name, or the role, of somebody who speaks: anywhere, or in one project.
    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]: ...
    # Conversations whose label matches so many of the LIKE patterns, or holds letters that engines compare differently,
    # the one with the newest message first: the id of the first message that is in the scope, and the label.
    def titled(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]: ...
    # Of these items, those that are part of a session.
    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]: ...
