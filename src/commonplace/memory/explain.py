"""Explain: how something came about, in phases, extracted from past sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice, pairwise

from commonplace.errors import NoResults
from commonplace.memory.graph import walk_links
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import is_in_scope
from commonplace.memory.recall_chunks import (
    EVERYWHERE,
    Chunk,
    LatestQuestion,
    chunks_of,
    is_small_talk_item,
    latest_items,
    matching_chunks,
    one_chunk_per_item,
    parse_latest_question,
)
from commonplace.model import PROPOSED, Item, Scope
from commonplace.text.dates import local_day
from commonplace.text.query import plain_words
from commonplace.text.sentences import RankedSentence, content_stems, key_sentence

POOL = 60
KEY_CHUNKS = 10
# What answers at least fairly, and not much worse than the best, belongs to the story.
FAIR, NEAR_THE_BEST = 0.05, 0.4
# "What did we do last?" is about this many session-days, "last week" about more; of each so many items are read.
LATEST_DAYS, PERIOD_DAYS, OF_A_DAY = 5, 20, 12
MOST_READ = 5_000
REACHED = 40
PHASES = 6
EVENT = 140
_TOPICS = 5
# Words of a request to tell, not of what is to be told.
_TELLING = frozenset(
    "approach background came chronology development did evolution evolve evolved explain explanation history how"
    " journey origin overview progress story tell timeline way why".split()
)


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """What happened in one session on one day; `worth` is how informative it is."""

    day: str
    session: str
    event: str
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """A summary in phases, the dated events it is made of, the topics around it, and the chunks that say most."""

    summary: str
    timeline: tuple[TimelineEvent, ...]
    topics: tuple[str, ...]
    chunks: tuple[Chunk, ...]


def explain(memory: LocalMemory, topic: str, depth: int = 20, scope: Scope = EVERYWHERE) -> Explanation:
    """The history of a topic over the sessions of a scope; `depth` bounds how far the graph is followed."""
    latest = parse_latest_question(memory, topic, scope)
    if latest is not None:
        about: frozenset[str] = frozenset()
        story = one_chunk_per_item(memory, _last_days(memory, latest))
        key, nearby = story, list[Chunk]()
    else:
        question = _without_telling(topic)
        about = content_stems(question)
        # A topic is no question: what is near to it is part of its story, an answer or not.
        found = matching_chunks(replace(memory, cross_encoder=None), question, POOL, FAIR, scope)
        key = [chunk for chunk in found if chunk.score >= NEAR_THE_BEST * found[0].score]
        story, nearby = _followed(memory, key, depth, about, scope)
    if not key:
        raise NoResults("No matching chunks found")
    timeline = tuple(_events(story, nearby, about))
    best = sorted((chunk for chunk in key if not is_small_talk_item(chunk.item)), key=lambda chunk: -chunk.score)
    return Explanation(
        _summary_text(timeline, "It came up" if latest is None else "Work"),
        timeline,
        _topics(story),
        tuple((best or key)[:KEY_CHUNKS]),
    )


def _without_telling(topic: str) -> str:
    """The topic alone, of "the evolution of our error handling approach"."""
    words = [word for word in topic.split() if word.strip(".,:;!?").lower() not in _TELLING]
    return " ".join(words) if content_stems(" ".join(words)) and plain_words(" ".join(words)) else topic


def _last_days(memory: LocalMemory, latest: LatestQuestion) -> list[Item]:
    """The last items of each of the last days, and the first of each day."""
    days: defaultdict[tuple[str, str | None, str | None], list[Item]] = defaultdict(list)
    most = LATEST_DAYS if latest.period.from_ms is None else PERIOD_DAYS
    for item in islice(latest_items(memory, latest), MOST_READ):
        day = (local_day(item.created_ms), item.project, item.session)
        if day not in days and len(days) == most:
            break
        days[day].append(item)
    return [item for items in days.values() for item in (*items[: OF_A_DAY - 1], *items[OF_A_DAY - 1 :][-1:])]


def _followed(
    memory: LocalMemory, key: Sequence[Chunk], depth: int, about: frozenset[str], scope: Scope
) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks with those that the graph reaches and that are about the topic; and their direct neighbours."""
    inside = is_in_scope(memory, scope)
    walked = walk_links(memory, {chunk.passage_id: chunk.score for chunk in key}, depth=depth, most=REACHED)
    reached = [one for one in walked if inside(one.item)]
    speaking = [one for one in reached if about & content_stems(one.text)]
    near = [one for one in reached if one.hops == 1 and one not in speaking]
    chunks = chunks_of(memory, [(one.item, one.passage_id, min(one.weight, FAIR)) for one in [*speaking, *near]])
    by_id = {chunk.passage_id: chunk for chunk in chunks}
    story = [*key, *(by_id[one.passage_id] for one in speaking if one.passage_id in by_id)]
    return story, [by_id[one.passage_id] for one in near if one.passage_id in by_id]


