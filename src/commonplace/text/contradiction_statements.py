"""A statement taken apart: what it is about, affirms and denies, its numbers and times, and what it says has changed.

A sentence is read word by word with small tables (contradiction_words.py); nothing is guessed about what they do not
know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeVar

from commonplace.text.contradiction_phrases import MONTHS, UNITS, WEEKDAYS, in_plainer_words, read_number, read_when
from commonplace.text.contradiction_words import (
    ADDITIVE,
    CHANGE_VERBS,
    DECIDED,
    DENYING,
    DENYING_IF_PASSIVE,
    EVENT,
    HEDGE_PHRASES,
    HEDGES,
    LABEL,
    LEAVING,
    LIGHT,
    NEW,
    PAST,
    PREDICATES,
    QUESTION,
    SCOPE,
    SINCE,
)
from commonplace.text.tokens import STOP_WORDS, fold, stem

Value = TypeVar("Value", float, str)

# Longer sentences are prose: they contain statements, but are none.
MAX_WORDS, MAX_LENGTH = 40, 2000
# A short text may state two things; of a longer one the first sentence says what it states.
MAX_SENTENCES, SHORT = 2, 110

_PIECE = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d+(?:[.,:]\d+)*(?:%|(?![\w/-]))|[#/~]?\w+(?:['’./:@+-]\w+)*#?|->|[,;:.!?()—–=]"
)
_SENTENCE = re.compile(r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!Mrs\.)(?<=[.!?])\s+|\n+")
# From when on something holds is not what it is about.
_FROM_DAY = re.compile(
    r"from (?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)? [a-z]{3,9}\.?|[a-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?)(?:,? \d{4})?"
    r" on(?:wards)?,? ",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof)\. ")
_PRONOUN = re.compile(r"(?:it|they|this|that|he|she|these|those|there)\b", re.IGNORECASE)
_BORDERS = frozenset(",;:.!?()—–=")
_WITH_UNIT = re.compile(r"(\d+(?:[.,]\d+)?)(ms|s|kb|mb|gb|tb|h|min|px|am|pm|eur|d)")
_NEGATIONS = frozenset(
    "not no never nothing none nobody don't doesn't didn't isn't aren't wasn't won't can't cannot mustn't shouldn't"
    " needn't hasn't haven't nor".split()
)
# They put one thing in the place of another; what follows is denied.
_DENYING_AFTER = frozenset({"formerly", "not", "no"})
_ENDING_CONTRAST = frozenset("but to into -> by with as and".split())
_RATHER = frozenset({("instead", "of"), ("rather", "than")})
_CHOOSING = frozenset(
    "use uses using used prefer prefers preferred choose chooses chose chosen adopt adopts adopted pick picked select"
    " selected take takes".split()
)
_PURPOSE = frozenset({"for", "as"})
PLACE = frozenset("in on at to from by with under through into via onto behind".split())
_COPULA = frozenset("is are was were be been 's".split())
_DETERMINERS = frozenset("old new the a an our my your their his her its this that all every each own".split())
_WEAK_CHANGE = frozenset("went turned brought passed handed pushed cut becomes moving updated".split())
_LEADING_TO = frozenset({"to", "into", "from", "->", "until", "back"})
_LEFT_SIDE = frozenset("the on at to bottom top upper lower far".split())
_HAVING = frozenset("has have had must means :".split())
_FULL = {
    **dict.fromkeys(("min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("sec", "secs", "seconds"), "second"),
    **dict.fromkeys(("hr", "hrs", "hours"), "hour"),
    **dict.fromkeys(("req", "reqs", "requests"), "request"),
    **dict.fromkeys(("everyone", "everybody", "anyone", "anybody"), "everybody-all"),
    "taught": "teach",
    "led": "lead",
    "written": "write",
    "kept": "keep",
    "held": "hold",
    "built": "build",
    "sent": "send",
    "paid": "pay",
    "drawn": "draw",
    "driven": "drive",
    "sold": "sell",
    "db": "database",
    "prod": "production",
    "repo": "repository",
    "repos": "repository",
    "auth": "authentication",
    "pr": "request",
    "prs": "request",
    "mode": "theme",
    "postgres": "postgresql",
}
# They are said of any change, and tell nothing about it.
_CHANGED = frozenset("now anymore longer instead again since henceforth formerly previously finally".split())
# They say how a statement is meant, not what it is about.
_EMPTY = (
    _CHOOSING
    | _CHANGED
    | frozenset(
        "always never must should currently today rather over only any more may can also too well ever been being"
        " back forward off out up down onwards away decision decided".split()
    )
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word that tells what a statement is about: its stem, as written, where, and what stands before it.

    `lead` is what stands before the phrase that it belongs to: a preposition, a verb or a border; empty at the start.
    """

    stem: str
    text: str
    place: int
    before: str
    lead: str
    is_name: bool


