"""Whether two statements contradict each other: a hint from their words, not a verdict.

Precision comes first: a warning that is often wrong is soon ignored. Two statements contradict each other only if they
are about the same thing in nearly the same words, and then in one of four ways: one denies what the other affirms or
has the opposite word ("opposite"), they give different numbers or times ("number"), they choose differently where one
can hold ("choice"), or one says that what the other states has changed ("replaced").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from commonplace.text.attributes import replaces, stated_attribute
from commonplace.text.broken_rules import breaks_rule
from commonplace.text.stated_changes import stated_change
from commonplace.text.statement_reading import PLACE, Statement, statements_in
from commonplace.text.statement_words import (
    AUXILIARY,
    DESCRIBING,
    DESCRIPTIONS,
    FAMILIES,
    KEEPING,
    LIGHT,
    OPPOSITES,
    OWNING,
    SEVERAL,
    SINGLE_VALUED,
    STORES,
    WIDE,
)
from commonplace.text.tokens import stem

# How much of their words two statements share (of all words of both) before each kind of contradiction is looked for.
SAME_WORDS, MOST_WORDS = 0.75, 0.6
# Words of a value: the name of a thing or a person, not a clause.
MAX_VALUE = 3
# Numbers in one statement: more of them are a table.
MAX_NUMBERS = 2
# Words of a statement that a change can replace.
MAX_REPLACED = 9


def contradiction_kind(old: str, new: str) -> str:
    """ "opposite", "number", "choice" or "replaced": how two texts contradict each other; empty if they do not."""
    return contradiction_between(statements_in(old), statements_in(new))


def contradiction_between(old: Sequence[Statement], new: Sequence[Statement]) -> str:
    """The same of texts that were read already: for whoever compares each with many."""
    pairs = [(one, other) for one in old for other in new]
    return next((kind for one, other in pairs if (kind := compare(one, other))), "")


def compare(one: Statement, other: Statement) -> str:
    """The same of two sentences."""
    if one.scope != other.scope and one.scope and other.scope:
        return ""
    if one.subject.isdisjoint(other.subject) or _is_far(one, other):
        return _attribute(one, other)
    return (
        _opposite(one, other)
        or _number(one, other)
        or _replaced(one, other)
        or _replaced(other, one)
        or _choice(one, other)
        or _does_it_now(one, other)
        or _attribute(one, other)
    )


def _is_far(one: Statement, other: Statement) -> bool:
    """Whether both say so much of their own that no comparison of their words finds anything: most pairs of a list."""
    if one.change or other.change or one.denied or other.denied or one.is_negated or other.is_negated:
        return False
    mine, its = one.telling - other.subject, other.telling - one.subject
    return bool(mine and its) and max(len(mine), len(its)) > MAX_VALUE


def _attribute(one: Statement, other: Statement) -> str:
    """Whether both tell the same attribute of the same thing, in whatever words, with different values."""
    stated = None if one.is_addition or other.is_addition else stated_attribute(one.text)
    if stated is not None and replaces(stated, stated_attribute(other.text)):
        return "replaced"
    return stated_change(one, other) or breaks_rule(one.text, other.text)


def _does_it_now(old: Statement, new: Statement) -> str:
    """Whether the new one says of another person or thing, word for word, what the old one says, and that it is new."""
    if "now" not in new.change or old.is_negated or new.is_negated or old.is_event or new.is_addition:
        return ""
    first, second = old.words[0], new.words[0]
    if first.stem == second.stem or first.place or second.place or old.verb_at == 1 or new.verb_at == 1:
        return ""
    rest = old.sequence[1:]
    same = len(rest) > 1 and rest == new.sequence[1:] and old.numbers == new.numbers and old.when == new.when
    return "replaced" if same and old.text[:1].isupper() and new.text[:1].isupper() else ""


def _own(one: Statement, other: Statement) -> set[str]:
    """What only the one says, besides verbs that say little."""
    return set(one.telling - other.subject)


def _flips(one: Statement, other: Statement) -> list[tuple[str, str]]:
    """Words of the one and their opposites in the other."""
    mine, its = one.affirmed - other.subject, other.affirmed - one.subject
    flips = [(a, b) for a in mine for b in OPPOSITES.get(a, ()) if b in its]
    if flips and all(one.words[0].stem == a and other.words[0].stem == b and a in _STEPS for a, b in flips):
        # Steps of a procedure: "open the valve", "close the valve".
        return []
    return flips


def _opposite(one: Statement, other: Statement) -> str:
    mine, its = _own(one, other), _own(other, one)
    flips = _flips(one, other)
    mine -= {a for a, _b in flips}
    its -= {b for _a, b in flips}
    # "read-only for guests", "writable for members"
    for_others = one.purpose and other.purpose and one.purpose.isdisjoint(other.purpose)
    if flips and (one.is_addition or other.is_addition or for_others):
        return ""
    turns = min(len({a for a, _b in flips}), len({b for _a, b in flips})) + (one.is_negated != other.is_negated)
    if turns % 2 == 0 or _values_differ(one, other):
        return "opposite" if not flips and (_denies(one, other) or _denies(other, one)) else ""
    alike = _alike(one, other, {word for pair in flips for word in pair})
    if not mine and not its and alike >= MOST_WORDS:
        return "opposite"
    if flips:
        return "opposite" if not (mine and its) and (alike >= SAME_WORDS or len(mine | its) == 1) else ""
    # The denial of something contradicts it with all its details; a denied detail is an exception.
    denying, details, exception = (one, its, mine) if one.is_negated else (other, mine, its)
    affirming = other if denying is one else one
    if denying.denied & affirming.denied:
        return ""
    details = details - KEEPING
    exception = (exception | (denying.subject - affirming.subject)) - AUXILIARY - _NUANCES
    if any(values - affirming.when.get(unit, set()) for unit, values in denying.when.items()):
        return ""
    known = len(denying.subject - LIGHT) + ("stop" in denying.change)
    if not exception and len(details) <= MAX_VALUE and known >= 2:
        return "opposite"
    return "opposite" if alike >= SAME_WORDS and not (mine and its) else ""


def _alike(one: Statement, other: Statement, but: AbstractSet[str] = frozenset()) -> float:
    mine, its = one.subject - but - _FINE, other.subject - but - _FINE
    either = mine | its
    return len(mine & its) / len(either) if either else 1.0


def _denies(one: Statement, other: Statement) -> bool:
    """Whether one denies just what the other affirms, and both are about the same or about a choice."""
    crossed = (one.denied & other.affirmed) - LIGHT and (other.denied & one.affirmed) - LIGHT
    if crossed and not (one.is_negated or other.is_negated or _own(one, other) or _own(other, one)):
        # "Stop using tabs; use spaces" and "Stop using spaces; use tabs"
        return True
    if not one.denied or not one.denied <= other.affirmed or (one.is_negated and other.is_negated):
        return False
    if _alike(one, other) >= MOST_WORDS or _alike(one, other, LIGHT) >= SAME_WORDS:
        return not all(_own(a, b) - a.choice - a.denied for a, b in ((one, other), (other, one)))
    apart = [_own(a, b) - a.choice - a.purpose for a, b in ((one, other), (other, one))]
    return one.denied <= other.choice and not all(apart)


def _values_differ(one: Statement, other: Statement) -> bool:
    same_words = not _own(one, other) and not _own(other, one)
    if (same_words or "number" in one.change | other.change) and len(one.numbers) == len(other.numbers) == 1:
        # "5 attempts" and "attempts were cut to 3"
        (unit, values), (its_unit, its) = *one.numbers.items(), *other.numbers.items()
        if (not unit or not its_unit) and values.isdisjoint(its):
            return True
    return _disjoint(one.numbers, other.numbers) or _disjoint(one.when, other.when)


def _disjoint(mine: Mapping[str, AbstractSet[object]], its: Mapping[str, AbstractSet[object]]) -> bool:
    return any(values.isdisjoint(its[unit]) for unit, values in mine.items() if unit in its)


def _number(one: Statement, other: Statement) -> str:
    if not _values_differ(one, other) or one.is_negated != other.is_negated or one.is_event or other.is_event:
        return ""
    mine, its = _own(one, other), _own(other, one)
    if (mine and its) or _flips(one, other) or one.is_addition or other.is_addition:
        return ""
    if _disjoint(one.when, other.when) and _disjoint(one.numbers, other.numbers):
        return ""  # Records of two days.
    if not mine and not its:
        return "number"
    if max(sum(map(len, one.numbers.values())), sum(map(len, other.numbers.values()))) > MAX_NUMBERS:
        # A table, of which another row or column may be meant.
        return ""
    changed = bool(one.change or other.change) and len((one.subject & other.subject) - LIGHT) > len(mine | its) - 1
    return "number" if (changed and len(mine | its) <= 2) or _alike(one, other) >= SAME_WORDS else ""


def _replaced(old: Statement, new: Statement) -> str:
    """Whether the new one says that something changed which the old one states."""
    if not new.change or old.is_negated or old.is_event:
        return ""
    mine, its = _own(old, new) - old.denied, _own(new, old) - new.denied
    if new.change - {"now", "decided"}:
        mine -= old.verbs
    shared = (old.subject & new.subject) - LIGHT
    if not shared or len(mine) > MAX_VALUE + 1 or len(its) > MAX_VALUE + 1 or len(old.words) > MAX_REPLACED:
        return ""
    if _allowed_elsewhere(old, new):
        return ""
    if not _is_segment(new, its) or not _is_segment(old, mine, alone=False) or not _is_stated(new, its):
        return ""
    if (new.denied & old.affirmed) - LIGHT and new.denied <= old.subject | LIGHT and _names_value(old, new, shared):
        # It names what was; not where it says of what, and that is something else.
        if mine and any(w.stem in its and w.lead in ("in", "for", "of") for w in new.words):
            return ""
        at = [word.place for word in new.words if word.stem in its]
        if mine and not shared - new.denied and at and at[-1] - at[0] >= len(at):
            # "Petra retired, Jan feeds the cat"
            return ""
        if new.subject & _OWNER and not ("person" in old.change or old.subject & OWNING):
            return ""
        return "replaced" if not new.is_negated and (its or _values_differ(old, new)) else ""
    if "time" in new.change and old.when and new.when and not its and not old.when.keys() & new.when.keys():
        return "replaced"
    if new.is_negated or not its:
        return ""
    called = _CALLED & {word.stem for word in (old if "any" in new.change else new).words}
    if ("name" in new.change or called) and _renames(old, new, mine):
        return "replaced"
    if "person" in new.change and not mine and old.subject & OWNING:
        return "replaced"
    if not mine or not _is_segment(old, mine) or not _is_stated(old, mine) or not _same_head(old, new, mine, its):
        return ""
    return "replaced" if _same_attribute(old, new, mine, its) else ""


def _allowed_elsewhere(one: Statement, other: Statement) -> bool:
    """Whether both say what is allowed, each in another place: the one says nothing about the other."""
    if not one.subject & other.subject & _PERMISSION:
        return False
    own = other.subject - one.subject
    return any(word.lead == "in" and word.stem in own for word in other.words)


def _is_segment(statement: Statement, own: AbstractSet[str], *, alone: bool = True) -> bool:
    """Whether these words are one phrase, as those of a value are, and not part of what the statement is about."""
    words = [word for word in statement.words if word.stem not in LIGHT]
    at = [n for n, word in enumerate(words) if word.stem in own]
    if not at:
        return True
    first, last = words[at[0]], words[at[-1]]
    if first.lead in _ABOUT or (alone and at[-1] - at[0] >= len(at)):
        return False
    if not alone:
        return True
    places = {word.place for word in words if word.stem not in OWNING and word.stem not in statement.verbs}
    after_preposition = first.lead in PLACE or first.lead in _SAYING
    if first.place - 1 in places and first.lead not in _SAYING:
        # The end of a longer name: "tax API" and "tax worker".
        return False
    if not after_preposition and last.place + 1 in places:
        # The beginning of one: "search gateway" and "fraud gateway".
        return False
    return after_preposition or all(word.lead not in PLACE for word in words[at[0] : at[-1] + 1])


def _is_stated(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are what is said, not what it is said of; or the bare name of somebody or something."""
    words = [word for word in statement.words if word.stem in own]
    if statement.verb_at < 0 and words and not words[0].lead and words[0].before in ("the", "our", "my"):
        return False
    if all(word.place > statement.verb_at for word in words):
        return True
    return all(word.place < statement.verb_at for word in words) and words[0].before in ("", ",", ";", ":", "now", "by")


