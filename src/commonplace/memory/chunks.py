"""Chunks: passages of what was said and done, with where they stand: their session, topic and neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import NoResults
from commonplace.memory.book import Book
from commonplace.memory.graph import Reached, walk
from commonplace.memory.recall import recall
from commonplace.memory.topics import topics_of
from commonplace.model import KINDS, Item, Scope, Session
from commonplace.text.names import base_name
from commonplace.text.recency import asked_period
from commonplace.text.times import stamp

# Everything but checkpoints, which are about a session.
KINDS_TOLD = tuple(kind for kind in KINDS if kind != "checkpoint")
# As many as are looked at to tell how many there are.
POOL = 30
GRAPH_DEPTH, GRAPH_MOST = 3, 10
# What is asked for by its time is answered by it; how good an answer that is falls a little with each one.
LATEST_SCORE, LATEST_FALL = 0.95, 0.01
_TRIVIAL = 15


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
        return stamp(self.item.created_ms)[:10]

    @property
    def session_name(self) -> str:
        """Slug and date of the session's beginning."""
        return f"{self.slug}-{stamp(self.session.started_ms)[:10] if self.session else self.day}"


@dataclass(frozen=True, slots=True)
class Recollection:
    """Chunks that answer, best first, how many there were, and what stands next to them in the graph."""

    chunks: tuple[Chunk, ...]
    total: int
    around: tuple[Reached, ...]


def recollect(book: Book, question: str, limit: int = 10, min_score: float = 0.5) -> Recollection:
    """What was said and done about something; a question about time alone is answered by the latest."""
    found = answering(book, question, max(limit, POOL), min_score)
    if not found:
        raise NoResults("No matching chunks found")
    told = found[:limit]
    seeds = {chunk.passage_id: chunk.score for chunk in told}
    return Recollection(tuple(told), len(found), tuple(walk(book, seeds, depth=GRAPH_DEPTH, most=GRAPH_MOST)))


def answering(book: Book, question: str, limit: int, min_score: float) -> list[Chunk]:
    """Chunks that answer a question at least that well, best first."""
    period = asked_period(question, book.clock())
    if period is not None:
        newest = book.store.newest(Scope(kinds=KINDS_TOLD), 4 * limit)
        items = [item for item in newest if period.holds(item.created_ms) and len(item.text) >= _TRIVIAL][:limit]
        first = {item_id: passages[0] for item_id, passages in book.store.passages_of([i.id for i in items]).items()}
        scored = [(item, first[item.id], LATEST_SCORE - LATEST_FALL * n) for n, item in enumerate(items)]
    else:
        hits = recall(book, question, Scope(kinds=KINDS_TOLD), limit).hits
        scored = [(hit.item, hit.passage_id, hit.relevance) for hit in hits if hit.relevance >= min_score]
    return chunks_of(book, [(item, passage, max(score, 0.0)) for item, passage, score in scored])


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
