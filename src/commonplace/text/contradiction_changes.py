"""Sentences that tell of a change in so many words, and what of an earlier statement holds no longer after them.

"The importer reads from SQS instead of Kafka" names what was left; "Token signing was changed to RS256" names only what
came, of something that the earlier statement gives a value of the same sort. What a sentence is about is compared by
roots of words, so that "secrets of the CI jobs" and "CI secrets", "signing" and "signed" are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import lru_cache

from commonplace.text.contradiction_statements import Statement
from commonplace.text.contradiction_words import (
    FAMILIES,
    LIGHT,
    OWNING,
    PREDICATES,
    WIDE,
    WORD,
    content_in,
    head_of,
    related,
    root_of,
    roots_in,
)
from commonplace.text.tokens import fold, stem

# Longer sentences are prose.
_LONGEST = 240
# Words of a value that was left, and of a subject.
MAX_LEFT, MAX_SUBJECT = 4, 6

# Where something is said of: two statements about different ones do not meet.
_PLACES = frozenset(
    "production prod staging stage dev development test qa ci sandbox preview local locally laptop laptops live"
    " linux macos windows ios android eu us europe frontend backend web mobile desktop free paid internal external"
    " v1 v2 v3".split()
)
_PAST = re.compile(
    r"\b(?:was|were|had|will|would|formerly|previously|originally|once|until|till|plans?|used to|no longer|for now)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?<!^)\b(?:is|are|must|may|can|"
    + "|".join(sorted(PREDICATES))
    + r"|use|uses|maintain|own|manages?|go|ship|host|keep|writes?|depends?|needs?|contains?|has|have)\b",
    re.IGNORECASE,
)
# The end of what is said of a change: why, when and what follows from it.
_END = (
    r"(?=$|[;,:!(–—]|\.(?!\w)"
    r"| (?:because|since|so|as of|after|in order|to save|to avoid|when|while|due|last|this|next)\b)"
)
_SOME = r"[^,;:()]+?"
_HAS = r"(?:(?:has|have|was|were|got|is|are|'s|had) |been |now |being |finally |recently |just )*"
_MOVED = (
    r"(?:moved|migrated|switched|changed|shifted|transferred|relocated|converted|swapped|ported|handed|passed|reassigned"
    r"|slipped|cut|reduced|lowered|raised|increased|tightened|loosened|relaxed|bumped|extended|shortened|set|upgraded"
    r"|went|dropped|grew|rewritten|rebuilt)"
)


def _places(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in WORD.findall(text)) & _PLACES


def stated_change(old: Statement, new: Statement) -> str:
    """ "replaced" if the new sentence tells of a change of what the old one states; empty otherwise."""
    if not _tells_change(new.text) or len(old.text) > _LONGEST or new.is_addition or old.is_addition:
        return ""
    if old.is_event or old.is_negated or _PAST.search(old.text):
        return ""
    here, there = _places(old.text), _places(new.text)
    if here and there and here.isdisjoint(there):
        return ""
    return "replaced" if _names_what_was(old.text, new.text) or _gives_another(old, new) else ""


@lru_cache(maxsize=4096)
def _tells_change(text: str) -> bool:
    """Whether a sentence may change anything: most do not, and each is compared with many."""
    return len(text) <= _LONGEST and bool(_left_in(text) or _ended_in(text) or _came_in(text))


# What was left stands in "x", what came in "y", what the sentence is about in "s" and "p".
_FOR = rf"(?: (?:for|as(?! of)|in) (?P<p>{_SOME}))?"
_LEFT = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        rf"^(?P<s>{_SOME}) {_HAS}{_MOVED} (?:over )?from (?P<x>{_SOME}) (?:over )?to (?P<y>{_SOME}){_FOR}",
        rf"^(?:(?:we|they) (?:have )?)?{_MOVED} (?P<s>{_SOME}) (?:over )?from (?P<x>{_SOME}) to (?P<y>{_SOME})",
        rf"^(?P<s>(?P<y>{_SOME})) (?:instead of|rather than) (?P<x>{_SOME}){_FOR}",
        rf"^(?P<s>(?P<y>{_SOME})) (?:has |have )?(?:replace|supersede)[sd] (?!by|with)(?P<x>{_SOME}){_FOR}",
        (
            rf"^(?P<s>{_SOME}) no longer (?:needs?|uses?|requires?|depends? on|rel(?:y|ies) on|talks? to|goes through"
            rf"|calls?) (?P<x>{_SOME}){_FOR}"
        ),
        rf"^(?P<s>{_SOME}) (?:has |have )?(?:dropped|drops|ditched|abandoned) (?P<x>{_SOME}){_FOR}",
    )
)
_RENAMED = re.compile(
    rf"^(?:(?:the|our) )?(?P<x>{_SOME}) {_HAS}(?:renamed|rebranded)(?: to| as| into)? (?P<y>\S+?)(?= in |{_END})",
    re.IGNORECASE,
)
# Of a name written like code: it is another now.
_IS_NOW = re.compile(
    rf"^(?:(?:the|our) )?(?P<x>{_SOME}) (?:is|are) now (?:called |named )?(?P<y>[^\s,;]*[\w][/_.@#-][^\s,;]*\w){_END}",
    re.IGNORECASE,
)
_OVER = re.compile(
    rf"^(?:(?:the|our) )?(?P<x>{_SOME}) {_HAS}(?:discontinued|shut down|retired|switched off|turned off|decommissioned"
    r"|sunset|abolished|closed down|taken down|wound down|phased out)(?= on | in | at | by |$|[.,;!(]| last | this )",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\b(?:is|are|called|named|as|:) (?:the |an? )?[\"'`]?(\S+?)[\"'`]?(?:\(\))?[.!]?$", re.IGNORECASE)


def _names_what_was(old: str, new: str) -> bool:
    """Whether the new sentence names as left, renamed or ended what the old one states."""
    known = roots_in(old)
    return _is_over(old, new, known) or any(_leaves(old, new, found, known) for found in _left_in(new))


@lru_cache(maxsize=4096)
def _left_in(text: str) -> tuple[re.Match[str], ...]:
    return tuple(found for pattern in _LEFT if (found := pattern.search(text)))


def _leaves(old: str, new: str, found: re.Match[str], known: frozenset[str]) -> bool:
    left = roots_in(found["x"])
    if not left or len(left) > MAX_LEFT or not left <= known or left <= LIGHT | WIDE:
        return False
    if any(left <= roots_in(before["x"]) for before in _left_in(old)):
        # Both tell of the same change.
        return False
    parts = found.groupdict()
    came = content_in(parts.get("y") or "")
    if came and came <= known:
        return False
    about = (content_in(found["s"]) | content_in(parts.get("p") or "")) - left
    subject = content_in(_subject_of(found["s"])) - left or about
    if not (about & known) - WIDE or len(subject) > MAX_SUBJECT:
        return False
    nouns = frozenset(root for root in subject if not _is_action(root, found["s"]))
    first = content_in(_subject_of(old)) - left
    return (bool(nouns) and nouns <= known) or (bool(first) and first <= roots_in(new))


def _is_action(root: str, text: str) -> bool:
    """Whether a phrase ends in what is done: "crash reporting", not "the onboarding flow"."""
    last = WORD.findall(text)[-1:]
    return bool(last) and last[0].lower().endswith("ing") and root_of(fold(last[0])) == root


def _is_over(old: str, new: str, known: frozenset[str]) -> bool:
    found = _ended_in(new)
    if found is None:
        return False
    if "y" in found.groupdict():
        named = _CALLED.search(old)
        left, came = roots_in(found["x"]), roots_in(found["y"])
        return bool(named and left <= known and not came <= known and roots_in(named[1]) and roots_in(named[1]) <= left)
    left = content_in(found["x"])
    return bool(left - WIDE) and len(left) > 1 and left == content_in(_subject_of(old))


@lru_cache(maxsize=4096)
def _ended_in(text: str) -> re.Match[str] | None:
    return _RENAMED.search(text) or _IS_NOW.search(text) or _OVER.search(text)


def _subject_of(text: str) -> str:
    """What stands before the verb; nothing where the verb is not known."""
    found = _VERB.search(text)
    return text[: found.start()] if found else ""


# What came stands in "y", of what in "s", the verb in "v". What was left is not named.
_CAME = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        rf"^(?P<s>{_SOME}) {_HAS}(?P<v>{_MOVED})(?: over| back| up| down| out)? (?:to|until|into) (?P<y>{_SOME})",
        rf"^(?:(?:we|they)(?:['’]ve| have)? )?(?P<v>{_MOVED}) (?P<s>{_SOME}) (?:to|until|into) (?P<y>{_SOME})",
        rf"^(?P<s>{_SOME}) (?:is|are) now (?P<v>\w+) (?P<by>by|with|in|on|through|via) (?P<y>{_SOME})",
        rf"^(?P<s>{_SOME}) (?:is|are) (?P<v>\w+) (?P<by>by) (?P<y>{_SOME}) (?:now|from now on)",
        rf"^(?P<y>{_SOME}) (?:has |have )?(?P<v>taken|took|takes) over (?P<s>{_SOME})",
    )
)
_CAME_FOR = re.compile(
    rf"^(?:we|they|the {_SOME})(?:['’]ve| have| has)? (?:switched|moved|changed|migrated) to (?P<y>{_SOME})"
    rf" for (?P<s>{_SOME}){_END}",
    re.IGNORECASE,
)
_TO_SOMEBODY = frozenset("handed passed reassigned transferred went taken took takes".split())
_TO_PLACE = frozenset("moved migrated relocated transferred shifted".split())
_TO_TOOL = frozenset("switched changed converted ported swapped rewritten rebuilt".split())
# Where something is, and what it is done with: the verb and the value of the earlier statement.
_AT_PLACE = re.compile(
    r"\b(?:is|are|lives?|lies?|sits?|kept|stored|hosted|deployed|held|goes?|runs?|published|located|filed|served|meets?"
    r"|archived|tracked|happens?) (?:in|on|at|under|from|to) (?P<y>.+)",
    re.IGNORECASE,
)
_WITH_TOOL = re.compile(
    r"\b(?P<v>\w+(?:ed|en|ne|lt|nt|un|es)|use|run|build) (?!is |are )(?:(?P<by>with|in|by|through|via|on|as) )?"
    r"(?P<y>[\w.+#/-]+(?: [\w.+#/-]+)?)",
    re.IGNORECASE,
)
_DONE_BY = re.compile(rf"^(?P<s>{_SOME}) (?:is|are) \w+ by (?P<y>{_SOME}){_END}", re.IGNORECASE)
_DOES = re.compile(r"(?<=\w )(\w+s) ", re.IGNORECASE)
_NAMED = re.compile(r"[A-Z]|\d|\w[-_/.@#]\w|^(?:the|its|their|our|an?) ")
_MOMENT = re.compile(r"\b(?:today|tomorrow|yesterday|\w+day|week|month|year|quarter|q[1-4])\b", re.IGNORECASE)
MAX_MORE = 2


@lru_cache(maxsize=4096)
def _came_in(text: str) -> re.Match[str] | None:
    return next((found for pattern in _CAME if (found := pattern.search(text))), None)


def _gives_another(old: Statement, new: Statement) -> bool:
    """Whether the new sentence tells that something has another value now, and the old one gives it one of its sort."""
    found = _came_in(new.text)
    if found is None:
        return False
    if _chooses_another(old.text, new.text):
        return True
    about, came, known = content_in(found["s"]), content_in(found["y"]), roots_in(old.text)
    if not about - WIDE or len(about) > MAX_SUBJECT or not came or came <= known or not about <= known:
        return False
    if re.match(r"\W*\d", found["y"]) or _MOMENT.search(found["y"]):
        rest = frozenset(root for root in content_in(old.text) - about if not root[0].isdigit())
        return len(rest) <= MAX_MORE and (_differ(old.numbers, new.numbers) or _differ(old.when, new.when))
    verb, by = found["v"].lower(), found.groupdict().get("by") or ""
    if by == "by" or (verb in _TO_SOMEBODY and not by):
        return _is_somebodys(old.text, found["s"], root_of(verb))
    if not _NAMED.search(found["y"]) and not came & FAMILIES.keys():
        return False
    if by:
        return _is_done_there(old.text, found)
    if verb in _TO_PLACE:
        place = _AT_PLACE.search(old.text)
        return (
            place is not None and _same_thing(old.text[: place.start()], found["s"]) and _may_change(place["y"], came)
        )
    return verb in _TO_TOOL and _is_done_with(old.text, found["s"], found["y"])


def _differ(old: Mapping[str, Set[object]], new: Mapping[str, Set[object]]) -> bool:
    """Whether both have values of one unit, and none in common."""
    units = (old.keys() & new.keys()) - {""}
    return bool(units) and all(old[unit].isdisjoint(new[unit]) for unit in units)


def _is_somebodys(old: str, thing: str, verb: str) -> bool:
    """Whether somebody is in charge of a thing, or does just this with it."""
    if found := _DONE_BY.search(old):
        return _same_thing(found["s"], thing)
    does = (found for found in _DOES.finditer(old) if stem(fold(found[1])) in OWNING or root_of(fold(found[1])) == verb)
    return any(_same_thing(re.split(r"[,;:(]", old[found.end() :])[0], thing) for found in does)


def _is_done_there(old: str, new: re.Match[str]) -> bool:
    """Whether the same is done with the same thing, in or with something else."""
    if new["by"].lower() in ("in", "on") and not _AT_PLACE.search(old):
        # It may be allowed, or used, in several.
        return False
    verb, came = root_of(fold(new["v"])), content_in(new["y"])
    same = (
        found for found in _WITH_TOOL.finditer(old) if root_of(fold(found["v"])) == verb and found["by"] == new["by"]
    )
    return any(_same_thing(old[: found.start()], new["s"]) and _may_change(found["y"], came) for found in same)


def _is_done_with(old: str, thing: str, came: str) -> bool:
    for found in _WITH_TOOL.finditer(old):
        was, now = content_in(found["y"]), content_in(came)
        if related(was, now):
            return _same_thing(old[: found.start()], thing)
        if (
            not (was | now) & FAMILIES.keys()
            and not was & content_in(thing)
            and root_of(fold(found["v"])) in roots_in(thing)
        ):
            # "signed with HS256", "token signing was changed to RS256"
            return True
    return False


def _chooses_another(old: str, new: str) -> bool:
    """ "We switched to ruff for Python code" after "Python is formatted with black": both are tools of one kind."""
    found = _CAME_FOR.search(new)
    if found is None:
        return False
    about, known = content_in(found["s"]) - WIDE, content_in(old)
    return bool(about) and about <= known and related(known - about, content_in(found["y"]) - known)


def _may_change(was: str, came: frozenset[str]) -> bool:
    """Whether two places are not things of different kinds."""
    both = (content_in(was) & FAMILIES.keys(), came & FAMILIES.keys())
    return not all(both) or related(*both)


def _same_thing(old: str, new: str) -> bool:
    """Whether both are the same thing, which the old one may name by one word more: the last of a name tells what."""
    return (
        content_in(new) <= content_in(old)
        and len(content_in(old) - content_in(new)) <= 1
        and head_of(old) == head_of(new)
    )
