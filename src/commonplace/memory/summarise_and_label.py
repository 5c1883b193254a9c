"""Summaries, label suggestions and importance estimates of conversations, made of their own words without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import find_session
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall_in_sessions
from commonplace.model import DEFAULT_IMPORTANCE, Item, Scope, Session, SessionScope
from commonplace.text.dates import DAY_MS
from commonplace.text.paths import ROOT_FOLDER
from commonplace.text.redact import redact
from commonplace.text.sentences import main_sentences, shorten
from commonplace.text.tokens import count_tokens, words_of
from commonplace.text.topic_names import name_topics

# How far each level looks back from the last message, and how many tokens it takes at most.
DIGEST_LEVELS: Mapping[str, tuple[int, int]] = {
    "daily": (DAY_MS, 200),
    "weekly": (7 * DAY_MS, 500),
    "monthly": (30 * DAY_MS, 1000),
}
DIGEST_METHOD = "extractive"


@dataclass(frozen=True, slots=True)
class ConversationDigest:
    """The main sentences of some messages, and how many those were."""

    session: Session
    level: str
    text: str
    messages: int
    tokens: int
    made_ms: int


def digest_conversation(memory: LocalMemory, id_: int | str, level: str) -> ConversationDigest:
    """The last day, week or month of a conversation, counted back from its last message."""
    if level not in DIGEST_LEVELS:
        raise InvalidInput(f"level is {level[:60]!r}.", f"Choose one of {', '.join(DIGEST_LEVELS)}.")
    session = find_session(memory, id_)
    back, tokens = DIGEST_LEVELS[level]
    recent = [item for item in memory.store.messages_of(session.id) if item.created_ms > session.ended_ms - back]
    bodies = [item.body for item in recent]
    chosen = main_sentences(bodies, tokens * 4) or [shorten(body, tokens * 4) for body in bodies[:1]]
    text = " ".join(chosen)
    return ConversationDigest(session, level, text, len(recent), count_tokens(text), memory.clock())


MAX_LABELS = 5
# How much of a conversation is asked about, and how many messages like it are looked at.
_QUESTION, _NEIGHBOURS = 600, 40
# Its own words may be a good label, but nobody has used it yet.
_NEW = 0.5
# Messages that are enough to tell which words are common everywhere.
_OTHERS = 200


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """A label, the folder of similar conversations, how sure it is, and why."""

    label: str
    folder: str
    confidence: float
    known: bool
    reason: str


def label_suggestions(
    memory: LocalMemory, id_: int | str, most: int = MAX_LABELS
) -> tuple[Session, list[LabelSuggestion]]:
    """Labels for a conversation, the surest first."""
    session = find_session(memory, id_)
    texts = [item.body for item in memory.store.messages_of(session.id)]
    return session, label_suggestions_for_texts(memory, texts, most, session)


def label_suggestions_for_texts(
    memory: LocalMemory, texts: Sequence[str], most: int = MAX_LABELS, own: Session | None = None
) -> list[LabelSuggestion]:
    """Labels for messages, whether they are stored or not."""
    texts = list(map(redact, texts))
    question = " ".join(main_sentences(texts, _QUESTION)) or " ".join(texts)[:_QUESTION]
    found = _labels_of_similar(memory, question, own) + _label_from_words(memory, texts, own)
    found.sort(key=lambda one: -one.confidence)
    unlike = {own.label.casefold()} if own else set()
    chosen: list[LabelSuggestion] = []
    for one in found:
        if one.label.casefold() not in unlike:
            unlike.add(one.label.casefold())
            chosen.append(one)
    return chosen[:most]


def _labels_of_similar(memory: LocalMemory, question: str, own: Session | None) -> list[LabelSuggestion]:
    """Labels of conversations that answer to the same sentences."""
    scope = Scope(kinds=("message",), sessions=SessionScope())
    recalled, sessions = recall_in_sessions(memory, question, scope, _NEIGHBOURS)
    best: dict[str, tuple[float, Session]] = {}
    times: dict[str, set[int]] = {}
    for hit in recalled.hits:
        session = sessions.get(hit.item.id)
        if session is None or not session.label or (own is not None and session.id == own.id):
            continue
        times.setdefault(session.label, set()).add(session.id)
        if hit.similarity > best.get(session.label, (0.0, session))[0]:
            best[session.label] = (hit.similarity, session)
    return [
        LabelSuggestion(label, near.folder, round(similarity, 4), True, _like(len(times[label]), near))
        for label, (similarity, near) in best.items()
    ]


def _like(number: int, near: Session) -> str:
    others = "A conversation" if number == 1 else f"{number} conversations"
    return f"{others} like this one {'has' if number == 1 else 'have'} it, in {near.folder}."


def _label_from_words(memory: LocalMemory, texts: Sequence[str], own: Session | None) -> list[LabelSuggestion]:
    """A label made of the words that distinguish these texts from others, if there are any."""
    mine = set(texts)
    others = [item.body for item in memory.store.newest(Scope(kinds=("message",)), _OTHERS) if item.body not in mine]
    (name,) = name_topics([texts], others)
    if not name:
        return []
    folder = own.folder if own else ROOT_FOLDER
    return [LabelSuggestion(name, folder, _NEW, False, "Its words are more frequent here than elsewhere.")]


MAX_IMPORTANCE = 10.0
_LONG = 300
_CODE = re.compile(r"```|~~~|^ {4}\S", re.MULTILINE)
_IMPORTANT_WORDS = frozenset(
    "agreed always blocker breaking bug critical deadline decided decision fixed important must never required"
    " requirement root security urgent warning".split()
)


@dataclass(frozen=True, slots=True)
class ImportanceEstimate:
    """A score from 0 to 10, and what adds up to it."""

    item: Item
    score: float
    factors: Mapping[str, float]

    @property
    def reason(self) -> str:
        found = [name for name, value in self.factors.items() if value and name != "base"]
        return f"It has {', '.join(found)}." if found else "Nothing in it stands out."


def estimate_importance(memory: LocalMemory, id_: int | str) -> ImportanceEstimate:
    """How important a message looks. One that somebody rated has that rating."""
    item = get_item(memory, id_)
    if item.importance is not None:
        return ImportanceEstimate(item, item.importance, {"base": item.importance})
    important = _IMPORTANT_WORDS.intersection(words_of(item.text))
    factors = {
        "base": DEFAULT_IMPORTANCE,
        "length": 0.5 if len(item.text) > _LONG else 0.0,
        "code": 1.0 if _CODE.search(item.text) else 0.0,
        "weighty words": min(3.0, 1.0 * len(important)),
        "a question": 0.5 if item.text.rstrip().endswith("?") else 0.0,
        "small talk": -2.0 if len(words_of(item.text)) < 4 else 0.0,
    }
    return ImportanceEstimate(item, max(0.0, min(MAX_IMPORTANCE, sum(factors.values()))), factors)
