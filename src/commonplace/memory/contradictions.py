"""Statements that cannot both hold, and statements that say the same: found on writing, listed, and settled.

Words decide, for rules, decisions, facts, constraints and notes of one project. If the model is loaded, it proposes
more statements to compare, and reads the nearest ones together with the new one: what it says is stored with that, so
that lists know it. What begins later is compared too, unless the other one ends before that. Nothing is replaced unless
someone says so; what was settled is not shown again until undone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from commonplace.errors import Conflict, EmbedderUnavailable, InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.model import BINDING_TYPES, SAME_AS, Draft, Item, Scope, linked_uids
from commonplace.store.rows import item_before, state_before_planned_end
from commonplace.text.query import plain_query
from commonplace.text.sentences import title_of

if TYPE_CHECKING:
    from commonplace.text.contradiction_statements import Statement

STATEMENT_TYPES = ("rule", "decision", "fact", "constraint", "note")
# How many statements are looked at on a write: by words, and by meaning if a model is loaded.
CANDIDATES, NEAREST = 20, 10
MAX_CONTRADICTIONS = 3
# The longest words of a statement are looked for: they say what it is about.
LONGEST_WORDS = 6
# Statements are short; of a long text the beginning says what it is about.
_STATEMENT_READ = 2_000
# So many of the newest statements are compared with each other for a list, each with so many that share words with it.
# A word of more statements than this does not bring two together; alone, without another in common, not even a word of
# so many as LONE_WORD.
SCANNED, COMPARED, COMMON_WORD, LONE_WORD = 5_000, 60, 250, 40
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
# Metadata of an item: the uids of others of which somebody said that both hold, that it repeats, that it contradicts by
# its meaning, and that it does not contradict by its meaning though words say so.
BOTH_HOLD, CONTRADICTS, COMPATIBLE = "both_hold", "contradicts", "compatible"
# So many statements are read together with a new one, if both are short: those that words report, and the nearest from
# this cosine on. From the score BORDER on they contradict each other.
READ_TOGETHER, READ_LENGTH, NEAR, BORDER = 4, 400, 0.3, 1.0
# Below DENIED they do not, whatever words say; if these found a number or a change, which they know well, only below
# SURELY_DENIED.
DENIED, SURELY_DENIED, KNOWN_BY_WORDS = -2.0, -4.5, ("number", "replaced")
# So many of the best by words are read if some have no vector yet; and of the pairs of a list, those that share so much
# of their words, as many as READ_FOR_LIST.
NO_VECTOR, SHARED_WORDS, READ_FOR_LIST = 3, 0.25, 200

Reason = Literal["opposite", "number", "choice", "replaced", "meaning", "same"]
Keep = Literal["new", "old", "both"]
KEEP: tuple[Keep, ...] = ("new", "old", "both")

# What holds for a while replaces nothing for good.
_FOR_A_WHILE = re.compile(
    r"^(?:until|till|through|during)\b"
    r"|\b(?:for now|for the time being|temporarily|until further notice|this week only)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An earlier item and how the new statement differs from it: "opposite", "number", "choice", "replaced", "meaning".

    `supersede`: the same author said both, and the new one is meant to last, so it should supersede the earlier one.
    """

    item: Item
    reason: str
    supersede: bool = False


@dataclass(frozen=True, slots=True)
class StatementPair:
    """Two statements to settle: they contradict each other, or say the same (`reason` is "same")."""

    older: Item
    newer: Item
    reason: str
    supersede: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """What a statement contradicts, the likeliest first, what says the same already, and what only words report."""

    contradictions: tuple[Contradiction, ...] = ()
    twins: tuple[Item, ...] = ()
    compatible: tuple[Item, ...] = ()

    def metadata(self, draft: Draft, author: str | None) -> dict[str, object]:
        """What is noted with the statement, so that lists know it: what its author repeats, and what a model read."""
        own = [twin.uid for twin in self.twins if twin.author == author]
        by_meaning = [one.item for one in self.contradictions if one.reason == "meaning"]
        verdicts = ((CONTRADICTS, by_meaning), (COMPATIBLE, self.compatible))
        noted = {field: {one.uid: texts_digest(one, draft) for one in items} for field, items in verdicts if items}
        return noted | ({SAME_AS: own} if own else {})


