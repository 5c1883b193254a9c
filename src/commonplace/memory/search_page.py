"""What the search page shows: hits while somebody is still typing, and which sentence of a hit answers.

Quick search takes a few milliseconds even on a large memory. First what holds all the words, the last of which may be
only begun; then, once there is more than a word to go by, what is nearest in words and meaning. Nothing is waited for:
a model that is not loaded is not asked, and the cross-encoder is left to a real search (recall.py).

It reads the sentences of that search's best hits, as many as fit a number of tokens, since it tells an answer from what
only resembles the question. Of the others the one is taken that has most of the question's words, if it has enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.items import get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import list_projects
from commonplace.memory.recall import Hit, recall
from commonplace.memory.search_candidates import ParsedQuestion, is_filter, parse_question
from commonplace.memory.search_steps import hit_weights
from commonplace.memory.topics import is_tool_use
from commonplace.model import Item, Project, Scope, Session, is_spelled_out
from commonplace.store.types import Topic
from commonplace.text.query import And, Node, Query, Term, like_pattern, plain_words
from commonplace.text.sentences import content_stems, sentences
from commonplace.text.tokens import prefix_forms, term_forms, words_of

# More than this is pasted, not typed.
MAX_TYPED = 200
ITEMS, CONVERSATIONS, PROJECTS, TOPICS = 8, 3, 3, 3
# So many of what holds the words are put in order.
CANDIDATES = 30
# Fewer letters begin so many words that the index would take long to collect them: they count as a word of their own.
LEAST_LETTERS = 3
# One word alone says too little to compare its meaning, and asks nothing that a sentence could answer.
LEAST_WORDS = 2
# What a statement is worth more than what was said, and what the use of a tool is worth less, with the same words.
STATEMENT_BONUS, TOOL_USE_PENALTY = 0.5, 1.2
# Titles that begin with the same so many characters are one to somebody who glances at them.
TITLE_COMPARED = 60
# So many conversations are looked at whose title may hold the words.
TITLES_READ = 50

_NUMBERED = re.compile(r"#[0-9]{1,18}\s*", re.ASCII)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QuickResults:
    """What fits what was typed so far, of each kind the best first."""

    items: tuple[Item, ...] = ()
    conversations: tuple[Session, ...] = ()
    projects: tuple[Project, ...] = ()
    topics: tuple[Topic, ...] = ()


def quick_search(memory: LocalMemory, typed: str) -> QuickResults:
    """What somebody may be looking for who has typed this much."""
    typed = typed[:MAX_TYPED].lstrip()
    words = words_of(typed)
    if not words:
        return QuickResults()
    parsed = parse_question(memory, typed.strip(), by_meaning=memory.embeddings.is_ready)

    def find() -> QuickResults:
        projects = _begun(list_projects(memory), words, lambda project: (project.name, *project.aliases))
        topics = _begun(memory.store.topics(), words, lambda topic: (topic.name,))
        return QuickResults(
            tuple(_find_items(memory, typed, parsed)),
            tuple(_find_conversations(memory, words)),
            tuple(projects[:PROJECTS]),
            tuple(topics[:TOPICS]),
        )

    return memory.store.snapshot(find)


def begins_words(words: Sequence[str], name: str) -> bool:
    """Whether each of some folded words begins a word of a name."""
    there = words_of(name)
    return all(any(word.startswith(begun) for word in there) for begun in words)


def _begun(found: Iterable[T], words: Sequence[str], names: Callable[[T], Iterable[str]]) -> list[T]:
    return [one for one in found if any(begins_words(words, name) for name in names(one))]


def _find_items(memory: LocalMemory, typed: str, parsed: ParsedQuestion) -> list[Item]:
    if is_spelled_out(typed) or _NUMBERED.fullmatch(typed):
        return list(get_items(memory, [typed.strip()]))
    scores: dict[int, float] = {}
    query = None if parsed.query.strict else _words_begun(typed)
    if query is not None:
        found = memory.store.search_text(query, Scope(), CANDIDATES).hits
        best = max((hit.score for hit in found), default=1.0) or 1.0
        for hit in found:
            scores[hit.item_id] = max(scores.get(hit.item_id, 0.0), 1.0 + hit.score / best)
    known = memory.store.get(scores)
    if parsed.query.strict or len(parsed.query.words) >= LEAST_WORDS or not scores:
        recalled = recall(replace(memory, cross_encoder=None), parsed, Scope(), ITEMS)
        for nearest in recalled:
            scores[nearest.item.id] = scores.get(nearest.item.id, 0.0) + nearest.similarity
            known[nearest.item.id] = nearest.item
    weights = hit_weights(memory, list(known.values()))
    for item in known.values():
        scores[item.id] += weights[item.id].total + STATEMENT_BONUS * (item.kind == "memory")
        scores[item.id] -= TOOL_USE_PENALTY * is_tool_use(item)
    ranked = sorted(known.values(), key=lambda item: (-scores[item.id], -item.created_ms, -item.id))
    # A prompt, the summary of its session and what was decided in it often have one title: the first is enough here.
    first: dict[str, Item] = {}
    for item in ranked:
        first.setdefault(item.title.casefold().rstrip(" .…")[:TITLE_COMPARED] or item.uid, item)
    return list(first.values())[:ITEMS]


def _words_begun(typed: str) -> Query | None:
    """A filter for what holds all the words, the last of them as the beginning of a word unless a space follows it."""
    before, last = _split(typed)
    forms = [(word.surface, term_forms(word.surface)) for word in plain_words(before)]
    if len(last) >= LEAST_LETTERS:
        forms.append((last, tuple(dict.fromkeys((*term_forms(last), *prefix_forms(last))))))
    elif not forms:
        forms.append((last, term_forms(last)))
    wanted: list[Node] = [Term(surface, either) for surface, either in forms if either]
    if not wanted:
        return None
    tree = wanted[0] if len(wanted) == 1 else And(tuple(wanted))
    return Query(strict=True, tree=tree, inverted=False, words=plain_words(typed), text=typed.strip())


def _split(typed: str) -> tuple[str, str]:
    """The words that are complete, and the one that is being typed, if any."""
    if typed != typed.rstrip():
        return typed, ""
    before, _space, last = typed.rpartition(" ")
    return before, last


def _find_conversations(memory: LocalMemory, words: Sequence[str]) -> list[Session]:
    """Conversations whose title has words that begin like those typed, the one with the newest message first."""
    patterns = list(dict.fromkeys(like_pattern(word, word) for word in words))
    labels = memory.store.conversations_by_title(patterns, len(patterns), Scope(), TITLES_READ)
    titled = [item_id for item_id, label in labels.items() if begins_words(words, label)][:CONVERSATIONS]
    sessions = memory.store.sessions_of(titled)
    return [sessions[item_id] for item_id in titled if item_id in sessions]


# Of so many hits a sentence is chosen, and so many sentences of each are looked at.
HITS, SENTENCES = 10, 10
# Tokens of questions and sentences that are read together.
READ_TOKENS = 200
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
