"""Recall: search items by words and by meaning, and estimate how likely each hit is an answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rerank import (
    PartsOfScore,
    ScoreParts,
    compare_tokens,
    hit_weights,
    judge,
    likelihoods_and_similarities,
    repeating,
    repeats_answer_little,
    session_requests,
    show_twins_once,
    sinks,
    weightiest_first,
    words_of,
)
from commonplace.memory.search_candidates import (
    ParsedQuestion,
    begin_question,
    embed_waiting,
    evidence_by_meaning,
    find_candidates,
    first_passages,
    parse_question,
    something_waits,
    understand,
)
from commonplace.model import MESSAGE_ROLES, Item, Scope, Session
from commonplace.ranking.scores_and_relevance import (
    STALE_FACTOR,
    Evidence,
    Weight,
    add_answer_scores,
    add_token_scores,
    attribute_boosts,
    best_first,
    boost_by_adjacent_words,
    boost_by_context,
    boost_by_neighbours,
    boost_by_role,
    boost_by_speaker,
    boost_by_time,
    boost_instructions,
    expected_cosines,
    fused_score,
    is_noise,
    is_noise_when_judged,
    lexical_signal,
    lower_questions,
    newer_boosts,
    noise_borders,
    prefer_answers,
    relevance,
)
from commonplace.store.types import Turn
from commonplace.text.attributes import answers, mentions, stated_attribute
from commonplace.text.near_duplicates import WordSets, drop_near_duplicates, first_per_key
from commonplace.text.proposed_memories import RULE
from commonplace.text.query import (
    adjacent_words,
    is_about_the_past,
    is_only_question,
    question_ratio,
    requested_attributes,
)
from commonplace.text.sentences import is_small_talk
from commonplace.text.tokens import index_text

# What answers at least this likely is called an answer.
LIKELY = 0.5
NOTHING_CLEAR = "Nothing clearly answers this; these come closest."
CANDIDATES = 100
# The best so many are compared with what was said around them.
CONTEXT_BOOSTED = 150
# The best so many are read before they are put in order, and compared with the question word by word. With 100 the
# order of the first twenty is the same; with 40 some answers are lost.
RERANKED = 50
# Characters of a hit that are read then: what it is about it says early.
READ_CHARACTERS = 2_000
# A standing instruction ("Always ...") says within so many that it is one.
RULE_CHARACTERS = 300
# What holds now and says since when or until when was said of just this time: it comes before what says no time.
DATED_BOOST = 0.15
_NOBODY = frozenset(MESSAGE_ROLES) | {""}


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that answers, with its best passage and what speaks for it.

    `relevance` is how likely it answers, which is what people and agents are told. `similarity` is how much it is like
    what answers: kinder to further parts of an answer, for whoever collects what may belong to it. `semantic` and
    `lexical` are 0 where unknown. `why` is what each part added to the score that the order is made by.
    """

    item: Item
    passage_id: int
    relevance: float
    similarity: float
    semantic: float
    lexical: float
    why: Mapping[str, float] = field(default_factory=dict)
    twins: tuple[Item, ...] = ()  # They say the same, and are not shown themselves.
    answer: float | None = None  # What the cross-encoder says of it; None if it was not read.

    @property
    def text(self) -> str:
        """What the item says."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, best first. `by_meaning` is False when only the words could be used.

    `total` counts what would be told without a limit, up to the number of candidates; beyond, all that match a word.
    `waiting` counts passages that were compared by their words alone, because they have no vector yet. `is_filter`:
    the question had operators, and every hit satisfies them.
    """

    hits: tuple[Hit, ...]
    total: int
    by_meaning: bool
    waiting: int = 0
    is_filter: bool = False

    @property
    def note(self) -> str:
        """What every door says beside hits none of which likely answers; empty if one does."""
        return note_on(self)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


def note_on(*results: RecallResult) -> str:
    """What every door says beside hits none of which likely answers; empty if one does, or likelihoods say little."""
    hits = [hit for result in results for hit in result.hits]
    says_little = any(result.is_filter or not result.by_meaning for result in results)
    return "" if not hits or says_little or any(hit.relevance >= LIKELY for hit in hits) else NOTHING_CLEAR