def find_contradictions(memory: LocalMemory, item: Item) -> list[Contradiction]:
    """Statements in the same project that this one may replace, the likeliest first."""
    return list(compare_statement(memory, item, item.id).contradictions)


def compare_statement(memory: LocalMemory, written: Draft | Item, known_as: int | None = None) -> Compared:
    """What a statement contradicts and repeats in its project. Cheap: this is asked at every write."""
    if written.kind != "memory" or written.type not in STATEMENT_TYPES:
        return Compared()
    # Servers load this module when they start.
    from commonplace.text.contradiction_detection import contradiction_kind, says_the_same

    text, now_ms = statement_text(written), memory.clock()
    found = _candidates(memory, text, written.project)
    items = memory.store.get(found)
    twins, texts, reasons = [], dict[int, str](), dict[int, str]()
    for id_, cosine in found.items():
        if id_ == known_as or id_ not in items or is_settled(written, items[id_]):
            continue
        other = statement_text(items[id_])
        if not hold_together(items[id_], written):
            continue
        reason = contradiction_kind(other, text)
        if not reason and items[id_].holds_at(now_ms) and says_the_same(other, text, cosine):
            twins.append(items[id_])
        else:
            texts[id_], reasons[id_] = other, reason
    # Those that words report, then the nearest.
    order = sorted(texts, key=lambda id_: (not reasons[id_], -found[id_]))
    # Rules are short and plain: of two that words report, the model knows less.
    plain = {id_ for id_ in order if reasons[id_] and written.type == items[id_].type == "rule"}
    # What was stored a moment ago has no vector yet: words found it.
    by_words = list(texts)[:NO_VECTOR] if memory.store.pending() else []
    worth_reading = [
        id_ for id_ in order if id_ not in plain and (reasons[id_] or found[id_] >= NEAR or id_ in by_words)
    ]
    scores = _scores(memory, text, {id_: texts[id_] for id_ in worth_reading if known_as is None or id_ < known_as})
    if known_as is not None:
        scores |= {id_: score for id_ in order if (score := _recorded(items[id_], written)) is not None}
    order.sort(key=lambda id_: (not reasons[id_], -scores.get(id_, 0.0)))
    decided = {id_: _decided(reasons[id_], scores.get(id_, 0.0)) for id_ in order}
    against = [
        Contradiction(items[id_], reason, _may_supersede(items[id_], written, now_ms))
        for id_, reason in decided.items()
        if reason
    ]
    compatible = [items[id_] for id_, reason in decided.items() if reasons[id_] and not reason]
    return Compared(tuple(against[:MAX_CONTRADICTIONS]), tuple(twins), tuple(compatible))


def _decided(by_words: str, score: float) -> str:
    """The reason that holds once a model has read both: that of the words, "meaning", or none."""
    if by_words:
        return by_words if score >= (SURELY_DENIED if by_words in KNOWN_BY_WORDS else DENIED) else ""
    return "meaning" if score >= BORDER else ""


def _scores(memory: LocalMemory, text: str, others: Mapping[int, str]) -> dict[int, float]:
    """How surely a text contradicts earlier statements, as far as the model reads them; the nearest come first."""
    model = memory.contradiction_model
    # Writing does not wait for the model that makes vectors; this one is loaded after it.
    if model is None or not memory.embeddings.is_ready or len(text) > READ_LENGTH:
        return {}
    short = [id_ for id_, other in others.items() if len(other) <= READ_LENGTH][:READ_TOGETHER]
    try:
        return dict(zip(short, model.score(text, [(others[id_], "") for id_ in short]), strict=False))
    except EmbedderUnavailable:
        return {}


