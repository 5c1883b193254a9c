"""The history of items: their revisions and going back to one, what replaced what, and what held at a moment.

Indexes know items as they are now. Those that were edited, superseded or forgotten after a moment are read from their
history and compared with the question one by one; all others are found as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.errors import EmbedderUnavailable, InvalidInput, NotFound
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved
from commonplace.memory.remember import NewItem, as_new_item, rewrite_item
from commonplace.model import PROPOSED, VALIDITY_FIELDS, VIA, Item, Scope
from commonplace.ranking.scores_and_relevance import (
    ANSWERED_ODDS,
    Evidence,
    add_answer_scores,
    answer_odds,
    answer_relevance,
    fused_score,
    likelihoods,
    relevance,
    with_better_odds,
)
from commonplace.store.rows import embedding_text
from commonplace.text.dates import short_iso_time
from commonplace.text.tokens import index_text

if TYPE_CHECKING:
    from commonplace.memory.recall import Hit, RecallResult
    from commonplace.memory.search_candidates import ParsedQuestion

# What an item says comes first, then where it belongs.
_FIELDS = ("title", "body", "type", "project", "tags", "importance", *VALIDITY_FIELDS, "details", "meta")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after, as text; empty where it was not there."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One change: `rev` is what it changed, so going back to `rev` undoes it and what came later."""

    rev: int
    op: str
    at_ms: int
    changed: tuple[FieldChange, ...]
    author: str | None = None


def item_revisions(memory: LocalMemory, id_: int | str) -> list[Revision]:
    """Every change of an item, the latest first."""
    item = get_item(memory, id_, forgotten=True)
    changes = item_history(memory, item.id)
    states = [*(change.before for change in changes), item_state(item)]
    found = [
        Revision(change.rev, change.op, change.at_ms, diff_states(states[n], states[n + 1]), change.author)
        for n, change in enumerate(changes)
    ]
    return found[::-1]


def item_state(item: Item) -> Mapping[str, object]:
    """What can change of an item, under the names that its history has."""
    return {name: getattr(item, name) for name in _FIELDS}


