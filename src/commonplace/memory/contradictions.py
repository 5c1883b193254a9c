"""Statements that cannot both hold, and statements that say the same, as they are found on writing.

Rules, decisions, facts, constraints and notes are compared with what is nearest to them where they apply, and with
ideas that were rejected there (judge.py). What was found is stored with the newer one, for statement_pairs.py. What
begins later is compared too, unless the other one ends before that. Nothing is replaced unless someone says so
(settle_contradictions.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.judge import UNRELATED, WORDS_ALONE, Verdict, compare, compare_all, rejects_wish
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.statement_texts import statement_text
from commonplace.model import BINDING_TYPES, SAME_AS, Draft, Item, Scope, linked_uids
from commonplace.text.query import plain_query
from commonplace.text.sentences import without_reason
from commonplace.text.statement_guards import read_statement

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

REJECTED = "rejected"
STATEMENT_TYPES = ("rule", "decision", "fact", "constraint", "note")
# How many statements are looked at on a write: by words, and by meaning if a model is loaded.
CANDIDATES, NEAREST = 20, 10
MAX_CONTRADICTIONS = 3
# The longest words of a statement are looked for: they say what it is about.
LONGEST_WORDS = 6
# The model reads this many statements that the new one may change, from this worth on (`python -m training.tune_gate`).
# Of notes that change nothing, one in nine has such a statement among 300 others, one in four among 1,000.
READ_TOGETHER, WORTH_READING = 4, 0.345
# What has no vector yet was found by its words, and the best of it are read if they share so many of those of the
# shorter one.
NO_VECTOR, SHARED_TO_READ = 3, 1 / 3
# Metadata of an item: the uids of others of which somebody said that both hold, that it contradicts, that it does not
# contradict though words say so, and that say the same.
BOTH_HOLD, CONTRADICTS, COMPATIBLE, REPEATS = "both_hold", "contradicts", "compatible", "repeats"

Reason = Literal["opposite", "number", "rejected", "meaning", "same"]
SAME: Reason = "same"

# What holds for a while replaces nothing for good.
_FOR_A_WHILE = re.compile(
    r"^(?:until|till|through|during)\b"
    r"|\b(?:for now|for the time being|temporarily|until further notice|this week only)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An earlier item, how the new statement differs from it, and why that is so.

    `supersede`: the same author said both, and the new one is meant to last, so it should supersede the earlier one.
    """

    item: Item
    reason: str
    supersede: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        """What the earlier item says."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class Compared:
    """What a statement contradicts, the likeliest first, and what says the same already."""

    contradictions: tuple[Contradiction, ...] = ()
    twins: tuple[Item, ...] = ()

    def metadata(self, draft: Draft, author: str | None) -> dict[str, object]:
        """What is noted with the statement, so that lists know it: what its author repeats, and what a model read."""
        own = [twin.uid for twin in self.twins if twin.author == author]
        by_meaning = [one.item for one in self.contradictions if one.reason == "meaning"]
        verdicts = ((CONTRADICTS, by_meaning), (REPEATS, self.twins))
        noted = {field: {one.uid: texts_digest(one, draft) for one in items} for field, items in verdicts if items}
        return noted | ({SAME_AS: own} if own else {})


class Nearness(NamedTuple):
    """How near a statement is to a new one in meaning, and how much the new one looks like a change of it."""

    cosine: float = 0.0
    worth: float = 0.0


class Near(NamedTuple):
    """An earlier item that may be about the same, what it says, and how near that is."""

    item: Item
    text: str
    cosine: float
    worth: float


def find_contradictions(memory: LocalMemory, item: Item) -> list[Contradiction]:
    """Statements that hold in the same project, and that this one may replace, the likeliest first."""
    return list(compare_statement(memory, item, item.id).contradictions)


def compare_statement(memory: LocalMemory, written: Draft | Item, known_as: int | None = None) -> Compared:
    """What a statement contradicts and repeats where it holds. Cheap: this is asked at every write.

    A statement of a project meets those that apply everywhere as well; one that is to apply everywhere meets those of
    the project in whose window it is written. `known_as` is its id if it is stored.
    """
    if written.kind != "memory" or written.type not in STATEMENT_TYPES:
        return Compared()
    text, now_ms = statement_text(written), memory.clock()
    near = _near_statements(memory, written, text, known_as)
    against: list[tuple[float, Contradiction]] = []
    twins: list[Item] = []
    for one, verdict in zip(near, _verdicts(memory, written, text, near, known_as), strict=True):
        if verdict.kind == "same" and one.item.type != REJECTED and one.item.holds_at(now_ms):
            twins.append(one.item)
        if verdict.is_against:
            supersede = one.item.type != REJECTED and may_supersede(one.item, written, now_ms)
            found = Contradiction(one.item, reason_of(one.item, verdict), supersede, verdict.why)
            against.append((verdict.certainty, found))
    # An idea that was rejected comes first: it was discussed already.
    against.sort(key=lambda entry: (entry[1].item.type != REJECTED, -entry[0]))
    return Compared(tuple(found for _certainty, found in against[:MAX_CONTRADICTIONS]), tuple(twins))


def reason_of(older: Item, verdict: Verdict) -> Reason:
    """How two statements differ, in one word."""
    if verdict.kind == "same":
        return SAME
    if older.type == REJECTED:
        return "rejected"
    if verdict.by_words:
        return "number" if verdict.kind == "changes" else "opposite"
    return "meaning"


def _near_statements(memory: LocalMemory, written: Draft | Item, text: str, known_as: int | None) -> list[Near]:
    """What may be about the same and is open, the nearest first, then by words."""
    # Its reason is about something else.
    found = _candidates(memory, without_reason(text), written.project or memory.settings.project or None)
    items = memory.store.get(found)
    near = [
        Near(items[id_], statement_text(items[id_]), *nearness)
        for id_, nearness in found.items()
        if id_ in items and id_ != known_as
        if not is_settled(written, items[id_]) and hold_together(items[id_], written)
    ]
    return sorted(near, key=lambda one: (-one.worth, -one.cosine))


def _candidates(memory: LocalMemory, text: str, project: str | None) -> dict[int, Nearness]:
    """Items that may be about the same, each with how near it is if a model proposed it."""
    # As words, never as operators: a statement may say NOT and hold quotes.
    query = plain_query(text)
    query = replace(query, words=tuple(sorted(query.words, key=lambda word: -len(word.surface))[:LONGEST_WORDS]))
    types = (*STATEMENT_TYPES, REJECTED)
    scope = replace(Scope.around(project, kinds=("memory",), types=types), coming=True)
    # Only a model that is loaded: writing does not wait for one. Another thread makes the vector.
    is_ready = memory.embeddings.is_ready
    pending = memory.embeddings.begin_query(text, with_tokens=False) if is_ready else None
    by_words = memory.store.search_text(query, scope, CANDIDATES, count=False).hits
    found = {hit.item_id: Nearness() for hit in by_words}
    vector = pending() if pending is not None else None
    if vector is None:
        return found
    toward = _toward_changes(memory, vector)
    length = float(toward @ toward) ** 0.5
    by_meaning = memory.store.search_vectors(toward / length, scope, NEAREST)
    # What has no vector yet has no cosine.
    passages = {hit.passage_id for hit in by_words} | {hit.passage_id for hit in by_meaning}
    cosines = memory.store.cosines(vector, list(passages))
    for hit in by_words:
        cosine = max(found[hit.item_id].cosine, cosines.get(hit.passage_id, 0.0))
        found[hit.item_id] = Nearness(cosine)
    for near in by_meaning:
        known = found.get(near.item_id, Nearness())
        cosine = max(known.cosine, cosines.get(near.passage_id, 0.0))
        found[near.item_id] = Nearness(cosine, max(known.worth, near.cosine * length))
    return found


def _toward_changes(memory: LocalMemory, vector: NDArray[float32]) -> NDArray[float32]:
    """The vector of a new statement, turned toward what it may change; as it is without the model."""
    if memory.contradiction_model is None:
        return vector
    try:
        return memory.contradiction_model.toward_changes(vector)
    except EmbedderUnavailable:
        return vector


def _verdicts(
    memory: LocalMemory, written: Draft | Item, text: str, near: Sequence[Near], known_as: int | None
) -> list[Verdict]:
    """What the statement is to each of those near it: what was found when it was written, or else what is found now."""
    to_read = _worth_reading(memory, text, near, known_as)
    read = compare_all(memory.contradiction_model, [(one.text, one.cosine) for one in to_read], text)
    read_of = {one.item.id: verdict for one, verdict in zip(to_read, read, strict=True)}
    return [_verdict(one.item, written, read_of.get(one.item.id), known_as) for one in near]


def _worth_reading(memory: LocalMemory, text: str, near: Sequence[Near], known_as: int | None) -> list[Near]:
    """The earlier statements that the model reads: the nearest, and the best of those that have no vector yet."""
    is_ready = memory.embeddings.is_ready
    unembedded: list[Near] = []
    if memory.store.pending() or not is_ready:
        # What was stored a moment ago was found by its words, the best first.
        unembedded = [one for one in near if not one.cosine and not one.worth]
    if not is_ready:
        # In a command of its own: only what shares many words is worth loading the model for.
        unembedded = [one for one in unembedded if shares_words(one.text, text)]
    unembedded = unembedded[:NO_VECTOR]
    found = []
    for one in near:
        is_earlier = known_as is None or one.item.id < known_as
        if is_earlier and one.item.type != REJECTED and (one.worth >= WORTH_READING or one in unembedded):
            found.append(one)
    return found[:READ_TOGETHER]


def _verdict(older: Item, written: Draft | Item, read: Verdict | None, known_as: int | None) -> Verdict:
    """What a statement is to an earlier one: as was noted with it, as the model read it, or as the words tell."""
    by_words = compare_words(older, written)
    noted = VERDICTS.get(noted_verdict(older, written)) if known_as is not None else None
    found = noted or read or by_words
    shown_by_words = by_words is REJECTS or (found.is_against and by_words.is_against)
    return by_words if shown_by_words else found


def shares_words(one: str, other: str) -> bool:
    """Whether two statements have many words in common, of those of the shorter one."""
    words, others = weighed_words(one), weighed_words(other)
    shorter = min(sum(words.values()), sum(others.values()))
    return weight_shared(words, others) >= SHARED_TO_READ * max(1, shorter)


def weighed_words(text: str) -> dict[str, int]:
    """The words of a statement without its reason. A name counts twice: it says what the statement is about."""
    read = read_statement(without_reason(text))
    return {word: 2 if word in read.names else 1 for word in read.words}


def weight_shared(words: Mapping[str, int], others: Mapping[str, int]) -> int:
    """How much the words weigh that two statements have in common."""
    return sum(max(words[word], others[word]) for word in words.keys() & others.keys())


def compare_words(older: Draft | Item, newer: Draft | Item) -> Verdict:
    """What the words of two statements tell, those of rules and rejected ideas as they are read before a command."""
    old, new = statement_text(older), statement_text(newer)
    if older.type == REJECTED:
        return REJECTS if rejects_wish(old, new, is_idea=True) else UNRELATED
    are_rules = older.type in BINDING_TYPES and newer.type in BINDING_TYPES
    if are_rules and (rejects_wish(old, new) or rejects_wish(new, old)):
        return REJECTS
    return compare(None, old, new)


def hold_together(one: Draft | Item, other: Draft | Item) -> bool:
    """Whether there is a time at which both hold, by when they begin and end."""
    return all(
        a.valid_until_ms is None or a.valid_until_ms > (b.valid_from_ms or 0) for a, b in ((one, other), (other, one))
    )


def may_supersede(old: Item, new: Draft | Item, now_ms: int) -> bool:
    if old.project is None and new.project is not None:
        # What holds in one project does not abolish what holds in all.
        return False
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


# One rule rejects what the other wants.
REJECTS = Verdict("contradicts", WORDS_ALONE, "One rejects what the other wants.", by_words=True)
# What was found when the newer of two statements was written.
VERDICTS = {
    CONTRADICTS: Verdict("contradicts", 0.75, "The later one says otherwise."),
    COMPATIBLE: UNRELATED,
    REPEATS: Verdict("same", 1.0, "Both say the same."),
}


def noted_verdict(one: Draft | Item, other: Draft | Item) -> str:
    """What was found when the newer of two was written; empty if nothing was, or one has changed since."""
    for newer, older in ((one, other), (other, one)):
        for field in VERDICTS:
            noted = newer.meta.get(field)
            if isinstance(noted, dict) and older.uid in noted and noted[older.uid] == texts_digest(older, newer):
                return field
    return ""


def texts_digest(older: Draft | Item, newer: Draft | Item) -> str:
    """What is noted beside a verdict: it holds as long as neither text changes."""
    return blake2b("\0".join(map(statement_text, (older, newer))).encode(), digest_size=8).hexdigest()


def relation(older: Item, newer: Item) -> str:
    """How two statements differ, as far as words and what was found tell: a reason, or empty."""
    verdict = compare_words(older, newer)
    if verdict.kind == "unrelated":
        verdict = VERDICTS.get(noted_verdict(older, newer), UNRELATED)
    return "" if verdict.kind == "unrelated" else reason_of(older, verdict)
