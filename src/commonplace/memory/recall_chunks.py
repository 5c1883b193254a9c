"""Chunks: passages of past sessions that answer a question, with their session, topic and neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from commonplace.errors import NoResults
from commonplace.memory.graph import LinkedPassage, walk_links
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import is_in_scope
from commonplace.memory.recall import RecallResult, recall
from commonplace.memory.topics import topics_of_passages
from commonplace.model import KINDS, Item, Scope, Session
from commonplace.text.dates import Period, local_day, parse_time_question
from commonplace.text.near_duplicates import WordSets, drop_near_duplicates
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact
from commonplace.text.sentences import is_small_talk

# Everything but checkpoints, which are about a session.
CHUNK_KINDS = tuple(kind for kind in KINDS if kind != "checkpoint")
EVERYWHERE = Scope()
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
        """Whose session it is from: the project's last name, else the folder's. Secrets are not seen within a name."""
        project = self.item.project or (self.session.project if self.session else None)
        folder = self.session.folder.rsplit("/", 1)[-1] if self.session else ""
        return redact(base_name(project) if project else folder.replace(" ", "-")) or "global"

    @property
    def day(self) -> str:
        return local_day(self.item.created_ms)

    @property
    def session_name(self) -> str:
        """Slug and date of the session's beginning."""
        return f"{self.slug}-{local_day(self.session.started_ms) if self.session else self.day}"

    @property
    def place(self) -> str:
        """What distinguishes its session from others."""
        return self.session.uid if self.session else self.slug


@dataclass(frozen=True, slots=True)
class RecalledChunks:
    """Chunks that answer, best first, how many there were, and what stands next to them in the graph.

    `waiting` counts passages that were compared by their words alone, because they have no vector yet;
    `note` is what is said beside chunks none of which likely answers.
    """

    chunks: tuple[Chunk, ...]
    total: int
    around: tuple[LinkedPassage, ...]
    waiting: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class LatestQuestion:
    """What a question about time alone asks for: a period, in the project that it names or in a scope."""

    period: Period
    scope: Scope


def recall_chunks(
    memory: LocalMemory, question: str, limit: int = 10, min_score: float = 0.5, scope: Scope = EVERYWHERE
) -> RecalledChunks:
    """Chunks about a question in the projects of a scope; one about time alone is answered by the latest chunks."""
    latest = parse_latest_question(memory, question, scope)
    waiting, note = 0, ""
    if latest:
        found = latest_chunks(memory, latest, POOL)
    else:
        recalled = recall(memory, question, replace(scope, kinds=CHUNK_KINDS), max(limit, POOL))
        found = _chunks_above(memory, recalled, min_score)
        waiting, note = recalled.waiting, recalled.note
    if not found:
        raise NoResults("No matching chunks found")
    # Chosen by what was found best, told by how likely each answers.
    chosen = sorted(found[:limit], key=lambda chunk: -chunk.score)
    seeds, inside = {chunk.passage_id: chunk.score for chunk in chosen}, is_in_scope(memory, scope)
    around = [
        one
        for one in walk_links(memory, seeds, depth=GRAPH_DEPTH, most=2 * GRAPH_MOST)
        if inside(one.item) and not is_small_talk_item(one.item)
    ]
    return RecalledChunks(tuple(chosen), len(found), tuple(around[:GRAPH_MOST]), waiting, note)


def parse_latest_question(memory: LocalMemory, question: str, scope: Scope = EVERYWHERE) -> LatestQuestion | None:
    """The period that a question asks for, and where; None if it is about anything else."""
    parsed = parse_time_question(question, memory.clock())
    if parsed is None:
        return None
    project = memory.store.find_project(parsed.name) if parsed.name else None
    if parsed.name and project is None:
        return None
    return LatestQuestion(parsed.period, scope if project is None else Scope(project=project))


def latest_chunks(memory: LocalMemory, question: LatestQuestion, most: int) -> list[Chunk]:
    """Chunks of a period, the latest first, each thing once."""
    items = list(islice(latest_items(memory, question), 2 * most))
    return one_chunk_per_item(
        memory, drop_near_duplicates(items, WordSets(lambda item: f"{item.project} {item.title} {item.text}"))[:most]
    )


def latest_items(memory: LocalMemory, question: LatestQuestion) -> Iterator[Item]:
    """All items of a period, the latest first, read lazily."""
    scope, period = replace(question.scope, kinds=CHUNK_KINDS), question.period
    before = None if period.to_ms is None else (period.to_ms, 0)
    while page := memory.store.newest(scope, PAGE, before):
        for item in page:
            if item.created_ms < (period.from_ms or item.created_ms):
                return
            if not is_small_talk_item(item):
                yield item
        before = (page[-1].created_ms, page[-1].id)


def one_chunk_per_item(memory: LocalMemory, items: Sequence[Item]) -> list[Chunk]:
    """A passage of each item, the first item scored best: how an agent's turn ended, how anything else began."""
    parts = memory.store.passages_of([item.id for item in items])
    chosen = [parts[item.id][-1 if item.details.get("role") == "assistant" else 0] for item in items]
    scored = enumerate(zip(items, chosen, strict=True))
    return chunks_of(memory, [(item, passage, LATEST_SCORE * LATEST_FALL**n) for n, (item, passage) in scored])


def matching_chunks(
    memory: LocalMemory, question: str, limit: int, min_score: float, scope: Scope = EVERYWHERE
) -> list[Chunk]:
    """Chunks that answer a question at least that well, best first."""
    return _chunks_above(memory, recall(memory, question, replace(scope, kinds=CHUNK_KINDS), limit), min_score)


def _chunks_above(memory: LocalMemory, recalled: RecallResult, min_score: float) -> list[Chunk]:
    hits = [hit for hit in recalled.hits if hit.similarity >= min_score]
    return chunks_of(memory, [(hit.item, hit.passage_id, hit.similarity) for hit in hits])


def is_small_talk_item(item: Item) -> bool:
    """Whether it is only thanks, "go on" and the like."""
    return item.kind == "message" and is_small_talk(item.text)


def chunks_of(memory: LocalMemory, scored: Sequence[tuple[Item, int, float]]) -> list[Chunk]:
    """Passages of items as chunks, with their texts, sessions and topics, each read once for all."""
    passages = [passage for _item, passage, _score in scored]
    texts = memory.store.passage_texts(passages)
    sessions = memory.store.sessions_of([item.id for item, _passage, _score in scored])
    topics = topics_of_passages(memory, passages)
    ids = chunk_ids(memory, {passage: item for item, passage, _score in scored})
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


def chunk_ids(memory: LocalMemory, owners: Mapping[int, Item]) -> dict[int, str]:
    """What each passage is called: the short id of its item, and its number if the item was cut."""
    cut = memory.store.passages_of([item.id for item in owners.values()])
    ids = {}
    for passage, item in owners.items():
        parts = cut.get(item.id, [])
        number = f"-{parts.index(passage) + 1}" if len(parts) > 1 and passage in parts else ""
        ids[passage] = item.short_id + number
    return ids