def recall(memory: LocalMemory, question: str | ParsedQuestion, scope: Scope, limit: int = 10) -> RecallResult:
    """The best hits for a question. A query with operators is a filter; a plain question is ranked."""
    return recall_scopes(memory, question, [scope], [limit])[0]


def recall_by_words(memory: LocalMemory, question: str, scope: Scope, limit: int) -> RecallResult:
    """The best hits by their words alone."""
    parsed = parse_question(memory, question, by_meaning=False)
    return memory.store.snapshot(lambda: _recall(memory, parsed, scope, limit, _ReadItems(memory)))


def recall_in_sessions(
    memory: LocalMemory, question: str, scope: Scope, limit: int
) -> tuple[RecallResult, Mapping[int, Session]]:
    """The best hits, and the session of each that is part of one, by the id of its item."""
    recalled = recall(memory, question, scope, limit)
    return recalled, sessions_of_hits(memory, recalled.hits)


def sessions_of_hits(memory: LocalMemory, hits: Sequence[Hit]) -> Mapping[int, Session]:
    """The session of each hit that is part of one, by the id of its item."""
    return memory.store.sessions_of([hit.item.id for hit in hits])


def recall_scopes(
    memory: LocalMemory,
    question: str | ParsedQuestion,
    scopes: Sequence[Scope],
    limits: Sequence[int],
) -> list[RecallResult]:
    """The same question in several scopes, each with its limit: it is parsed once, and each item is read once.

    What waits for a vector there is embedded first.
    """

    def answers(parsed: ParsedQuestion) -> list[RecallResult]:
        read, pairs = _ReadItems(memory), list(zip(scopes, limits, strict=True))
        return memory.store.snapshot(lambda: [_recall(memory, parsed, scope, limit, read) for scope, limit in pairs])

    if isinstance(question, ParsedQuestion):
        return answers(question)

    begun = begin_question(memory, question)

    def unless_something_waits() -> tuple[ParsedQuestion, list[RecallResult] | None]:
        parsed = understand(memory, begun)
        return parsed, None if something_waits(memory, parsed) else answers(parsed)

    # Who speaks there is part of what is understood: one moment for both, unless it would wait for somebody.
    ready = memory.embeddings.is_ready
    parsed, found = memory.store.snapshot(unless_something_waits) if ready else unless_something_waits()
    return answers(embed_waiting(memory, parsed, scopes)) if found is None else found


class _ReadItems:
    """Items of one moment of the store and their words, each read once for all scopes of a question."""

    def __init__(self, memory: LocalMemory) -> None:
        self._store = memory.store
        self._items: dict[int, Item] = {}
        self.words = WordSets[Item](words_of, lambda item: item.id)

    def get(self, item_ids: Iterable[int]) -> dict[int, Item]:
        ids, known = list(item_ids), self._items
        if missing := [id_ for id_ in ids if id_ not in known]:
            known |= self._store.get(missing)
        return {id_: known[id_] for id_ in ids if id_ in known}


def _recall(
    memory: LocalMemory, parsed: ParsedQuestion, scope: Scope, limit: int, read_items: _ReadItems
) -> RecallResult:
    if scope.at_ms is None:
        return _recall_current(memory, parsed, scope, limit, read_items)
    from commonplace.memory.history import recall_as_of

    return recall_as_of(memory, parsed, scope, limit, partial(_recall_current, read_items=read_items))


