"""Hints at a prompt: whether it is worth a look, which memory most likely answers it, and the lines that show it.

What decides is how sure it is that a hit answers: what the cross-encoder says of it, its cosine and its words; and of
its company, whether more of its session answers too, and how well the best of elsewhere does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.captured_events import ANSWER_TYPE
from commonplace.memory.hints import LONGEST, MOST_HINTS, Hint, gist, make_hint
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import session_items_after
from commonplace.memory.question import ParsedQuestion, parse_question
from commonplace.memory.recall import Hit, recall_scopes
from commonplace.model import Item, Kind, Scope, SessionScope
from commonplace.ranking.fusion import answer_odds
from commonplace.store.indexed_text import QUERY_COLUMNS
from commonplace.text.dates import DAY_MS
from commonplace.text.query import is_only_question, parse_query
from commonplace.text.references import errors_in
from commonplace.text.sentences import FILLERS, content_stems, is_small_talk, sentences
from commonplace.text.tokens import STOP_WORDS, stem, words_of

# What is read of a prompt: its first sentences and its last, within so many characters.
_FIRST_SENTENCES, _LAST_SENTENCES, _READ = 3, 1, 400
_COMMAND = re.compile(r"\s*(?:/[a-z][\w:-]*(?:\s|$)|[!#])")
_TAG = re.compile(r"\s*<[a-z][\w-]*>")
# How many stems a prompt must have besides fillers and words about talking itself; a question may have one less.
_FEWEST_STEMS = 2
_ABOUT_TALK = frozenset(
    "explain job left lot mean means meant other remember say short show sorry suggest think".split()
)
_QUESTION = re.compile(
    r"\s*(?:what|which|who|whom|whose|when|where|why|how|was|wer|wann|wo|warum|wie|qué|que|qui|quand|où|pourquoi)\b"
    r"|.*\?",
    re.IGNORECASE | re.DOTALL,
)


def prompt_question(prompt: str) -> str:
    """What a prompt is about, as a question to the memory; empty for trivia: consent, thanks, a slash command."""
    if _COMMAND.match(prompt) or _TAG.match(prompt):
        return ""
    text = prompt
    if len(prompt) > _READ:
        telling = [sentence for sentence in sentences(prompt) if not is_small_talk(sentence)]
        chosen = [*telling[:_FIRST_SENTENCES], *telling[_FIRST_SENTENCES:][-_LAST_SENTENCES:]]
        text = " ".join([*chosen, *(error.replace("#", " ") for error in errors_in(prompt)[:1])])[:_READ]
    if not _says_something(text):
        return ""
    query = parse_query(text, QUERY_COLUMNS)
    # A prompt is no query: what looks like operators in it are words.
    return text if not query.strict else " ".join(word.surface.replace(":", " ") for word in query.words)


def _says_something(text: str) -> bool:
    telling = {stem(word) for word in words_of(text) if word not in STOP_WORDS | FILLERS | _ABOUT_TALK}
    return len(telling) >= _FEWEST_STEMS - (_QUESTION.match(text) is not None)


# How sure it must be that the best hit answers, and a second and third, which a prompt seldom needs.
BORDER, FURTHER_BORDER = 0.67, 0.98
# The same for hits that no cross-encoder has read, by their relevance; and for those found by words alone, by how many
# words of the prompt they have, rare ones for more.
UNREAD_BORDER, UNREAD_FURTHER_BORDER, WORDS_BORDER = 0.85, 0.978, 3.0
_CANDIDATES = 10
KINDS: tuple[Kind, ...] = ("memory", "summary", "message", "observation")


def prompt_hints(
    memory: LocalMemory, project: str | None, prompt: str, shown: Collection[str], session: str = ""
) -> list[Hint]:
    """What the memory knows that a prompt most likely needs, best first; mostly nothing.

    `shown` are the ids that the session has seen, `session` is its own key: it knows what it said itself.
    """
    question = prompt_question(prompt)
    if not question:
        return []
    parsed = replace(parse_question(memory, question, by_meaning=is_warm(memory)), thorough=True)
    (found,) = recall_scopes(memory, parsed, [Scope.around(project, kinds=KINDS)], _CANDIDATES)
    others = [hit for hit in found.hits if not session or hit.item.session != session]
    hits = [hit for hit in others if not _is_unanswered(memory, hit.item)]
    candidates = rank_candidates(memory, parsed, hits)
    hints: list[Hint] = []
    seen: set[int] = set()
    for candidate in candidates:
        item = candidate.hit.item
        if candidate.certainty < candidate.borders[bool(hints)]:
            break
        if item.id in seen or candidate.was_shown(shown):
            continue
        items = items_to_show(memory, candidate, shown)
        seen.update(one.id for one in items)
        if items:
            hints.append(_hint_of_items(items, item, question))
    return hints[:MOST_HINTS]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit, how sure it is that it answers, and what that must be to be shown first or after another.

    `also` is what else of its session answers, best first.
    """

    hit: Hit
    certainty: float
    borders: tuple[float, float]
    also: tuple[Hit, ...] = ()

    def was_shown(self, shown: Collection[str]) -> bool:
        """Whether it, or what answers better in its session, was shown before."""
        better = (other for other in self.also if odds_of(other) > odds_of(self.hit))
        return any(one.item.short_id in shown for one in (self.hit, *better))


