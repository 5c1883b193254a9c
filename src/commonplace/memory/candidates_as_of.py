"""Candidates of a search in the past: what answers a question among what was held true at a moment.

Indexes know items as they are now. Those that were edited, superseded or forgotten after the moment are read from their
history and compared with the question one by one; all others are found as always.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.as_of import MOST_CHANGES, written_by_then
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import Candidates, ParsedQuestion, find_candidates
from commonplace.model import Item, Scope
from commonplace.ranking.scoring import Evidence
from commonplace.store.rows import embedding_text
from commonplace.text.tokens import index_text

# Of what changed since, those that hold most of the words are compared by meaning.
COMPARED = 60
# Characters that are read of each.
READ_CHARACTERS = 2_000


def find_candidates_as_of(memory: LocalMemory, question: ParsedQuestion, scope: Scope, k: int) -> Candidates:
    """Passages that are as they were at the moment of a scope, and items that have changed since, as they were then."""
    states = memory.store.states_at(scope, MOST_CHANGES)
    found = find_candidates(memory, question, written_by_then(scope), k + min(len(states), k))
    unchanged = {passage: id_ for passage, id_ in found.item_of_passage.items() if id_ not in states}
    candidates = Candidates({passage: found.evidence[passage] for passage in unchanged}, unchanged, found.total)
    _add_past(memory, question, candidates, [item for item in states.values() if item is not None])
    return candidates


def _add_past(memory: LocalMemory, question: ParsedQuestion, candidates: Candidates, past: Sequence[Item]) -> None:
    """Add items as they were that have words of the question, or are near to it in meaning."""
    texts = {item.id: _text(item) for item in past}
    shares = _word_shares(question, texts)
    cosines: dict[int, float] = {}
    if question.query.strict:
        # Without an index, a filter means all of its words.
        best = [item for item in past if shares[item.id] == 1.0]
    else:
        best = sorted(past, key=lambda item: -shares[item.id])[:COMPARED]
        cosines = _cosines(memory, question, {item.id: texts[item.id] for item in best})
    best_bm25 = candidates.best_bm25 or 1.0
    for item in best:
        share, cosine = shares[item.id], cosines.get(item.id)
        if share > 0.0 or (cosine or 0.0) > 0.0:
            candidates.past[item.id], candidates.past_texts[item.id] = item, texts[item.id]
            candidates.item_of_passage[-item.id] = item.id
            candidates.evidence[-item.id] = Evidence(share * best_bm25, cosine, share)


def _word_shares(question: ParsedQuestion, texts: Mapping[int, str]) -> dict[int, float]:
    """The share of the words of a question in each text; a word that few of them hold counts for more."""
    tokens = list(dict.fromkeys(word.token for word in question.query.words))
    held = {id_: frozenset(index_text(text).split()) for id_, text in texts.items()}
    worth = {}
    for token in tokens:
        holding = sum(token in words for words in held.values())
        worth[token] = math.log(1 + len(texts) / (0.5 + holding))
    total = sum(worth.values()) or 1.0
    return {id_: sum(worth[token] for token in tokens if token in words) / total for id_, words in held.items()}


def _cosines(memory: LocalMemory, question: ParsedQuestion, texts: Mapping[int, str]) -> dict[int, float]:
    """How near texts are to a question in meaning, where a model tells."""
    if question.vector is None or not texts:
        return {}
    try:
        vectors = memory.embeddings.embed_texts(list(texts.values()))
    except EmbedderUnavailable:
        return {}
    return dict(zip(texts, (vectors @ question.vector).tolist(), strict=True))


def _text(item: Item) -> str:
    return embedding_text(item.kind, item.type, item.title, item.body, item.details, ())[:READ_CHARACTERS]
