"""Reranking: how likely the best candidates of a search answer, and what counts for each of them besides that.

Their token vectors say how likely, and a cross-encoder that reads some of them. Importance, who stated it, and how
often and how lately it was useful decide between hits that answer about equally well. They never make something an
answer, and nothing is hidden for being old or unused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.items import OFF_PATH, ROOT_KEY
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import ParsedQuestion
from commonplace.model import DEFAULT_IMPORTANCE, PROPOSED, SAME_AS, Item, Session, linked_uids
from commonplace.ranking.scores_and_relevance import (
    JUDGED,
    LEXICAL_WEIGHT,
    Evidence,
    Weight,
    answer_odds,
    answer_relevance,
    best_first,
    hit_weight,
    is_surely_answered,
    lexical_signal,
    likelihoods,
    reading_order,
    relevance,
    relevances_in_order,
    token_odds,
    worth_reading,
)
from commonplace.ranking.scores_and_relevance import is_answered as something_answers
from commonplace.store.rows import TEXT_DETAILS
from commonplace.text.near_duplicates import WordSets, group_near_duplicates
from commonplace.text.query import (
    is_about_questions,
    is_keywords,
    is_only_question,
    plain_words,
    repeats_question,
    repeats_words,
)

# Tokens of the best hits that are read together with the question; thoroughly, so many, and so many of further ones if
# none of these answers.
READ_TOKENS, THOROUGHLY = 300, (400, 200)
# Of the best so many, those that are no longer than this are compared with each other, to tell the important first.
COMPARED, SHORT_TEXT = 30, 500
# What is less of a score is nothing worth showing.
LEAST_PART = 0.0005
MAX_STALE_FILES = 50
# What only repeats a question answers at most this likely.
REPEATED_LIKELY = 0.2
# What only repeats a question has at most twice its characters and these.
REPEATED_MORE = 80

# What `Hit.why` can name: each step of a search that changes a score, and the weights that are added last.
ScoreStep = Literal[
    "words",
    "meaning",
    "speaker",
    "role",
    "context",
    "phrase",
    "attribute",
    "time",
    "instruction",
    "question",
    "tokens",
    "reading",
    "reply",
    "newer",
    "importance",
    "trust",
    "use",
]
SCORE_STEPS: tuple[ScoreStep, ...] = get_args(ScoreStep)
_SEPARATORS = re.compile(r"[,\n]")


@dataclass(frozen=True, slots=True)
class Judged:
    """What the models say of items: the log-odds that each answers, and the cross-encoder's opinion of some."""

    odds: Mapping[int, float] = field(default_factory=dict)
    answers: Mapping[int, float] = field(default_factory=dict)
    relevances: Mapping[int, float] = field(default_factory=dict)

    def is_answered(self, scores: Mapping[int, float]) -> bool | None:
        """Whether something among the first of them answers; None if nothing was judged."""
        return something_answers(_first_odds(scores, self.odds)) if self.odds else None


def compare_tokens(memory: LocalMemory, parsed: ParsedQuestion, chosen: Mapping[int, int]) -> dict[int, float]:
    """How well items hold what each word of the question asks for, by the token vectors of their chosen passages."""
    if parsed.vector is None or parsed.query.strict or not memory.embeddings.compares_tokens:
        return {}
    tokens = memory.store.token_vectors(list(chosen.values()))
    similar = memory.embeddings.compare_tokens(parsed.text, tokens)
    return {item_id: similar[passage] for item_id, passage in chosen.items() if passage in similar}


def judge(
    memory: LocalMemory,
    parsed: ParsedQuestion,
    scores: Mapping[int, float],
    chosen: Mapping[int, int],
    known: Mapping[int, Evidence],
    similar: Mapping[int, float],
    repeated: Collection[int],
) -> Judged:
    """How likely items answer, with what is known of each and the passage chosen of it.

    What repeats the question resembles it more than anything: that says nothing about it.
    """
    if not _models_can_tell(memory, parsed, scores, known):
        return Judged()
    odds = {id_: token_odds(value, known[id_].semantic) for id_, value in similar.items() if id_ not in repeated}
    answers = _read_together(memory, parsed, scores, chosen, known)
    odds |= {
        id_: token_odds(similar[id_], known[id_].semantic, answer) for id_, answer in answers.items() if id_ in odds
    }
    return Judged(odds, answers, {id_: answer_relevance(value) for id_, value in odds.items()})