def _events(story: Sequence[Chunk], nearby: Sequence[Chunk], about: frozenset[str]) -> list[TimelineEvent]:
    """One event for each session and day, oldest first: the best line of its chunks and their neighbours."""
    days: defaultdict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in story:
        days[chunk.day, chunk.place].append(chunk)
    oldest = sorted(days, key=lambda key: min((c.item.created_ms, c.item.id) for c in days[key]))
    for chunk in nearby:
        if (chunk.day, chunk.place) in days:
            days[chunk.day, chunk.place].append(chunk)
    return [_event(day, days[day, place], about) for day, place in oldest]


def _event(day: str, chunks: Sequence[Chunk], about: frozenset[str]) -> TimelineEvent:
    lines = [_line(chunk, about) for chunk in chunks]
    best = max(lines, key=lambda line: line.worth)
    return TimelineEvent(day, chunks[0].slug, best.text, best.worth)


def _line(chunk: Chunk, about: frozenset[str]) -> RankedSentence:
    """The best line of a chunk. Decisions and summaries count more, output of tools and questions less."""
    item = chunk.item
    line = key_sentence(item.text or chunk.text, about, EVENT)
    weight = {"summary": 1.5, "memory": 1.0}.get(item.kind, 0.0) + chunk.score
    role = item.details.get("role")
    if role == "tool":
        weight -= 2.0
    if role == "user" and not line.is_outcome:
        # What was asked for is not yet what happened.
        return RankedSentence(f"Request: {line.text}", line.worth + weight - 1.0)
    # What was turned down, or only proposed, must not read as if it held.
    mark = "Rejected: " if item.type == "rejected" else "Proposed: " if item.review == PROPOSED else ""
    return RankedSentence(f"{mark}{line.text or item.title}", line.worth + weight)


def _summary_text(timeline: Sequence[TimelineEvent], verb: str) -> str:
    """The events as one text: first, then, most recently."""
    phases = _phases(timeline)
    days, places = sorted({one.day for one in timeline}), list(dict.fromkeys(one.session for one in timeline))
    where = f" in {_listed(places)}"
    if len(phases) == 1:
        return f"On {phases[0].day}{where}: {_ended(phases[0].event)}"
    when = f"{len(days)} days from {days[0]} to {days[-1]}" if len(days) > 1 else f"one day, {days[0]},"
    words = ["First", *["Then"] * (len(phases) - 2), "Most recently"]
    named = [f"{one.day}, {one.session}" if len(places) > 1 else one.day for one in phases]
    lines = [f"{word} ({name}): {_ended(one.event)}" for word, name, one in zip(words, named, phases, strict=True)]
    return " ".join([f"{verb} on {when}{where}.", *lines])


def _phases(timeline: Sequence[TimelineEvent]) -> list[TimelineEvent]:
    """At most a few events: of days that follow one another closely the most informative one."""
    if len(timeline) <= PHASES:
        return list(timeline)
    days = [date.fromisoformat(one.day).toordinal() for one in timeline]
    gaps = sorted(range(1, len(days)), key=lambda n: (days[n - 1] - days[n], n))[: PHASES - 1]
    borders = [0, *sorted(gaps), len(days)]
    groups = [timeline[start:end] for start, end in pairwise(borders)]
    return [max(group, key=lambda one: one.worth) for group in groups]


def _listed(names: Sequence[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _ended(text: str) -> str:
    text = text.rstrip(" .:,;")
    return text if text.endswith(("?", "!", "…", "。", "！", "？")) else f"{text}."


def _topics(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    weight: defaultdict[str, float] = defaultdict(float)
    for chunk in chunks:
        if chunk.topic:
            weight[chunk.topic] += chunk.score
    return tuple(sorted(weight, key=lambda name: (-weight[name], name))[:_TOPICS])
