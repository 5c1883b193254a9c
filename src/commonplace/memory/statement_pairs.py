"""Pairs of statements to settle: those that contradict each other, and those that say the same.

A list compares many statements by what was found when they were written (contradictions.py) and by their words, and
has the model read a few pairs that share most of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.errors import EmbedderUnavailable, InvalidInput
from commonplace.memory.contradictions import (
    CONTRADICTS,
    REJECTED,
    SAME,
    STATEMENT_TYPES,
    VERDICTS,
    compare_words,
    hold_together,
    is_settled,
    may_supersede,
    noted_verdict,
    reason_of,
    relation,
    weighed_words,
    weight_shared,
)
from commonplace.memory.judge import compare_all
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.memory.statement_texts import statement_text
from commonplace.model import Item, Scope

# A list compares the newest statements, each with the ones that share most words with it. A word that stands in more
# statements than this brings no two together; a single word in common has to be rarer still.
SCANNED, COMPARED, COMMON_WORD, LONE_WORD = 5_000, 60, 250, 40
# Pairs of a list that share so much of their words and were never read are read by the model, as many as this.
SHARED_WORDS, READ_FOR_LIST = 0.25, 200
DEFAULT_LIMIT, MAX_LIMIT = 50, 200


@dataclass(frozen=True, slots=True)
class StatementPair:
    """Two statements to settle: they contradict each other, or say the same (`reason` is "same")."""

    older: Item
    newer: Item
    reason: str
    supersede: bool = False


def list_contradictions(
    memory: LocalMemory,
    project: str | None = None,
    limit: int = DEFAULT_LIMIT,
    *,
    twins: bool = False,
    scanned: int = SCANNED,
    read: int = 0,
) -> list[StatementPair]:
    """Pairs of live statements to settle, the newest first: of one project, or of all. With `twins` those alike too.

    What applies everywhere is compared with the statements of each project, of the ones written last if there are many.
    The newest `scanned` statements are compared, and so many pairs that were never read are `read` by the model.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}.")
    require_project(memory, project)
    by_project: dict[str | None, list[Item]] = defaultdict(list)
    for item in _newest_statements(memory, project, scanned):
        by_project[item.project].append(item)
    now_ms = memory.clock()
    compared: list[tuple[StatementPair, float]] = []
    for place, items in _holding_together(by_project, project is None, 2 * scanned):
        for pair, share in _pairs(items, now_ms, twins=twins):
            # What applies everywhere is compared with itself once, and not again in each project.
            if place is None or pair.older.project is not None or pair.newer.project is not None:
                compared.append((pair, share))
    pairs = [pair for pair, _share in compared if pair.reason]
    if read:
        unread = sorted((one for one in compared if not one[0].reason), key=lambda one: -one[1])[:read]
        pairs += _read_pairs(memory, [pair for pair, _share in unread])
    return sorted(pairs, key=lambda pair: (-pair.newer.created_ms, -pair.newer.id, -pair.older.id))[:limit]


def _holding_together(
    by_project: Mapping[str | None, list[Item]], every: bool, most: int
) -> Iterator[tuple[str | None, list[Item]]]:
    """The statements of each project with those that apply everywhere, the newest first, as long as `most` last.

    With `every`, those that apply everywhere come alone as well.
    """
    applying = by_project.get(None, [])
    if applying and every:
        yield None, applying
    for project, items in by_project.items():
        if project is None:
            continue
        most -= len(items) + len(applying)
        both = [*items, *applying] if applying and most >= 0 else items
        yield project, sorted(both, key=lambda item: (item.created_ms, item.id), reverse=True)


def _newest_statements(memory: LocalMemory, project: str | None, scanned: int) -> Iterator[Item]:
    here = Scope() if project is None else Scope.around(project)
    scope = replace(here, kinds=("memory",), types=(*STATEMENT_TYPES, REJECTED), coming=True)
    left, before = scanned, None
    while left > 0:
        page = memory.store.newest(scope, min(500, left), before)
        yield from page
        if len(page) < min(500, left):
            return
        left -= len(page)
        before = (page[-1].created_ms, page[-1].id)


