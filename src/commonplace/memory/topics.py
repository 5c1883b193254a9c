"""Topics: what the passages of a project are about, found in the background, listed, and drawn as a map."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.errors import Conflict, NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, PassageText
from commonplace.ranking.clustering import MIN_TOPIC_SIZE, NO_TOPIC, Centres, assign, cluster, same_topics
from commonplace.store.types import BuiltTopics, Edge, StaleTopics, TopicCentre, TopicMember, TopicPoints
from commonplace.store.types import Topic as Topic
from commonplace.text.topic_names import name_topics

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray


POINTS_PAGE = 5000
# Of what hooks captured, these types are what somebody said; the others are uses of tools. All have a digest.
SPOKEN_TYPES, CAPTURE_DIGEST = ("prompt", "answer", "compaction", "delegation"), "digest"
# A group with a smaller share of what somebody said is no topic, only runs of the same commands.
SPOKEN_SHARE = 0.25
# Passages that names are made of: of all topics together, at least and at most of each, and of what is in none.
READ, FEWEST_EACH, MOST_EACH, READ_OF_REST = 6000, 20, 80, 500


def extend_topics(memory: LocalMemory, place: int) -> None:
    """Look at the next passages that came since the topics were built: each joins one that is near, or none."""
    known = memory.maintenance.built_topics(place)
    if known is None:
        return
    points = memory.maintenance.topic_points(place, known.seen, POINTS_PAGE)
    if not len(points.passages) or points.model != known.model:
        return
    labels, scores = assign(points.rows, Centres(known.shift, _rows(known.centres, points.rows.shape[1])))
    memory.maintenance.extend_topics(place, known, _members(points, labels, scores), points.last)


def rebuild_topics(memory: LocalMemory, place: int, owner: str) -> None:
    """Group all passages of a project again. Nothing is locked until the result is written."""
    points = _all_points(memory, place)
    if points is None:
        return
    old = _old_centres(memory, place, points)
    before = _before(memory, place, points, old)
    centres = cluster(points.rows, before)
    labels, scores = assign(points.rows, centres)
    same = same_topics(before, _rows(old, points.rows.shape[1]), labels, centres.rows)
    old_topics = [old[same[number]] if number in same else None for number in range(len(centres.rows))]
    names = _name_topics(memory, points, labels, [was.name if was else "" for was in old_topics])
    # A group that no word tells from the others is no topic: tables, drawings, "yeah".
    named = [number for number, name in enumerate(names) if name]
    built = [
        TopicCentre(was.id if (was := old_topics[number]) else None, names[number], centres.rows[number])
        for number in named
    ]
    memory.maintenance.replace_topics(
        place,
        owner,
        BuiltTopics(built, centres.shift, points.last, points.model),
        _members(points, _renumbered(labels, named), scores),
        len(points.passages),
        memory.clock(),
    )


def _all_points(memory: LocalMemory, place: int) -> TopicPoints | None:
    """Every point of a project, read page by page; None if the model changed meanwhile."""
    import numpy as np

    pages = [memory.maintenance.topic_points(place, 0, POINTS_PAGE)]
    while len(pages[-1].passages) == POINTS_PAGE:
        pages.append(memory.maintenance.topic_points(place, pages[-1].last, POINTS_PAGE))
    pages = [page for page in pages if len(page.passages)] or pages[:1]
    if len({page.model for page in pages}) > 1:
        return None
    passages = np.concatenate([page.passages for page in pages])
    return TopicPoints(passages, np.concatenate([page.rows for page in pages]), pages[-1].last, pages[0].model)


def _old_centres(memory: LocalMemory, place: int, points: TopicPoints) -> Sequence[TopicCentre]:
    known = memory.maintenance.built_topics(place)
    return () if known is None or known.model != points.model else known.centres


def _before(memory: LocalMemory, place: int, points: TopicPoints, old: Sequence[TopicCentre]) -> NDArray[int64]:
    """The number of the old topic of each point, or NONE."""
    import numpy as np

    numbers = {centre.id: number for number, centre in enumerate(old)}
    members = memory.maintenance.topic_members(place)
    was = [numbers.get(members.get(passage), NO_TOPIC) for passage in points.passages.tolist()]
    return np.asarray(was, np.int64)


def _name_topics(
    memory: LocalMemory, points: TopicPoints, labels: NDArray[int64], old_topics: Sequence[str]
) -> list[str]:
    """Names made of some passages of each topic, spread over all of its time."""
    import numpy as np

    each = min(MOST_EACH, max(FEWEST_EACH, READ // max(1, len(old_topics))))
    groups = [_spread(points.passages[np.flatnonzero(labels == n)], each) for n in range(len(old_topics))]
    rest = _spread(points.passages[np.flatnonzero(labels == NO_TOPIC)], READ_OF_REST)
    spoken = [_texts(memory, group) for group in groups]
    return name_topics(
        [some if len(some) >= SPOKEN_SHARE * len(group) else [] for some, group in zip(spoken, groups, strict=True)],
        _texts(memory, rest),
        old_topics,
        [_tags(memory, group) for group in groups],
    )


def _tags(memory: LocalMemory, passages: Sequence[int]) -> list[str]:
    """The tags of the items that some passages are of."""
    found = memory.store.passage_texts(passages)
    return [tag for item in memory.store.get({one.item_id for one in found.values()}).values() for tag in item.tags]


def _texts(memory: LocalMemory, passages: Sequence[int]) -> list[str]:
    """What people and agents say in some passages. What hooks saw of tools names no topic, such as "npm run lint"."""
    found = memory.store.passage_texts(passages)
    items = memory.store.get({passage.item_id for passage in found.values()})
    texts = ((found[passage].text, items.get(found[passage].item_id)) for passage in passages if passage in found)
    return [spoken for text, item in texts if (spoken := _spoken(text, item))]


def _spoken(text: str, item: Item | None) -> str:
    if item is None or item.kind not in ("observation", "summary", "checkpoint"):
        return text
    if item.kind == "observation" and CAPTURE_DIGEST in item.meta:
        # Without what the index adds to it: its type and concepts.
        if is_tool_use(item):
            return ""
        words = {item.type, *item.details.get("concepts", "").split(", ")}
        lines = (line for line in text.splitlines() if line.strip() not in words)
        return "\n".join(lines)
    if item.kind == "observation":
        return text
    parts = (item.details.get(name, "") for name in ("request", "learned", "task", "next_steps", "open_questions"))
    return "\n".join(filter(None, parts)) or item.title


def is_tool_use(item: Item) -> bool:
    """Whether an item is a command, a file or another use of a tool that hooks captured: nobody said it."""
    return item.kind == "observation" and CAPTURE_DIGEST in item.meta and item.type not in SPOKEN_TYPES


def _spread(passages: NDArray[int64], most: int) -> list[int]:
    step = max(1, -(-len(passages) // most))
    return [int(passage) for passage in passages[::step]]


def _rows(centres: Sequence[TopicCentre], dim: int) -> NDArray[float32]:
    import numpy as np

    if not centres:
        return np.empty((0, dim), np.float32)
    return np.stack([centre.row for centre in centres])


def _renumbered(labels: NDArray[int64], named: Sequence[int]) -> NDArray[int64]:
    import numpy as np

    place = np.full(int(labels.max(initial=NO_TOPIC)) + 2, NO_TOPIC, np.int64)
    place[list(named)] = np.arange(len(named))
    # The last entry is for NONE, which is -1.
    renumbered: NDArray[int64] = place[labels]
    return renumbered


def _members(points: TopicPoints, labels: NDArray[int64], scores: NDArray[float32]) -> list[TopicMember]:
    rows = zip(labels.tolist(), points.passages.tolist(), scores.tolist(), strict=True)
    return [(label, passage, score) for label, passage, score in rows if label != NO_TOPIC]


REBUILD_SHARE = 1 / 3
# Longer than the largest rebuild takes; a process that died is waited for no longer.
LEASE_MS = 180_000
CENTRAL = 10


@dataclass(frozen=True, slots=True)
class CentralPassage:
    """A passage of a topic; `nearness` (up to 1) is how central it is."""

    passage: PassageText
    nearness: float


def list_topics(memory: LocalMemory, project: str | None = None) -> list[Topic]:
    """The topics of a project, or of all, the largest first. None while nothing has a vector."""
    return memory.store.topics(project)


def topics_of_passages(memory: LocalMemory, passage_ids: Sequence[int]) -> dict[int, Topic]:
    """The topic of each of these passages that belongs to one."""
    return memory.store.topics_of(passage_ids)


def find_topic(memory: LocalMemory, name_or_id: str | int, limit: int = CENTRAL) -> tuple[Topic, list[CentralPassage]]:
    """One topic and its most central passages."""
    wanted = str(name_or_id).strip().casefold()
    all_ = memory.store.topics()
    by_id = [one for one in all_ if str(one.id) == wanted]
    found = by_id or [one for one in all_ if one.name.casefold() == wanted]
    if not found:
        raise NotFound(f"There is no topic {str(name_or_id).strip()!r}.", "`commonplace topics` lists them.")
    if len(found) > 1:
        ids = ", ".join(map(_id_and_project, found))
        raise Conflict(f"{len(found)} topics are called {found[0].name!r}.", f"Use an id: {ids}.")
    nearest = memory.store.topic_passages(found[0].id, limit)
    texts = memory.store.passage_texts([passage for passage, _score in nearest])
    central = (CentralPassage(texts[passage], score) for passage, score in nearest if passage in texts)
    return found[0], list(central)


def _id_and_project(topic: Topic) -> str:
    return f"{topic.id} ({topic.project or 'no project'})"


def update_topics(memory: LocalMemory) -> bool:
    """One step: rebuild the topics of a project, or assign some new passages. Returns whether there is more to do."""
    for grown in memory.store.stale_topics():
        if _outgrown(grown):
            owner = uuid.uuid4().hex
            if memory.maintenance.claim_topics(grown.place, owner, memory.clock(), LEASE_MS):
                rebuild_topics(memory, grown.place, owner)
                return True
        elif grown.unseen:
            extend_topics(memory, grown.place)
            return True
    return False


def _outgrown(grown: StaleTopics) -> bool:
    if grown.built is None:
        return grown.fresh >= MIN_TOPIC_SIZE
    return grown.fresh + grown.gone > REBUILD_SHARE * grown.built


MOST_TOPICS, MOST_PASSAGES = 60, 1_500
# Links of each passage that are shown, and passages whose links are looked up in one question.
LINKS_EACH, LINKS_AT_ONCE = 3, 500
NEIGHBOURS = 12


@dataclass(frozen=True, slots=True)
class TopicMap:
    """Topics, the largest first, with passages by how central they are, and the links among all of these."""

    groups: tuple[tuple[Topic, tuple[int, ...]], ...]
    edges: tuple[Edge, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class PassageLinks:
    """A passage with its item, its topic, and the passages that it belongs together with, by which reason."""

    item: Item
    text: str
    topic: Topic | None
    links: tuple[tuple[str, Item, str], ...]


def build_topic_map(memory: LocalMemory, project: str | None = None, most: int = MOST_PASSAGES) -> TopicMap:
    """As much as fits: each topic gets room by its size, and fills it with what is most central."""
    topics = memory.store.topics(project)
    shown = topics[:MOST_TOPICS]
    total = sum(topic.size for topic in shown)
    share = min(1.0, most / total) if total else 1.0
    groups = []
    for topic in shown:
        room = max(1, int(topic.size * share))
        groups.append((topic, tuple(passage for passage, _near in memory.store.topic_passages(topic.id, room))))
    passages = [passage for _topic, members in groups for passage in members]
    left_out = sum(topic.size for topic in topics) - len(passages)
    return TopicMap(tuple(groups), tuple(_edges(memory, passages)), max(0, left_out))


def passage_links(memory: LocalMemory, passage_id: int) -> PassageLinks:
    """One passage and what belongs together with it."""
    edges = memory.store.edges_of([passage_id], NEIGHBOURS)
    others = {edge.dst if edge.src == passage_id else edge.src: edge.rel for edge in edges}
    texts = memory.store.passage_texts([passage_id, *others])
    items = memory.store.get({text.item_id for text in texts.values()})
    own = texts.get(passage_id)
    if own is None or own.item_id not in items:
        raise NotFound(f"There is no passage {passage_id}.", "It may have been forgotten or changed.")
    links = tuple(
        (rel, items[texts[other].item_id], texts[other].text)
        for other, rel in others.items()
        if other in texts and texts[other].item_id in items
    )
    return PassageLinks(items[own.item_id], own.text, memory.store.topics_of([passage_id]).get(passage_id), links)


def _edges(memory: LocalMemory, passages: Sequence[int]) -> list[Edge]:
    """The links among these passages, each once."""
    known = set(passages)
    found: dict[tuple[int, int], Edge] = {}
    for start in range(0, len(passages), LINKS_AT_ONCE):
        for edge in memory.store.edges_of(passages[start : start + LINKS_AT_ONCE], LINKS_EACH):
            if edge.src in known and edge.dst in known:
                found.setdefault((edge.src, edge.dst), edge)
    return list(found.values())
