"""Topics: what a project's passages are about, found in the background and named by their own words.

New passages join the topic they are nearest to, if one is near enough; when a third of a project's passages came or
went, its topics are built anew. A topic that is still there then keeps its id, and its name while that is true.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import Conflict, NotFound
from commonplace.memory.book import Book
from commonplace.memory.grouping import extend, rebuild
from commonplace.model import PassageText
from commonplace.ranking.topics import FEWEST
from commonplace.store.topics import Grown, Topic

__all__ = ["Central", "Topic", "tend_topics", "topic", "topics", "topics_of"]

REBUILD_SHARE = 1 / 3
# Longer than the largest rebuild takes; a process that died is waited for no longer.
LEASE_MS = 180_000
CENTRAL = 10


@dataclass(frozen=True, slots=True)
class Central:
    """A passage of a topic; `nearness` (up to 1) tells how central it is."""

    passage: PassageText
    nearness: float


def topics(book: Book, project: str | None = None) -> list[Topic]:
    """The topics of a project, or of all, the largest first. None while nothing has a vector."""
    return book.store.topics(project)


def topics_of(book: Book, passage_ids: Sequence[int]) -> dict[int, Topic]:
    """The topic of each of these passages that belongs to one."""
    return book.store.topics_of(passage_ids)


def topic(book: Book, name_or_id: str | int, limit: int = CENTRAL) -> tuple[Topic, list[Central]]:
    """One topic and its most central passages."""
    asked = str(name_or_id).strip()
    all_ = book.store.topics()
    found = [one for one in all_ if str(one.id) == asked] or [
        one for one in all_ if one.name.casefold() == asked.casefold()
    ]
    if not found:
        raise NotFound(f"There is no topic {asked!r}.", "`commonplace clusters` lists them.")
    if len(found) > 1:
        ids = ", ".join(f"{one.id} ({one.project or 'no project'})" for one in found)
        raise Conflict(f"{len(found)} topics are called {found[0].name!r}.", f"Use an id: {ids}.")
    nearest = book.store.topic_passages(found[0].id, limit)
    texts = book.store.passage_texts([passage for passage, _score in nearest])
    return found[0], [Central(texts[passage], score) for passage, score in nearest if passage in texts]


def tend_topics(book: Book) -> bool:
    """One step: a project's topics built anew, or some new passages assigned. Whether there is more to do."""
    for grown in book.store.grown_topics():
        if _outgrown(grown):
            owner = uuid.uuid4().hex
            if book.store.claim_topics(grown.place, owner, book.clock(), LEASE_MS):
                rebuild(book, grown.place, owner)
                return True
        elif grown.unseen:
            extend(book, grown.place)
            return True
    return False


def _outgrown(grown: Grown) -> bool:
    if grown.built is None:
        return grown.fresh >= FEWEST
    return grown.fresh + grown.gone > REBUILD_SHARE * grown.built
