"""Plain values that a store takes and returns, besides those of `commonplace.model`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.errors import InvalidInput
from commonplace.model import Kind, PassageText, Stream, TextHit
from commonplace.text.dates import DAY_MS, HOUR_MS

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray

    from commonplace.text.references import References

    Vector = NDArray[float32]

# Items and search.


@dataclass(frozen=True, slots=True)
class Counts:
    """What a space holds, and how much is pending."""

    items: Mapping[str, int]
    projects: int
    sessions: int
    passages: int
    vectors: int
    pending: int
    forgotten: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ItemHeader:
    """An item without its text, for looking over many of them."""

    item_id: int
    kind: Kind
    type: str
    title: str
    details: Mapping[str, str]
    meta: Mapping[str, object]
    project: str | None
    session_id: int | None
    author: str | None
    review: str | None
    at_ms: int


class Use(NamedTuple):
    """How often an item was useful, each time worth half after USE_HALF_LIFE_MS, counted at its last use."""

    number: float
    last_ms: int

    def now(self, now_ms: int) -> float:
        """What is left of its uses by now."""
        return float(self.number * 0.5 ** (max(0, now_ms - self.last_ms) / USE_HALF_LIFE_MS))


USE_HALF_LIFE_MS = 30 * DAY_MS
# Opening the same again within this time is the same use.
SAME_USE_MS = HOUR_MS


class TextAnswer(NamedTuple):
    """Passages found by full-text search.

    `hits` are the best by BM25. `total` counts matches up to a bound. `words` is what the engine learned of the words
    of a plain question, for `word_shares`: None for a query with operators, whose hits hold all that it asks for.
    """

    hits: tuple[TextHit, ...]
    total: int
    words: Any = None


MAX_EMBED_TRIES = 5
"""A job that failed so often is given up."""


class Job(NamedTuple):
    """A passage that waits for its vector, leased to the caller; `before` is the text before it."""

    id: int
    passage: PassageText
    before: str = ""


StreamCheck = Callable[[Stream | None], Stream]
"""Sees a stream inside the transaction; what it raises changes nothing."""

# Conversations.

CONTENT_KEY_PREFIX = "conversation:"
"""How the key of a conversation begins that is identified by its content."""


def session_key_in_project(project: str | None, key: str) -> str:
    """The key of a conversation in a project: the same content in another project is another conversation."""
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


class Turn(NamedTuple):
    """Where an item stands in its session; `speaker` and `role` are empty where nobody is named."""

    session_id: int
    speaker: str
    role: str
    next_id: int | None


# Links between passages: edges from what came later to what came earlier.

# How strong a link of each kind is, between 0 and 1. The first four are lowered by how common their reason is.
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
# Something that so many passages mention links them no more.
COMMON_MENTIONS = 200
MAX_LINKS_PER_MENTION, MAX_MENTION_LINKS = 3, 12
# How many of the last passages of a session the next one is linked to.
SESSION_END_PASSAGES = 3
# Links that the metadata of an item states, and the least weight of one of them.
MAX_STATED_LINKS, MIN_LINK_WEIGHT = 100, 0.05

FindReferences = Callable[[str], "References"]


class Edge(NamedTuple):
    """A passage that came later, one that came earlier, and why they belong together."""

    src: int
    dst: int
    rel: str
    weight: float


def link_weight(rel: str, mentioned: int = 1) -> float:
    """The weight of a link, given how many earlier passages mention its reason: half for what is nearly common."""
    return LINK_WEIGHTS[rel] * (1 - 0.5 * log(max(mentioned, 1)) / log(COMMON_MENTIONS))


# Events.

# The ids of the last reported item, change of an item, conversation and change of a conversation.
EVENT_MARK = r"[0-9]{1,18}(-[0-9]{1,18}){3}"

EventMark = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an item or a conversation. `mark` is where to go on after it.

    `author` is who did it, where that is known. The rest is the current state; what has been forgotten since shows no
    title.
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
    author: str | None = None


def parse_event_mark(text: str) -> EventMark:
    """A mark as numbers."""
    if not re.fullmatch(EVENT_MARK, text):
        raise InvalidInput("The event id is not one of ours.", "Take it unchanged from an event, or leave it out.")
    items, changes, sessions, session_changes = map(int, text.split("-"))
    return items, changes, sessions, session_changes


def format_event_mark(mark: EventMark) -> str:
    return "-".join(map(str, mark))


# Replies to requests that may be repeated (Idempotency-Key): the first reply is given again.


class SavedReply(NamedTuple):
    """A reply as it was sent."""

    status: int
    headers: str
    body: bytes


class RequestClaim(NamedTuple):
    """Who made a request under which name, a digest of what it asks for, and which attempt this is."""

    caller: str
    name: str
    fingerprint: bytes
    attempt: str


class EarlierRequest(NamedTuple):
    """An earlier request of the same name; `answer` is None while it is being worked on."""

    fingerprint: bytes
    answer: SavedReply | None


# Topics: groups of passages about the same subject, each within one project.


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of passages with its name; `project` is None for passages without a project."""

    id: int
    name: str
    size: int
    project: str | None
    built_ms: int


class StaleTopics(NamedTuple):
    """How a project has changed since its topics were built.

    `place` identifies it in the other calls. Since its topics were built from `built` vectors (None: never), `fresh`
    ones were added and `gone` ones removed; `unseen` ones were not looked at yet.
    """

    place: int
    built: int | None
    fresh: int
    gone: int
    unseen: int


class TopicPoints(NamedTuple):
    """Passages with the directions of their vectors, in the order they were added; `last` is where to go on after.

    `model` made the vectors: those of two models are not compared.
    """

    passages: NDArray[int64]
    rows: NDArray[int8]
    last: int
    model: int | None


class TopicCentre(NamedTuple):
    """The centre of a topic. A new one has no id yet."""

    id: int | None
    name: str
    row: NDArray[float32]


class BuiltTopics(NamedTuple):
    """The topics of a place as they were built: their centres, the shift applied before, and the last vector seen."""

    centres: Sequence[TopicCentre]
    shift: NDArray[float32]
    seen: int
    model: int | None


TopicMember = tuple[int, int, float]
"""Index of the centre, passage, and the cosine between them."""
