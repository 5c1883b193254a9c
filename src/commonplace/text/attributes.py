"""Attributes: what a sentence says of which attribute of something, and whether that is what a question asks for.

"Mira took over the billing service" tells the owner of the billing service, and so does "Contact for the billing
service: Mira"; "Whom do I ask about the billing service?" asks for it (query.py). The sentences are a table that can
be read (attribute_phrases.py); what does not fit one of them tells nothing.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from commonplace.text.attribute_phrases import ATTRIBUTES, READ_FIRST, WITH_NOUN
from commonplace.text.dates import MONTHS, WEEKDAYS
from commonplace.text.query import PROSE_WORD, RequestedAttribute, spell_out
from commonplace.text.tokens import STOP_WORDS, fold, stem

# Longer sentences are prose.
_LONGEST = 200
MAX_VALUE_WORDS = 6
_SHORT = 4

# A sentence with one of these states nothing: a plan, a doubt, a question, the past. Then how a sentence is announced.
_HEDGES = frozenset(
    "might could would if unless perhaps maybe consider considers considered considering evaluate evaluating propose"
    " proposed proposal idea suggest suggested suggests asked asks whether todo example examples e.g compare tried try"
    " wonder hope hopes hoped looked plans thinking discuss discussed".split()
)

_HEDGE_PHRASES = re.compile(
    r"\b(?:plan(?:s|ned|ning)? to|want(?:s|ed)? \w+ to|want(?:s|ed)? to|would like|can (?:change|turn|switch"
    r"|be changed)"
    r"|(?:users?|you|customers?) can|for example|ask \w+ whether|open question|to discuss)\b"
)

_QUESTION = re.compile(
    r"\?\s*$|^(?:who|what|when|where|why|how|which|should|shall|could|does|did|do we|is there|are there)\b.*\?",
    re.DOTALL,
)

_PAST = re.compile(
    r"\b(?:yesterday|last (?:year|month|week)\b(?=.*\bwas\b)|(?:in|until) (?:19|20)\d\d\b|until last"
    r"|was called .* before"
    r"|before (?:that|\w+ we were))|^the (?:old|first|second|previous) "
    r"|^(?:before|until|prior to|up to) [^,;]{1,40}\b(?:was|were|had|used)\b(?!.*\b(?:is|are|now)\b)"
)

_LABEL = re.compile(
    r"^(?:(?:reminder|for the record|as said before|note(?: that)?|decision|decided|heads-up|fyi|update"
    r"|(?:new )?rule|fact"
    r"|important|agreed|as discussed|we (?:agreed|decided|will) (?:that|to|on)?|(?:it is|it's) (?:decided"
    r"|agreed) that)\b[:,]?\s*)+",
    re.IGNORECASE,
)

_TOKEN = re.compile(r"[\w'-]+|->|:|=")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MONTH = f"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_DAY = rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?"
# What stands before a statement and says only how it is meant, or from when on it holds.
_LEAD = re.compile(
    rf"^(?:(?:from {_DAY}(?: on(?:wards)?)?|until {_DAY}|as of [^,:]{{3,20}}|since [^,:]{{3,20}}(?=,)|starting {_DAY}"
    r"|from (?:now|today|next week|this \w+)(?: on)?|going forward|in (?:the )?future|by default|as far as we know"
    r"|heads[ -]?up|fyi|just so you know|note(?: that)?|decision|decided|update|change of plan|news|correction|small"
    r" change|we (?:decided|agreed) (?:that|to)|it was decided that|finished the (?:move|migration|switch)"
    rf"|after the \w+|since (?:today|yesterday|{'|'.join(WEEKDAYS)}|this \w+|last \w+))\b[:,]? *)+",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r",? ?\b(?:now|currently|nowadays|these days|already|finally|officially|again|still|from now on|as of today"
    r"|as of now|as of (?:this|last|next) \w+|since (?:this morning|today|yesterday|this \w+|last \w+)|this week"
    r"|last week|last night|this morning|today|for good|for the time being|at the moment|henceforth|meanwhile"
    r"|same as last year|as agreed|as before)\b",
    re.IGNORECASE,
)
# Where a value ends: what follows says what it was, why, or something else.
_TAIL = (
    r"(?:,? (?:instead of|rather than|because|since|so that|as|after|but|not|no longer|formerly|previously|and no"
    r" longer) .*| ?[,;(–—].*)?[.! ]*$"
)
# A subject has no verb of its own.
_CLAUSE = re.compile(
    r"\b(?:and|but|or|that|which|who)$|\b(?:no longer|isn't|doesn't|won't|left|dropped|because|moved|switched)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no longer|not|never|isn't|doesn't|nobody|none)\b", re.IGNORECASE)
_NOT_SUBJECT = frozenset({"it", "they", "this", "that", "he", "she", "we", "you", "there", "everything", "nothing"})


class StatedAttribute(NamedTuple):
    """What a sentence tells: which attribute, of what (its words), and its value."""

    attribute: str
    subject: frozenset[str]
    value: frozenset[str]


@lru_cache(maxsize=8192)
def stated_attribute(text: str) -> StatedAttribute | None:
    """What the first sentence of a text tells of an attribute; None for questions, doubts, plans and the past."""
    sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    lower = fold(sentence)
    if len(sentence) > _LONGEST or _QUESTION.search(lower) or _HEDGE_PHRASES.search(lower):
        return None
    if not _HEDGES.isdisjoint(re.findall(r"[a-z.]+", lower)) or _PAST.search(lower):
        return None
    plain = _plainer(sentence)
    words = frozenset(_TOKEN.findall(plain.lower()))
    for name in READ_FIRST:
        for pattern, needed in _patterns(name):
            if needed and needed.isdisjoint(words):
                continue
            if (found := pattern.match(plain)) and (made := _stated(name, found)) is not None:
                return made
    return None


def _stated(name: str, found: re.Match[str]) -> StatedAttribute | None:
    subject, value = found["s"].strip(), found["v"].strip()
    if (
        subject.lower() in _NOT_SUBJECT
        or _CLAUSE.search(subject)
        or _DENIED.search(value)
        or len(value.split()) > MAX_VALUE_WORDS
    ):
        return None
    if name in ("owner", "place", "date") and re.match(r"(?:an?|some|any|no)\b", subject, re.IGNORECASE):
        return None
    about, new_value = _stems(subject) | _stems(found.groupdict().get("p") or ""), _stems(value)
    if not about or not new_value or len(about) > 8:
        return None
    return StatedAttribute(name, about, new_value)


def answers(requested: RequestedAttribute, stated: StatedAttribute | None) -> bool:
    """Whether a sentence tells just what a question asks for."""
    if stated is None or stated.attribute != requested.attribute:
        return False
    return requested.subject <= stated.subject and stated.subject - requested.subject <= requested.vocabulary


def mentions(requested: RequestedAttribute, text: str) -> bool:
    """Whether a text holds the words of what is asked about: cheap, to leave out the rest before it is read."""
    lower = text.lower()
    # A stem may end in another letter than the word: pricing, price; library, librari.
    return all((word[:-1] if len(word) > _SHORT else word) in lower for word in requested.subject)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in map(fold, PROSE_WORD.findall(text)) if word not in STOP_WORDS)


def _plainer(sentence: str) -> str:
    text = sentence.replace("’", "'").rstrip(" .!")
    text = spell_out(text)
    for _turn in range(2):
        text = _LEAD.sub("", _LABEL.sub("", text))
    return " ".join(_ADVERBS.sub("", text).split())


@cache
def _patterns(name: str) -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    """The sentences of an attribute as expressions, each with words of which a sentence must have one to be tried."""
    attribute = ATTRIBUTES[name]
    named = WITH_NOUN if attribute.nouns else ()
    made = [(one, _required(attribute.nouns)) for one in named] + [
        (one, _required(one)) for one in attribute.statements
    ]
    return tuple((_compiled(one, attribute.nouns, attribute.value), words) for one, words in made)


def _required(template: str) -> frozenset[str]:
    """Words of which every sentence of a template has one; none if that cannot be told from how it is written."""
    plain, before = template, ""
    while plain != before:
        before, plain = plain, re.sub(r"\((?:\?:)?[^()]*\)[?*]", " ", plain)
    parts = [_TOKEN.findall(part.replace("(?:", " ").lower()) for part in re.split("[SVONP]", plain)]
    words = max(parts, key=lambda part: sum(map(len, part)))
    return frozenset() if "[" in plain or "\\" in plain else frozenset(words)


def _compiled(template: str, nouns: str, value: str) -> re.Pattern[str]:
    some = value or r"[^,;()]+?"
    parts = {
        "S": r"(?P<s>[^,;:()]+?)",
        "V": rf"(?P<v>{some})",
        "O": r"(?:[^,;:()]+?)",
        "N": nouns,
        "P": r"(?P<p>[^,;:()]+?)",
    }
    pattern = re.sub("[SVONP]", lambda found: parts.pop(found[0]) if found[0] in "SVP" else parts[found[0]], template)
    return re.compile(rf"{pattern}{_TAIL}", re.IGNORECASE)
