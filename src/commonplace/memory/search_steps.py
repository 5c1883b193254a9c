"""The steps of a search: what is done with the candidates of a question before the best of them are told.

`STEPS` lists them in their order. Some read what later ones need; the others say which scores change, and `Hit.why`
tells what each of these added. The models come last: token vectors say how likely the best candidates answer, and a
cross-encoder reads some of them together with the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import (
    Candidates,
    ParsedQuestion,
    evidence_by_meaning,
    first_passages,
    repeating,
    replies_to,
)
from commonplace.model import Item, Scope
from commonplace.ranking.scoring import (
    ADJACENT_BOOST,
    DATED_BOOST,
    EXPECTED_ANSWERS,
    JUDGED,
    OTHER_ROLE_PENALTY,
    READ,
    ROLE_BOOST,
    RULE_BOOST,
    SPEAKER_BOOST,
    TIME_BOOST,
    Evidence,
    Weight,
    add_answer_scores,
    add_token_scores,
    answer_odds,
    answer_relevance,
    best_first,
    boost_by_context,
    boost_by_neighbours,
    estimated_cosine,
    expected_answers,
    expected_cosines,
    fused_score,
    hit_weight,
    is_answered,
    newer_boosts,
    prefer_answers,
    reading_order,
    token_odds,
)
from commonplace.store.rows import TEXT_DETAILS
from commonplace.store.types import Turn
from commonplace.text.near_duplicates import WordSets
from commonplace.text.proposed_memories import RULE
from commonplace.text.query import (
    adjacent_words,
    is_about_questions,
    is_about_the_past,
    is_keywords,
)
from commonplace.text.tokens import index_text

# The best so many are compared with what was said around them.
CONTEXT_BOOSTED = 150
# The best so many are read before they are put in order, and compared with the question word by word. With 100 the
# order of the first twenty is the same; with 40 some answers are lost.
RERANKED = 50
# Characters of a hit that are read then: what it is about it says early.
READ_CHARACTERS = 2_000
# A standing instruction ("Always ...") says within so many that it is one.
RULE_CHARACTERS = 300
# Tokens of the best hits that are read together with the question; thoroughly, so many, and so many of further ones if
# none of these answers.
READ_TOKENS, THOROUGHLY = 300, (400, 200)
# So many items that have changed since the moment that is asked about are read beside what is still as it was.
READ_OF_THE_PAST = 6

# What `Hit.why` can name: what each step adds to a score, and the weights that are added last.
ScorePart = Literal[
    "words",
    "meaning",
    "speaker",
    "role",
    "context",
    "phrase",
    "time",
    "instruction",
    "tokens",
    "reading",
    "reply",
    "newer",
    "importance",
    "trust",
    "use",
]
SCORE_PARTS: tuple[ScorePart, ...] = get_args(ScorePart)


class ItemReader:
    """Items of one moment of the store and their words, each read once for all scopes of a question."""

    def __init__(self, memory: LocalMemory) -> None:
        self._store = memory.store
        self._items: dict[int, Item] = {}
        self.words = WordSets[Item](words_of, lambda item: item.id)

    def get(self, item_ids: Sequence[int]) -> dict[int, Item]:
        missing = [id_ for id_ in item_ids if id_ not in self._items]
        if missing:
            self._items |= self._store.get(missing)
        return {id_: self._items[id_] for id_ in item_ids if id_ in self._items}


def words_of(item: Item) -> str:
    """What an item says and where, to be compared with others."""
    if item.kind == "message":
        # Nobody gave it a title, and its details tell who said it.
        return f"{item.body} {item.project}"
    # The title is often the beginning of the text.
    begun = item.title.removesuffix("…")
    title = "" if item.body.startswith(begun) else begun
    details = [item.details[name] for name in TEXT_DETAILS if name in item.details] if item.details else ()
    return " ".join([title, item.body, *details, str(item.project)])


class RerankedItem(NamedTuple):
    """What is known of an item when the models are asked; `text` is what a past item said, which no passage holds."""

    id: int
    passage: int
    score: float
    signals: Evidence
    similar: float | None
    repeats_question: bool
    text: str | None


@dataclass(frozen=True, slots=True)
class AnswerOdds:
    """What the models say of items: the log-odds that each answers, and the cross-encoder's opinion of some."""

    odds: Mapping[int, float] = field(default_factory=dict)
    answers: Mapping[int, float] = field(default_factory=dict)
    relevances: Mapping[int, float] = field(default_factory=dict)

    def is_answered(self, scores: Mapping[int, float]) -> bool | None:
        """Whether something among the first of them answers; None if nothing was judged."""
        if not self.odds:
            return None
        first = best_first({id_: scores[id_] for id_ in self.odds}, newest={})[:JUDGED]
        return is_answered([self.odds[id_] for id_ in first])


