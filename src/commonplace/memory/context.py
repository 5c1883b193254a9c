"""Context: what an agent should know before it starts, within a token budget.

Knowledge (decisions, constraints, heuristics, what was rejected) and rules of the project and of everywhere come
first, whatever their age; then what is recent, or what a query asks for; the last summaries; the latest checkpoint.
With a query, what answers it has a share of the budget that nothing else can take. What belongs to another project is
part of it only if the caller asks for `elsewhere`, after all that is the project's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.memory.items import newest_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rerank import is_stale
from commonplace.memory.rules import applies_to
from commonplace.memory.timeline import EVENT_KINDS
from commonplace.memory.told_as_done import without_breaches
from commonplace.memory.told_to_agents import may_be_told, scope_to_tell, source_of, that_may_be_told
from commonplace.model import KINDS, KNOWLEDGE_TYPES, Item, Scope, Session
from commonplace.ranking.scores_and_relevance import STALE_FACTOR, Evidence, lexical_signal
from commonplace.text.dates import DAY_MS
from commonplace.text.paths import is_in_folder, normalise_folder
from commonplace.text.sentences import shorten
from commonplace.text.tokens import CHARACTERS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from commonplace.memory.recall import Hit
    from commonplace.memory.search_candidates import ParsedQuestion


RULE = "rule"
LEADING_TYPES = (*sorted(KNOWLEDGE_TYPES), RULE)
RECENT = 50
# Hits by words among which those of given items are scored.
SCORED = 100
LEADING = 100
SUMMARIES = 5
# No entry of any dialect is written in fewer tokens, so this tells how many could fit at most.
LEAST_TOKENS = 20
# Something in the project that is less likely to answer the query has no claim to the share of what answers it; but the
# best few always have.
ANSWERS, BEST = 0.3, 3
# No single item takes more than this share; longer content is shortened and can be fetched by its id.
ITEM_SHARE = 0.25
# The checkpoint and the first summary are always wanted: if need be, with fields no longer than this.
FIELD_LENGTHS = (4_000, 1_000, 400, 150, 60)
# Something from another project, where that is asked for, has to answer the query rather well, as one of so many.
ELSEWHERE, FROM_ELSEWHERE = 0.5, 25
# What counts for the score of an entry: its age, whether it is knowledge, and its project.
HALF_LIFE_DAYS = 7.0
KNOWLEDGE_BOOST = 3.0
SAME_PROJECT, OTHER_PROJECT = 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Shares:
    """How far of the budget each part may go before the rest has had its turn, in the order in which they are taken."""

    leading: float
    answers: float
    checkpoint: float
    summary: float


WITHOUT_QUERY = Shares(leading=0.5, answers=0.5, checkpoint=0.65, summary=0.75)
WITH_QUERY = Shares(leading=0.35, answers=0.75, checkpoint=0.85, summary=0.9)


@dataclass(frozen=True, slots=True)
class Signals:
    """What the score of an entry of a context is made of, each between 0 and 1."""

    semantic: float
    fts5: float
    recency: float
    project_match: float


def recency_score(created_ms: int, now_ms: int, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """1 now, 1/2 after a half-life, towards 0; a time in the future counts as now."""
    age_days = max(0, now_ms - created_ms) / DAY_MS
    return math.exp2(-age_days / half_life_days)


def composite_score(signals: Signals, *, with_query: bool) -> float:
    """One number from four: 45/35/10/10 with a query, recency and project 70/30 without."""
    if with_query:
        return 0.45 * signals.semantic + 0.35 * signals.fts5 + 0.10 * signals.recency + 0.10 * signals.project_match
    return 0.70 * signals.recency + 0.30 * signals.project_match


def context_order_key(score: float, *, knowledge: bool, stale: bool = False) -> tuple[bool, float]:
    """Larger comes first. Knowledge counts three times its score and precedes everything else; what is stale sinks."""
    return (knowledge, score * (KNOWLEDGE_BOOST if knowledge else 1.0) * (STALE_FACTOR if stale else 1.0))


class TokenBudget:
    """A number of tokens, spent entry by entry. What does not fit is left out; smaller entries may still follow."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        self.tokens, self.spent = tokens, spent

    def spend(self, cost: int, share: float = 1.0) -> bool:
        """Spend `cost` if the whole then stays within `share` of the budget."""
        if not self.fits(cost, share):
            return False
        self.spent += cost
        return True

    def fits(self, cost: int, share: float = 1.0) -> bool:
        return cost >= 0 and self.spent + cost <= self.tokens * share


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An item as it will be shown: its content, perhaps shortened, with its score, its signals and whose it is."""

    item: Item
    content: str
    score: float
    signals: Signals
    source: str = ""
    # Whether it belongs to another project.
    is_elsewhere: bool = False

    @property
    def text(self) -> str:
        """What is shown of it: the same as `content`."""
        return self.content

    @property
    def leads(self) -> bool:
        return self.item.type in LEADING_TYPES and not self.is_elsewhere


@dataclass(frozen=True, slots=True)
class Context:
    """What fits the budget, and how much there was to choose from.

    `answers` are the ids of those items that answer the query, best first; `waiting` counts passages that were compared
    with it by their words alone, because they have no vector yet.
    """

    project: str | None
    items: tuple[ContextItem, ...]
    summaries: tuple[Item, ...]
    checkpoint: Item | None
    total: int
    truncated: bool
    answers: tuple[int, ...] = ()
    waiting: int = 0


Measure = Callable[[ContextItem | Item], int]
"""How many tokens an item, summary or checkpoint takes in the reply, as the caller will write it."""


def plain_tokens(entry: ContextItem | Item) -> int:
    """What an entry takes where it is written as its title and its text."""
    if isinstance(entry, Item):
        return LEAST_TOKENS + estimate_tokens(
            len(entry.title) + len(entry.text) + sum(map(len, entry.details.values()))
        )
    return LEAST_TOKENS + estimate_tokens(len(entry.item.title) + len(entry.content))


def build_context(
    memory: LocalMemory,
    project: str | None,
    query: str | None,
    token_budget: int,
    measure: Measure,
    envelope: int = 0,
    *,
    files: Sequence[str] = (),
    limit: int | None = None,
    least: int = 0,
    at_ms: int | None = None,
    elsewhere: bool = False,
) -> Context:
    """A context package for a project, or for what belongs to none. `envelope` is what the empty reply costs.

    With `files`, rules for certain paths only if they apply to one of them; with `limit`, so many items besides rules;
    with `at_ms`, what was held true at that moment; with `elsewhere`, also what answers the query in other projects.
    `measure` never says fewer than `least` tokens; if not 0, that is what an entry takes besides its title, content and
    type.
    """
    question = _parse_query(memory, project, query)
    here, most = replace(Scope.inside(project), at_ms=at_ms), max(RECENT, token_budget // max(LEAST_TOKENS, least))

    def read() -> tuple[list[ContextItem], list[int], list[Item], Item | None]:
        newest = that_may_be_told(memory, newest_items(memory, replace(here, kinds=("checkpoint",)), 1))
        return (
            *_ranked(memory, project, question, most, at_ms, elsewhere=elsewhere),
            without_breaches(memory, project, _summaries(memory, here, question)),
            next(iter(without_breaches(memory, project, newest)), None),
        )

    ranked, answers, summaries, checkpoint = memory.store.snapshot(read)
    ranked = [entry for entry in ranked if entry.item.type != RULE or applies_to(entry.item, files)]
    longest = max(80, int(token_budget * ITEM_SHARE) * 4)
    shown = [_shortened(entry, longest) for entry in _limited(ranked, answers, limit)]
    selection = _Selection(TokenBudget(token_budget, spent=envelope), measure, least)
    answers, last, chosen = selection.select(shown, answers, checkpoint, summaries, question is not None)

    items = tuple(entry for entry in shown if entry.item.id in selection.taken)
    whole = {entry.item.id: entry.content for entry in ranked}
    cut = any(entry.content != whole[entry.item.id] for entry in items) or last != checkpoint or chosen != summaries
    return Context(
        project=project,
        items=items,
        summaries=tuple(summary for summary in chosen if summary.id in selection.taken),
        checkpoint=last if last and last.id in selection.taken else None,
        total=len(ranked),
        truncated=cut or len(selection.taken) < len(ranked) + len(summaries) + (last is not None),
        answers=tuple(id_ for id_ in answers if id_ in selection.taken),
        waiting=question.waiting if question else 0,
    )


class _Selection:
    """What is taken into a context, part by part, as long as the budget lasts."""

    def __init__(self, budget: TokenBudget, measure: Measure, least: int) -> None:
        self._budget, self._measure, self._least = budget, measure, least
        self._costs: dict[int, int] = {}
        self.taken: set[int] = set()

    def select(
        self,
        shown: Sequence[ContextItem],
        answers: Sequence[int],
        checkpoint: Item | None,
        summaries: Sequence[Item],
        with_query: bool,
    ) -> tuple[list[int], Item | None, list[Item]]:
        """Take what fits; returns the answers that are shown, and the checkpoint and summaries, perhaps shortened."""
        shares = WITH_QUERY if with_query else WITHOUT_QUERY
        # Rules before all: they are to be followed whatever else is known.
        for entry in sorted((entry for entry in shown if entry.leads), key=lambda entry: entry.item.type != RULE):
            self._take(entry, shares.leading)
        by_id = {entry.item.id: entry for entry in shown}
        answers = [id_ for id_ in answers if id_ in by_id]
        for id_ in answers:
            self._take(by_id[id_], shares.answers)
        last = self._take_short(checkpoint, shares.checkpoint) if checkpoint else None
        first = [self._take_short(summary, shares.summary) for summary in summaries[:1]]
        chosen = [*first, *summaries[1:]]
        for entry in (*(by_id[id_] for id_ in answers), *shown):
            self._take(entry)
        for summary in chosen:
            self._take(summary)
        return answers, last, chosen

    def _take(self, entry: ContextItem | Item, share: float = 1.0) -> bool:
        id_ = entry.id if isinstance(entry, Item) else entry.item.id
        if id_ in self.taken:
            return True
        # Most of what there was to choose from comes when the budget is spent, and need not be written to know that.
        if self._budget.fits(self._at_least(entry), share) and self._budget.spend(self._cost(entry), share):
            self.taken.add(id_)
        return id_ in self.taken

    def _at_least(self, entry: ContextItem | Item) -> int:
        if isinstance(entry, Item) or not self._least:
            return self._least
        texts = len(entry.item.title) + len(entry.content) + len(entry.item.type)
        return self._least + texts // CHARACTERS_PER_TOKEN

    def _cost(self, entry: ContextItem | Item) -> int:
        """What it takes; an item has its turn several times, and is the same each time."""
        if isinstance(entry, Item):
            return self._measure(entry)
        if entry.item.id not in self._costs:
            self._costs[entry.item.id] = self._measure(entry)
        return self._costs[entry.item.id]

    def _take_short(self, item: Item, share: float) -> Item:
        return next((short for short in _shorter(item) if self._take(short, share)), item)


def _limited(ranked: Sequence[ContextItem], answers: Sequence[int], limit: int | None) -> Sequence[ContextItem]:
    """All rules, and up to `limit` other items: those that answer the query, then the first."""
    if limit is None:
        return ranked
    others = [entry.item.id for entry in ranked if entry.item.type != RULE]
    chosen = [*(id_ for id_ in answers if id_ in others), *others]
    first = set(list(dict.fromkeys(chosen))[:limit])
    return [entry for entry in ranked if entry.item.type == RULE or entry.item.id in first]


def _parse_query(memory: LocalMemory, project: str | None, query: str | None) -> ParsedQuestion | None:
    """The query, unless there is none: a session that starts does not load what looks for something."""
    if not (query and query.strip()):
        return None
    from commonplace.memory.search_candidates import embed_waiting, parse_question

    return embed_waiting(
        memory, parse_question(memory, query), [Scope.around(project, kinds=(*EVENT_KINDS, "summary"))]
    )


def _ranked(
    memory: LocalMemory,
    project: str | None,
    question: ParsedQuestion | None,
    most: int,
    at_ms: int | None,
    *,
    elsewhere: bool,
) -> tuple[list[ContextItem], list[int]]:
    """Candidates in the order they should be shown, with whole contents; and the ids of those that answer the query."""
    now = memory.clock() if at_ms is None else at_ms
    canonical = None if project is None else memory.store.find_project(project)
    here = replace(Scope.inside(project), at_ms=at_ms)
    around = replace(Scope.around(project, kinds=EVENT_KINDS), at_ms=at_ms)
    always = [
        item
        for types in ((RULE,), tuple(sorted(KNOWLEDGE_TYPES)))
        for item in newest_items(memory, scope_to_tell(replace(around, types=types)), max(LEADING, most))
    ]
    # Conversations that belong to no project are private until somebody asks for them.
    happened = EVENT_KINDS if project is not None else tuple(kind for kind in EVENT_KINDS if kind != "message")
    recent = newest_items(memory, scope_to_tell(replace(here, kinds=happened)), most)
    if question is not None:
        from commonplace.memory.recall import recall_scopes

        # A query orders what the project holds and adds what answers it; the budget decides where it ends.
        scopes, limits = [around], [most]
        if elsewhere:
            scopes.append(Scope(kinds=EVENT_KINDS, at_ms=at_ms))
            limits.append(FROM_ELSEWHERE)
        inside, *anywhere = recall_scopes(memory, question, scopes, limits)
        others = [hit for result in anywhere for hit in result.hits if hit.similarity >= ELSEWHERE]
        found = (*inside.hits, *others)
        hits: dict[int, Hit] = {hit.item.id: hit for hit in found if may_be_told(memory, hit.item)}
        own = {hit.item.id for hit in inside.hits}
        listed = {item.id: item for item in that_may_be_told(memory, (*always, *recent)) if item.id not in hits}
        own |= listed.keys()
        evidence = score_items(memory, question, list(listed.values()))
        evidence |= {id_: (hit.semantic, hit.lexical) for id_, hit in hits.items()}
        items = listed | {id_: hit.item for id_, hit in hits.items()}
    else:
        items = {item.id: item for item in that_may_be_told(memory, (*always, *recent))}
        evidence, hits, own = {}, {}, set(items)
    entries = []
    for item in items.values():
        semantic, lexical = evidence.get(item.id, (0.0, 0.0))
        same = item.project == canonical and (canonical is not None or project is None)
        signals = Signals(
            semantic, lexical, recency_score(item.created_ms, now), SAME_PROJECT if same else OTHER_PROJECT
        )
        score = composite_score(signals, with_query=question is not None)
        is_elsewhere = item.id not in own
        entries.append(ContextItem(item, _content(item), score, signals, source_of(memory, item), is_elsewhere))
    best = sorted(hits.values(), key=lambda hit: (hit.item.id not in own, -hit.similarity))
    answers = [hit.item.id for place, hit in enumerate(best) if place < BEST or hit.similarity >= ANSWERS]
    return sorted(entries, key=_order, reverse=True), answers


def score_items(
    memory: LocalMemory, question: str | ParsedQuestion, items: Sequence[Item]
) -> dict[int, tuple[float, float]]:
    """(semantic, lexical) of given items towards a question, found by it or not."""
    from commonplace.memory.search_candidates import parse_question

    if not items:
        return {}
    parsed = parse_question(memory, question) if isinstance(question, str) else question
    passages = memory.store.passages_of([item.id for item in items])
    passage_ids = [passage for group in passages.values() for passage in group]
    answer = memory.store.search_text(parsed.query, Scope(), SCORED, lambda: passage_ids)
    cosines = {} if parsed.vector is None else memory.store.cosines(parsed.vector, passage_ids)
    scores = {hit.passage_id: hit.score for hit in answer.hits}
    best = max(scores.values(), default=0.0)
    signals = {}
    for item_id, group in passages.items():
        evidence = [Evidence(scores.get(p, 0.0), cosines.get(p), answer.found.get(p, 0.0)) for p in group]
        semantic = max((e.semantic for e in evidence), default=0.0)
        signals[item_id] = (semantic, max((lexical_signal(e, best) for e in evidence), default=0.0))
    return signals


def _order(entry: ContextItem) -> tuple[bool, bool, float, int, int]:
    item = entry.item
    ranked = context_order_key(entry.score, knowledge=entry.leads, stale=is_stale(item))
    return (not entry.is_elsewhere, *ranked, item.created_ms, item.id)


def _summaries(memory: LocalMemory, here: Scope, question: ParsedQuestion | None) -> list[Item]:
    """The newest summaries of the project; with a query those that answer it first."""
    newest = that_may_be_told(memory, newest_items(memory, replace(here, kinds=("summary",)), SUMMARIES))
    if question is None or len(newest) < 2:
        return newest
    from commonplace.memory.recall import recall

    found = recall(memory, question, replace(here, kinds=("summary",)), SUMMARIES)
    together = {item.id: item for item in that_may_be_told(memory, (*(hit.item for hit in found.hits), *newest))}
    return list(together.values())[:SUMMARIES]


def _content(item: Item) -> str:
    """The text of an item; of an observation its narrative, which is shorter than its input and output."""
    narrative = item.details.get("narrative", "").strip() if item.kind == "observation" else ""
    return narrative or item.text or item.title


def _shortened(entry: ContextItem, longest: int) -> ContextItem:
    short = _within(entry.content, longest)
    return entry if short is entry.content else replace(entry, content=short)


def _within(text: str, longest: int) -> str:
    return text if len(text) <= longest else shorten(text, longest)


def _shorter(item: Item) -> Iterator[Item]:
    """The item as it is, then with ever shorter fields."""
    yield item
    for longest in FIELD_LENGTHS:
        details = {name: _within(value, longest) for name, value in item.details.items()}
        yield replace(item, body=_within(item.body, longest), title=_within(item.title, longest), details=details)


# More than any budget holds, so that what is excluded leaves no gaps.
ASSEMBLE_CANDIDATES = 200
# What a preferred label counts for beside a relevance of 0 to 1.
LABEL_BOOST = 0.15
# No single message takes more than this share; a longer one is shown by the passage that answers.
MESSAGE_SHARE = 0.5
_ASSEMBLED_KINDS = tuple(kind for kind in KINDS if kind != "checkpoint")


@dataclass(frozen=True, slots=True)
class CitedMessage:
    """A message to show, whole or by its best passage, and the conversation that it is from."""

    item: Item
    content: str
    relevance: float
    session: Session | None
    whole: bool


MeasureMessage = Callable[[CitedMessage], int]
"""How many tokens one takes in the reply, as the caller will write it."""


def assemble_messages(
    memory: LocalMemory,
    question: str,
    budget: int,
    measure: MeasureMessage,
    preferred: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> list[CitedMessage]:
    """What fits the budget. Folders that are excluded stay out with all below them."""
    from commonplace.memory.recall import recall_in_sessions

    trees = [normalise_folder(folder) for folder in excluded]
    recalled, sessions = recall_in_sessions(memory, question, Scope(kinds=_ASSEMBLED_KINDS), ASSEMBLE_CANDIDATES)
    wanted = {label.strip().casefold() for label in preferred}
    ranked = []
    for hit in recalled.hits:
        session = sessions.get(hit.item.id)
        if session is None or not any(is_in_folder(session.folder, tree) for tree in trees):
            boost = LABEL_BOOST if session is not None and wanted.intersection(_labels(session)) else 0.0
            ranked.append((hit.similarity + boost, hit, session))
    ranked.sort(key=lambda entry: -entry[0])
    spent, chosen = TokenBudget(budget), []
    for _score, hit, session in ranked:
        cited = _cite(memory, hit, session, int(budget * MESSAGE_SHARE), measure)
        if spent.spend(measure(cited)):
            chosen.append(cited)
    return chosen


def _labels(session: Session) -> set[str]:
    return {name.strip().casefold() for name in (session.label, *session.label.split("/"), *session.folder.split("/"))}


def _cite(
    memory: LocalMemory, hit: Hit, session: Session | None, longest: int, measure: MeasureMessage
) -> CitedMessage:
    item = hit.item
    whole = CitedMessage(item, item.text or item.details_text("snapshot") or item.title, hit.relevance, session, True)
    if measure(whole) <= longest:
        return whole
    passage = memory.store.passage_texts([hit.passage_id]).get(hit.passage_id)
    if passage is None or len(passage.text) >= len(whole.content):
        return whole
    return CitedMessage(item, passage.text, hit.relevance, session, False)