def _same_head(old: Statement, new: Statement, mine: AbstractSet[str], its: AbstractSet[str]) -> bool:
    """Whether both begin with what they share, or with a value of it."""
    heads = [next((word.stem for word in one.words if word.stem not in LIGHT), "") for one in (old, new)]
    return (heads[0] in new.subject or heads[0] in mine) and (heads[1] in old.subject or heads[1] in its)


def _names_value(old: Statement, new: Statement, shared: AbstractSet[str]) -> bool:
    """Whether what the new one names as past is what the old one states, and not what it is about."""
    if shared - new.denied - {word.stem for word in old.words if word.place > old.verb_at >= 0}:
        return True
    last = old.words[-1].stem
    return any(
        word.stem in new.denied
        and (word.place > old.verb_at >= 0 or word.before in PLACE or word.stem == last or word.place == 0)
        for word in old.words
    )


def _renames(old: Statement, new: Statement, mine: set[str]) -> bool:
    """Whether the new name is given to what the old statement names."""
    stated = {word.stem for word in old.words if word.place > old.verb_at} - LIGHT
    if not mine:
        return True
    named = bool(_CALLED & {word.stem for word in old.words})
    subject = {word.stem for word in new.words if word.place < new.verb_at} - LIGHT
    if subject and subject <= stated:
        return True
    if len(mine) == 1 and _is_bare_name(old, next(iter(mine))):
        return True
    return mine <= stated and (
        named or all(_is_code(word.text) or word.is_name for word in old.words if word.stem in mine)
    )


