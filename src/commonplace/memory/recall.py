"""Recall: from a question to its candidates, through the steps that score them, to the hits that are told.

search_candidates.py finds the candidates, and search_steps.py lists the steps. Here what answers nothing is dropped,
what says the same is told once, and each hit is told how likely it answers. Importance, who stated it, and how often
and how lately it was useful decide between hits that answer about equally well. They never make something an answer,
and nothing is hidden for being old or unused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.memory.candidates_as_of import find_candidates_as_of
from commonplace.memory.items import OFF_PATH, ROOT_KEY
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import (
    ParsedQuestion,
    embed_waiting,
    find_candidates,
    parse,
    parse_question,
    something_waits,
    start_embedding,
)
from commonplace.memory.search_steps import STEPS, ItemReader, ScorePart, Search
from commonplace.model import DEFAULT_IMPORTANCE, PROPOSED, SAME_AS, Item, Scope, Session, linked_uids
from commonplace.ranking.scoring import (
    LEXICAL_WEIGHT,
    STALE_FACTOR,
    is_noise,
    is_noise_when_judged,
    lexical_signal,
    likelihoods,
    noise_borders,
    relevance,
    relevances_in_order,
)
from commonplace.text.near_duplicates import drop_near_duplicates, first_per_key, group_near_duplicates
from commonplace.text.query import is_keywords

# What answers at least this likely is called an answer.
LIKELY = 0.5
NOTHING_CLEAR = "Nothing clearly answers this; these come closest."
CANDIDATES = 100
# Of the best so many, those that are no longer than this are compared with each other, to tell the important first.
COMPARED, SHORT_TEXT = 30, 500
# What is less of a score is nothing worth showing.
LEAST_PART = 0.0005
MAX_STALE_FILES = 50
# What only repeats a question answers at most this likely.
REPEATED_LIKELY = 0.2
_SEPARATORS = re.compile(r"[,\n]")


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
    return recall(memory, parse_question(memory, question, by_meaning=False), scope, limit)


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

    What waits for a vector there is embedded first. All is read at one moment of the store.
    """

    def search(parsed: ParsedQuestion) -> list[RecallResult]:
        reader, results = ItemReader(memory), []
        for scope, limit in zip(scopes, limits, strict=True):
            results.append(_search(memory, parsed, scope, limit, reader))
        return results

    if isinstance(question, ParsedQuestion):
        return memory.store.snapshot(lambda: search(question))

    pending = start_embedding(memory, question)

    def search_unless_something_waits() -> ParsedQuestion | list[RecallResult]:
        parsed = parse(memory, pending)
        return parsed if something_waits(memory, parsed) else search(parsed)

    if memory.embeddings.is_ready:
        # Who speaks there is part of what a question names: both are of one moment.
        found = memory.store.snapshot(search_unless_something_waits)
        if isinstance(found, list):
            return found
        parsed = found
    else:
        # The model is loaded first, which no snapshot should wait for.
        parsed = parse(memory, pending)
    parsed = embed_waiting(memory, parsed, scopes)
    return memory.store.snapshot(lambda: search(parsed))


def _search(
    memory: LocalMemory, question: ParsedQuestion, scope: Scope, limit: int, reader: ItemReader
) -> RecallResult:
    """Candidates, steps, answers."""
    most = max(CANDIDATES, 2 * limit)
    if scope.at_ms is None:
        candidates = find_candidates(memory, question, scope, most)
    else:
        candidates = find_candidates_as_of(memory, question, scope, most)
        # What changed since is read: what did not is compared with it, so more of that is read too.
        question = replace(question, thorough=True)
    search = Search(memory, question, scope, limit, reader, candidates, candidates.best_bm25)
    if candidates.evidence:
        for step in STEPS:
            search.take(step)
    return _answers(search, most)