def _pairs(items: Sequence[Item], now_ms: int, *, twins: bool) -> Iterator[tuple[StatementPair, float]]:
    """Each item with older ones that it was found to contradict, or that share its words, and how much they share.

    The newest come first in `items`. Pairs that were never read have an empty reason.
    """
    for older, newer in _noted_pairs(items):
        if not is_settled(older, newer) and hold_together(older, newer):
            yield StatementPair(older, newer, relation(older, newer), may_supersede(older, newer, now_ms)), 1.0
    for older, newer, share in _sharing_words(items):
        if not is_settled(older, newer) and hold_together(older, newer):
            pair = _pair(older, newer, share, now_ms, twins=twins)
            if pair is not None:
                yield pair, share


def _pair(older: Item, newer: Item, share: float, now_ms: int, *, twins: bool) -> StatementPair | None:
    """A pair to settle, or, without a reason, one that the model could read; None if it is neither."""
    noted_as = noted_verdict(older, newer)
    if noted_as == CONTRADICTS or newer.type == REJECTED:
        # What is rejected now was not yet when the older one was stated.
        return None
    verdict = VERDICTS.get(noted_as) or compare_words(older, newer)
    supersede = older.type != REJECTED and may_supersede(older, newer, now_ms)
    if verdict.is_against:
        return StatementPair(older, newer, reason_of(older, verdict), supersede)
    if verdict.kind == "same":
        both_now = older.holds_at(now_ms) and newer.holds_at(now_ms)
        return StatementPair(older, newer, SAME, supersede) if twins and both_now else None
    is_unread = not noted_as and older.type != REJECTED and share >= SHARED_WORDS
    return StatementPair(older, newer, "", supersede) if is_unread and older.holds_at(now_ms) else None


def _noted_pairs(items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Pairs of which the newer was found to contradict the older when it was written; they may share no word."""
    by_uid = {item.uid: item for item in items}
    for newer in items:
        noted = newer.meta.get(CONTRADICTS)
        for uid in noted if isinstance(noted, dict) else ():
            older = by_uid.get(uid)
            if older is not None and noted_verdict(older, newer) == CONTRADICTS:
                yield older, newer


def _sharing_words(items: Sequence[Item]) -> Iterator[tuple[Item, Item, float]]:
    """Each item with the older ones that share most words with it, and the share of their words."""
    words = [weighed_words(statement_text(item)) for item in items]
    holding: dict[str, list[int]] = defaultdict(list)
    for place in reversed(range(len(items))):
        found = [holding[word] for word in words[place] if len(holding[word]) <= COMMON_WORD]
        shared = Counter(other for places in found for other in places)
        rare = {other for places in found if len(places) <= LONE_WORD for other in places}
        for other, count in shared.most_common(COMPARED):
            if count > 1 or other in rare:
                longer = max(sum(words[other].values()), sum(words[place].values()))
                yield items[other], items[place], weight_shared(words[other], words[place]) / longer
        for word in words[place]:
            holding[word].append(place)


def _read_pairs(memory: LocalMemory, pairs: Sequence[StatementPair]) -> Iterator[StatementPair]:
    """The pairs that the model finds to contradict each other; it is loaded for this."""
    if not pairs or memory.contradiction_model is None:
        return
    by_newer: dict[int, list[StatementPair]] = defaultdict(list)
    for pair in pairs:
        by_newer[pair.newer.id].append(pair)
    for together in by_newer.values():
        newer = statement_text(together[0].newer)
        olds = [statement_text(pair.older) for pair in together]
        cosines = _cosines(memory, newer, olds)
        read = compare_all(memory.contradiction_model, list(zip(olds, cosines, strict=True)), newer)
        for pair, verdict in zip(together, read, strict=True):
            if verdict.is_against:
                yield replace(pair, reason=reason_of(pair.older, verdict))


def _cosines(memory: LocalMemory, text: str, others: Sequence[str]) -> list[float]:
    """How near texts are in meaning; 0 where no model tells."""
    try:
        first, *rest = memory.embeddings.embed_texts([text, *others])
    except EmbedderUnavailable:
        return [0.0] * len(others)
    return [float(first @ other) for other in rest]


def open_contradictions_among(items: Sequence[Item]) -> dict[int, Item]:
    """Those of the items that contradict another one of them, each with that one; what was settled is not there."""
    newest_first = sorted(items, key=lambda item: (item.created_ms, item.id), reverse=True)
    found: dict[int, Item] = {}
    for older, newer in [*_noted_pairs(items), *((one, other) for one, other, _share in _sharing_words(newest_first))]:
        if relation(older, newer) not in ("", SAME) and not is_settled(older, newer):
            found[newer.id] = older
            found[older.id] = newer
    return found