def estimate_answers(memory: LocalMemory, question: ParsedQuestion, items: Sequence[RerankedItem]) -> AnswerOdds:
    """How likely items answer.

    What repeats the question resembles it more than anything: that says nothing about it.
    """
    if not _models_can_tell(memory, question, items):
        return AnswerOdds()
    answers = _read_together(memory, question, items)
    odds = {}
    for item in items:
        answer = answers.get(item.id)
        if item.repeats_question:
            continue
        if item.similar is not None:
            odds[item.id] = token_odds(item.similar, item.signals.semantic, answer)
        elif answer is not None and item.text is not None:
            odds[item.id] = answer_odds(answer, item.signals.semantic)
    return AnswerOdds(odds, answers, {id_: answer_relevance(value) for id_, value in odds.items()})


def _models_can_tell(memory: LocalMemory, question: ParsedQuestion, items: Sequence[RerankedItem]) -> bool:
    """Whether the models can tell what answers a question.

    They cannot if the question is only words to look for, and the best hit has them all, or a model knows none of
    them: it would answer them with anything.
    """
    text, reader = question.query.text, memory.cross_encoder
    if reader is None or question.vector is None or not items or is_about_questions(text):
        return False
    if not is_keywords(text):
        return True
    best = max(items, key=lambda item: item.score)
    return best.signals.found < 1.0 and reader.knows_a_word(text)


def _read_together(memory: LocalMemory, question: ParsedQuestion, items: Sequence[RerankedItem]) -> dict[int, float]:
    """What the cross-encoder says of the best items, each read together with the question: the first few.

    Thoroughly: those near the best one with the best of the past, and the others if none of these surely answers.
    """
    assert memory.cross_encoder is not None
    scores = {item.id: item.score for item in items if item.text is None}
    past = {item.id: item.score for item in items if item.text is not None}
    by_id = {item.id: item for item in items}
    if question.thorough:
        near, others = reading_order(scores)
        near += best_first(past, newest={})[:READ_OF_THE_PAST]
        rounds = [(near, THOROUGHLY[0]), (others, THOROUGHLY[1])]
    else:
        rounds = [(best_first(scores, newest={})[:READ], READ_TOKENS)]
    answers: dict[int, float] = {}
    for ids, most in rounds:
        if not ids:
            break
        try:
            texts = _texts_to_read(memory, [by_id[id_] for id_ in ids])
            answers |= zip(ids, memory.cross_encoder.score(question.text, texts, most), strict=False)
        except EmbedderUnavailable:
            # The order is a little worse without it, and search goes on.
            return {}
        odds = [answer_odds(answer, by_id[id_].signals.semantic) for id_, answer in answers.items()]
        if expected_answers(odds) >= EXPECTED_ANSWERS:
            # Something surely answers, whatever the others say.
            break
    return answers


def _texts_to_read(memory: LocalMemory, items: Sequence[RerankedItem]) -> list[tuple[str, str]]:
    """Each text with what was said before it."""
    stored = memory.store.passages_in_context([item.passage for item in items if item.text is None])
    texts = []
    for item in items:
        if item.text is not None:
            texts.append((item.text, ""))
        else:
            passage, before = stored[item.passage]
            texts.append((passage.text, before))
    return texts


@dataclass(slots=True)
class Search:
    """A question in one scope, as far as its answer has come. What is known of an item is kept by its id."""

    memory: LocalMemory
    question: ParsedQuestion
    scope: Scope
    limit: int
    reader: ItemReader
    found: Candidates
    best_bm25: float
    scores: dict[int, float] = field(default_factory=dict)
    trace: list[tuple[ScorePart, Mapping[int, float]]] = field(default_factory=list)
    best_passage: dict[int, int] = field(default_factory=dict)
    # What the cosine of a passage without a vector may be.
    expected: Mapping[int, float] = field(default_factory=dict)
    # Where the best items stand in their sessions, and the turn after each, where there is one.
    turns: Mapping[int, Turn] = field(default_factory=dict)
    following: Mapping[int, int] = field(default_factory=dict)
    # The scores of all candidates before the first of them were read.
    unread_scores: Mapping[int, float] = field(default_factory=dict)
    # Those that may be told, best first, and the first of these, which are put in order.
    items: dict[int, Item] = field(default_factory=dict)
    reranked: list[Item] = field(default_factory=list)
    # Those that only repeat the question, and the replies to some of them.
    repeats: list[Item] = field(default_factory=list)
    replies: dict[int, Item] = field(default_factory=dict)
    similar: Mapping[int, float] = field(default_factory=dict)
    odds: AnswerOdds = field(default_factory=AnswerOdds)
    weights: Mapping[int, Weight] = field(default_factory=dict)
    newer: Mapping[int, float] = field(default_factory=dict)

    def take(self, step: Step) -> None:
        if self.question.query.strict and not step.in_filters:
            return
        changed = step.run(self)
        if step.part is not None and changed is not None:
            self.scores |= changed
            self.trace.append((step.part, changed))