def _models_can_tell(
    memory: LocalMemory, parsed: ParsedQuestion, scores: Mapping[int, float], known: Mapping[int, Evidence]
) -> bool:
    """Whether the models can tell what answers a question, of candidates of which this is known.

    They cannot if the question is only words to look for, and the best hit has them all, or a model knows none of
    them: it would answer them with anything.
    """
    query, reader = parsed.query, memory.cross_encoder
    if reader is None or parsed.vector is None or query.strict or not known or is_about_questions(query.text):
        return False
    if not is_keywords(query.text):
        return True
    best = known[max(known, key=scores.__getitem__)]
    return best.found < 1.0 and reader.knows_a_word(query.text)


def _read_together(
    memory: LocalMemory,
    parsed: ParsedQuestion,
    scores: Mapping[int, float],
    chosen: Mapping[int, int],
    known: Mapping[int, Evidence],
) -> dict[int, float]:
    """What the cross-encoder says of the best items, each read together with the question: the first few.

    Thoroughly: those near the best one, and the others if none of these surely answers.
    """
    assert memory.cross_encoder is not None
    best = {item_id: scores[item_id] for item_id in known}
    if parsed.thorough:
        steps = list(zip(reading_order(best), THOROUGHLY, strict=True))
    else:
        steps = [(worth_reading(best), READ_TOKENS)]
    answers: dict[int, float] = {}
    for some, most in steps:
        if not some:
            break
        texts = memory.store.passages_in_context([chosen[item_id] for item_id in some])
        passages = [(passage.text, before) for item_id in some for passage, before in [texts[chosen[item_id]]]]
        try:
            answers |= zip(some, memory.cross_encoder.score(parsed.text, passages, most), strict=False)
        except EmbedderUnavailable:
            # The order is a little worse without it, and search goes on.
            return {}
        if is_surely_answered([answer_odds(answer, known[id_].semantic) for id_, answer in answers.items()]):
            break
    return answers


def _first_odds(scores: Mapping[int, float], odds: Mapping[int, float]) -> list[float]:
    """The odds of the first hits."""
    return [odds[id_] for id_ in best_first({id_: scores[id_] for id_ in odds}, newest={})[:JUDGED]]


def record_use(memory: LocalMemory, items: Iterable[Item]) -> None:
    """Count that items were useful: opened by somebody, accepted, or used by an agent that they were shown to."""
    ids = [item.id for item in items]
    if ids:
        memory.store.record_use(ids, memory.clock())


def hit_weights(memory: LocalMemory, items: Sequence[Item]) -> dict[int, Weight]:
    """The weight of each item."""
    now, uses = memory.clock(), memory.store.uses([item.id for item in items])
    return {
        item.id: hit_weight(item.importance, item.trust, uses[item.id].now(now) if item.id in uses else 0.0)
        for item in items
    }


def weightiest_first(
    memory: LocalMemory,
    found: Sequence[Item],
    scores: dict[int, float],
    weights: Mapping[int, Weight],
    words: WordSets[Item],
) -> list[Item]:
    """Items in their order, but of those that say nearly the same the weightier first, with the better score.

    So does a rejected idea before a proposal to take it up.
    """
    short = [item for item in found[:COMPARED] if len(item.body) <= SHORT_TEXT]
    alike = [*group_near_duplicates(short, words), *_taken_up_again(short)]
    if not alike:
        return list(found)
    unrated = [item.id for group in alike for item in group if item.importance is None and item.session is not None]
    sessions = memory.store.sessions_of(unrated) if unrated else {}
    order = list(found)
    for group in alike:
        places = [place for place, item in enumerate(order) if item in group]
        members = [order[place] for place in places]
        better = [scores[item.id] for item in members]
        ranked = sorted(members, key=lambda item: _rank(item, sessions.get(item.id), weights[item.id]), reverse=True)
        for place, item, score in zip(places, ranked, better, strict=True):
            order[place] = item
            scores[item.id] = score
    return order


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


