"""Explain: how something came about, in phases, extracted from what was said and done about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.errors import NoResults
from commonplace.memory.book import Book
from commonplace.memory.chunks import Chunk, answering, chunks_of
from commonplace.memory.graph import walk
from commonplace.text.extract import telling_sentence, tokens_about
from commonplace.text.query import plain_words
from commonplace.text.recency import asked_period
from commonplace.text.summarise import title_of

POOL = 40
KEY_CHUNKS = 10
# What answers at least fairly, and not much worse than the best, belongs to the story.
FAIR, NEAR_THE_BEST = 0.25, 0.5
# "What did we do last?" is about this many chunks.
LATEST = 10
REACHED = 20
PHASES = 6
_TOPICS = 5
# Words of a request to tell, not of what is to be told.
_TELLING = frozenset(
    "approach background came chronology development did evolution evolve evolved explain explanation history how"
    " journey origin overview progress story tell timeline way why".split()
)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in one session on one day."""

    day: str
    session: str
    event: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A summary in phases, the dated events it is made of, the topics around it, and the chunks that say most."""

    summary: str
    timeline: tuple[Event, ...]
    topics: tuple[str, ...]
    chunks: tuple[Chunk, ...]


def explain(book: Book, topic: str, depth: int = 20) -> Explanation:
    """The history of a topic over all sessions; `depth` bounds how far the graph is followed from what answers."""
    of_time = asked_period(topic, book.clock()) is not None
    asked = topic if of_time else _without_telling(topic)
    found = answering(book, asked, LATEST if of_time else POOL, FAIR)
    if not found:
        raise NoResults("No matching chunks found")
    good = [chunk for chunk in found if chunk.score >= NEAR_THE_BEST * found[0].score]
    about = tokens_about(asked)
    whole = [*good, *_around(book, good, depth, about)]
    days = _days(whole)
    timeline = tuple(Event(day, chunks[0].slug, _event(chunks, about)) for (day, _where), chunks in days)
    return Explanation(_told(timeline), timeline, _topics(whole), tuple(good[:KEY_CHUNKS]))


def _without_telling(topic: str) -> str:
    """The topic alone, of "the evolution of our error handling approach"."""
    words = [word for word in topic.split() if word.strip(".,:;!?").lower() not in _TELLING]
    return " ".join(words) if plain_words(" ".join(words)) else topic


def _around(book: Book, good: Sequence[Chunk], depth: int, about: frozenset[str]) -> list[Chunk]:
    """What the graph reaches and what speaks of the topic too: it belongs to the story."""
    reached = walk(book, {chunk.passage_id: chunk.score for chunk in good}, depth=depth, most=REACHED)
    scored = [(one.item, one.passage_id, min(one.weight, FAIR)) for one in reached if about & tokens_about(one.text)]
    return chunks_of(book, scored)


def _days(chunks: Sequence[Chunk]) -> list[tuple[tuple[str, str], list[Chunk]]]:
    """Chunks by day and session, oldest first; within a day the best first."""
    days: defaultdict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        days[chunk.day, chunk.session.uid if chunk.session else chunk.slug].append(chunk)
    for group in days.values():
        group.sort(key=lambda chunk: -chunk.score)
    return sorted(days.items(), key=lambda entry: min((c.item.created_ms, c.item.id) for c in entry[1]))


def _event(chunks: Sequence[Chunk], about: frozenset[str]) -> str:
    """What a day was about: the request if one is among its chunks, else what its best chunk says of the topic."""
    for chunk in chunks:
        if chunk.item.details.get("role") == "user" and about & tokens_about(chunk.text):
            return telling_sentence(chunk.text, about, 120)
    best = chunks[0]
    titled = best.item.kind != "message" and best.item.title
    return title_of(best.item.title) if titled else telling_sentence(best.text, about, 120)


def _told(timeline: Sequence[Event]) -> str:
    """The events as one text: first, then, most recently."""
    shown = list(timeline)
    if len(shown) > PHASES:
        step = (len(shown) - 1) / (PHASES - 1)
        shown = [shown[round(n * step)] for n in range(PHASES)]
    phases = [replace(one, event=_ended(one.event)) for one in shown]
    if len(phases) == 1:
        return f"{phases[0].day} ({phases[0].session}): {phases[0].event}"
    span = f"{len(timeline)} days of work from {timeline[0].day} to {timeline[-1].day}."
    words = ["First", *["Then"] * (len(phases) - 2), "Most recently"]
    lines = [f"{word} ({one.day}, {one.session}): {one.event}" for word, one in zip(words, phases, strict=True)]
    return " ".join([span, *lines])


def _ended(text: str) -> str:
    text = text.rstrip(" .…:,;")
    return text if text.endswith(("?", "!")) else f"{text}."


def _topics(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    weight: defaultdict[str, float] = defaultdict(float)
    for chunk in chunks:
        if chunk.topic:
            weight[chunk.topic] += chunk.score
    return tuple(sorted(weight, key=lambda name: (-weight[name], name))[:_TOPICS])
