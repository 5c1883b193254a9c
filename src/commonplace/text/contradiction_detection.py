"""Whether two statements contradict each other: a hint from their words, not a verdict.

Precision comes first: a warning that is often wrong is soon ignored. Two statements contradict each other only if they
are about the same thing in nearly the same words, and then in one of four ways: one denies what the other affirms or
has the opposite word ("opposite"), they give different numbers or times ("number"), they choose differently where one
can hold ("choice"), or one says that what the other states has changed ("replaced").

A decision goes against a rule if it allows or does what the rule forbids, or does another way what it demands. "Never
merge on red" and "We agreed to allow merges on red" have the same words besides those that forbid and allow; "All tools
must be written in Go" and "We decided to write the linter tools in Rust" differ in a thing of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from commonplace.text.attributes import replaces, stated_attribute
from commonplace.text.contradiction_changes import stated_change
from commonplace.text.contradiction_statements import Statement, statements_in
from commonplace.text.contradiction_values import (
    CALLED,
    MAX_VALUE,
    OWNER,
    all_of_family,
    are_disjoint,
    differ_in_one_place,
    is_renamed,
    is_segment,
    is_stated,
    names_value,
    own_words,
    same_attribute,
    same_head,
    values_differ,
)
from commonplace.text.contradiction_words import (
    AUXILIARY,
    DESCRIBING,
    DESCRIPTIONS,
    FAMILIES,
    KEEPING,
    LABEL,
    LIGHT,
    OPPOSITES,
    OWNING,
    SEVERAL,
    SINGLE_VALUED,
    WIDE,
    WORD,
    content_in,
    related,
    roots_in,
)
from commonplace.text.tokens import stem

# How much of their words two statements share (of all words of both) before each kind of contradiction is looked for.
SAME_WORDS, MOST_WORDS = 0.75, 0.6
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


def _flips(one: Statement, other: Statement) -> list[tuple[str, str]]:
    """Words of the one and their opposites in the other."""
    mine, its = one.affirmed - other.subject, other.affirmed - one.subject
    flips = [(a, b) for a in mine for b in OPPOSITES.get(a, ()) if b in its]
    if flips and all(one.words[0].stem == a and other.words[0].stem == b and a in _STEPS for a, b in flips):
        # Steps of a procedure: "open the valve", "close the valve".
        return []
    return flips


def _opposite(one: Statement, other: Statement) -> str:
    mine, its = own_words(one, other), own_words(other, one)
    flips = _flips(one, other)
    mine -= {a for a, _b in flips}
    its -= {b for _a, b in flips}
    # "read-only for guests", "writable for members"
    for_others = one.purpose and other.purpose and one.purpose.isdisjoint(other.purpose)
    if flips and (one.is_addition or other.is_addition or for_others):
        return ""
    turns = min(len({a for a, _b in flips}), len({b for _a, b in flips})) + (one.is_negated != other.is_negated)
    if turns % 2 == 0 or values_differ(one, other):
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
    if crossed and not (one.is_negated or other.is_negated or own_words(one, other) or own_words(other, one)):
        # "Stop using tabs; use spaces" and "Stop using spaces; use tabs"
        return True
    if not one.denied or not one.denied <= other.affirmed or (one.is_negated and other.is_negated):
        return False
    if _alike(one, other) >= MOST_WORDS or _alike(one, other, LIGHT) >= SAME_WORDS:
        return not all(own_words(a, b) - a.choice - a.denied for a, b in ((one, other), (other, one)))
    apart = [own_words(a, b) - a.choice - a.purpose for a, b in ((one, other), (other, one))]
    return one.denied <= other.choice and not all(apart)


def _number(one: Statement, other: Statement) -> str:
    if not values_differ(one, other) or one.is_negated != other.is_negated or one.is_event or other.is_event:
        return ""
    mine, its = own_words(one, other), own_words(other, one)
    if (mine and its) or _flips(one, other) or one.is_addition or other.is_addition:
        return ""
    if are_disjoint(one.when, other.when) and are_disjoint(one.numbers, other.numbers):
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
    mine, its = own_words(old, new) - old.denied, own_words(new, old) - new.denied
    if new.change - {"now", "decided"}:
        mine -= old.verbs
    shared = (old.subject & new.subject) - LIGHT
    if not shared or len(mine) > MAX_VALUE + 1 or len(its) > MAX_VALUE + 1 or len(old.words) > MAX_REPLACED:
        return ""
    if _allowed_elsewhere(old, new):
        return ""
    if not is_segment(new, its) or not is_segment(old, mine, alone=False) or not is_stated(new, its):
        return ""
    if (new.denied & old.affirmed) - LIGHT and new.denied <= old.subject | LIGHT and names_value(old, new, shared):
        # It names what was; not where it says of what, and that is something else.
        if mine and any(w.stem in its and w.lead in ("in", "for", "of") for w in new.words):
            return ""
        at = [word.place for word in new.words if word.stem in its]
        if mine and not shared - new.denied and at and at[-1] - at[0] >= len(at):
            # "Petra retired, Jan feeds the cat"
            return ""
        if new.subject & OWNER and not ("person" in old.change or old.subject & OWNING):
            return ""
        return "replaced" if not new.is_negated and (its or values_differ(old, new)) else ""
    if "time" in new.change and old.when and new.when and not its and not old.when.keys() & new.when.keys():
        return "replaced"
    if new.is_negated or not its:
        return ""
    called = CALLED & {word.stem for word in (old if "any" in new.change else new).words}
    if ("name" in new.change or called) and is_renamed(old, new, mine):
        return "replaced"
    if "person" in new.change and not mine and old.subject & OWNING:
        return "replaced"
    if not mine or not is_segment(old, mine) or not is_stated(old, mine) or not same_head(old, new, mine, its):
        return ""
    return "replaced" if same_attribute(old, new, mine, its) else ""


def _allowed_elsewhere(one: Statement, other: Statement) -> bool:
    """Whether both say what is allowed, each in another place: the one says nothing about the other."""
    if not one.subject & other.subject & _PERMISSION:
        return False
    own = other.subject - one.subject
    return any(word.lead == "in" and word.stem in own for word in other.words)


def _choice(one: Statement, other: Statement) -> str:
    if one.is_negated or other.is_negated or values_differ(one, other) or _flips(one, other):
        return ""
    mine, its = own_words(one, other), own_words(other, one)
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
    if not differ_in_one_place(one, other) or (one.subject & other.subject) & SEVERAL:
        return ""
    return "choice" if all_of_family(mine, its) or _single(one, mine, other, its) else ""


def _single(one: Statement, mine: set[str], other: Statement, its: set[str]) -> bool:
    """Whether both name the one thing that has to be one, such as the primary database."""
    if all({"called", "named", "name"} & {word.text for word in statement.words} for statement in (one, other)):
        return is_stated(one, mine) and is_stated(other, its)
    for statement, own in ((one, mine), (other, its)):
        before = {word.stem for word in statement.words if word.place < statement.verb_at}
        stated = [word for word in statement.words if word.stem in own]
        if not before & SINGLE_VALUED or any(word.place < statement.verb_at for word in stated):
            return False
        if any(word.text.endswith(DESCRIBING) or word.text in DESCRIPTIONS for word in stated):
            return False
    return max(len(mine), len(its)) <= 2


_PERMISSION = frozenset(map(stem, "allow allowed forbid forbidden permit permitted ban banned".split()))
_STEPS = frozenset(map(stem, "open close increase decrease start stop end begin".split()))
_FINE = frozenset(map(stem, "fine ok okay allow allowed permit permitted possible".split()))
_NUANCES = frozenset(map(stem, "immediately instantly completely entirely altogether simply".split()))
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


# Longer sentences are prose.
_LONGEST = 240
# A rule with more words has conditions that a decision may meet.
MAX_FORBIDDEN = 6

_CLAUSE = r"[^,;:.!()]+(?:\.\w[^,;:.!()]*)*"
_FORBIDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:never|do not|don't) (?P<what>{_CLAUSE})",
        rf"^no (?!longer\b|more\b)(?P<what>{_CLAUSE})",
        rf"^(?P<who>{_CLAUSE}?) (?:must not|mustn't|may not|should not|shouldn't|must never) (?P<what>{_CLAUSE})",
    )
)
_DEMANDS = re.compile(r"^(?:use|write|prefer)\b|\b(?:must|always|all|every|each|have to|has to)\b", re.IGNORECASE)
_DECIDES = re.compile(
    r"\b(?:(?:decided|agreed|voted) (?:to|that|on)|from now on|going with|going forward|settled on)\b|^decision:",
    re.IGNORECASE,
)
_ALLOWS = re.compile(r"\b(?:may|allow|allows|allowed|permit|permits|permitted|are free to|is fine)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|stop|avoid|forbid|forbidden|ban|banned|reject|drop|remove|only|still|cannot)\b|n't\b",
    re.IGNORECASE,
)
# They turn what is said into something else: a decision has to have them as well.
_TURNING = frozenset("without before after outside during above below over under than except until unless only".split())
# Said of whatever one has to do with: a decision has another of them.
_CONTACT = frozenset(content_in("touch access reach hit talk add introduce"))
_ANYBODY = roots_in("everyone everybody anyone anybody squads people developers engineers you one")
_CHECK_IN = re.compile(r"\bcheck(?:ing|ed|s)?(?: |-)in\b", re.IGNORECASE)
_USING = re.compile(r"^us(?:e|ing)\b", re.IGNORECASE)


def breaks_rule(rule: str, decision: str) -> str:
    """ "opposite" or "choice" if a decision goes against a rule, else empty."""
    if not _is_decision(decision) or len(rule) > _LONGEST:
        return ""
    decides, allows = _DECIDES.search(decision), _ALLOWS.search(decision)
    if not decides and (allows is None or roots_in(decision[: allows.start()]) - roots_in(rule) - _ANYBODY):
        # What may be done with something of its own is an exception, which a rule has room for.
        return ""
    rule, made = LABEL.sub("", rule.replace("’", "'")), _CHECK_IN.sub("commit", decision.replace("’", "'"))
    if _DENIES.search(made):
        return ""
    if found := next((found for pattern in _FORBIDS if (found := pattern.match(rule))), None):
        return "opposite" if _does(made, found["what"], found.groupdict().get("who") or "") else ""
    return "choice" if decides and _DEMANDS.search(rule) and _does_otherwise(made, rule) else ""


@lru_cache(maxsize=4096)
def _is_decision(text: str) -> bool:
    """Most sentences are none, and each is compared with many."""
    return len(text) <= _LONGEST and bool(_DECIDES.search(text) or _ALLOWS.search(text))


def _does(decision: str, forbidden: str, who: str) -> bool:
    """Whether a decision has all that a rule forbids, with what turns it into something else."""
    if _words(forbidden) & _TURNING != _words(decision) & _words(forbidden) & _TURNING:
        return False
    if "without" in _words(forbidden):
        # Who approves it, and when, does not matter where nobody has to.
        forbidden = re.sub(r"( without (?:the |an? )?[\w-]+).*", r"\1", forbidden)
    elif "without" in _words(decision):
        return False
    core = roots_in(forbidden) | roots_in(who)
    core = core - _CONTACT or core
    if not core or len(core) > MAX_FORBIDDEN or not core <= roots_in(decision):
        return False
    return len(core) > 1 or (bool(core - WIDE) and bool(_USING.match(forbidden)))


def _does_otherwise(decision: str, rule: str) -> bool:
    """Whether a decision has another thing of the kind that a rule demands, for all that the rule is about."""
    demanded, decided = content_in(rule), roots_in(decision)
    for value in (roots_in(rule) & FAMILIES.keys()) - decided:
        about = demanded - {value}
        if about - WIDE and about <= decided and related(frozenset({value}), decided - {value}):
            return True
    return False


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))
