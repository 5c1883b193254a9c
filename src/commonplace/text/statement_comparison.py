"""Whether two statements contradict each other: a hint from their words, not a verdict.

Precision comes first: a warning that is often wrong is soon ignored. So two statements disagree only if they are about
the same thing in nearly the same words, and one denies what the other affirms, or they give different numbers, or
choose differently for the same purpose.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from commonplace.text.tokens import STOP_WORDS, fold, stem

# How much of their words two statements share (of all words of both) before each kind of disagreement is looked for.
SAME_WORDS, MOST_WORDS = 0.75, 0.6
# Longer texts are prose: they contain statements, but are none.
MOST_TELLING = 40
_DENIES, _CHOOSES = 6, 3

_PIECE = re.compile(r"\w+(?:['’.-]\w+)*|[,;:.!?()—–]")
_BORDERS = frozenset(",;:.!?()—–") | {"but", "instead", "except", "unless", "because", "since", "so"}
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DATE = re.compile(r"\d{4}-\d{2}|\d{1,2}/\d{1,2}")
_COUNTED = {word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NEGATIONS = frozenset(
    "not no never nothing don't doesn't didn't isn't aren't won't can't cannot mustn't shouldn't needn't avoid forbid"
    " forbids forbidden disallow disallows disallowed disable disables disabled deny denies denied reject rejects"
    " rejected prohibit prohibited ban banned deprecated stop stopped".split()
)
_VERBS = frozenset(
    "use uses using used prefer prefers preferred choose chooses chose chosen adopt adopts adopted pick picked select"
    " selected".split()
)
# Like "over", they put one thing in the place of another; what follows is denied.
_RATHER = frozenset({("instead", "of"), ("rather", "than")})
_PURPOSE = frozenset({"for", "as"})
_PLACE = frozenset({"in", "on", "at", "to", "when", "with", "from", "by", "where", "while", "until", "before", "after"})
# They say nothing about what a statement is about.
_EMPTY = _VERBS | frozenset(
    "always never must should now currently today enable enables enabled allow allows allowed permit permitted require"
    " requires required raise raised lower lowered increase increased reduce reduced change changed bump bumped set"
    " instead rather over only longer anymore".split()
)
_FULL = {
    **dict.fromkeys(("min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("sec", "secs", "seconds"), "second"),
    **dict.fromkeys(("hr", "hrs", "hours"), "hour"),
    **dict.fromkeys(("req", "reqs", "requests"), "request"),
    "db": "database",
    "prod": "production",
    "repo": "repository",
}
# Wide enough for several choices at once: TypeScript and Tailwind are both "for the frontend".
_WIDE = frozenset(
    map(
        stem,
        "project projects code codebase app application service services frontend backend api web website team"
        " everything development production staging repository work new".split(),
    )
)
# Words of statements that allow one value only, such as "the default branch is main".
_UNIQUE = frozenset(map(stem, "default primary main current official preferred standard production canonical".split()))
_COPULA = frozenset({"is", "are"})


def contradiction_kind(old: Statement, new: Statement) -> str:
    """ "opposite", "number" or "choice": how two statements contradict each other; empty if they do not."""
    shared, either = old.subject & new.subject, old.subject | new.subject
    if not shared or max(len(old.subject), len(new.subject)) > MOST_TELLING:
        return ""
    alike = len(shared) / len(either)
    within = shared in (old.subject, new.subject)
    if _denies(old, new, alike) or _denies(new, old, alike) or (alike >= SAME_WORDS and old.negated != new.negated):
        return "opposite"
    if within and alike >= SAME_WORDS and old.numbers and new.numbers and old.numbers != new.numbers:
        return "number"
    return "choice" if old.chooses_otherwise(new) or old.names_otherwise(new) else ""


def _denies(one: Statement, other: Statement, alike: float) -> bool:
    """Whether one denies just what the other affirms, and both are about the same or about a choice."""
    if not one.denied or not one.denied <= other.affirmed:
        return False
    return alike >= MOST_WORDS or one.denied <= other.choice


class Statement:
    """A statement taken apart: what it is about, affirms, denies and chooses, and its numbers."""

    def __init__(self, text: str) -> None:
        pieces = [fold(piece.replace("’", "'")) for piece in _PIECE.findall(text)]
        self.numbers = frozenset() if _DATE.search(text) else frozenset(_NUMBER.findall(text)) | _counted(pieces)
        self.negated = False
        self.affirmed: set[str] = set()
        self.denied: set[str] = set()
        self.choice: set[str] = set()
        self.purpose: set[str] = set()
        self.named: frozenset[str] | None = None
        self._read(pieces)
        self.subject = frozenset(self.affirmed | self.denied)
        self.affirmed -= self.denied

    def _read(self, pieces: list[str]) -> None:
        denying = choosing = 0
        aiming = decided = contrasting = False
        for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
            if piece in _NEGATIONS or (decided and (piece == "over" or (piece, following) in _RATHER)):
                denying, choosing, contrasting = _DENIES, 0, decided
                self.negated = self.negated or not contrasting
            elif piece in _BORDERS:
                denying = choosing = 0
                aiming = False
            elif piece in _VERBS:
                decided, aiming, choosing = True, False, _CHOOSES
            elif piece in _PURPOSE:
                aiming, choosing = True, 0
                # "Use tabs, not spaces for indentation" denies the spaces; "never use tabs for ..." the whole of it.
                denying = 0 if contrasting else denying
            elif piece in _PLACE:
                aiming, choosing = False, 0
            elif piece in _COPULA:
                decided = False
                if self.named is None and denying <= 0:
                    self.named = frozenset(self.affirmed)
            elif _is_telling(piece):
                word = stem(_FULL.get(piece, piece))
                (self.denied if denying > 0 else self.affirmed).add(word)
                if choosing > 0 and denying <= 0:
                    self.choice.add(word)
                if aiming:
                    self.purpose.add(word)
                denying -= 1
                choosing -= 1

    def chooses_otherwise(self, other: Statement) -> bool:
        """Whether both choose, for the same narrow purpose, different things."""
        if not self.choice or not other.choice or self.choice & other.choice:
            return False
        shared = self.purpose & other.purpose
        return bool(shared - _WIDE) and len(shared) >= SAME_WORDS * len(self.purpose | other.purpose)

    def names_otherwise(self, other: Statement) -> bool:
        """Whether both say what the one default, main or current thing is, and say different things."""
        if not self.named or self.named != other.named or not self.named & _UNIQUE or len(self.named) < 2:
            return False
        mine, its = self.affirmed - self.named, other.affirmed - self.named
        return bool(mine and its) and not mine & its and max(len(mine), len(its)) <= _CHOOSES


def _counted(pieces: list[str]) -> frozenset[str]:
    return frozenset(_COUNTED[piece] for piece in pieces if piece in _COUNTED)


def _is_telling(piece: str) -> bool:
    return not (piece in STOP_WORDS or piece in _EMPTY or piece in _COUNTED or piece[0].isdigit())
