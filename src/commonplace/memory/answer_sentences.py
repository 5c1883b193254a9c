"""Which sentence of a hit answers the question: the one to mark where the hit is shown.

The cross-encoder tells an answer from what only resembles the question, so it reads the sentences of the best hits, as
many as fit a number of tokens. Of the others the one is taken that has most of the question's words, if it has enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.candidates import is_filter
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import Hit
from commonplace.text.query import plain_words
from commonplace.text.sentences import content_stems, sentences

# Of so many hits a sentence is chosen, and so many sentences of each are looked at.
HITS, SENTENCES = 10, 10
# Tokens of questions and sentences that are read together.
READ_TOKENS = 200
# A single word asks nothing that a sentence could answer.
LEAST_WORDS = 2
# A sentence needs this share of the question's words where nothing but the words can tell.
ENOUGH_WORDS = 0.6
# A sentence with fewer letters ("Yes.") answers nothing by itself.
SHORTEST = 12


def answer_sentences(memory: LocalMemory, question: str, hits: Sequence[Hit]) -> dict[int, str]:
    """The sentence of each of the first hits that answers best, by the id of its item; none where no one stands out."""
    wanted = frozenset(word.token for word in plain_words(question))
    if len(wanted) < LEAST_WORDS:
        return {}
    texts = memory.store.passage_texts([hit.passage_id for hit in hits[:HITS]])
    found = {hit.item.id: _statements(texts[hit.passage_id].text) for hit in hits[:HITS] if hit.passage_id in texts}
    several = {item_id: parts for item_id, parts in found.items() if len(parts) > 1}
    return _by_words(several, wanted) | _by_reading(memory, question, several)


def _statements(text: str) -> list[str]:
    """The sentences of a text that may answer: no questions, and nothing too short."""
    return [one for one in sentences(text) if len(one) >= SHORTEST and not one.endswith(("?", "\uff1f"))][:SENTENCES]


def _by_words(several: Mapping[int, Sequence[str]], wanted: frozenset[str]) -> dict[int, str]:
    chosen = {}
    for item_id, parts in several.items():
        shares = [len(content_stems(part) & wanted) / max(1, len(wanted)) for part in parts]
        best = max(range(len(parts)), key=lambda place: (shares[place], -place))
        if shares[best] >= ENOUGH_WORDS:
            chosen[item_id] = parts[best]
    return chosen


def _by_reading(memory: LocalMemory, question: str, several: Mapping[int, Sequence[str]]) -> dict[int, str]:
    reader = memory.cross_encoder
    if reader is None or not reader.is_loaded or is_filter(question):
        return {}
    sentences_of = [(item_id, part) for item_id, parts in several.items() for part in parts]
    try:
        scores = reader.score(question, [(part, "") for _item_id, part in sentences_of], READ_TOKENS)
    except EmbedderUnavailable:
        return {}
    best: dict[int, tuple[float, str]] = {}
    for (item_id, part), score in zip(sentences_of, scores, strict=False):
        if item_id not in best or score > best[item_id][0]:
            best[item_id] = (score, part)
    # The last hit may have been read in part only.
    whole = [item_id for item_id, _part in sentences_of[len(scores) : len(scores) + 1]]
    return {item_id: part for item_id, (_score, part) in best.items() if item_id not in whole}