@dataclass(slots=True)
class Statement:
    """One sentence. `numbers` and `when` are its values by unit; `previous` and `denied` what it says holds no"
    " longer."""

    text: str
    words: list[Word] = field(default_factory=list)
    affirmed: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    choice: set[str] = field(default_factory=set)
    purpose: set[str] = field(default_factory=set)
    numbers: dict[str, set[float]] = field(default_factory=dict)
    when: dict[str, set[str]] = field(default_factory=dict)
    change: set[str] = field(default_factory=set)
    sequence: list[str] = field(default_factory=list)
    verbs: set[str] = field(default_factory=set)
    scope: str = ""
    is_negated: bool = False
    is_statement: bool = True
    is_addition: bool = False
    is_event: bool = False
    verb_at: int = -1
    subject: frozenset[str] = frozenset()
    """Everything that it is about."""
    telling: frozenset[str] = frozenset()
    """The same without verbs that say little."""


@lru_cache(maxsize=2048)
def statements_in(text: str) -> tuple[Statement, ...]:
    """The first sentences of a text that state something."""
    sentences = [part.strip() for part in _SENTENCE.split(text.strip()) if part.strip()]
    first = sentences[: MAX_SENTENCES if len(text) <= SHORT else 1]
    first = first[:1] + [sentence for sentence in first[1:] if not _PRONOUN.match(sentence)]
    read = [read_statement(sentence) for sentence in first]
    return tuple(one for one in read if one.is_statement and one.subject)


@lru_cache(maxsize=2048)
def read_statement(text: str) -> Statement:
    """Take one sentence apart."""
    made = Statement(text)
    if len(text) > MAX_LENGTH:
        made.is_statement = False
        return made
    if found := _FROM_DAY.match(text):
        made.change.add("now")
        text = text[found.end() :]
    lower = fold(text.replace("’", "'"))
    hedged = bool(HEDGE_PHRASES.search(lower)) or not HEDGES.isdisjoint(re.findall(r"[a-z.]+", lower))
    plain = in_plainer_words(LABEL.sub("", _TITLE.sub("", text.replace("’", "'"))))
    if hedged or QUESTION.search(lower) or (PAST.search(fold(plain)) and "used to" not in lower):
        made.is_statement = False
        return made
    if found := SCOPE.match(lower):
        made.scope = found[1] or found[2]
    if DECIDED.match(text):
        made.change.add("decided")
    if SINCE.search(plain):
        made.change.add("now")
        plain = SINCE.sub(" ", plain)
    if NEW.search(plain):
        made.change.add("now")
    if " at all" in lower:
        made.change.add("stop")
    made.is_addition, made.is_event = bool(ADDITIVE.search(plain)), bool(EVENT.match(fold(plain)))
    pieces = [piece for whole in _PIECE.findall(plain) for piece in _split(whole)]
    reader = _Reader(made, pieces)
    reader.read()
    if reader.affirms_after_denial():
        # "Do not use npm; use pnpm" states something, and denies something else.
        made.is_negated = False
        made.change.add("now")
        if reader.replaces_value:
            # "no longer on port 80 but on 90" denies nothing else.
            made.affirmed |= made.denied
            made.denied.clear()
    # "from port 80 to port 90" denies no port.
    made.denied -= made.affirmed if made.change and not made.is_negated else set()
    made.affirmed -= made.denied
    made.subject = frozenset(made.affirmed | made.denied)
    made.telling = made.subject - LIGHT
    made.is_statement = len(made.words) <= MAX_WORDS
    return made