def rank_candidates(memory: LocalMemory, parsed: ParsedQuestion, hits: Sequence[Hit]) -> list[Candidate]:
    """Hits by how sure it is that they answer: the ones that were read, if any was."""
    if parsed.vector is None:
        stems = len(content_stems(parsed.query.text))
        return [Candidate(hit, hit.lexical * stems, (WORDS_BORDER, math.inf)) for hit in hits]
    read = [hit for hit in hits if hit.answer is not None]
    if not read:
        return [Candidate(hit, hit.relevance, (UNREAD_BORDER, UNREAD_FURTHER_BORDER)) for hit in hits]
    sessions = {id_: one.id for id_, one in memory.store.sessions_of([hit.item.id for hit in read]).items()}
    found = [_candidate(hit, read, sessions) for hit in read]
    return sorted(found, key=lambda one: -one.certainty)


@dataclass(frozen=True, slots=True)
class Signals:
    """What the certainty of a hit is made of. The last two are log-odds: those of the next best in its session (None
    for what is in no session), and of the best elsewhere.
    """

    answer: float
    cosine: float
    lexical: float
    support: float | None
    rival: float


# What each signal counts for, fitted on the training worlds (benchmarks/hint_weights.py). What is in no session cannot
# have support: it has an offset of its own.
OFFSET, ALONE_OFFSET = 0.05, -2.76
WEIGHTS = Signals(answer=0.62, cosine=3.29, lexical=0.90, support=0.63, rival=-0.30)
# The lowest odds that count; odds from which something is shown beside the best of its session.
LOWEST_ODDS, ALSO_SHOWN = -4.0, -2.0


def signals_of(hit: Hit, read: Sequence[Hit], sessions: Mapping[int, int]) -> Signals:
    """The signals of a hit among all that were read; `sessions` are those of items, by their ids."""
    own = sessions.get(hit.item.id)
    others = [other for other in read if other is not hit]
    beside = [odds_of(other) for other in others if own is not None and sessions.get(other.item.id) == own]
    elsewhere = [odds_of(other) for other in others if own is None or sessions.get(other.item.id) != own]
    return Signals(
        answer=hit.answer or 0.0,
        cosine=hit.semantic,
        lexical=hit.lexical,
        support=None if own is None else max([LOWEST_ODDS, *beside]),
        rival=max([LOWEST_ODDS, *elsewhere]),
    )


def odds_of(hit: Hit) -> float:
    """The log-odds that a hit answers which was read, by itself."""
    return answer_odds(hit.answer or 0.0, hit.semantic)


def _candidate(hit: Hit, read: Sequence[Hit], sessions: Mapping[int, int]) -> Candidate:
    own = sessions.get(hit.item.id)
    also = [other for other in read if other is not hit and own is not None and sessions.get(other.item.id) == own]
    also = sorted((other for other in also if odds_of(other) >= ALSO_SHOWN), key=lambda other: -odds_of(other))
    return Candidate(hit, _certainty(signals_of(hit, read, sessions)), (BORDER, FURTHER_BORDER), tuple(also))


def _certainty(one: Signals) -> float:
    score = WEIGHTS.answer * one.answer + WEIGHTS.cosine * one.cosine + WEIGHTS.lexical * one.lexical
    score += WEIGHTS.rival * one.rival
    score += ALONE_OFFSET if one.support is None else OFFSET + (WEIGHTS.support or 0.0) * one.support
    return 1.0 / (1.0 + math.exp(-score))


