"""Sentences that tell of a change in so many words, and what of an earlier statement holds no longer after them.

"The importer reads from SQS instead of Kafka" names what was left; "Token signing was changed to RS256" names only what
came, of something that the earlier statement gives a value of the same sort. What a sentence is about is compared by
roots of words, so that "secrets of the CI jobs" and "CI secrets", "signing" and "signed" are the same.
"""

from __future__ import annotations

import re
from functools import lru_cache

from commonplace.text.statement_reading import Statement
from commonplace.text.statement_words import LIGHT, PREDICATES, WIDE
from commonplace.text.tokens import STOP_WORDS, fold, stem

# Longer sentences are prose.
_LONGEST = 240
# Words of a value that was left, and of a subject.
MAX_LEFT, MAX_SUBJECT = 4, 6

_WORD = re.compile(r"[#@/~]?\w+(?:[-./@:+]\w+)*%?")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?\b")
_ENDINGS = ("ment", "ation", "ion", "ing", "er", "or", "al", "e", "s")
_SHORTEST_ROOT = 4
# Nouns of what is done with something, and the verbs that say the same of it.
_SAME_ROOT = {
    **dict.fromkeys(("retention", "retain", "retained", "kept", "keeps"), "keep"),
    **dict.fromkeys(("login", "logins"), "log"),
    **dict.fromkeys(("sent", "sends", "sending"), "send"),
    **dict.fromkeys(("built", "builds", "building"), "build"),
    **dict.fromkeys(("written", "writes", "writing"), "write"),
}
_OWNERSHIP = "ownership|responsibility|maintenance|administration|leadership|stewardship"
_EMPTY = STOP_WORDS | frozenset(
    "we our us they all now new use uses using been also own every each any is are team teams project".split()
    + _OWNERSHIP.split("|")
)
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


@lru_cache(maxsize=4096)
def _root(word: str) -> str:
    """A stem without what makes a noun of a verb: signing, signed and signer are the same."""
    if word in _SAME_ROOT:
        return _SAME_ROOT[word]
    made = stem(word)
    for ending in _ENDINGS:
        if made.endswith(ending) and len(made) - len(ending) >= _SHORTEST_ROOT and made.isalpha():
            return made[: -len(ending)]
    return made


@lru_cache(maxsize=4096)
def _roots(text: str) -> frozenset[str]:
    words = [fold(word) for word in _WORD.findall(_POSSESSIVE.sub("", text))]
    return frozenset(_root(word) for word in words if word not in _EMPTY)


@lru_cache(maxsize=4096)
def _content(text: str) -> frozenset[str]:
    """The same without words that say little, unless there are no others."""
    words = [fold(word) for word in _WORD.findall(_POSSESSIVE.sub("", text))]
    return frozenset(_root(word) for word in words if word not in _EMPTY and stem(word) not in LIGHT) or _roots(text)


def _places(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in _WORD.findall(text)) & _PLACES


def stated_change(old: Statement, new: Statement) -> str:
    """ "replaced" if the new sentence tells of a change of what the old one states; empty otherwise."""
    if max(len(old.text), len(new.text)) > _LONGEST or new.is_addition or old.is_addition:
        return ""
    if old.is_event or old.is_negated or _PAST.search(old.text):
        return ""
    here, there = _places(old.text), _places(new.text)
    if here and there and here.isdisjoint(there):
        return ""
    return "replaced" if _names_what_was(old.text, new.text) else ""


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
    known = _roots(old)
    return _is_over(old, new, known) or any(_leaves(old, new, found, known) for found in _left_in(new))


@lru_cache(maxsize=4096)
def _left_in(text: str) -> tuple[re.Match[str], ...]:
    return tuple(found for pattern in _LEFT if (found := pattern.search(text)))


def _leaves(old: str, new: str, found: re.Match[str], known: frozenset[str]) -> bool:
    left = _roots(found["x"])
    if not left or len(left) > MAX_LEFT or not left <= known or left <= LIGHT | WIDE:
        return False
    if any(left <= _roots(before["x"]) for before in _left_in(old)):
        # Both tell of the same change.
        return False
    parts = found.groupdict()
    came = _content(parts.get("y") or "")
    if came and came <= known:
        return False
    about = (_content(found["s"]) | _content(parts.get("p") or "")) - left
    subject = _content(_subject_of(found["s"])) - left or about
    if not (about & known) - WIDE or len(subject) > MAX_SUBJECT:
        return False
    nouns = frozenset(root for root in subject if not _is_action(root, found["s"]))
    first = _content(_subject_of(old)) - left
    return (bool(nouns) and nouns <= known) or (bool(first) and first <= _roots(new))


def _is_action(root: str, text: str) -> bool:
    return any(word.lower().endswith("ing") and _root(fold(word)) == root for word in _WORD.findall(text))


def _is_over(old: str, new: str, known: frozenset[str]) -> bool:
    found = _ended_in(new)
    if found is None:
        return False
    if "y" in found.groupdict():
        named = _CALLED.search(old)
        left, came = _roots(found["x"]), _roots(found["y"])
        return bool(named and left <= known and not came <= known and _roots(named[1]) and _roots(named[1]) <= left)
    left = _content(found["x"])
    return bool(left - WIDE) and len(left) > 1 and left == _content(_subject_of(old))


@lru_cache(maxsize=4096)
def _ended_in(text: str) -> re.Match[str] | None:
    return _RENAMED.search(text) or _IS_NOW.search(text) or _OVER.search(text)


def _subject_of(text: str) -> str:
    """What stands before the verb; nothing where the verb is not known."""
    found = _VERB.search(text)
    return text[: found.start()] if found else ""
