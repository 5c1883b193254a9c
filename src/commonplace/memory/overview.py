"""Overview: the topics of a project with their most central passages, and how those connect, for a map of it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import NotFound
from commonplace.memory.book import Book
from commonplace.model import Item
from commonplace.store.links import Edge
from commonplace.store.topics import Topic

MOST_TOPICS, MOST_PASSAGES = 60, 5_000
# Links of each passage that are shown, and passages whose links are looked up in one question.
LINKS_EACH, AT_ONCE = 3, 500
NEIGHBOURS = 12


@dataclass(frozen=True, slots=True)
class Overview:
    """Topics, the largest first, with passages by how central they are, and the links among all of these."""

    groups: tuple[tuple[Topic, tuple[int, ...]], ...]
    edges: tuple[Edge, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Connected:
    """A passage with its item, its topic, and the passages that it belongs together with, by which reason."""

    item: Item
    text: str
    topic: Topic | None
    links: tuple[tuple[str, Item, str], ...]


def overview(book: Book, project: str | None = None, most: int = MOST_PASSAGES) -> Overview:
    """As much as fits: each topic gets room by its size, and fills it with what is most central."""
    topics = book.store.topics(project)
    shown = topics[:MOST_TOPICS]
    total = sum(topic.size for topic in shown)
    share = min(1.0, most / total) if total else 1.0
    groups = []
    for topic in shown:
        room = max(1, int(topic.size * share))
        groups.append((topic, tuple(passage for passage, _near in book.store.topic_passages(topic.id, room))))
    passages = [passage for _topic, members in groups for passage in members]
    left_out = sum(topic.size for topic in topics) - len(passages)
    return Overview(tuple(groups), tuple(_edges(book, passages)), max(0, left_out))


def connected(book: Book, passage_id: int) -> Connected:
    """One passage and what belongs together with it."""
    edges = book.store.neighbours([passage_id], NEIGHBOURS)
    others = {edge.dst if edge.src == passage_id else edge.src: edge.rel for edge in edges}
    texts = book.store.passage_texts([passage_id, *others])
    items = book.store.get({text.item_id for text in texts.values()})
    own = texts.get(passage_id)
    if own is None or own.item_id not in items:
        raise NotFound(f"There is no passage {passage_id}.", "It may have been forgotten or changed.")
    links = tuple(
        (rel, items[texts[other].item_id], texts[other].text)
        for other, rel in others.items()
        if other in texts and texts[other].item_id in items
    )
    return Connected(items[own.item_id], own.text, book.store.topics_of([passage_id]).get(passage_id), links)


def _edges(book: Book, passages: Sequence[int]) -> list[Edge]:
    """The links among these passages, each once."""
    known = set(passages)
    found: dict[tuple[int, int], Edge] = {}
    for start in range(0, len(passages), AT_ONCE):
        for edge in book.store.neighbours(passages[start : start + AT_ONCE], LINKS_EACH):
            if edge.src in known and edge.dst in known:
                found.setdefault((edge.src, edge.dst), edge)
    return list(found.values())