def statement_text(written: Draft | Item) -> str:
    """What a memory states: its text, after a title of its own."""
    return titled_statement(written.title, written.body)


def titled_statement(title: str, body: str) -> str:
    """What a text states, after a title that is not its own beginning."""
    return _short_statement(title, body) if len(body) <= _STATEMENT_READ else _titled(title, body)


@lru_cache(maxsize=512)
def _short_statement(title: str, body: str) -> str:
    """The same statements are compared with each new one."""
    return _titled(title, body)


def _titled(title: str, body: str) -> str:
    text = body.strip()
    named = "" if title_of(text) == title else title
    return "\n".join(part for part in (named, text) if part)[:_STATEMENT_READ]


def _candidates(memory: LocalMemory, text: str, project: str | None) -> dict[int, float]:
    """Items that may be about the same, each with its cosine if a model proposed it."""
    # As words, never as operators: a statement may say NOT and hold quotes.
    query = plain_query(text)
    query = replace(query, words=tuple(sorted(query.words, key=lambda word: -len(word.surface))[:LONGEST_WORDS]))
    scope = replace(Scope.inside(project, kinds=("memory",), types=STATEMENT_TYPES), coming=True)
    found = {hit.item_id: 0.0 for hit in memory.store.search_text(query, scope, CANDIDATES, shares=False).hits}
    # Only a model that is loaded: writing does not wait for one.
    vector = memory.embeddings.embed_query(text) if memory.embeddings.is_ready else None
    if vector is not None:
        for hit in memory.store.search_vectors(vector, scope, NEAREST):
            found[hit.item_id] = max(found.get(hit.item_id, 0.0), hit.cosine)
    return found


def hold_together(one: Draft | Item, other: Draft | Item) -> bool:
    """Whether there is a time at which both hold, by when they begin and end."""
    return all(
        a.valid_until_ms is None or a.valid_until_ms > (b.valid_from_ms or 0) for a, b in ((one, other), (other, one))
    )


def _may_supersede(old: Item, new: Draft | Item, now_ms: int) -> bool:
    if old.type in BINDING_TYPES and new.type not in BINDING_TYPES:
        # Whoever goes against a rule once does not abolish it.
        return False
    for_a_while = new.valid_until_ms is not None or _FOR_A_WHILE.search(statement_text(new))
    # What holds now does not say that a later change will not come.
    if old.valid_from_ms is not None and old.valid_from_ms > max(now_ms, new.valid_from_ms or now_ms):
        return False
    # An author that is not known may be anybody.
    return old.author is not None and old.author == new.author and not for_a_while


def is_settled(one: Draft | Item, other: Draft | Item) -> bool:
    """Whether someone said that both hold."""
    return other.uid in linked_uids(one, BOTH_HOLD) or one.uid in linked_uids(other, BOTH_HOLD)


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

    The newest `scanned` statements are compared, and so many pairs that words do not decide `read` by the model.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}.")
    require_project(memory, project)
    by_project: dict[str | None, list[Item]] = defaultdict(list)
    for item in _newest_statements(memory, project, scanned):
        by_project[item.project].append(item)
    now_ms = memory.clock()
    compared = [pair for items in by_project.values() for pair in _pairs(items, now_ms, twins=twins)]
    pairs = [pair for pair, _share in compared if pair.reason]
    if read:
        undecided = sorted((one for one in compared if not one[0].reason), key=lambda one: -one[1])[:read]
        pairs += _read_pairs(memory, [pair for pair, _share in undecided])
    return sorted(pairs, key=lambda pair: (-pair.newer.created_ms, -pair.newer.id, -pair.older.id))[:limit]


def _newest_statements(memory: LocalMemory, project: str | None, scanned: int) -> Iterator[Item]:
    scope = Scope(project=project, kinds=("memory",), types=STATEMENT_TYPES, coming=True)
    left, before = scanned, None
    while left > 0:
        page = memory.store.newest(scope, min(500, left), before)
        yield from page
        if len(page) < min(500, left):
            return
        left -= len(page)
        before = (page[-1].created_ms, page[-1].id)