def _taken_up_again(items: Sequence[Item]) -> list[list[Item]]:
    """Each proposal that nobody accepted with the ideas that it takes up though they were rejected, in their order."""
    proposals = [item for item in items if item.review == PROPOSED]
    rejected = [item for item in items if item.type == "rejected" and item.review != PROPOSED]
    if not proposals or not rejected:
        return []
    from commonplace.memory.rule_checks import rejects_any
    from commonplace.text.rule_statements import proposed_words

    groups = []
    for proposal in proposals:
        wanted = proposed_words(proposal.text)
        ideas = [idea for idea in rejected if rejects_any(idea, wanted)]
        if ideas:
            groups.append([item for item in items if item is proposal or item in ideas])
    return groups


def _rank(item: Item, session: Session | None, weight: Weight) -> tuple[float, bool, float, float]:
    """What is stated comes before the event in which it was said."""
    importance = item.importance
    if importance is None:
        importance = DEFAULT_IMPORTANCE if session is None else session.importance
    return importance, item.kind == "memory", weight.trust, weight.use


@dataclass(slots=True)
class ScoreParts:
    """The scores of items, step by step, to tell what each step added."""

    best_bm25: float
    steps: list[tuple[ScoreStep, Mapping[int, float]]] = field(default_factory=list)

    def add(self, name: ScoreStep, scores: dict[int, float]) -> dict[int, float]:
        """Note the scores after a step, which nothing changes from then on."""
        self.steps.append((name, scores))
        return scores

    def of(self, item_id: int, evidence: Evidence, weight: Weight) -> dict[str, float]:
        """What speaks for an item and against it, each as what it adds to the score; nothing that adds nothing."""
        words = LEXICAL_WEIGHT * lexical_signal(evidence, self.best_bm25)
        parts: dict[ScoreStep, float] = {"words": words}
        before = words
        for name, scores in self.steps:
            now = scores.get(item_id, before)
            parts[name], before = parts.get(name, 0.0) + now - before, now
        parts |= {"importance": weight.importance, "trust": weight.trust, "use": weight.use}
        return {name: round(value, 4) for name, value in parts.items() if abs(value) >= LEAST_PART}


class PartsOfScore(Mapping[str, float]):
    """What `ScoreParts.of` says of an item, worked out when somebody asks: few do."""

    __slots__ = ("_made", "_of")

    def __init__(self, parts: ScoreParts, item_id: int, evidence: Evidence, weight: Weight) -> None:
        self._of, self._made = (parts, item_id, evidence, weight), dict[str, float]()

    def __getitem__(self, name: str) -> float:
        return self._parts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts())

    def __len__(self) -> int:
        return len(self._parts())

    def _parts(self) -> dict[str, float]:
        if not self._made:
            parts, item_id, evidence, weight = self._of
            self._made = parts.of(item_id, evidence, weight)
        return self._made


def show_twins_once(items: Sequence[Item]) -> tuple[list[Item], dict[int, tuple[Item, ...]]]:
    """Items in order without those that are linked as saying the same as an earlier one, and those by its id."""
    first: dict[str, int] = {}
    shown: list[Item] = []
    twins: dict[int, tuple[Item, ...]] = {}
    for item in items:
        uids = [item.uid, *linked_uids(item, SAME_AS)]
        known = next((first[uid] for uid in uids if uid in first), None)
        if known is None:
            shown.append(item)
        else:
            twins[known] = (*twins.get(known, ()), item)
        for uid in uids:
            first.setdefault(uid, item.id if known is None else known)
    return shown, twins


def session_requests(item: Item) -> set[tuple[str, str]]:
    """What the summary, the checkpoint and the short prompts of a session have in common: one of them is enough."""
    notes = item.kind in ("summary", "checkpoint")
    if item.session is None or not (notes or (item.type == "prompt" and len(item.body) <= len(item.title) + 20)):
        return set()
    lines = [item.title, *(f"{item.details.get('request', '')}\n{item.details.get('task', '')}".splitlines())]
    titles = {" ".join(line.casefold().split()).rstrip(" .?!…") for line in lines}
    return {(item.session, title) for title in ({*titles, ""} if notes else titles - {""})}


def likelihoods_and_similarities(
    items: Sequence[Item], scores: Mapping[int, float], judged: Judged, stale: Collection[int], *, answered: bool | None
) -> list[tuple[Item, float, float]]:
    """Each item in the order given, with how likely it answers, and how alike it is."""
    by_score = [relevance(scores[item.id]) for item in items]
    by_reading = [judged.relevances.get(item.id) for item in items]
    similarities = relevances_in_order(by_score, by_reading, answered=answered)
    likely = similarities
    if judged.odds:
        likely = likelihoods([scores[item.id] for item in items], [item.id in stale for item in items])
    return list(zip(items, likely, similarities, strict=True))


