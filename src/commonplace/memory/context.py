"""Context: what an agent should know before it starts, within a token budget.

Knowledge (decisions, constraints, heuristics, what was rejected) and rules of the project and of everywhere come
first, whatever their age; then what is recent, or what a query asks for; the last summaries; the latest checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from commonplace.memory.book import Book
from commonplace.memory.recall import Hit, evidence_for, recall_each
from commonplace.model import KNOWLEDGE_TYPES, Item, Scope
from commonplace.memory.timeline import EVENTS
from commonplace.ranking.budget import Budget, tokens_of
from commonplace.ranking.signals import OTHER_PROJECT, SAME_PROJECT, Signals, composite, order_key, recency
from commonplace.text.summarise import shorten

LEADING_TYPES = (*sorted(KNOWLEDGE_TYPES), "rule")
RECENT = 50
LEADING = 100
SUMMARIES = 5
# What of the budget may go where before the rest has had its turn.
LEADING_SHARE, CHECKPOINT_SHARE, SUMMARY_SHARE = 0.5, 0.65, 0.75
# No single item takes more than this share; longer content is shortened and can be fetched by its id.
ITEM_SHARE = 0.25
# Something from another project has to answer the query rather well to be of use here.
ELSEWHERE = 0.5


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An item as it will be shown: its content, perhaps shortened, with its score and signals."""

    item: Item
    content: str
    score: float
    signals: Signals

    @property
    def leads(self) -> bool:
        return self.item.type in LEADING_TYPES


@dataclass(frozen=True, slots=True)
class Context:
    """What fits the budget, and how much there was to choose from."""

    project: str
    items: tuple[ContextItem, ...]
    summaries: tuple[Item, ...]
    checkpoint: Item | None
    total: int
    truncated: bool

    @property
    def tokens_used(self) -> int:
        """By the reference's estimate: a quarter of the characters of each item's content, rounded up."""
        return sum(tokens_of(len(entry.content)) for entry in self.items)


Measure = Callable[[ContextItem | Item], int]
"""How many tokens an item, summary or checkpoint takes in the reply, as the caller will write it."""


def context(
    book: Book, project: str, query: str | None, token_budget: int, measure: Measure, envelope: int = 0
) -> Context:
    """A context package for a project. `envelope` is what the empty reply costs."""
    ranked = _ranked(book, project, query)
    longest = max(80, int(token_budget * ITEM_SHARE) * 4)
    shown = [replace(entry, content=shorten(entry.content, longest)) for entry in ranked]
    here = Scope(project=project)
    summaries = _summaries(book, here, query)
    checkpoint = next(iter(book.store.newest(replace(here, kinds=("checkpoint",)), 1)), None)

    budget = Budget(token_budget, spent=envelope)
    taken: set[int] = set()

    def take(entry: ContextItem | Item, share: float = 1.0) -> None:
        id_ = entry.id if isinstance(entry, Item) else entry.item.id
        if id_ not in taken and budget.spend(measure(entry), share):
            taken.add(id_)

    leading = [entry for entry in shown if entry.leads]
    for entry in leading:
        take(entry, LEADING_SHARE)
    if checkpoint:
        take(checkpoint, CHECKPOINT_SHARE)
    for summary in summaries[:1]:
        take(summary, SUMMARY_SHARE)
    for entry in shown:
        take(entry)
    for summary in summaries:
        take(summary)

    items = tuple(entry for entry in shown if entry.item.id in taken)
    kept = tuple(summary for summary in summaries if summary.id in taken)
    cut = any(entry.content != whole.content for entry, whole in zip(shown, ranked, strict=True) if entry in items)
    return Context(
        project=project,
        items=items,
        summaries=kept,
        checkpoint=checkpoint if checkpoint and checkpoint.id in taken else None,
        total=len(shown),
        truncated=cut or len(items) < len(shown) or len(kept) < len(summaries),
    )


def _ranked(book: Book, project: str, query: str | None) -> list[ContextItem]:
    """Candidates in the order they should be shown, with whole contents."""
    now, canonical = book.clock(), book.store.find_project(project)
    around = Scope(project=project, with_global=True)
    always = book.store.newest(replace(around, types=LEADING_TYPES), LEADING)
    if query and query.strip():
        inside, anywhere = recall_each(book, query, [replace(around, kinds=EVENTS), Scope(kinds=EVENTS)], RECENT)
        hits: dict[int, Hit] = {hit.item.id: hit for hit in inside.hits}
        hits |= {hit.item.id: hit for hit in anywhere.hits if hit.relevance >= ELSEWHERE}
        evidence = evidence_for(book, query, [item for item in always if item.id not in hits])
        evidence |= {id_: (hit.semantic, hit.lexical) for id_, hit in hits.items()}
        items = {item.id: item for item in (*always, *(hit.item for hit in hits.values()))}
    else:
        recent = book.store.newest(Scope(project=project, kinds=EVENTS), RECENT)
        items = {item.id: item for item in (*always, *recent)}
        evidence = {}
    entries = []
    for item in items.values():
        semantic, lexical = evidence.get(item.id, (0.0, 0.0))
        same = canonical is not None and item.project == canonical
        signals = Signals(semantic, lexical, recency(item.created_ms, now), SAME_PROJECT if same else OTHER_PROJECT)
        score = composite(signals, with_query=bool(query and query.strip()))
        entries.append(ContextItem(item, _content(item), score, signals))
    entries.sort(key=lambda e: (*order_key(e.score, knowledge=e.leads), e.item.created_ms, e.item.id), reverse=True)
    return entries


def _summaries(book: Book, here: Scope, query: str | None) -> list[Item]:
    """The newest summaries of the project; with a query those that answer it first."""
    newest = book.store.newest(replace(here, kinds=("summary",)), SUMMARIES)
    if not (query and query.strip()):
        return newest
    (asked,) = recall_each(book, query, [replace(here, kinds=("summary",))], SUMMARIES)
    together = {item.id: item for item in (*(hit.item for hit in asked.hits), *newest)}
    return list(together.values())[:SUMMARIES]


def _content(item: Item) -> str:
    """What an item says, in one text."""
    return item.body.strip() or item.details.get("narrative", "").strip() or item.title