def _read_pairs(memory: LocalMemory, pairs: Sequence[StatementPair]) -> Iterator[StatementPair]:
    """Those that the model says to contradict each other; it is loaded for this."""
    if pairs and memory.contradiction_model is not None:
        memory.embeddings.embed_query("load the model")
    for pair in pairs:
        scores = _scores(memory, statement_text(pair.newer), {pair.older.id: statement_text(pair.older)})
        if _decided("", scores.get(pair.older.id, 0.0)):
            yield replace(pair, reason="meaning")


def _pairs(items: Sequence[Item], now_ms: int, *, twins: bool) -> Iterator[tuple[StatementPair, float]]:
    """Each item with the older ones that share its words, and how much; the newest come first in `items`.

    Of those that words do not decide, with an empty reason, only what shares much and was never read.
    """
    from commonplace.text.contradiction_detection import are_the_same, contradiction_between
    from commonplace.text.contradiction_statements import statements_in

    by_uid = {item.uid: item for item in items}
    for newer in items:
        # The model may have found what shares no word.
        noted = newer.meta.get(CONTRADICTS)
        for older in [by_uid[uid] for uid in noted if uid in by_uid] if isinstance(noted, dict) else ():
            is_noted = (_recorded(older, newer) or 0.0) >= BORDER
            if is_noted and not is_settled(older, newer) and hold_together(older, newer):
                yield StatementPair(older, newer, "meaning", _may_supersede(older, newer, now_ms)), 1.0
    read = [statements_in(statement_text(item)) for item in items]
    words = [_subjects(statements) for statements in read]
    holding: dict[str, list[int]] = defaultdict(list)
    for place in reversed(range(len(items))):
        found = [holding[word] for word in words[place] if len(holding[word]) <= COMMON_WORD]
        shared = Counter(n for places in found for n in places)
        rare = {n for places in found if len(places) <= LONE_WORD for n in places}
        for other, count in shared.most_common(COMPARED):
            if (count == 1 and other not in rare) or is_settled(items[other], items[place]):
                continue
            older, newer = items[other], items[place]
            if not hold_together(older, newer):
                continue
            by_words, noted = contradiction_between(read[other], read[place]), _recorded(older, newer)
            if noted is not None and noted >= BORDER:
                continue
            reason = _decided(by_words, noted or 0.0)
            alike = twins and not reason and older.holds_at(now_ms) and newer.holds_at(now_ms)
            if alike and are_the_same(read[other], read[place]):
                reason = "same"
            share = count / max(len(words[other]), len(words[place]))
            if reason or (noted is None and share >= SHARED_WORDS and older.holds_at(now_ms)):
                yield StatementPair(older, newer, reason, _may_supersede(older, newer, now_ms)), share
        for word in words[place]:
            holding[word].append(place)


def _recorded(one: Draft | Item, other: Draft | Item) -> float | None:
    """A score for what was found when the newer of two was written; None if nothing was, or one has changed since."""
    for newer, older in ((one, other), (other, one)):
        for field, score in ((CONTRADICTS, BORDER), (COMPATIBLE, SURELY_DENIED - 1)):
            noted = newer.meta.get(field)
            if isinstance(noted, dict) and older.uid in noted and noted[older.uid] == texts_digest(older, newer):
                return score
    return None


def texts_digest(older: Draft | Item, newer: Draft | Item) -> str:
    """What is noted beside a verdict: it holds as long as neither text changes."""
    return blake2b("\0".join(map(statement_text, (older, newer))).encode(), digest_size=8).hexdigest()


def _subjects(statements: Iterable[Statement]) -> set[str]:
    return {word for statement in statements for word in statement.subject}


