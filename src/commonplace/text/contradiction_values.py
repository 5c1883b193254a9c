"""The values that two statements give: what only one of them says, and whether both are values of the same thing.

"Redis" and "Postgres" are, in "We keep sessions in Redis" and "Sessions now live in Postgres".
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from commonplace.text.contradiction_statements import PLACE, Statement
from commonplace.text.contradiction_words import (
    DESCRIBING,
    DESCRIPTIONS,
    FAMILIES,
    LIGHT,
    OPPOSITES,
    OWNING,
    STORES,
    WIDE,
)
from commonplace.text.tokens import stem

# Words of a value: the name of a thing or a person, not a clause.
MAX_VALUE = 3
# They lead to what a statement is about, not to what it says of it.
_ABOUT = frozenset({"of", "for", "about"})
# They lead to what is said.
_SAYING = frozenset("is are was were : = -> called named now use uses prefer as".split())
_HOSTING = frozenset(map(stem, "run runs live host hosted deploy deployed serve stay".split()))
OWNER = frozenset(map(stem, "maintain own owner contact lead chair manage".split()))
_AT = frozenset("on in at with into under from behind".split())
_CHOICE = frozenset("use uses prefer prefers choose chose".split())
_SITES = frozenset("in on at to from into under".split())
CALLED = frozenset({"call", "name", "known"})


def own_words(one: Statement, other: Statement) -> set[str]:
    """What only the one says, besides verbs that say little."""
    return set(one.telling - other.subject)


def values_differ(one: Statement, other: Statement) -> bool:
    same_words = not own_words(one, other) and not own_words(other, one)
    if (same_words or "number" in one.change | other.change) and len(one.numbers) == len(other.numbers) == 1:
        # "5 attempts" and "attempts were cut to 3"
        (unit, values), (its_unit, its) = *one.numbers.items(), *other.numbers.items()
        if (not unit or not its_unit) and values.isdisjoint(its):
            return True
    return are_disjoint(one.numbers, other.numbers) or are_disjoint(one.when, other.when)


def are_disjoint(mine: Mapping[str, AbstractSet[object]], its: Mapping[str, AbstractSet[object]]) -> bool:
    return any(values.isdisjoint(its[unit]) for unit, values in mine.items() if unit in its)


def is_segment(statement: Statement, own: AbstractSet[str], *, alone: bool = True) -> bool:
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


def is_stated(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are what is said, not what it is said of; or the bare name of somebody or something."""
    words = [word for word in statement.words if word.stem in own]
    if statement.verb_at < 0 and words and not words[0].lead and words[0].before in ("the", "our", "my"):
        return False
    if all(word.place > statement.verb_at for word in words):
        return True
    return all(word.place < statement.verb_at for word in words) and words[0].before in ("", ",", ";", ":", "now", "by")


def same_head(old: Statement, new: Statement, mine: AbstractSet[str], its: AbstractSet[str]) -> bool:
    """Whether both begin with what they share, or with a value of it."""
    heads = [next((word.stem for word in one.words if word.stem not in LIGHT), "") for one in (old, new)]
    return (heads[0] in new.subject or heads[0] in mine) and (heads[1] in old.subject or heads[1] in its)


def names_value(old: Statement, new: Statement, shared: AbstractSet[str]) -> bool:
    """Whether what the new one names as past is what the old one states, and not what it is about."""
    if shared - new.denied - {word.stem for word in old.words if word.place > old.verb_at >= 0}:
        return True
    last = old.words[-1].stem
    return any(
        word.stem in new.denied
        and (word.place > old.verb_at >= 0 or word.before in PLACE or word.stem == last or word.place == 0)
        for word in old.words
    )


def is_renamed(old: Statement, new: Statement, mine: set[str]) -> bool:
    """Whether the new name is given to what the old statement names."""
    stated = {word.stem for word in old.words if word.place > old.verb_at} - LIGHT
    if not mine:
        return True
    named = bool(CALLED & {word.stem for word in old.words})
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


def same_attribute(old: Statement, new: Statement, mine: set[str], its: set[str]) -> bool:
    """Whether what only the old one says and what only the new one says are values of one thing."""
    if all_of_family(mine, its):
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
    if all(stem(lead) in OWNER for lead in leads):
        return False  # One may own several things.
    # The same sentence with another value.
    shared = len((old.subject & new.subject) - LIGHT)
    alike = leads[0] == leads[1] or any(all(lead in some for lead in leads) for some in (_SITES, _SAYING, {"", "now"}))
    enough = 1 if all(lead in _SITES for lead in leads) else min(2, max(len(mine), len(its)))
    return alike and shared >= enough and differ_in_one_place(old, new)


def _tells_owner(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are who something belongs to, and not where it is, or what does it."""
    if "person" in statement.change or statement.subject & OWNER:
        return True
    first = next(word for word in statement.words if word.stem in own)
    is_bare = first.lead not in _AT and first.before not in ("the", "a", "an")
    return bool(statement.subject & OWNING) and is_bare and not own & FAMILIES.keys()


def _has_place(statement: Statement, own: AbstractSet[str]) -> bool:
    """Whether these words are said after a preposition, as the place of something is."""
    first = next(word for word in statement.words if word.stem in own)
    return first.place > statement.verb_at and first.before in (*PLACE, "the", "a", "an", "their", "our", "its", "own")


def all_of_family(mine: AbstractSet[str], its: AbstractSet[str]) -> bool:
    """Whether all are things of one kind."""
    return len(_related(mine, its)) == 1 and min(len(mine), len(its)) == 1 and max(len(mine), len(its)) <= 2


def _related(mine: AbstractSet[str], its: AbstractSet[str]) -> list[tuple[str, str]]:
    return [(a, b) for a in mine for b in its if FAMILIES.get(a, frozenset()) & FAMILIES.get(b, frozenset())]


def _same_purpose(old: Statement, new: Statement, values: AbstractSet[str]) -> bool:
    """Whether what a thing is used for in the one is what the other is about as well."""
    shared = (old.subject & new.subject) - LIGHT
    purpose = (old.purpose | new.purpose) - values - LIGHT
    return purpose <= shared and (bool(purpose - WIDE) or len(shared - WIDE) > 1)


def differ_in_one_place(one: Statement, other: Statement) -> bool:
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