def _is_bare_name(statement: Statement, own: str) -> bool:
    """Whether a word is all that is said of something, and does not describe it: "the channel is falcon"."""
    word = statement.words[-1]
    is_predicate = word.stem == own and word.before in ("is", "are", ":")
    describes = word.text.endswith(DESCRIBING) or word.text in DESCRIPTIONS
    return is_predicate and not describes and own not in OPPOSITES and own not in FAMILIES


def _is_code(text: str) -> bool:
    return not text.isalpha()


def _same_attribute(old: Statement, new: Statement, mine: set[str], its: set[str]) -> bool:
    """Whether what only the old one says and what only the new one says are values of one thing."""
    if _all_of_family(mine, its):
        return True
    if mine | its <= STORES and _same_purpose(old, new, mine | its):
        return True
    if all(any(word in FAMILIES for word in own) for own in (mine, its)) and not _related(mine, its):
        return False
    if _tells_owner(old, mine) != _tells_owner(new, its):
        # Whose it is, and something else about it.
        return False
    names = {word.stem for word in (*old.words, *new.words) if word.is_name or word.place == 0}
    in_charge = not (mine | its) & FAMILIES.keys() and (
        (old.subject | new.subject) & OWNING or "person" in old.change & new.change
    )
    are_names = (
        bool(old.numbers) == bool(new.numbers)
        and mine <= names
        and its <= names
        and not new.change & {"tool", "place", "name"}
    )
    if are_names and (in_charge or ("now" in new.change and len(mine) == len(its) == 1)):
        return True
    if "person" in new.change:
        return bool(old.subject & OWNING) and bool(mine & names)
    first = [next(word for word in one.words if word.stem in own) for one, own in ((old, mine), (new, its))]
    leads = [word.lead for word in first]
    if first[0].before == "by" and leads[1] != "by":
        return False
    if bool(old.numbers) != bool(new.numbers) and not new.change & {"tool", "name"}:
        return False
    if new.change & {"place", "any", "tool"} and _has_place(old, mine) and _has_place(new, its):
        return True
    after = all(w.place > one.verb_at for one, own in ((old, mine), (new, its)) for w in one.words if w.stem in own)
    if "tool" in new.change and after:
        return bool(mine & names) and len(mine) <= 2 and leads[0] not in _CHOICE
    if new.change <= {"number", "time", "stop"}:
        return False
    if all(stem(lead) in _OWNER for lead in leads):
        return False  # One may own several things.
    # The same sentence with another value.
    shared = len((old.subject & new.subject) - LIGHT)
    alike = leads[0] == leads[1] or any(all(lead in some for lead in leads) for some in (_SITES, _SAYING, {"", "now"}))
    enough = 1 if all(lead in _SITES for lead in leads) else min(2, max(len(mine), len(its)))
    return alike and shared >= enough and _one_place(old, new)