def is_warm(memory: LocalMemory) -> bool:
    """Whether meaning can be used without loading a model first."""
    reader = memory.cross_encoder
    return memory.embeddings.is_ready and (reader is None or reader.is_loaded)


def warm_up(memory: LocalMemory) -> None:
    """Load the models that hints and writes need, so that later ones can use meaning."""
    if memory.embeddings.embed_query("warm up") is None:
        return
    for model in (memory.cross_encoder, memory.contradiction_model):
        with suppress(EmbedderUnavailable):
            if model is not None:
                model.score("warm up", [("warm up", "")])


# Characters of what stands beside the memory that answers: what was asked before it, and more of its session.
_LONGEST_ASKED, _LONGEST_ALSO = 100, 160
# How many items after a question its answer is looked for.
_NEARBY = 4
# From this share of its words that others say too, a memory adds nothing to them.
_SAID_ALREADY = 0.7


def items_to_show(memory: LocalMemory, candidate: Candidate, shown: Collection[str]) -> list[Item]:
    """A memory with what was asked or answered around it, and one more of its session, in their order.

    None of them was shown before.
    """
    item = candidate.hit.item
    if _is_request(item):
        reply = _reply_to(memory, item)
        pair = [item, *([reply] if reply else [])]
    else:
        prompt = _prompt_before(memory, item)
        pair = [*([prompt] if prompt else []), item]
    stems = frozenset().union(*(content_stems(one.text) for one in pair))
    more = next((hit.item for hit in candidate.also if hit.item not in pair and _adds_to(hit.item, stems)), None)
    items = [one for one in (*pair, *([more] if more else [])) if one is item or one.short_id not in shown]
    return sorted(items, key=lambda one: (one.created_ms, one.id))


def _adds_to(item: Item, known: Collection[str]) -> bool:
    stems = content_stems(item.text)
    return len(stems & frozenset(known)) < _SAID_ALREADY * len(stems)


def _hint_of_items(items: Sequence[Item], hit: Item, question: str) -> Hint:
    """One line for all of them. The id is that of the reply to what was found, or of what was found."""
    about = content_stems(question)
    place = items.index(hit)
    main = items[place + 1] if _is_prompt(hit) and len(items) > place + 1 and _is_reply(items[place + 1]) else hit
    parts = [gist(one, about, _length(one, hit, main)) for one in items]
    return make_hint(main, " → ".join(parts), question, [one for one in items if one is not main])


def _length(item: Item, hit: Item, main: Item) -> int:
    if item is main or item is hit:
        return LONGEST if item is main else _LONGEST_ALSO
    return _LONGEST_ASKED if _is_prompt(item) else _LONGEST_ALSO


def _is_unanswered(memory: LocalMemory, item: Item) -> bool:
    """Whether it is a question that nobody answered: it helps nobody, and says nothing against what does answer."""
    return _is_prompt(item) and is_only_question(item.text) and _reply_to(memory, item) is None


def _reply_to(memory: LocalMemory, item: Item) -> Item | None:
    after = session_items_after(memory, item)[1 : 1 + _NEARBY]
    return next((one for one in after if _is_reply(one)), None)


def _prompt_before(memory: LocalMemory, item: Item) -> Item | None:
    """What a reply answers: the prompt or message right before it; None for anything else."""
    session = memory.store.sessions_of([item.id]).get(item.id) if _is_reply(item) else None
    if session is None:
        return None
    types = ("prompt",) if item.type == ANSWER_TYPE else ()
    scope = Scope(kinds=(item.kind,), types=types, sessions=SessionScope(ids=(session.id,), empty=True))
    before = memory.store.items_between(scope, item.created_ms - DAY_MS, item.created_ms, 1)
    return next((one for one in before if _is_prompt(one)), None)


def _is_request(item: Item) -> bool:
    return _is_prompt(item) or (item.kind == "message" and item.details.get("role") == "tool")


def _is_prompt(item: Item) -> bool:
    return item.type == "prompt" or (item.kind == "message" and item.details.get("role") == "user")


def _is_reply(item: Item) -> bool:
    return item.type == ANSWER_TYPE or (item.kind == "message" and item.details.get("role") == "assistant")