def _split(piece: str) -> list[str]:
    """Units with a slash ("req/min") in their parts."""
    if found := _WITH_UNIT.fullmatch(piece.lower()):
        return [found[1], found[2]]
    parts = piece.lower().split("/")
    return parts if all(part in UNITS for part in parts) else [piece]


class _Reader:
    """Reads the words of a sentence from left to right, with what the ones before say about the next."""

    def __init__(self, made: Statement, pieces: Sequence[str]) -> None:
        self.made, self.pieces = made, pieces
        self.folded = [fold(piece) for piece in pieces]
        self.denying = self.choosing = 0
        self.aiming = self.decided = self.contrasting = False
        self.skip = 0
        self.preferring = False
        self.denied_before = self.border_at = -1
        self.stopping = self.replaces_value = False
        self.denied_values: list[tuple[dict[str, set[Any]], str, Any]] = []

    def read(self) -> None:
        for place, (piece, following) in enumerate(zip_longest(self.folded, self.folded[1:], fillvalue="")):
            if self.skip > 0:
                self.skip -= 1
                continue
            before = self.folded[place - 1] if place else ""
            if (
                self._read_value(place, piece, before, following)
                or self._read_switch(place, piece, before, following)
                or self._read_sign(place, piece, following, before)
            ):
                continue
            if piece in _COPULA:
                self.decided = False
                self._verb(place)
                continue
            if piece in PREDICATES and self.made.words:
                self._verb(place)
                self.made.verbs.add(stem(piece))
            is_word = piece not in STOP_WORDS and piece not in _EMPTY and piece[0] != "'"
            # "feature A" and "feature B"
            is_letter = len(piece) == 1 and place > 0 and self.pieces[place].isupper() and piece != "i"
            if is_word or is_letter or piece in _FULL:
                self._read_word(place, piece, before)
            elif piece in _CHANGED:
                self.made.change.add("now")

    def affirms_after_denial(self) -> bool:
        """Whether what is denied is followed by what holds instead: a word, or another value of the same unit."""
        after = self.made.words[self.denied_before :] if self.denied_before >= 0 else []
        if not self.made.is_negated or not (self.replaces_value or any(word.stem not in LIGHT for word in after)):
            return False
        for values, unit, value in self.denied_values if self.replaces_value else ():
            values[unit].discard(value)
        return True

    def _add_value(self, values: dict[str, set[Value]], unit: str, value: Value) -> None:
        values.setdefault(unit, set()).add(value)
        if self.denying > 0:
            self.denied_values.append((values, unit, value))
        elif self.denied_before >= 0 and any(known is values and its == unit for known, its, _ in self.denied_values):
            self.replaces_value = True

    def _read_switch(self, place: int, piece: str, before: str, following: str) -> bool:
        """ "on" and "off" where they say whether something is enabled, and verbs that end what is said."""
        is_state = before in _COPULA or before in ("turned", "switched", "stay", "stays", "now")
        is_last = following in _BORDERS or following in ("", "by", "in", "for", "again", "now")
        if is_state and (piece == "off" or (piece == "on" and is_last)):
            self._add_word(place, "enabled" if piece == "on" else "disabled", before)
            return True
        if piece in ("up", "down", "back") and before in _COPULA and following in ("", "again", "now", "from", "."):
            self._add_word(place, piece, before)
            return True
        if piece == "done" and before in _COPULA and (not following or following in _BORDERS):
            self._add_word(place, "finished", before)
            return True
        leaves = piece == "left" and following[:1].isalpha() and before not in _COPULA and before not in _LEFT_SIDE
        leaves = leaves or (piece in ("gave", "give", "given") and following == "up")
        passive = piece in DENYING_IF_PASSIVE and (before in _COPULA or before == "got") and following != "after"
        if leaves or (passive and following not in ("in", "for")) or stem(piece) in DENYING:
            if self.contrasting and self.denying > 0:
                # "from forbidden to allowed"
                return True
            if 0 < self.border_at < len(self.made.words) and before in _COPULA and not self.made.is_negated:
                # "The domain is acme.dev now, acme.io is gone"
                gone = {word.stem for word in self.made.words[self.border_at :]}
                self.made.denied |= gone
                self.made.affirmed -= gone
                self.made.change.add("now")
                return True
            self.stopping = before not in _COPULA
            self.made.is_negated = not self.made.is_negated
            self.made.change.add("stop")
            self._verb(place)
            self.denying = 0 if before in _COPULA or before in _NEGATIONS else 6
            self.skip = 1 if following in ("up", "down") else 0
            return True
        return False

    def _read_sign(self, place: int, piece: str, following: str, before: str) -> bool:
        """Negations, borders, and words that say what the next ones are."""
        made = self.made
        if piece == "used" and following == "to":
            made.change.add("now")
            made.is_negated = not made.is_negated
            self.skip, self.denying = 1, 6
            return True
        is_rather = (piece, following) in _RATHER or (
            piece in ("formerly", "not", "no") and before in (",", "(", "but")
        )
        if (piece == "than" and "more" in self.folded) or (piece == "to" and self.preferring):
            is_rather = True
        if is_rather or (piece == "over" and self.decided) or (piece == "from" and self._changes_to()):
            # What it was, or what was not chosen.
            self.denying, self.choosing, self.contrasting = 3 if piece == "from" else 6, 0, True
            if piece in ("instead", "rather", "formerly", "from"):
                made.change.add("now")
            self.skip = 1 if (piece, following) in _RATHER else 0
            return True
        if piece == "without":
            self.denying, self.choosing = 2, 0
            return True
        if piece in _NEGATIONS:
            if piece == "no" and following in ("longer", "more"):
                made.change.add("now")
                self._verb(place)
            self.denying, self.choosing, self.contrasting = 6, 0, self.decided and following != "longer"
            made.is_negated = made.is_negated != (not self.contrasting)
            return True
        if piece in _ENDING_CONTRAST and self.contrasting and before not in _DENYING_AFTER:
            self.denying, self.contrasting = 0, False
        if piece in _BORDERS or piece in ("but", "except", "because", "so", "and", "->"):
            self._border(piece)
            return True
        if piece in _CHOOSING:
            self.decided, self.aiming, self.choosing = True, False, 3
            self._verb(place)
            self.preferring = piece in ("prefer", "prefers", "preferred")
            return True
        if piece in _PURPOSE:
            self.aiming, self.choosing = True, 0
            self.denying = 0 if self.contrasting else self.denying
            return True
        if piece in PLACE:
            self.aiming, self.choosing = False, 0
            if made.verb_at < 0 and len(made.words) > 1 and _is_verb(before) and made.words[-1].place == place - 1:
                # "the notes live in", "the class meets in"
                made.verbs.add(made.words[-1].stem)
                self._verb(place - 1)
            return True
        return False

    def _border(self, piece: str) -> None:
        made = self.made
        if piece in _BORDERS:
            self.border_at = len(made.words) if piece in (",", ";") and made.verb_at >= 0 else -1
        if piece != "and" or self.stopping:
            if (piece in _BORDERS or piece in ("but", "and")) and made.is_negated and self.denied_before < 0:
                self.denied_before = len(made.words)
            self.denying = self.choosing = 0
            self.aiming = False
        if piece == "->":
            made.change.add("now")

    def _changes_to(self) -> bool:
        """Whether "from" stands for what something was: the sentence tells of a change."""
        if any(word in ("took", "taken", "inherits", "inherited", "over") for word in self.folded):
            return True
        return any(word in CHANGE_VERBS for word in self.folded) and not {"to", "into"}.isdisjoint(self.folded)

    def _read_word(self, place: int, piece: str, before: str) -> None:
        made = self.made
        takes_over = piece in ("took", "taken", "takes") and self._next(place) == "over"
        if (piece in CHANGE_VERBS and self._tells_change(place, piece)) or takes_over or piece in LEAVING:
            made.change.add(CHANGE_VERBS.get(piece, "person" if takes_over else "tool"))
            self._verb(place)
            if piece in LEAVING and before not in _COPULA and before not in ("got", "been"):
                self.denying, self.contrasting = 3, True
            elif piece in LEAVING and self._next(place) in ("by", "with"):
                # What was replaced.
                made.denied |= made.affirmed
                made.affirmed.clear()
            self.skip = 1 if takes_over else 0
            return
        self._add_word(place, piece, before)

    def _tells_change(self, place: int, piece: str) -> bool:
        """Verbs of many meanings tell of a change only together with what it leads to."""
        return piece not in _WEAK_CHANGE or not _LEADING_TO.isdisjoint(self.folded[place + 1 :])

    def _add_word(self, place: int, piece: str, before: str) -> None:
        made = self.made
        word = stem(_FULL.get(piece, piece))
        made.sequence.append(word)
        is_name = self.pieces[place][:1].isupper() and place > 0
        made.words.append(Word(word, piece, place, before, self._lead(place), is_name))
        (made.denied if self.denying > 0 else made.affirmed).add(word)
        if self.choosing > 0 and self.denying <= 0:
            made.choice.add(word)
        if self.aiming:
            made.purpose.add(word)
        self.denying -= 1
        self.choosing -= 1

    def _read_value(self, place: int, piece: str, before: str, following: str) -> bool:
        """A number with its unit, a date or a time; those before the verb tell what the sentence is about."""
        when, more = read_when(self.pieces[place], following, is_first=place == 0, is_dated=bool(self.made.when))
        if when:
            self.skip = more
            if not self.made.words and self.made.verb_at < 0 and not self.made.change:
                self.made.scope = self.made.scope or piece
            if self.denying <= 0 or not self.contrasting:
                for name, value in when.items():
                    self._add_value(self.made.when, name, value)
            return True
        number = read_number(piece)
        if number is None or (piece == "one" and following not in UNITS and not following):
            return False
        if self.made.verb_at < 0 and self._is_identifier(place):
            self._read_word(place, piece, before)
            return True
        unit, factor = UNITS.get(following, ("", 1.0))
        unit = "percent" if piece.endswith("%") else unit
        counts = following.isalpha() and following not in STOP_WORDS and following not in _EMPTY
        if not unit and counts and not following.endswith("ed") and stem(following) not in LIGHT:
            unit = stem(following)
        if self.denying <= 0 or not self.contrasting:
            self._add_value(self.made.numbers, unit, number * factor)
        self.skip = 1 if following in UNITS else 0
        return True

    def _is_identifier(self, place: int) -> bool:
        """Whether a number is part of a name, such as "ticket 4411 is open", and not what is said: "Node 20 is"
        " needed"."""
        rest = self.folded[place + 1 :]
        noun = self.folded[place - 1] if place else ""
        plain = noun.isalpha() and noun not in STOP_WORDS and noun not in PREDICATES and stem(noun) not in LIGHT
        if plain and noun not in PLACE and rest and (rest[0].endswith("ed") or rest[0] in PREDICATES):
            return rest[0] not in UNITS
        if not place or not rest or rest[0] in UNITS or self.folded[place - 1] in (*PLACE, *_PURPOSE):
            return False
        predicate = [
            word
            for word in rest
            if (word not in STOP_WORDS or word == "done") and word not in _COPULA and word not in _BORDERS
        ]
        has_verb = any(
            word in _COPULA or word in _HAVING or word in CHANGE_VERBS or stem(word) in LIGHT for word in rest
        )
        dated = any(word in MONTHS or word in WEEKDAYS for word in rest)
        return has_verb and (
            dated or any((word == "done" or stem(word) not in LIGHT) and word not in _EMPTY for word in predicate)
        )

    def _lead(self, place: int) -> str:
        at = place - 1
        while at >= 0 and self.folded[at] in _DETERMINERS:
            at -= 1
        return self.folded[at] if at >= 0 else ""

    def _next(self, place: int) -> str:
        return self.folded[place + 1] if place + 1 < len(self.folded) else ""

    def _verb(self, place: int) -> None:
        if self.made.verb_at < 0:
            self.made.verb_at = place


def _is_verb(word: str) -> bool:
    """Whether a word before a preposition looks like the verb of a sentence without another."""
    return (
        word in PREDICATES or word in ("live", "sit", "meet", "go") or (word.endswith("s") and word[-2:-1] not in "su")
    )