def _tells_owner(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are who something belongs to, and not where it is, or what does it."""
    if "person" in statement.change or statement.subject & _OWNER:
        return True
    first = next(word for word in statement.words if word.stem in own)
    is_bare = first.lead not in _AT and first.before not in ("the", "a", "an")
    return bool(statement.subject & OWNING) and is_bare and not own & FAMILIES.keys()


def _has_place(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are said after a preposition, as the place of something is."""
    first = next(word for word in statement.words if word.stem in own)
    return first.place > statement.verb_at and first.before in (*PLACE, "the", "a", "an", "their", "our", "its", "own")


def _all_of_family(mine: AbstractSet[str], its: AbstractSet[str]) -> bool:
    """Whether all are things of one kind."""
    return len(_related(mine, its)) == 1 and min(len(mine), len(its)) == 1 and max(len(mine), len(its)) <= 2


def _related(mine: AbstractSet[str], its: AbstractSet[str]) -> list[tuple[str, str]]:
    return [(a, b) for a in mine for b in its if FAMILIES.get(a, frozenset()) & FAMILIES.get(b, frozenset())]


def _same_purpose(old: Statement, new: Statement, values: AbstractSet[str]) -> bool:
    """Whether what a thing is used for in the one is what the other is about as well."""
    shared = (old.subject & new.subject) - LIGHT
    purpose = (old.purpose | new.purpose) - values - LIGHT
    return purpose <= shared and (bool(purpose - WIDE) or len(shared - WIDE) > 1)


def _one_place(one: Statement, other: Statement) -> bool:
    """Whether two sentences are the same word for word but for one place."""
    a, b = (
        [
            word
            for word in mine.sequence
            if word not in mine.denied | _HOSTING and (word not in LIGHT or word in its.sequence)
        ]
        for mine, its in ((one, other), (other, one))
    )
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    left, right = a[start : len(a) - end], b[start : len(b) - end]
    return bool(left and right) and max(len(left), len(right)) <= MAX_VALUE


def _choice(one: Statement, other: Statement) -> str:
    if one.is_negated or other.is_negated or _values_differ(one, other) or _flips(one, other):
        return ""
    mine, its = _own(one, other), _own(other, one)
    if not mine or not its or max(len(mine), len(its)) > MAX_VALUE or one.is_addition or other.is_addition:
        return ""
    if _allowed_elsewhere(one, other):
        return ""
    if one.choice and other.choice and not one.choice & other.choice:
        shared = one.purpose & other.purpose
        apart = bool(mine - one.choice) and bool(its - other.choice)
        if not apart and shared - WIDE and len(shared) >= SAME_WORDS * len(one.purpose | other.purpose):
            return "choice"
    if one.verbs and other.verbs and one.verbs.isdisjoint(other.verbs):
        return ""
    if not _one_place(one, other) or (one.subject & other.subject) & SEVERAL:
        return ""
    return "choice" if _all_of_family(mine, its) or _single(one, mine, other, its) else ""


def _single(one: Statement, mine: set[str], other: Statement, its: set[str]) -> bool:
    """Whether both name the one thing that has to be one, such as the primary database."""
    if all({"called", "named", "name"} & {word.text for word in statement.words} for statement in (one, other)):
        return _is_stated(one, mine) and _is_stated(other, its)
    for statement, own in ((one, mine), (other, its)):
        before = {word.stem for word in statement.words if word.place < statement.verb_at}
        stated = [word for word in statement.words if word.stem in own]
        if not before & SINGLE_VALUED or any(word.place < statement.verb_at for word in stated):
            return False
        if any(word.text.endswith(DESCRIBING) or word.text in DESCRIPTIONS for word in stated):
            return False
    return max(len(mine), len(its)) <= 2


# They lead to what a statement is about, not to what it says of it.
_ABOUT = frozenset({"of", "for", "about"})
# They lead to what is said.
_SAYING = frozenset("is are was were : = -> called named now use uses prefer as".split())
_HOSTING = frozenset(map(stem, "run runs live host hosted deploy deployed serve stay".split()))
_PERMISSION = frozenset(map(stem, "allow allowed forbid forbidden permit permitted ban banned".split()))
_OWNER = frozenset(map(stem, "maintain own owner contact lead chair manage".split()))
_AT = frozenset("on in at with into under from behind".split())
_STEPS = frozenset(map(stem, "open close increase decrease start stop end begin".split()))
_FINE = frozenset(map(stem, "fine ok okay allow allowed permit permitted possible".split()))
_NUANCES = frozenset(map(stem, "immediately instantly completely entirely altogether simply".split()))
_CHOICE = frozenset("use uses prefer prefers choose chose".split())
_SITES = frozenset("in on at to from into under".split())
_CALLED = frozenset({"call", "name", "known"})
# From this cosine on, two statements whose words differ may say the same.
SAME_MEANING = 0.9
# Words that two statements of the same may have each besides those that they share.
OTHER_WORDS = 2


def says_the_same(old: str, new: str, cosine: float = 0.0) -> bool:
    """Whether two texts state the same: in other order or with other small words, or by a paraphrase of this cosine."""
    return are_the_same(statements_in(old), statements_in(new), cosine)


def are_the_same(mine: Sequence[Statement], its: Sequence[Statement], cosine: float = 0.0) -> bool:
    """The same of texts that were read already."""
    if not mine or len(mine) != len(its):
        return False
    return all(_same(a, b, cosine) for a, b in zip(mine, its, strict=True))


def _same(one: Statement, other: Statement, cosine: float) -> bool:
    facts = [(s.numbers, s.when, s.is_negated, s.is_addition) for s in (one, other)]
    if facts[0] != facts[1] or _names(one, other) != _names(other, one) or compare(one, other):
        return False
    own, its = one.subject - other.subject, other.subject - one.subject
    if not own - LIGHT and not its - LIGHT:
        return one.denied == other.denied and _alike(one, other) >= MOST_WORDS and not (own | its) & OPPOSITES.keys()
    return cosine >= SAME_MEANING and 0 < len(own - LIGHT) <= OTHER_WORDS and 0 < len(its - LIGHT) <= OTHER_WORDS


def _names(statement: Statement, other: Statement) -> list[str]:
    """The names in a statement, in their order: who did what to whom is not the same the other way round."""
    names = {word.stem for word in (*statement.words, *other.words) if word.is_name}
    return [word.stem for word in statement.words if word.stem in names]