class Step(NamedTuple):
    """A step of a search: `run` reads what later steps need, or says which scores change, and to what.

    `part` is what `Hit.why` calls what it adds. Queries with operators skip what is not `in_filters`.
    """

    name: str
    run: Callable[[Search], Mapping[int, float] | None]
    part: ScorePart | None = None
    in_filters: bool = True


def score_passages(search: Search) -> Mapping[int, float]:
    """Each item by the best of its passages, by its words and its meaning."""
    evidence, item_of_passage = search.found.evidence, search.found.item_of_passage
    search.expected = expected_cosines(evidence, search.best_bm25)
    scores = {}
    for passage, signals in evidence.items():
        scores[passage] = fused_score(signals, search.best_bm25, search.expected.get(passage, 0.0))
    for passage in best_first(scores, newest=item_of_passage):
        search.best_passage.setdefault(item_of_passage[passage], passage)
    return {item_id: scores[passage] for item_id, passage in search.best_passage.items()}


def read_turns(search: Search) -> None:
    """Where the best items stand in their sessions, and who said them."""
    search.turns = search.memory.store.turns(list(search.scores)[:CONTEXT_BOOSTED])
    search.following = {id_: turn.next_id for id_, turn in search.turns.items() if turn.next_id is not None}


def boost_speaker(search: Search) -> Mapping[int, float]:
    """Raise what was said by those whom the question names, unless they said everything."""
    names = search.question.names
    if not names:
        return {}
    named = [id_ for id_, turn in search.turns.items() if not names.isdisjoint(index_text(turn.speaker).split())]
    if len(named) == len(search.scores):
        return {}
    return {id_: search.scores[id_] + SPEAKER_BOOST for id_ in named}


def boost_role(search: Search) -> Mapping[int, float]:
    """Raise messages of the role that the question is about, and lower those of the other."""
    changed = {}
    if search.question.role:
        for id_, turn in search.turns.items():
            if turn.role in ("user", "assistant"):
                boost = ROLE_BOOST if turn.role == search.question.role else -OTHER_ROLE_PENALTY
                changed[id_] = search.scores[id_] + boost
    return changed


def boost_context(search: Search) -> Mapping[int, float]:
    """Add part of the scores of neighbouring turns and of the best hit in the same session."""
    session_of = {id_: turn.session_id for id_, turn in search.turns.items()}
    return boost_by_context(search.scores, session_of, search.following)


def read_items(search: Search) -> None:
    """The first items. Dropping near-duplicates and the stale must not leave gaps, so more of them than are told."""
    search.unread_scores = dict(search.scores)
    first = best_first(search.scores, newest={})[: max(2 * search.limit, RERANKED)]
    known = search.reader.get([id_ for id_ in first if id_ not in search.found.past]) | search.found.past
    search.items = {id_: known[id_] for id_ in first if id_ in known}
    search.reranked = [known[id_] for id_ in first[:RERANKED] if id_ in known]


def find_replies(search: Search) -> Mapping[int, float]:
    """What only repeats the question, and the replies to it, which become candidates too."""
    memory, evidence = search.memory, search.found.evidence
    search.repeats = repeating(search.question, search.reranked)
    search.replies = replies_to(memory, search.scope, search.repeats)
    added = {}
    for reply in search.replies.values():
        if reply.id not in search.best_passage:
            (passage,) = first_passages(memory, [reply.id])
            search.best_passage[reply.id] = passage
            evidence |= evidence_by_meaning(memory, search.question, [passage])
        if reply.id not in search.scores:
            added[reply.id] = fused_score(evidence[search.best_passage[reply.id]], search.best_bm25)
        if reply.id not in search.items:
            search.items[reply.id] = reply
            search.reranked.append(reply)
    return added


def boost_adjacent_words(search: Search) -> Mapping[int, float]:
    """Raise hits in which words that are adjacent in the question are adjacent too."""
    pairs = adjacent_words(search.question.text)
    changed = {}
    for item in search.reranked if pairs else ():
        text = f"{item.title}\n{item.text[:READ_CHARACTERS]}"
        lower = text.lower()
        share = sum([pair.are_in(text, lower) for pair in pairs]) / len(pairs)
        changed[item.id] = search.scores[item.id] + ADJACENT_BOOST * share
    return changed


def boost_named_time(search: Search) -> Mapping[int, float]:
    """Raise what happened at the time that the question names, and what says itself when it holds."""
    time = search.question.time
    changed = {}
    for item in search.reranked:
        if time is not None or item.is_dated:
            nearness = 0.0 if time is None else time.nearness(item.created_ms)
            changed[item.id] = search.scores[item.id] + TIME_BOOST * nearness + DATED_BOOST * item.is_dated
    return changed


