"""Predict: what came next in situations like this one, and errors that were met before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.chunks import KINDS_TOLD, Chunk, chunks_of
from commonplace.memory.graph import Reached, walk
from commonplace.memory.recall import recall
from commonplace.model import Scope
from commonplace.text.extract import telling_sentence, tokens_about
from commonplace.text.references import references
from commonplace.text.summarise import shorten, title_of
from commonplace.text.tokens import index_text

# The end of a context says what is going on now.
LOOKED_AT = 2_000
SITUATIONS = 10
# A situation has to be rather like this one before what followed it is of use.
ALIKE = 0.35
STEPS = 4
# What a context says already in this share of its words is not news.
SAID_ALREADY = 0.8
SUMMARY = 240


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something from before that may help now."""

    chunk: Chunk
    title: str
    summary: str
    relevance: float


def predict(book: Book, context: str, limit: int = 5) -> list[Suggestion]:
    """What followed in situations like this, best first; nothing that the context says itself."""
    now = context[-LOOKED_AT:]
    hits = [hit for hit in recall(book, now, Scope(kinds=KINDS_TOLD), SITUATIONS).hits if hit.relevance >= ALIKE]
    situations = {hit.passage_id: hit.relevance for hit in hits}
    after = walk(book, situations, depth=STEPS, most=4 * limit, direction="forward") if situations else []
    scored: dict[int, tuple[Reached | None, float]] = {one.passage_id: (one, one.weight) for one in after}
    items = {hit.passage_id: hit.item for hit in hits} | {one.passage_id: one.item for one in after}
    for hit in hits:
        # The situation itself is of use as well: it says what was tried.
        scored.setdefault(hit.passage_id, (None, hit.relevance))
    errors = references(now).errors
    chunks = chunks_of(book, [(items[passage], passage, score) for passage, (_one, score) in scored.items()])
    ranked = sorted(chunks, key=lambda chunk: (-_worth(chunk, errors), -chunk.item.created_ms, chunk.id))
    said, about = set(index_text(context).split()), tokens_about(now)
    told: list[Suggestion] = []
    seen: set[str] = set()
    for chunk in ranked:
        suggestion = _suggestion(chunk, about, min(1.0, _worth(chunk, errors)))
        if not _is_said(chunk, said) and suggestion.summary not in seen and len(told) < limit:
            seen.add(suggestion.summary)
            told.append(suggestion)
    return told


def _worth(chunk: Chunk, errors: Sequence[str]) -> float:
    """How much a chunk may help: more if it is about the very error that is met now."""
    same = bool(errors) and bool(set(errors) & set(references(chunk.text).errors))
    return min(1.0, chunk.score * 1.25) if same else chunk.score


def _is_said(chunk: Chunk, said: set[str]) -> bool:
    words = set(index_text(chunk.text).split())
    return not words or len(words & said) >= SAID_ALREADY * len(words)


def _suggestion(chunk: Chunk, about: frozenset[str], relevance: float) -> Suggestion:
    details: Mapping[str, str] = chunk.item.details
    title = title_of(chunk.item.title) or chunk.topic or chunk.slug
    if chunk.item.kind == "message" and details.get("role") != "user" and chunk.topic:
        title = f"{chunk.topic}: {shorten(title, 60)}"
    return Suggestion(chunk, shorten(title, 100), telling_sentence(chunk.text, about, SUMMARY), relevance)