def _recall_current(
    memory: LocalMemory, parsed: ParsedQuestion, scope: Scope, limit: int, read_items: _ReadItems
) -> RecallResult:
    most = max(CANDIDATES, 2 * limit)
    evidence, owner, total = find_candidates(memory, parsed, scope, most)
    if not evidence:
        return RecallResult((), 0, parsed.vector is not None, parsed.waiting)
    best = max((e.bm25 for e in evidence.values()), default=0.0)
    own = _own_scores(evidence, best)
    parts, chosen = ScoreParts(best), dict[int, int]()
    for passage in best_first(own, newest=owner):
        chosen.setdefault(owner[passage], passage)
    scores = parts.add("meaning", {item_id: own[passage] for item_id, passage in chosen.items()})
    turns = memory.store.turns(list(scores)[:CONTEXT_BOOSTED])
    scores = parts.add("speaker", _boost_by_speaker(parsed, scores, turns))
    scores = parts.add("role", _boost_by_role(parsed, scores, turns))
    boosted = parts.add("context", _boost_by_context(scores, turns))
    scores = dict(boosted)
    enough = 2 * limit  # dropping near-duplicates and the stale must not leave gaps
    first = best_first(scores, newest={})[: max(enough, RERANKED)]
    items = read_items.get(first)
    read = [items[item_id] for item_id in first[:RERANKED] if item_id in items]
    replies = _replies(memory, scope, repeats := repeating(parsed, read))
    for item, _question in replies:
        if item.id not in chosen:
            (chosen[item.id],) = first_passages(memory, [item.id])
            evidence |= evidence_by_meaning(memory, parsed, [chosen[item.id]])
        scores.setdefault(item.id, fused_score(evidence[chosen[item.id]], best))
        if item.id not in items:
            items[item.id] = item
            first.append(item.id)
            read.append(item)
    scores = _score_read(parsed, parts, scores, read)
    known = {item.id: evidence[chosen[item.id]] for item in read}
    similar = compare_tokens(memory, parsed, {item.id: chosen[item.id] for item in read})
    scores = _score_words(parts, scores, similar, known, turns)
    repeated = dict.fromkeys(item.id for item in repeats)
    judged = judge(memory, parsed, scores, chosen, known, similar, repeated)
    scores = parts.add("reading", scores | add_answer_scores(scores, judged.answers))
    scores = parts.add("reply", scores | prefer_answers(scores, repeated, {one.id: reply.id for reply, one in replies}))
    weights = hit_weights(memory, [*items.values()])
    order = parts.add("newer", _prefer_newer(scores, read, weights))
    answered = judged.is_answered(scores)
    noise = set() if parsed.query.strict else _noise(boosted, chosen, evidence, judged.relevances, answered=answered)
    noise -= {reply.id for reply, _question in replies}
    candidates = [items[item_id] for item_id in first if item_id in items and item_id not in noise]
    stale = {item.id for item in candidates if sinks(item)}
    found = _in_order(candidates, order, weights, stale)[:enough]
    once, twins = show_twins_once(found := weightiest_first(memory, found, scores, weights, read_items.words))
    shown = first_per_key(drop_near_duplicates(once, read_items.words), session_requests)
    told = likelihoods_and_similarities(shown, scores, judged, stale, answered=answered)
    hits = []
    for item, likely, similarity in repeats_answer_little(told, parsed, repeated)[:limit]:
        passage, answer = chosen[item.id], judged.answers.get(item.id)
        signals, why = evidence[passage], PartsOfScore(parts, item.id, evidence[passage], weights[item.id])
        words, others = lexical_signal(signals, best), twins.get(item.id, ())
        hits.append(Hit(item, passage, likely, similarity, signals.semantic, words, why, others, answer))
    count = len(scores.keys() - noise) - (len(found) - len(shown))
    total = count if len(evidence) < most else max(total, count)
    return RecallResult(tuple(hits), total, parsed.vector is not None, parsed.waiting, parsed.query.strict)


def _in_order(
    items: Iterable[Item], scores: Mapping[int, float], weights: Mapping[int, Weight], stale: Collection[int]
) -> list[Item]:
    """Items by what speaks for them, those that are probably no longer so after others."""

    def value(item: Item) -> float:
        return relevance(scores[item.id] + weights[item.id].total) * (STALE_FACTOR if item.id in stale else 1)

    return sorted(items, key=value, reverse=True)


def _own_scores(evidence: Mapping[int, Evidence], best: float) -> dict[int, float]:
    """The score of each passage by itself, by its words and its meaning."""
    expected = expected_cosines(evidence, best)
    return {passage: fused_score(e, best, expected.get(passage, 0.0)) for passage, e in evidence.items()}


