"""Recall: search items by words and by meaning, and estimate how likely each hit is an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rerank import (
    PartsOfScore,
    ScoreParts,
    compare_tokens,
    hit_weights,
    is_stale,
    judge,
    show_twins_once,
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
    RULE_BOOST,
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
    expected_cosines,
    fused_score,
    is_noise,
    is_noise_when_judged,
    lexical_signal,
    newer_boosts,
    noise_borders,
    prefer_answers,
    relevance,
    relevances_in_order,
    rerank_score,
)
from commonplace.store.types import Turn
from commonplace.text.attributes import answers, mentions, stated_attribute
from commonplace.text.near_duplicates import WordSets, drop_near_duplicates, first_per_key
from commonplace.text.proposed_memories import RULE
from commonplace.text.query import (
    adjacent_words,
    is_about_questions,
    is_about_the_past,
    is_only_question,
    question_ratio,
    repeats_question,
    requested_attributes,
)
from commonplace.text.sentences import is_small_talk
from commonplace.text.tokens import index_text

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
# What only repeats a question has at most twice its characters and these.
REPEATED_MORE = 80
# What holds now and says since when or until when was said of just this time: it comes before what says no time.
DATED_BOOST = 0.15
_NOBODY = frozenset(MESSAGE_ROLES) | {""}


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that answers, with its best passage and what speaks for it.

    `relevance` is calibrated and means the same everywhere; `semantic` and `lexical` are 0 where unknown. `why` is what
    each part added to the score that the order is made by.
    """

    item: Item
    passage_id: int
    relevance: float
    semantic: float
    lexical: float
    why: Mapping[str, float] = field(default_factory=dict)
    twins: tuple[Item, ...] = ()  # They say the same, and are not shown themselves.
    answer: float | None = None  # What the cross-encoder says of it; None if it was not read.


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, best first. `by_meaning` is False when only the words could be used.

    `total` counts what would be told without a limit, up to the number of candidates; beyond, all that match a word.
    `waiting` counts passages that were compared by their words alone, because they have no vector yet.
    """

    hits: tuple[Hit, ...]
    total: int
    by_meaning: bool
    waiting: int = 0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


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
    scores = dict(boosted := parts.add("context", _boost_by_context(parsed, scores, turns)))
    enough = 2 * limit  # dropping near-duplicates and the stale must not leave gaps
    first = best_first(scores, newest={})[: max(enough, RERANKED)]
    items = read_items.get(first)
    read = [items[item_id] for item_id in first[:RERANKED] if item_id in items]
    replies = _replies(memory, scope, repeats := _repeating(parsed, read))
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
    found = sorted(
        (items[item_id] for item_id in first if item_id in items and item_id not in noise),
        key=lambda item: -relevance(order[item.id] + weights[item.id].total) * (STALE_FACTOR if is_stale(item) else 1),
    )[:enough]
    relevances = {item.id: relevance(scores[item.id]) for item in found}
    once, twins = show_twins_once(found := weightiest_first(memory, found, relevances, weights, read_items.words))
    shown = first_per_key(drop_near_duplicates(once, read_items.words), _session_requests)
    by_score, read_too = [relevances[item.id] for item in shown], [judged.relevances.get(item.id) for item in shown]
    relevant = relevances_in_order(by_score, read_too, answered=answered)
    hits = [
        Hit(item, passage, value, e.semantic, lexical_signal(e, best), why, twins.get(item.id, ()), answer)
        for item, value in zip(shown[:limit], relevant, strict=False)
        for passage, e in [(chosen[item.id], evidence[chosen[item.id]])]
        for why, answer in [(PartsOfScore(parts, item.id, e, weights[item.id]), judged.answers.get(item.id))]
    ]
    count = len(scores.keys() - noise) - (len(found) - len(shown))
    total = count if len(evidence) < most else max(total, count)
    return RecallResult(tuple(hits), total, parsed.vector is not None, parsed.waiting)


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


def _boost_by_context(parsed: ParsedQuestion, own: Mapping[int, float], turns: Mapping[int, Turn]) -> dict[int, float]:
    """The scores of items, boosted by their neighbours and by who speaks."""
    if parsed.names:
        named = [id_ for id_, turn in turns.items() if not parsed.names.isdisjoint(index_text(turn.speaker).split())]
        own = boost_by_speaker(own, named)
    if parsed.role:
        roles = {id_: turn.role for id_, turn in turns.items() if turn.role in ("user", "assistant")}
        theirs = {id_ for id_, role in roles.items() if role == parsed.role}
        own = boost_by_role(own, theirs, roles.keys() - theirs)
    return boost_by_context(own, {id_: turn.session_id for id_, turn in turns.items()}, _following(turns))


def _following(turns: Mapping[int, Turn]) -> dict[int, int]:
    return {id_: turn.next_id for id_, turn in turns.items() if turn.next_id is not None}


def _repeating(parsed: ParsedQuestion, items: Sequence[Item]) -> list[Item]:
    """Items that only repeat the question, unless the question is about questions."""
    if parsed.query.strict or is_about_questions(parsed.query.text):
        return []
    tokens = {word.token for word in parsed.query.words}
    longest = 2 * len(parsed.query.text) + REPEATED_MORE
    return [item for item in items if len(text := _own_text(item)) <= longest and repeats_question(text, tokens)]


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


def _session_requests(item: Item) -> set[tuple[str, str]]:
    """What the summary, the checkpoint and the short prompts of a session have in common: one of them is enough."""
    notes = item.kind in ("summary", "checkpoint")
    if item.session is None or not (notes or (item.type == "prompt" and len(item.body) <= len(item.title) + 20)):
        return set()
    lines = [item.title, *(f"{item.details.get('request', '')}\n{item.details.get('task', '')}".splitlines())]
    titles = {" ".join(line.casefold().split()).rstrip(" .?!…") for line in lines}
    return {(item.session, title) for title in ({*titles, ""} if notes else titles - {""})}


def _own_text(item: Item) -> str:
    """The text of an item without its request, if it has more than that."""
    if item.kind in ("summary", "checkpoint"):
        return item.details_text("request", "task", "snapshot", "relevant_files") or item.text or item.title
    return item.text or item.title


def _score_read(
    parsed: ParsedQuestion, parts: ScoreParts, scores: dict[int, float], read: Sequence[Item]
) -> dict[int, float]:
    """The scores of items after a look at what they say and when they said it."""
    scores = parts.add("phrase", scores | boost_by_adjacent_words(scores, adjacent_shares(parsed, read)))
    boosts = boosts_by_attribute(parsed, read)
    scores = parts.add("attribute", scores | {id_: scores[id_] + boost for id_, boost in boosts.items()})
    return parts.add("time", scores | _rerank_read(parsed, scores, read))


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


def _rerank_read(parsed: ParsedQuestion, scores: Mapping[int, float], items: Sequence[Item]) -> dict[int, float]:
    """The scores of items after a look at them: when they happened, and whether they only ask."""
    if parsed.query.strict:
        return {}
    rule_boost = 0.0 if is_about_the_past(parsed.query.text) else RULE_BOOST
    reranked = {}
    for item in items:
        text = item.text
        boost = DATED_BOOST if item.is_dated else 0.0
        if rule_boost and RULE.match(text, 0, RULE_CHARACTERS):
            boost += rule_boost
        # What a user asks an assistant tells what they were about; what people ask each other does not.
        asks = "?" in text and (item.kind == "memory" or item.details.get("speaker", "") not in _NOBODY)
        reranked[item.id] = boost + rerank_score(
            scores[item.id],
            nearness=parsed.time.nearness(item.created_ms) if parsed.time else 0.0,
            question_ratio=question_ratio(text[:READ_CHARACTERS]) if asks else 0.0,
        )
    return reranked
