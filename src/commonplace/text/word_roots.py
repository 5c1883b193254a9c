"""What words two wordings of one thing have in common: their roots, the word that says what it is, and its kind.

A root is a stem without what makes a noun of a verb, so that "signing", "signed" and "signer" are the same.
"""

from __future__ import annotations

import re
from functools import lru_cache

from commonplace.text.statement_words import FAMILIES, LIGHT
from commonplace.text.tokens import STOP_WORDS, fold, stem

WORD = re.compile(r"[#@/~]?\w+(?:[-./@:+]\w+)*%?")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?\b")
_ENDINGS = ("ment", "ation", "ion", "ing", "er", "or", "al", "e", "s")
_SHORTEST = 4
# Nouns of what is done with something, and the verbs that say the same of it.
_SAME_ROOT = {
    **dict.fromkeys(("retention", "retain", "retained", "kept", "keeps"), "keep"),
    **dict.fromkeys(("login", "logins"), "log"),
    "prs": "pr",
    **dict.fromkeys(("sent", "sends", "sending"), "send"),
    **dict.fromkeys(("built", "builds", "building"), "build"),
    **dict.fromkeys(("written", "writes", "writing"), "write"),
}
_OWNERSHIP = "ownership|responsibility|maintenance|administration|leadership|stewardship"
_EMPTY = STOP_WORDS | frozenset(
    "we our us they all now new use uses using been also own every each any is are team teams project".split()
    + _OWNERSHIP.split("|")
)
_OWNERSHIP_OF = re.compile(rf"^(?:the )?(?:{_OWNERSHIP}) (?:of|for) ", re.IGNORECASE)
_OF = re.compile(r"^(.+?) (?:for|of|in|on) (.+)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def root_of(word: str) -> str:
    """A stem without what makes a noun of a verb: signing, signed and signer are the same."""
    if word in _SAME_ROOT:
        return _SAME_ROOT[word]
    made = stem(word)
    if made in FAMILIES:
        return made
    for ending in _ENDINGS:
        if made.endswith(ending) and len(made) - len(ending) >= _SHORTEST and made.isalpha():
            return made[: -len(ending)]
    return made


@lru_cache(maxsize=4096)
def roots_in(text: str) -> frozenset[str]:
    """The roots of all words that are no stop words."""
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", text))]
    return frozenset(root_of(word) for word in words if word not in _EMPTY)


@lru_cache(maxsize=4096)
def content_in(text: str) -> frozenset[str]:
    """The same without words that say little, unless there are no others."""
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", text))]
    telling = [word for word in words if word not in _EMPTY and stem(word) not in LIGHT]
    return frozenset(map(root_of, telling)) or roots_in(text)


def related(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a word of the one is a thing of the same kind as one of the other."""
    kinds = frozenset().union(*(FAMILIES.get(word, frozenset()) for word in some))
    return any(kinds & FAMILIES.get(word, frozenset()) for word in others)


def head_of(text: str) -> str:
    """The root of the word that says what something is: "secrets for the CI jobs", "CI secrets"."""
    text = _OWNERSHIP_OF.sub("", text)
    found = _OF.match(text)
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", found[1] if found else text))]
    return next((root_of(word) for word in reversed(words) if word not in _EMPTY), "")