def _noise(
    scores: Mapping[int, float],
    chosen: Mapping[int, int],
    evidence: Mapping[int, Evidence],
    by_reading: Mapping[int, float],
    *,
    answered: bool | None,
) -> set[int]:
    """The candidates that answer nothing, by their score or by how likely they answer."""
    noise = set()
    # What was judged is dropped for its score only if it is far off.
    borders = noise_borders(len(evidence), answered=answered is not None)
    for item_id, score in scores.items():
        bm25, cosine, share = evidence[chosen[item_id]]
        if share >= 1.0:
            # It has every word of the question: whoever types a name wants what holds it.
            continue
        judged = by_reading.get(item_id)
        if is_noise(score, borders, has_words=bm25 > 0.0, has_cosine=cosine is not None) or (
            judged is not None and is_noise_when_judged(judged, has_words=bm25 > 0.0, answered=bool(answered))
        ):
            noise.add(item_id)
    return noise


def _boost_by_speaker(parsed: ParsedQuestion, scores: dict[int, float], turns: Mapping[int, Turn]) -> dict[int, float]:
    if not parsed.names:
        return scores
    named = [id_ for id_, turn in turns.items() if not parsed.names.isdisjoint(index_text(turn.speaker).split())]
    return boost_by_speaker(scores, named)


def _boost_by_role(parsed: ParsedQuestion, scores: dict[int, float], turns: Mapping[int, Turn]) -> dict[int, float]:
    if not parsed.role:
        return scores
    roles = {id_: turn.role for id_, turn in turns.items() if turn.role in ("user", "assistant")}
    same = {id_ for id_, role in roles.items() if role == parsed.role}
    return boost_by_role(scores, same, roles.keys() - same)


def _boost_by_context(scores: Mapping[int, float], turns: Mapping[int, Turn]) -> dict[int, float]:
    return boost_by_context(scores, {id_: turn.session_id for id_, turn in turns.items()}, _following(turns))


def _following(turns: Mapping[int, Turn]) -> dict[int, int]:
    return {id_: turn.next_id for id_, turn in turns.items() if turn.next_id is not None}


def _replies(memory: LocalMemory, scope: Scope, questions: Sequence[Item]) -> list[tuple[Item, Item]]:
    """For each message that repeats the question, the next message of somebody else, if it says something."""
    parsed = {item.id: item for item in questions if item.kind == "message"}
    if not parsed or scope.types or scope.tag or (scope.kinds and "message" not in scope.kinds):
        return []
    turns = memory.store.turns(list(parsed))
    after = memory.store.get(turn.next_id for turn in turns.values() if turn.next_id is not None)
    pairs = [(after[turn.next_id], parsed[id_]) for id_, turn in turns.items() if turn.next_id in after]
    return [(reply, question) for reply, question in pairs if _inside(scope, reply) and _answers(reply, question)]


def _inside(scope: Scope, reply: Item) -> bool:
    """Whether a reply to a message in a scope is in it too, as far as replies differ."""
    since, until = scope.since_ms or reply.created_ms, scope.until_ms or reply.created_ms + 1
    return reply.kind == "message" and reply.forgotten_ms is None and since <= reply.created_ms < until


def _answers(reply: Item, question: Item) -> bool:
    text = reply.text[:READ_CHARACTERS]
    return _who(reply) != _who(question) and not is_only_question(text) and not is_small_talk(text)


def _who(item: Item) -> tuple[str, str]:
    return item.details.get("role", ""), item.details.get("speaker", "")


def _score_read(
    parsed: ParsedQuestion, parts: ScoreParts, scores: dict[int, float], read: Sequence[Item]
) -> dict[int, float]:
    """The scores of items after a look at what they say and when they said it."""
    scores = parts.add("phrase", scores | boost_by_adjacent_words(scores, adjacent_shares(parsed, read)))
    boosts = boosts_by_attribute(parsed, read)
    scores = parts.add("attribute", scores | {id_: scores[id_] + boost for id_, boost in boosts.items()})
    if parsed.query.strict:
        return scores
    scores = parts.add("time", scores | _boost_by_time(parsed, scores, read))
    scores = parts.add("instruction", scores | _boost_instructions(parsed, scores, read))
    return parts.add("question", scores | _lower_questions(scores, read))