def diff_states(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[FieldChange, ...]:
    """The fields in which two states differ."""
    old, new = _flat(before), _flat(after)
    names = list(dict.fromkeys([*old, *new]))
    changed = (FieldChange(name, old.get(name, ""), new.get(name, "")) for name in names)
    return tuple(change for change in changed if change.before != change.after)


def _flat(state: Mapping[str, object]) -> dict[str, str]:
    """Each field as text; those of its kind and of its metadata by their own names."""
    flat: dict[str, str] = {}
    for name in _FIELDS:
        value = state.get(name)
        if name in VALIDITY_FIELDS and isinstance(value, int):
            flat[name.removesuffix("_ms")] = short_iso_time(value)
        elif isinstance(value, Mapping):
            flat |= {f"{name}.{key}": _as_text(inner) for key, inner in value.items()}
        else:
            flat[name.removesuffix("_ms")] = _as_text(value)
    return flat


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(sorted(map(str, value)))
    return str(value)


def revert_to_revision(memory: LocalMemory, id_: int | str, rev: int | None = None) -> Item:
    """Rewrite an item as it was at revision `rev`, by default before its last change of content."""
    item = get_item(memory, id_)
    known = {change.rev: change for change in memory.store.history(item.id)}
    edits = [number for number, change in known.items() if change.op == "edit"]
    if rev is None and not edits:
        raise InvalidInput(f"Item {item.id} was never changed.", "There is nothing to revert to.")
    change = known.get(edits[-1] if rev is None else rev)
    if change is None:
        raise NotFound(
            f"Item {item.id} has no revision {rev} to go back to.",
            f"It is at {item.rev}; earlier ones: {', '.join(map(str, sorted(known))) or 'none'}.",
        )
    note = as_it_was(item, change.before)
    check_reserved(memory, note.tags, note.meta, item)
    return rewrite_item(memory, item, note)


def as_it_was(item: Item, before: Mapping[str, Any]) -> NewItem:
    """An item with what it said before a change, to be written again."""
    was = {name: before[name] for name in ("type", "title", "details", "meta", "project", "tags", "importance")}
    was |= {name: before.get(name) for name in VALIDITY_FIELDS}
    return replace(as_new_item(item), content=before["body"], **was)


# Items before and after one that are followed, in each direction.
MAX_ITEMS = 20
# A replacement that was stated within this time was stated to replace.
AT_ONCE_MS = 60_000
STATED, REPLACED, SUPERSEDE = "state", "replace", "supersede"


@dataclass(frozen=True, slots=True)
class Stage:
    """What an item said from a moment on. `op` is how that came about: stated, replacing another, or a change.

    `rev` is the revision that a change changed, so going back to `rev` undoes it; 0 where nothing was there before.
    `changed` are the fields in which it differs from what was before. `until_ms` is None for what is still so.
    """

    item: Item
    op: str
    at_ms: int
    author: str | None
    text: str
    rev: int = 0
    changed: tuple[FieldChange, ...] = ()
    until_ms: int | None = None
    replaced: Item | None = None


def belief_history(memory: LocalMemory, item: Item) -> list[Stage]:
    """Everything that an item, what it replaced and what replaced it have said, the latest first.

    An item that superseded another continues its history: one line in time, from what was stated first to what holds.
    """
    chain = _chain(memory, item)
    stages = sorted((stage for one in chain.values() for stage in _stages(memory, one, chain)), key=_when)
    following = [*(later.at_ms for later in stages[1:]), None]
    return [replace(stage, until_ms=until) for stage, until in zip(stages, following, strict=True)][::-1]


def _when(stage: Stage) -> tuple[int, int, int]:
    return stage.at_ms, stage.item.id, stage.rev


def _chain(memory: LocalMemory, item: Item) -> dict[int, Item]:
    """The item with what it replaced, what that replaced, and so on, and what came after it."""
    found = {item.id: item}
    waiting = [item.id]
    while waiting and len(found) <= MAX_ITEMS:
        before = memory.store.get(id_ for id_ in memory.store.superseded(waiting.pop()) if id_ not in found)
        found |= before
        waiting += before
    above = item
    for _step in range(MAX_ITEMS):
        if above.superseded_by is None or above.superseded_by in found:
            break
        after = memory.store.get([above.superseded_by])
        if not after:
            break
        above = after[above.superseded_by]
        found[above.id] = above
    return found


def _stages(memory: LocalMemory, item: Item, chain: dict[int, Item]) -> Iterator[Stage]:
    history = item_history(memory, item.id)
    revisions = item_revisions(memory, item.id)[::-1]
    first = history[0].before if history else None
    author = str(first.get("author") or "") if first else item.author
    text = str(first.get("body") or "") if first else item.text
    old = max((one for one in chain.values() if one.superseded_by == item.id), key=lambda one: one.id, default=None)
    born = Stage(item, STATED, item.created_ms, author or None, text)
    if old is None or not _stated_to_replace(memory, item, old):
        yield born
    else:
        changed = diff_states({"body": old.text}, {"body": text})
        yield replace(born, op=REPLACED, changed=changed, replaced=old)
    states = [*(str(change.before.get("body") or "") for change in history), item.text][1:]
    above = chain.get(item.superseded_by or 0)
    for revision, after in zip(revisions, states, strict=True):
        # Told by what was stated to replace it.
        if revision.op != SUPERSEDE or above is None or not _stated_to_replace(memory, above, item):
            yield Stage(item, revision.op, revision.at_ms, revision.author, after, revision.rev, revision.changed)


def _stated_to_replace(memory: LocalMemory, item: Item, old: Item) -> bool:
    """Whether an item replaced another from the start, and not only when somebody settled which of them holds."""
    times = [change.at_ms for change in item_history(memory, old.id) if change.op == SUPERSEDE]
    return bool(times) and abs(times[-1] - item.created_ms) < AT_ONCE_MS


# So many changes after a moment are looked at.
MOST_CHANGES = 20_000
# Of what changed since, those that hold most of the words are compared by meaning, and the best of them are read.
COMPARED, READ = 60, 6
# What it is worth, beside a relevance, that all neighbouring words of the question are neighbours in a hit.
ADJACENT = 0.3
# What it is worth that a hit tells the attribute that is asked for (ranking/scores_and_relevance.py).
ATTRIBUTE = 2.0
# Characters that are read of each.
_READ_CHARACTERS = 2_000

_Recall = Callable[[LocalMemory, "ParsedQuestion", Scope, int], "RecallResult"]


def newest_as_of(memory: LocalMemory, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
    """What was held true at the moment of a scope, newest first; `before` is the (created_ms, id) to go on from."""
    assert scope.at_ms is not None
    states = memory.store.states_at(scope.at_ms, MOST_CHANGES)
    found = [item for item in _past(memory, scope, states) if before is None or (item.created_ms, item.id) < before]
    current = written_by_then(scope)
    # Those that changed since are left out of the pages that are read, so that enough others are there.
    while True:
        page = memory.store.newest(current, limit, before)
        found += [item for item in page if item.id not in states]
        if len(page) < limit or len(found) >= limit:
            break
        before = (page[-1].created_ms, page[-1].id)
    return sorted(found, key=lambda item: (item.created_ms, item.id), reverse=True)[:limit]


def recall_as_of(
    memory: LocalMemory, parsed: ParsedQuestion, scope: Scope, limit: int, current: _Recall
) -> RecallResult:
    """The best hits among what was held true at the moment of a scope; `current` searches what is there now."""
    assert scope.at_ms is not None
    states = memory.store.states_at(scope.at_ms, MOST_CHANGES)
    # What changed since is read: what did not is compared with it, so it is read too.
    found = current(memory, replace(parsed, thorough=True), written_by_then(scope), limit + min(len(states), 2 * limit))
    hits = [hit for hit in found.hits if hit.item.id not in states]
    hits += _matching(memory, parsed, _past(memory, scope, states))
    return replace(found, hits=tuple(_in_order(parsed, hits)[:limit]), total=max(len(hits), found.total))


def _in_order(parsed: ParsedQuestion, hits: Sequence[Hit]) -> list[Hit]:
    """Hits of now and of then by relevance, those first in which words of the question stand together as in it."""
    from commonplace.memory.recall import DATED_BOOST, adjacent_shares, boosts_by_attribute

    items = [hit.item for hit in hits]
    shares, boosts = adjacent_shares(parsed, items), boosts_by_attribute(parsed, items)
    worth = {item.id: ADJACENT * shares.get(item.id, 0.0) + ATTRIBUTE * boosts.get(item.id, 0.0) for item in items}
    worth |= {item.id: worth[item.id] + DATED_BOOST for item in items if item.is_dated}
    ordered = sorted(hits, key=lambda hit: -hit.similarity - worth[hit.item.id])
    # The first take the highest figures, so that these only fall.
    relevances = sorted((hit.relevance for hit in hits), reverse=True)
    similarities = sorted((hit.similarity for hit in hits), reverse=True)
    figures = zip(ordered, relevances, similarities, strict=True)
    return [replace(hit, relevance=likely, similarity=similar) for hit, likely, similar in figures]


def matching_as_of(
    memory: LocalMemory, scope: Scope, current: Iterable[Item], matches: Callable[[Item], bool]
) -> list[Item]:
    """Items that match, as they were at the moment of a scope; `current` are those of `written_by_then` that do now."""
    assert scope.at_ms is not None
    states = memory.store.states_at(scope.at_ms, MOST_CHANGES)
    unchanged = [item for item in current if item.id not in states]
    return [*unchanged, *(item for item in _past(memory, scope, states) if matches(item))]


def written_by_then(scope: Scope) -> Scope:
    """The scope without what was written after its moment."""
    assert scope.at_ms is not None
    ends = [scope.at_ms + 1, *(() if scope.until_ms is None else (scope.until_ms,))]
    return replace(scope, until_ms=min(ends))


def _past(memory: LocalMemory, scope: Scope, states: Mapping[int, Item | None]) -> list[Item]:
    """Those that changed since and are inside the scope, as they were."""
    at_ms = scope.at_ms or 0
    project = None if scope.project is None else memory.store.find_project(scope.project)
    tags = [part.strip().lower() for part in scope.tag.split(",") if part.strip()]

    def inside(item: Item) -> bool:
        return (
            scope.has_place_of(item, project)
            and (scope.lapsed or item.holds_at(at_ms))
            and (not scope.kinds or item.kind in scope.kinds)
            and (not scope.types or item.type in scope.types)
            and (not tags or any(tag in own.lower() for tag in tags for own in item.tags))
            and (not scope.origins or item.origin in scope.origins)
            and (not scope.review or (item.review == PROPOSED) == (scope.review == PROPOSED))
            and (not scope.author or f"{VIA}{scope.author}{VIA}".lower() in f"{VIA}{item.author}{VIA}".lower())
            and scope.sessions is None
            and (scope.since_ms is None or item.created_ms >= scope.since_ms)
            and (scope.until_ms is None or item.created_ms < scope.until_ms)
        )

    return [item for item in states.values() if item is not None and inside(item)]


def _matching(memory: LocalMemory, parsed: ParsedQuestion, past: Sequence[Item]) -> list[Hit]:
    """Items as they were that answer a question, each with how likely it does."""
    from commonplace.memory.recall import DATED_BOOST, Hit, boosts_by_attribute

    shares = _word_shares(parsed, past)
    if parsed.query.strict:
        # Without an index, a filter means all of its words.
        return [
            Hit(item, 0, relevance(1.0), relevance(1.0), 0.0, 1.0)
            for item, share in zip(past, shares, strict=True)
            if share == 1.0
        ]
    boosts = boosts_by_attribute(parsed, past)
    best = sorted(range(len(past)), key=lambda n: -shares[n] - boosts.get(past[n].id, 0.0))[:COMPARED]
    texts = {n: _text(past[n]) for n in best}
    cosines = _cosines(memory, parsed, texts)
    evidence = {n: Evidence(shares[n], cosines.get(n), shares[n]) for n in best}
    scores = {n: fused_score(known, 1.0) + DATED_BOOST * past[n].is_dated for n, known in evidence.items()}
    values = {n: relevance(score) for n, score in scores.items()}
    first = sorted(best, key=lambda n: -scores[n])[:READ]
    answers = dict(zip(first, _read_together(memory, parsed, [texts[n] for n in first]), strict=False))
    own_scores = scores | add_answer_scores(scores, answers)
    likeliest = sorted(best, key=lambda n: -own_scores[n])
    likely = values
    if answers:
        chances = likelihoods([own_scores[n] for n in likeliest], [False] * len(likeliest))
        likely = dict(zip(likeliest, chances, strict=True))
    values = values | {
        n: with_better_odds(answer_relevance(answer_odds(answer, evidence[n].semantic)), ANSWERED_ODDS)
        for n, answer in answers.items()
    }
    return [
        Hit(past[n], 0, likely[n], values[n], evidence[n].semantic, shares[n])
        for n in best
        if shares[n] > 0.0 or cosines.get(n, 0.0) > 0.0
    ]


def _word_shares(parsed: ParsedQuestion, past: Sequence[Item]) -> list[float]:
    """The share of the words of a question in each item; a word that few of them hold counts for more."""
    tokens = list(dict.fromkeys(word.token for word in parsed.query.words))
    held = [frozenset(index_text(_text(item)).split()) for item in past]
    worth = {token: math.log(1 + len(past) / (0.5 + sum(token in one for one in held))) for token in tokens}
    total = sum(worth.values())
    return [sum(worth[token] for token in tokens if token in one) / total if total else 0.0 for one in held]


def _cosines(memory: LocalMemory, parsed: ParsedQuestion, texts: Mapping[int, str]) -> dict[int, float]:
    """How near texts are to a question in meaning, where a model tells."""
    if parsed.vector is None:
        return {}
    try:
        vectors = memory.embeddings.embed_texts(list(texts.values()))
    except EmbedderUnavailable:
        return {}
    return dict(zip(texts, (vectors @ parsed.vector).tolist(), strict=True))


def _read_together(memory: LocalMemory, parsed: ParsedQuestion, texts: Sequence[str]) -> Iterable[float]:
    if memory.cross_encoder is None or parsed.vector is None or not texts:
        return ()
    try:
        return memory.cross_encoder.score(parsed.text, [(text, "") for text in texts])
    except EmbedderUnavailable:
        return ()


def _text(item: Item) -> str:
    return embedding_text(item.kind, item.type, item.title, item.body, item.details, ())[:_READ_CHARACTERS]
