"""What the words of two statements settle by themselves: they say the same, give another number, or deny each other.

Only what leaves no doubt: the same words in the same order, but for a number or one negation. Everything else is for
the model (memory/judge.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from commonplace.text.dates import MONTHS, NUMBERS, WEEKDAYS
from commonplace.text.tokens import STOP_WORDS, fold, stem

Guarded = Literal["same", "number", "denied", "adds", ""]

# From this cosine on, two statements whose words differ may say the same, if each has few words of its own.
SAME_MEANING, OTHER_WORDS = 0.9, 2
# With fewer words the order says who does what to whom: "Ada helps Bob", "Bob helps Ada".
FEWEST_MOVED = 3

_NEGATIONS = frozenset("not no never cannot without neither nor none nobody nothing".split())
# They say how firmly something is meant, or that it goes on, and tell nothing apart.
_EMPHASIS = frozenset("always please currently today longer anymore any more whatsoever ever also again too".split())
_NUMBER_WORDS = {word: str(number) for word, number in NUMBERS.items() if word not in ("a", "an", "couple", "few")} | {
    "once": "1",
    "twice": "2",
    "twelve": "12",
    "fifteen": "15",
    "twenty": "20",
    "thirty": "30",
    "sixty": "60",
}
_DAYS = {name: unit for unit, names in (("weekday", WEEKDAYS), ("month", MONTHS)) for name in names}
_NUMBER = re.compile(r"([$€£#v]?)(\d+(?:[.,:/-]\d+)*)(st|nd|rd|th|[a-z%°]{0,4})")
# Where one part of a sentence ends and the next begins.
_PART_ENDS = frozenset(",;:.!(–—")
_AROUND = ".,;:!?\"'“”„’‘()[]{}*_`"


class Value(NamedTuple):
    """A number, a day or a month in a statement: of what, and which."""

    unit: str
    value: str


class Reading(NamedTuple):
    """A statement taken apart: the words it is about, in order, its values, and whether it denies them."""

    words: tuple[str, ...]
    values: tuple[Value, ...]
    is_negated: bool
    # The words that are written like names, in order.
    names: tuple[str, ...]
    # The words after the first negation.
    denied: frozenset[str]

    @property
    def affirmed(self) -> frozenset[str]:
        """The words before the first negation."""
        return frozenset(self.words) - self.denied


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Reading:
    """Take a statement apart."""
    words: list[str] = []
    values: list[Value] = []
    names: list[str] = []
    negations = 0
    before_negation: int | None = None
    for place, written in enumerate(text.replace("’", "'").split()):
        bare = written.strip(_AROUND)
        word = fold(bare)
        if not word and not written.strip(_AROUND + "-–—"):
            continue
        if word in _NEGATIONS or word.endswith("n't"):
            negations += 1
            before_negation = len(words) if before_negation is None else before_negation
        elif (value := _value(word)) is not None:
            values.append(value)
        elif not word:
            # A mark that stands alone, such as an arrow or a plus, may mean something.
            words.append(written)
        elif word not in STOP_WORDS and word not in _EMPHASIS:
            words.append(stem(word))
            if place and bare[:1].isupper():
                names.append(stem(word))
    denied = frozenset() if before_negation is None else frozenset(words[before_negation:])
    return Reading(tuple(words), tuple(values), negations % 2 == 1, tuple(names), denied)


def _value(word: str) -> Value | None:
    day = word if word in _DAYS else word.removesuffix("s")
    if day in _DAYS:
        return Value(_DAYS[day], day)
    if word in _NUMBER_WORDS:
        return Value("", _NUMBER_WORDS[word])
    found = _NUMBER.fullmatch(word)
    if found is None:
        return None
    sign, digits, unit = found.groups()
    ordinal = unit in ("st", "nd", "rd", "th")
    return Value(sign + ("" if ordinal else unit), digits.replace(",", ""))


def guard(old: str, new: str) -> Guarded:
    """What the words of two statements settle; empty if the words leave it open."""
    one, other = read_statement(old), read_statement(new)
    if goes_on(old, new) or goes_on(new, old):
        return "adds"
    if not one.words or len(one.values) != len(other.values):
        return ""
    in_order = one.words == other.words
    if one.is_negated != other.is_negated:
        return "denied" if in_order and one.values == other.values else ""
    if one.values == other.values:
        if one.affirmed & other.denied and other.affirmed & one.denied:
            # "Use tabs, not spaces", "Use spaces, not tabs"
            return "denied" if sorted(one.words) == sorted(other.words) else ""
        return "same" if in_order or (not one.is_negated and is_moved(one.words, other.words)) else ""
    units = [value.unit for value in one.values] == [value.unit for value in other.values]
    return "number" if in_order and units else ""


def goes_on(short: str, long: str) -> bool:
    """Whether a statement repeats a shorter one whole and goes on with a part of its own: it says no less."""
    whole, text = short.casefold().strip().rstrip(".!"), long.casefold().strip()
    rest = text[len(whole) :].lstrip()
    return bool(whole) and text.startswith(whole) and rest[:1] in _PART_ENDS and bool(rest.strip(_AROUND))


def is_moved(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a part of a statement stands at the other end: "Node 20 is required for all builds"."""
    if len(words) != len(others) or len(words) < FEWEST_MOVED:
        return False
    twice = [*words, *words]
    return any(twice[start : start + len(words)] == list(others) for start in range(1, len(words)))


def may_be_paraphrase(old: str, new: str, cosine: float) -> bool:
    """Whether two statements say the same in other words, if the model finds that they do not contradict each other.

    Their numbers, names and negations are the same, and each has a few words of its own: one that only has more says
    more.
    """
    if cosine < SAME_MEANING:
        return False
    one, other = read_statement(old), read_statement(new)
    mine, its = set(one.words) - set(other.words), set(other.words) - set(one.words)
    if one.values != other.values or one.is_negated != other.is_negated or one.names != other.names:
        return False
    return 0 < len(mine) <= OTHER_WORDS and 0 < len(its) <= OTHER_WORDS