def _answers(search: Search, most: int) -> RecallResult:
    """What is told of the candidates, in which order, and how likely each answers."""
    evidence, scores = search.found.evidence, search.scores
    answered = search.odds.is_answered(scores)
    noise = set() if search.question.query.strict else _noise(search, answered=answered)
    kept = [item for item in search.items.values() if item.id not in noise]
    stale = {item.id for item in kept if sinks(item)}

    def order(item: Item) -> float:
        score = scores[item.id] + search.newer.get(item.id, 0.0) + search.weights[item.id].total
        return relevance(score) * (STALE_FACTOR if item.id in stale else 1)

    found = sorted(kept, key=order, reverse=True)[: 2 * search.limit]
    found = _prefer_important_duplicate(search, found)
    once, twins = _show_twins_once(found)
    shown = first_per_key(drop_near_duplicates(once, search.reader.words), _session_requests)

    likely, similarities = _likelihoods(search, shown, stale, answered=answered)
    hits = []
    for item, how_likely, similarity in list(zip(shown, likely, similarities, strict=True))[: search.limit]:
        passage = search.best_passage[item.id]
        signals = evidence[passage]
        hits.append(
            Hit(
                item,
                # What it said then is no passage any more.
                max(passage, 0),
                how_likely,
                similarity,
                signals.semantic,
                lexical_signal(signals, search.best_bm25),
                ScoreParts(search, item.id),
                twins.get(item.id, ()),
                search.odds.answers.get(item.id),
            )
        )
    count = len(scores.keys() - noise) - (len(found) - len(shown))
    total = count if len(evidence) < most else max(search.found.total, count)
    question = search.question
    return RecallResult(tuple(hits), total, question.vector is not None, question.waiting, question.query.strict)


def _likelihoods(
    search: Search, shown: Sequence[Item], stale: Collection[int], *, answered: bool | None
) -> tuple[list[float], list[float]]:
    """How likely each of the hits answers, and how much it is like what answers."""
    scores = [search.scores[item.id] for item in shown]
    by_reading = [search.odds.relevances.get(item.id) for item in shown]
    similarities = relevances_in_order([relevance(score) for score in scores], by_reading, answered=answered)
    likely = similarities
    if search.odds.odds:
        likely = likelihoods(scores, [item.id in stale for item in shown])
    if search.repeats and not is_keywords(search.question.query.text):
        likely = _repeats_answer_little(search, shown, likely)
    return likely, similarities


def _repeats_answer_little(search: Search, shown: Sequence[Item], likely: Sequence[float]) -> list[float]:
    """Likelihoods with less for what only repeats the question and for what stands after it: they only fall.

    Not of bare words: whoever types words to look for may look for just this.
    """
    repeated = {item.id for item in search.repeats}
    found, most = [], 1.0
    for item, how_likely in zip(shown, likely, strict=True):
        most = min(most, how_likely, REPEATED_LIKELY if item.id in repeated else 1.0)
        found.append(most)
    return found


def _noise(search: Search, *, answered: bool | None) -> set[int]:
    """The candidates that answer nothing, by their score before they were read or by how likely they answer."""
    # What was judged is dropped for its score only if it is far off.
    borders = noise_borders(len(search.found.evidence), answered=answered is not None)
    replies = {reply.id for reply in search.replies.values()}
    noise = set()
    for item_id, score in search.unread_scores.items():
        bm25, cosine, share = search.found.evidence[search.best_passage[item_id]]
        if share >= 1.0 or item_id in replies:
            # It has every word of the question: whoever types a name wants what holds it.
            continue
        judged = search.odds.relevances.get(item_id)
        if is_noise(score, borders, has_words=bm25 > 0.0, has_cosine=cosine is not None) or (
            judged is not None and is_noise_when_judged(judged, has_words=bm25 > 0.0, answered=bool(answered))
        ):
            noise.add(item_id)
    return noise


class ScoreParts(Mapping[str, float]):
    """What speaks for a hit and against it, each as what it adds to the score; nothing that adds nothing.

    Worked out when somebody asks: few do.
    """

    __slots__ = ("_item_id", "_made", "_search")

    def __init__(self, search: Search, item_id: int) -> None:
        self._search, self._item_id = search, item_id
        self._made: dict[str, float] | None = None

    def __getitem__(self, name: str) -> float:
        return self._parts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts())

    def __len__(self) -> int:
        return len(self._parts())

    def _parts(self) -> dict[str, float]:
        if self._made is None:
            search, item_id = self._search, self._item_id
            signals = search.found.evidence[search.best_passage[item_id]]
            before = LEXICAL_WEIGHT * lexical_signal(signals, search.best_bm25)
            parts: dict[ScorePart, float] = {"words": before}
            for name, changed in search.trace:
                now = changed.get(item_id, before)
                parts[name] = parts.get(name, 0.0) + now - before
                before = now
            weight = search.weights[item_id]
            parts["newer"] = search.newer.get(item_id, 0.0)
            parts |= {"importance": weight.importance, "trust": weight.trust, "use": weight.use}
            self._made = {name: round(value, 4) for name, value in parts.items() if abs(value) >= LEAST_PART}
        return self._made