def repeats_answer_little(
    told: Sequence[tuple[Item, float, float]], parsed: ParsedQuestion, repeated: Collection[int]
) -> list[tuple[Item, float, float]]:
    """The same, with less for what only repeats the question and for what stands after it: likelihoods only fall.

    Whoever types words to look for may look for just this.
    """
    if not repeated or is_keywords(parsed.query.text):
        return list(told)
    found, most = [], 1.0
    for item, likely, similarity in told:
        most = min(most, likely, REPEATED_LIKELY if item.id in repeated else 1.0)
        found.append((item, most, similarity))
    return found


def repeating(parsed: ParsedQuestion, items: Sequence[Item]) -> list[Item]:
    """Items that only repeat the question, unless the question is about questions.

    A captured prompt is never an answer, whatever it says. What was proposed in one is none where the question says it
    again, as a prompt does that proposes the same.
    """
    if parsed.query.strict or is_about_questions(parsed.query.text):
        return []
    tokens = {word.token for word in parsed.query.words}
    longest = 2 * len(parsed.query.text) + REPEATED_MORE
    asks = is_only_question(parsed.query.text)

    def repeats(item: Item) -> bool:
        if tells_only_requests(item, lambda one: repeats_words(one, tokens), lambda one: _has_any(one, tokens)):
            return True
        text = _own_text(item)
        if len(text) > longest:
            return False
        if item.origin == "captured" and item.type == "prompt":
            return repeats_words(text, tokens)
        if item.origin == "captured" and item.review == PROPOSED and not asks:
            return {word.token for word in plain_words(text)} <= tokens
        return repeats_question(text, tokens)

    return [item for item in items if repeats(item)]


def _has_any(text: str, tokens: Collection[str]) -> bool:
    return any(word.token in tokens for word in plain_words(text))


# What hooks note of any session: that commands ran, and how much was done.
_COUNTED = re.compile(r"Ran ")


def tells_only_requests(item: Item, repeats: Callable[[str], bool], is_about: Callable[[str], bool]) -> bool:
    """Whether a captured summary or checkpoint only has the question as a request, and tells nothing of it.

    What else it tells is about that request if there was no other; else if it shares words with the question.
    """
    if item.kind not in ("summary", "checkpoint") or item.origin != "captured":
        return False
    asked = [*item.details.get("request", "").splitlines(), *item.details.get("task", "").splitlines()]
    if not any(map(repeats, asked)):
        return False
    fields = (text for name, text in item.details.items() if name not in ("request", "task", "notes", "snapshot"))
    told = [line for text in fields for line in text.splitlines() if line.strip() and not _COUNTED.match(line)]
    return not told or (len(set(asked)) > 1 and not any(map(is_about, told)))


def _own_text(item: Item) -> str:
    """The text of an item without its request, if it has more than that."""
    if item.kind in ("summary", "checkpoint"):
        return item.details_text("request", "task", "snapshot", "relevant_files") or item.text or item.title
    return item.text or item.title


def is_stale(item: Item) -> bool:
    """Whether any file the item modified is newer than the item."""
    return changed_file(item) is not None


def is_left_behind(item: Item) -> bool:
    """Whether somebody went back in the conversation and went on without this message, such as another answer."""
    return item.meta.get(OFF_PATH) is True


def sinks(item: Item) -> bool:
    """Whether what it says is probably no longer so: others come first."""
    return is_left_behind(item) or is_stale(item)


def changed_file(item: Item) -> str | None:
    """The first file that the item modified and that is newer than it. What cannot be looked at does not count."""
    listed = item.details.get("files_modified", "")
    if not listed:
        return None
    root = item.meta.get(ROOT_KEY)
    for name in _SEPARATORS.split(listed)[:MAX_STALE_FILES]:
        path = _located(name.strip(), root if isinstance(root, str) else None)
        if path is not None and _changed_ms(path) > item.created_ms:
            return name.strip()
    return None


def _located(name: str, root: str | None) -> str | None:
    # Plain strings: of each hit of a search its files are looked at.
    if not name:
        return None
    path = os.path.expanduser(name) if name.startswith("~") else name
    if os.path.isabs(path):
        return path
    return os.path.join(root, path) if root and not path.startswith("~") else None


def _changed_ms(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return -1
