"""Chunks: passages of what was said and done, with where they stand: their session, topic and neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from commonplace.errors import NoResults
from commonplace.memory.book import Book
from commonplace.memory.graph import Reached, walk
from commonplace.memory.recall import Recalled, recall
from commonplace.memory.topics import topics_of
from commonplace.model import KINDS, Item, Scope, Session
from commonplace.ranking.diversity import distinct
from commonplace.text.extract import says_little
from commonplace.text.names import base_name
from commonplace.text.recency import Period, asked_time, day_of

# Everything but checkpoints, which are about a session.
KINDS_TOLD = tuple(kind for kind in KINDS if kind != "checkpoint")
# As many as are looked at to tell how many there are.
POOL = 100
GRAPH_DEPTH, GRAPH_MOST = 3, 10
# What is asked for by its time is answered by it; how good an answer that is falls a little with each one.
LATEST_SCORE, LATEST_FALL = 0.95, 0.998
PAGE = 250


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that answers."""

    passage_id: int
    id: str
    item: Item
    text: str
    score: float
    session: Session | None
    topic: str | None

    @property
    def slug(self) -> str:
        """Whose session it is from: the project's last name, else the folder's."""
        project = self.item.project or (self.session.project if self.session else None)
        folder = self.session.folder.rsplit("/", 1)[-1] if self.session else ""
        return base_name(project) if project else folder.replace(" ", "-") or "global"

    @property
    def day(self) -> str:
        return day_of(self.item.created_ms)

    @property
    def session_name(self) -> str:
        """Slug and date of the session's beginning."""
        return f"{self.slug}-{day_of(self.session.started_ms) if self.session else self.day}"

    @property
    def place(self) -> str:
        """What tells its session from others."""
        return self.session.uid if self.session else self.slug


@dataclass(frozen=True, slots=True)
class Recollection:
    """Chunks that answer, best first, how many there were, and what stands next to them in the graph.

    `waiting` counts passages that were compared by their words alone, because they have no vector yet.
    """

    chunks: tuple[Chunk, ...]
    total: int
    around: tuple[Reached, ...]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Latest:
    """What a question about time alone asks for: a period, in one project or in all."""

    period: Period
    project: str | None


def recollect(book: Book, question: str, limit: int = 10, min_score: float = 0.5) -> Recollection:
    """What was said and done about something; a question about time alone is answered by the latest."""
    latest = asked_latest(book, question)
    waiting = 0
    if latest:
        found = latest_chunks(book, latest, POOL)
    else:
        recalled = recall(book, question, Scope(kinds=KINDS_TOLD), max(limit, POOL))
        found, waiting = _chunks_above(book, recalled, min_score), recalled.waiting
    if not found:
        raise NoResults("No matching chunks found")
    # Chosen by what was found best, told by how likely each answers.
    told = sorted(found[:limit], key=lambda chunk: -chunk.score)
    seeds = {chunk.passage_id: chunk.score for chunk in told}
    around = [one for one in walk(book, seeds, depth=GRAPH_DEPTH, most=2 * GRAPH_MOST) if not is_small_talk(one.item)]
    return Recollection(tuple(told), len(found), tuple(around[:GRAPH_MOST]), waiting)


def asked_latest(book: Book, question: str) -> Latest | None:
    """The period and project that a question asks for; None if it is about anything else."""
    asked = asked_time(question, book.clock())
    if asked is None:
        return None
    project = book.store.find_project(asked.name) if asked.name else None
    return None if asked.name and project is None else Latest(asked.period, project)


def latest_chunks(book: Book, asked: Latest, most: int) -> list[Chunk]:
    """What was said and done in a period, the latest first, each thing once."""
    items = list(islice(latest_items(book, asked), 2 * most))
    return one_of_each(book, distinct(items, lambda item: f"{item.project} {item.title} {item.text}")[:most])


def latest_items(book: Book, asked: Latest) -> Iterator[Item]:
    """All items of a period, the latest first, read as they are asked for."""
    scope, period = Scope(project=asked.project, kinds=KINDS_TOLD), asked.period
    before = None if period.to_ms is None else (period.to_ms, 0)
    while page := book.store.newest(scope, PAGE, before):
        for item in page:
            if item.created_ms < (period.from_ms or item.created_ms):
                return
            if not is_small_talk(item):
                yield item
        before = (page[-1].created_ms, page[-1].id)


def one_of_each(book: Book, items: Sequence[Item]) -> list[Chunk]:
    """A passage of each item, the first item scored best: how an agent's turn ended, how anything else began."""
    parts = book.store.passages_of([item.id for item in items])
    told = [parts[item.id][-1 if item.details.get("role") == "assistant" else 0] for item in items]
    scored = enumerate(zip(items, told, strict=True))
    return chunks_of(book, [(item, passage, LATEST_SCORE * LATEST_FALL**n) for n, (item, passage) in scored])


def answering(book: Book, question: str, limit: int, min_score: float) -> list[Chunk]:
    """Chunks that answer a question at least that well, best first."""
    return _chunks_above(book, recall(book, question, Scope(kinds=KINDS_TOLD), limit), min_score)


def _chunks_above(book: Book, recalled: Recalled, min_score: float) -> list[Chunk]:
    hits = [hit for hit in recalled.hits if hit.relevance >= min_score]
    return chunks_of(book, [(hit.item, hit.passage_id, hit.relevance) for hit in hits])


def is_small_talk(item: Item) -> bool:
    """Thanks, go on, and the like: said between people, and no part of the work."""
    return item.kind == "message" and says_little(item.text)


def chunks_of(book: Book, scored: Sequence[tuple[Item, int, float]]) -> list[Chunk]:
    """Passages of items as chunks, with their texts, sessions and topics, each read once for all."""
    passages = [passage for _item, passage, _score in scored]
    texts = book.store.passage_texts(passages)
    sessions = book.store.sessions_of([item.id for item, _passage, _score in scored])
    topics = topics_of(book, passages)
    ids = chunk_ids(book, {passage: item for item, passage, _score in scored})
    return [
        Chunk(
            passage,
            ids[passage],
            item,
            texts[passage].text,
            score,
            sessions.get(item.id),
            topics[passage].name if passage in topics else None,
        )
        for item, passage, score in scored
        if passage in texts
    ]


def chunk_ids(book: Book, owners: Mapping[int, Item]) -> dict[int, str]:
    """What each passage is called: the short id of its item, and its number if the item was cut."""
    cut = book.store.passages_of([item.id for item in owners.values()])
    ids = {}
    for passage, item in owners.items():
        parts = cut.get(item.id, [])
        number = f"-{parts.index(passage) + 1}" if len(parts) > 1 and passage in parts else ""
        ids[passage] = item.short_id + number
    return ids