def _prefer_important_duplicate(search: Search, found: Sequence[Item]) -> list[Item]:
    """Items in their order, but of those that say nearly the same the more important first, with the better score.

    So does a rejected idea before a proposal to take it up.
    """
    short = [item for item in found[:COMPARED] if len(item.body) <= SHORT_TEXT]
    alike = [*group_near_duplicates(short, search.reader.words), *_taken_up_again(short)]
    if not alike:
        return list(found)
    unrated = [item.id for group in alike for item in group if item.importance is None and item.session is not None]
    sessions = search.memory.store.sessions_of(unrated) if unrated else {}

    def rank(item: Item) -> tuple[float, bool, float, float]:
        """What is stated comes before the event in which it was said."""
        importance, weight = item.importance, search.weights[item.id]
        if importance is None:
            importance = sessions[item.id].importance if item.id in sessions else DEFAULT_IMPORTANCE
        return importance, item.kind == "memory", weight.trust, weight.use

    order = list(found)
    for group in alike:
        places = [place for place, item in enumerate(order) if item in group]
        members = [order[place] for place in places]
        better = [search.scores[item.id] for item in members]
        for place, item, score in zip(places, sorted(members, key=rank, reverse=True), better, strict=True):
            order[place] = item
            search.scores[item.id] = score
    return order


def _taken_up_again(items: Sequence[Item]) -> list[list[Item]]:
    """Each proposal that nobody accepted with the ideas that it takes up though they were rejected, in their order."""
    proposals = [item for item in items if item.review == PROPOSED]
    rejected = [item for item in items if item.type == "rejected" and item.review != PROPOSED]
    if not proposals or not rejected:
        return []
    # Few searches find both: most need not load what reads rules.
    from commonplace.memory.rule_checks import rejects_any
    from commonplace.text.rule_statements import proposed_words

    groups = []
    for proposal in proposals:
        wanted = proposed_words(proposal.text)
        ideas = [idea for idea in rejected if rejects_any(idea, wanted)]
        if ideas:
            groups.append([item for item in items if item is proposal or item in ideas])
    return groups


def _show_twins_once(items: Sequence[Item]) -> tuple[list[Item], dict[int, tuple[Item, ...]]]:
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


def _session_requests(item: Item) -> set[tuple[str, str]]:
    """What the summary, the checkpoint and the short prompts of a session have in common: one of them is enough."""
    notes = item.kind in ("summary", "checkpoint")
    if item.session is None or not (notes or (item.type == "prompt" and len(item.body) <= len(item.title) + 20)):
        return set()
    lines = [item.title, *(f"{item.details.get('request', '')}\n{item.details.get('task', '')}".splitlines())]
    titles = {" ".join(line.casefold().split()).rstrip(" .?!…") for line in lines}
    return {(item.session, title) for title in ({*titles, ""} if notes else titles - {""})}


def record_use(memory: LocalMemory, items: Iterable[Item]) -> None:
    """Count that items were useful: opened by somebody, accepted, or used by an agent that they were shown to."""
    ids = [item.id for item in items]
    if ids:
        memory.store.record_use(ids, memory.clock())


def is_stale(item: Item) -> bool:
    """Whether any file the item modified is newer than the item."""
    return changed_file(item) is not None


def is_left_behind(item: Item) -> bool:
    """Whether somebody went back in the conversation and went on without this message, such as another answer."""
    return item.meta.get(OFF_PATH) is True


def sinks(item: Item) -> bool:
    """Whether what it says is probably no longer so: others come first."""
    return item.meta.get(OFF_PATH) is True or changed_file(item) is not None


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