def boost_instructions(search: Search) -> Mapping[int, float]:
    """Raise standing instructions, unless the question is about the past.

    That is what somebody told an assistant for later, which seldom resembles what it is about. A rule that was noted
    as a memory is given to agents anyway, and found by what it says: most begin so, and few answer.
    """
    if is_about_the_past(search.question.query.text):
        return {}
    messages = [item for item in search.reranked if item.kind == "message"]
    told = [item.id for item in messages if RULE.match(item.text, 0, RULE_CHARACTERS)]
    return {id_: search.scores[id_] + RULE_BOOST for id_ in told}


def read_token_vectors(search: Search) -> None:
    """How well the reranked hold what each word of the question asks for."""
    passages = {item.id: search.best_passage[item.id] for item in search.reranked}
    if search.question.vector is not None and search.memory.embeddings.compares_tokens:
        tokens = search.memory.store.token_vectors(list(passages.values()))
        compared = search.memory.embeddings.compare_tokens(search.question.text, tokens)
        search.similar = {id_: compared[passage] for id_, passage in passages.items() if passage in compared}


def boost_tokens(search: Search) -> Mapping[int, float]:
    """Raise what holds what each word of the question asks for; without token vectors that is told by the cosine."""
    cosines = {}
    for item in search.reranked:
        passage = search.best_passage[item.id]
        signals, expected = search.found.evidence[passage], search.expected.get(passage, 0.0)
        cosines[item.id] = max(0.0, estimated_cosine(signals, search.best_bm25, expected))
    return add_token_scores(search.scores, search.similar, cosines)


def boost_neighbours(search: Search) -> Mapping[int, float]:
    """Raise the turns beside one of the best of those whose words were compared."""
    return boost_by_neighbours({id_: search.scores[id_] for id_ in search.similar}, search.following)


def ask_models(search: Search) -> None:
    """How likely the reranked answer, by their token vectors and by the cross-encoder, which reads a few."""
    repeated = {item.id for item in search.repeats}
    candidates = []
    for item in search.reranked:
        passage = search.best_passage[item.id]
        signals, similar = search.found.evidence[passage], search.similar.get(item.id)
        past_text = search.found.past_texts.get(item.id)
        candidates.append(
            RerankedItem(item.id, passage, search.scores[item.id], signals, similar, item.id in repeated, past_text)
        )
    search.odds = estimate_answers(search.memory, search.question, candidates)


def add_reading(search: Search) -> Mapping[int, float]:
    return add_answer_scores(search.scores, search.odds.answers)


def prefer_replies(search: Search) -> Mapping[int, float]:
    """Rank what only repeats the question behind its reply."""
    replies = {id_: reply.id for id_, reply in search.replies.items()}
    return prefer_answers(search.scores, [item.id for item in search.repeats], replies)


def read_weights(search: Search) -> None:
    """What counts for a hit besides what it says."""
    search.weights = hit_weights(search.memory, [*search.items.values()])


def prefer_newer(search: Search) -> None:
    """Put newer statements before older ones that importance, trust and use do not tell from them.

    That decides their order: it makes none of them more likely.
    """
    stated = [item for item in search.reranked if item.kind == "memory"]
    highest = max((search.weights[item.id].total for item in stated), default=0.0)
    equal = {item.id: item.created_ms for item in stated if search.weights[item.id].total == highest}
    search.newer = newer_boosts(search.scores, equal)


def hit_weights(memory: LocalMemory, items: Sequence[Item]) -> dict[int, Weight]:
    """The weight of each item."""
    now = memory.clock()
    uses = memory.store.uses([item.id for item in items])
    weights = {}
    for item in items:
        used = uses[item.id].now(now) if item.id in uses else 0.0
        weights[item.id] = hit_weight(item.importance, item.trust, used)
    return weights


STEPS: tuple[Step, ...] = (
    Step("passages", score_passages, "meaning"),
    Step("turns", read_turns),
    Step("speaker", boost_speaker, "speaker"),
    Step("role", boost_role, "role"),
    Step("context", boost_context, "context"),
    Step("items", read_items),
    Step("replies", find_replies, "meaning"),
    Step("adjacent words", boost_adjacent_words, "phrase", in_filters=False),
    Step("named time", boost_named_time, "time", in_filters=False),
    Step("instructions", boost_instructions, "instruction", in_filters=False),
    Step("token vectors", read_token_vectors, in_filters=False),
    Step("tokens", boost_tokens, "tokens", in_filters=False),
    Step("better neighbour", boost_neighbours, "context", in_filters=False),
    Step("models", ask_models, in_filters=False),
    Step("reading", add_reading, "reading", in_filters=False),
    Step("reply", prefer_replies, "reply", in_filters=False),
    Step("weights", read_weights),
    Step("newer", prefer_newer, "newer"),
)