@dataclass(frozen=True, slots=True)
class Settled:
    """How two statements were settled. `kept` is what holds now."""

    older: Item
    newer: Item
    keep: str
    kept: tuple[Item, ...]


def settle_contradiction(memory: LocalMemory, one: int | str, other: int | str, keep: Keep) -> Settled:
    """Say which of two statements holds: the newer supersedes the older, or the other way round, or both hold.

    Tags of a statement that says the same go over to the one that is kept. Nothing is deleted.
    """
    # It imports the module that imports this one.
    from commonplace.memory.edit_and_forget import Changes, edit_item, enrich_item, mark_superseded

    older, newer = _by_age(memory, one, other)
    if keep not in KEEP:
        raise InvalidInput(f"{keep!r} cannot be kept.", f"Choose one of {', '.join(KEEP)}.")
    if keep == "both":
        if not is_settled(older, newer):
            known = {**newer.meta, BOTH_HOLD: [*linked_uids(newer, BOTH_HOLD), older.uid]}
            newer = edit_item(memory, newer.id, Changes(meta=known))
        return Settled(older, newer, keep, (older, newer))
    gone, kept = (older, newer) if keep == "new" else (newer, older)
    mark_superseded(memory, gone.id, by=kept.id)
    from commonplace.text.contradiction_detection import says_the_same

    if says_the_same(statement_text(gone), statement_text(kept)):
        kept = enrich_item(memory, kept, gone.tags)
    return Settled(older, newer, keep, (kept,))


def reopen_contradiction(memory: LocalMemory, one: int | str, other: int | str) -> StatementPair:
    """Undo how two statements were settled: what was superseded by the other comes back."""
    from commonplace.memory.edit_and_forget import Changes, edit_item, restore_items

    older, newer = _by_age(memory, one, other)
    for item in (older, newer):
        if item.forgotten_ms is not None:
            raise Conflict(f"Item {item.id} is forgotten.", f"Bring it back first: `commonplace restore {item.id}`.")
    hidden = [a.id for a, b in ((older, newer), (newer, older)) if _is_superseded(memory, a, b)]
    if not hidden and not is_settled(older, newer):
        raise Conflict(
            f"Nothing was decided about {older.id} and {newer.id}, so there is nothing to undo.",
            "`commonplace contradictions` lists what is open.",
        )
    if hidden:
        restore_items(memory, hidden)
    for a, b in ((older, newer), (newer, older)):
        if b.uid in linked_uids(a, BOTH_HOLD):
            left = [uid for uid in linked_uids(a, BOTH_HOLD) if uid != b.uid]
            meta = {name: value for name, value in a.meta.items() if name != BOTH_HOLD}
            edit_item(memory, a.id, Changes(meta={**meta, BOTH_HOLD: left} if left else meta))
    older, newer = _by_age(memory, one, other)
    return StatementPair(older, newer, _reason(older, newer))


def _is_superseded(memory: LocalMemory, old: Item, by: Item) -> bool:
    """Whether an item gave way to another, or will when that begins to hold."""
    if old.superseded_by is not None or by.valid_from_ms is None or old.valid_until_ms != by.valid_from_ms:
        return old.superseded_by == by.id
    lines = [(change.op, change.before) for change in memory.store.history(old.id)]
    return state_before_planned_end(lines, item_before(old)) is not None


def _reason(older: Item, newer: Item) -> str:
    from commonplace.text.contradiction_detection import contradiction_kind

    by_words = contradiction_kind(statement_text(older), statement_text(newer))
    return _decided(by_words, _recorded(older, newer) or 0.0)


def _by_age(memory: LocalMemory, one: int | str, other: int | str) -> tuple[Item, Item]:
    from commonplace.memory.items import get_item

    first, second = (get_item(memory, id_, forgotten=True) for id_ in (one, other))
    if first.id == second.id:
        raise InvalidInput("One item does not contradict itself.", "Name two items.")
    return (first, second) if (first.created_ms, first.id) < (second.created_ms, second.id) else (second, first)