def _score_words(
    parts: ScoreParts,
    scores: dict[int, float],
    similar: dict[int, float],
    known: Mapping[int, Evidence],
    turns: Mapping[int, Turn],
) -> dict[int, float]:
    """The scores of items after their words were compared, and then those of their neighbours."""
    cosines = {item_id: one.semantic for item_id, one in known.items()}
    scores = parts.add("tokens", scores | add_token_scores(scores, similar, cosines))
    compared = {item_id: scores[item_id] for item_id in similar}
    return parts.add("context", scores | boost_by_neighbours(compared, _following(turns)))


def _prefer_newer(scores: Mapping[int, float], read: Sequence[Item], weights: Mapping[int, Weight]) -> dict[int, float]:
    """The scores with newer statements before older ones that importance, trust and use do not tell from them."""
    stated = [item for item in read if item.kind == "memory"]
    highest = max((weights[item.id].total for item in stated), default=0.0)
    equal = {item.id: item.created_ms for item in stated if weights[item.id].total == highest}
    boosts = newer_boosts(scores, equal)
    return {id_: score + boosts.get(id_, 0.0) for id_, score in scores.items()}


def boosts_by_attribute(parsed: ParsedQuestion, items: Sequence[Item]) -> dict[int, float]:
    """What items are worth more that tell the attribute that a question asks for, of what it asks about."""
    attributes = () if parsed.query.strict else requested_attributes(parsed.query.text)
    if not attributes:
        return {}
    since_ms: dict[int, int] = {}
    for item in items:
        text = item.text[:READ_CHARACTERS]
        if any(mentions(one, text) and answers(one, stated_attribute(text)) for one in attributes):
            since_ms[item.id] = max(item.created_ms, item.valid_from_ms or 0)
    return attribute_boosts(since_ms)


def adjacent_shares(parsed: ParsedQuestion, items: Sequence[Item]) -> dict[int, float]:
    """For each item the share of the question's adjacent words that stand together in it too."""
    pairs = () if parsed.query.strict else adjacent_words(parsed.text)
    if not pairs:
        return {}
    shares = {}
    for item in items:
        text = f"{item.title}\n{item.text[:READ_CHARACTERS]}"
        lower = text.lower()
        shares[item.id] = sum([pair.are_in(text, lower) for pair in pairs]) / len(pairs)
    return shares


def _boost_by_time(parsed: ParsedQuestion, scores: Mapping[int, float], items: Sequence[Item]) -> dict[int, float]:
    """The scores of what happened at the time that the question names, and of what says itself when it holds."""
    nearness = {item.id: parsed.time.nearness(item.created_ms) for item in items} if parsed.time else {}
    boosted = boost_by_time(scores, nearness)
    return boosted | {item.id: boosted.get(item.id, scores[item.id]) + DATED_BOOST for item in items if item.is_dated}


def _boost_instructions(parsed: ParsedQuestion, scores: Mapping[int, float], items: Sequence[Item]) -> dict[int, float]:
    """The scores of standing instructions, unless the question is about the past.

    That is what somebody told an assistant for later, which seldom resembles what it is about. A rule that was noted
    as a memory is given to agents anyway, and found by what it says: most begin so, and few answer.
    """
    if is_about_the_past(parsed.query.text):
        return {}
    told = [item.id for item in items if item.kind == "message" and RULE.match(item.text, 0, RULE_CHARACTERS)]
    return boost_instructions(scores, told)


def _lower_questions(scores: Mapping[int, float], items: Sequence[Item]) -> dict[int, float]:
    """The scores of what only asks. What a user asks an assistant tells what they were about, so it keeps its score."""
    ratios = {}
    for item in items:
        asks_people = item.kind == "memory" or item.details.get("speaker", "") not in _NOBODY
        if "?" in item.text and asks_people:
            ratios[item.id] = question_ratio(item.text[:READ_CHARACTERS])
    return lower_questions(scores, ratios)
