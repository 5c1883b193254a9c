"""What a rule wants and what it rejects, as names that can be compared with an action (`command_actions.py`).

"Use pnpm, never npm" wants pnpm and rejects npm. A rejection has words that an action must all have to break the rule,
and what narrows it: a branch, a folder, an environment. What a sentence says beyond that is not judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from commonplace.text.known_tools import is_program
from commonplace.text.rule_clauses import (
    APOSTROPHE,
    clauses_of,
    joined,
    parts_of_list,
    role_stems,
    role_words,
    split_places,
    telling_words,
)
from commonplace.text.rule_clauses import (
    Word as Word,
)
from commonplace.text.tokens import stem

_LOOKED_AT = 1000
_MOST_CLAUSES = 12
Deed = Literal["use", "edit", "change", "do"]


@dataclass(frozen=True, slots=True)
class Rejection:
    """What a rule rejects.

    `deed` is what must not be done: that the thing is used, that a file is written at all (`edit`) or changed once it
    is there (`change`), or anything else, which the words then name. `where` narrows it, `unless` are words with which
    it is allowed, and `is_exact` says that nothing was left out that an action cannot show.
    """

    words: tuple[Word, ...]
    deed: Deed = "use"
    where: tuple[Word, ...] = ()
    unless: tuple[Word, ...] = ()
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class RuleStatements:
    """What a rule wants, each as the words of a name or of the beginning of a command; and what it rejects."""

    wanted: tuple[tuple[Word, ...], ...] = ()
    rejected: tuple[Rejection, ...] = ()


_INSTEAD = (("instead", "of"), ("rather", "than"), ("in", "place", "of"))
# How people say that they turned an idea down, before they name it or after; and who says it.
_SPEAKERS = frozenset(("we", "i", "they", "you"))
_TURNED_DOWN = tuple(
    tuple(phrase.split())
    for phrase in "decided against|voted against|ruled out|turned down|gave up on|dropped the idea of|dropped|abandoned"
    "|discarded|dismissed".split("|")
)
# What is said of files that may only be added to, and of those that are written by no hand.
_UNCHANGING = frozenset(("append-only", "immutable", "appendonly"))
_UNTOUCHED = frozenset(("read-only", "readonly", "frozen", "off-limits", "untouchable"))
# With these the thing itself is named, not where it is.
_MEANS = frozenset("with via through by from at on using".split())
_EXCEPTIONS = frozenset(("unless", "except", "without"))


@lru_cache(maxsize=4096)
def rule_statements(text: str, is_idea: bool = False) -> RuleStatements:
    """What a rule or constraint wants and rejects. An idea that was turned down rejects what it begins with."""
    wanted: list[tuple[Word, ...]] = []
    rejected: list[Rejection] = []
    before = ""
    for number, (words, joint) in enumerate(joined(clauses_of(text[:_LOOKED_AT]))):
        if number >= _MOST_CLAUSES:
            break
        found = _Clause(words, before if joint == "," else "", is_idea and number == 0)
        wanted += found.wanted
        rejected += found.rejected
        before = found.ends_with
    kept = tuple(one for one in rejected if one.words)
    return RuleStatements(tuple(dict.fromkeys(one for one in wanted if one)), tuple(dict.fromkeys(kept)))


def proposed_words(prompt: str) -> tuple[Word, ...]:
    """The things that a prompt proposes to use: of "Let's store the events in Kafka", Kafka and the events."""
    found: list[Word] = []
    for number, (words, _joint) in enumerate(clauses_of(prompt[:_LOOKED_AT])):
        if number < _MOST_CLAUSES:
            found += _proposed_in(words)
    return tuple(dict.fromkeys(found))


def _proposed_in(words: Sequence[Word]) -> list[Word]:
    keys = [APOSTROPHE.sub("", word.folded) for word in words]
    verb = next((place for place, key in enumerate(keys) if stem(key) in role_stems("proposing")), None)
    if verb is None or not (role_words("looking_back") | role_words("rejects")).isdisjoint(keys[:verb]):
        return []
    ends = role_words("rejects") | {"instead", "rather"}
    end = next((place for place in range(verb, len(keys)) if keys[place] in ends), None)
    head, where, _rest = split_places(words[verb + 1 : end])
    # What is replaced is not proposed.
    proposed = [] if stem(keys[verb]) == stem("replace") else telling_words(head)
    return [*proposed, *(word for word in _telling_of(where) if word.is_name)]


class _Clause:
    """One clause, read from left to right: what it says before a marker is its subject."""

    def __init__(self, words: Sequence[Word], before: str, is_idea: bool) -> None:
        self.wanted: list[tuple[Word, ...]] = []
        self.rejected: list[Rejection] = []
        self.ends_with = ""
        # An idea is named, and so is what follows "no"; what follows "never" is mostly done.
        self._is_noun = is_idea
        self._read(list(words), before, is_idea)

    def _read(self, words: list[Word], before: str, is_idea: bool) -> None:
        keys = [APOSTROPHE.sub("", word.folded) for word in words]
        marks = list(_marks(words, keys, _INSTEAD + _TURNED_DOWN if is_idea else _INSTEAD))
        if is_idea:
            self._read_idea(words, keys, marks)
        elif not marks:
            self._read_unmarked(words, keys, before)
        elif marks[0].what == "want" and keys[marks[0].start] == "only" and telling_words(words[: marks[0].start]):
            self._only(words[: marks[0].start], words[marks[0].start + 1 :])
        else:
            self._take_marked(words, marks)

    def _read_idea(self, words: list[Word], keys: list[str], marks: list[_Mark]) -> None:
        """An idea that was turned down rejects what it names first: "Kafka, we decided against it"."""
        if not marks:
            self._reject([], words)
            return
        first = marks[0]
        speaks = keys[0] in _SPEAKERS or not telling_words(words[: first.start])
        if first.what == "want" or (first.start and speaks):
            # "Use Kafka for events", "we ruled out Celery", "we tried Celery and dropped it".
            rejected = words[first.end :]
            self._reject([], rejected if telling_words(rejected) else words[: first.start])
            return
        if first.start:
            self._reject([], words[: first.start])
        self._take_marked(words, marks)

    def _read_unmarked(self, words: list[Word], keys: list[str], before: str) -> None:
        """A list that goes on, as "never npm, yarn or bun" does, or what is said of things as such."""
        full = not set(keys).isdisjoint(role_words("auxiliaries") | (role_words("empty") - {"the", "a", "an"}))
        if before and not full and len(telling_words(words)) <= 2:
            self._take(before, [], words)
        elif before != "reject":
            self._declare(words, keys)

    def _take_marked(self, words: list[Word], marks: list[_Mark]) -> None:
        """Each part of a clause from a mark to the next one; what stands before the first is its subject."""
        stops = [*(mark.start for mark in marks[1:]), len(words)]
        subject = words[: marks[0].start]
        for mark, stop in zip(marks, stops, strict=True):
            self._take(mark.what, subject, words[mark.end : stop])
            subject = []

    def _take(self, what: str, subject: list[Word], words: list[Word]) -> None:
        self.ends_with = what
        if what == "reject":
            self._reject(subject, words)
        else:
            self._want(subject, words)

    def _want(self, subject: list[Word], words: list[Word]) -> None:
        """What follows "use"; or what it is done with: "always build with gradlew"."""
        # "X must be append-only" is a demand on X.
        if self._declare([*subject, *words], [word.folded for word in (*subject, *words)]):
            return
        head, where, _rest = split_places(words)
        if head and stem(head[0].folded) in role_stems("using"):
            head = head[1:]
        telling = telling_words(head)
        self.wanted += [tuple(part) for part in parts_of_list(telling) if part]
        if not _has_name(telling):
            self.wanted.append(tuple(_telling_of(where, _MEANS)))

    def _only(self, subject: list[Word], words: list[Word]) -> None:
        """What is done only in one way: without that, it is rejected. "pnpm only" names just what is wanted."""
        way = telling_words(_without_prepositions(words))
        head, where, _rest = split_places(subject)
        if not way:
            # "Tests with vitest only" wants vitest.
            means = _telling_of(where, _MEANS)
            self.wanted.append(tuple(means if _has_name(means) else telling_words(subject)))
            return
        narrows = tuple(_telling_of(where))
        if telling_words(head):
            self.rejected.append(Rejection(tuple(telling_words(head)), "do", narrows, tuple(way), is_exact=False))
        self.wanted.append(tuple(way))

    def _declare(self, words: Sequence[Word], keys: Sequence[str]) -> bool:
        """What is said of files or things as such: "Migrations are append-only", "Redis is forbidden"."""
        for place, key in enumerate(keys):
            subject = tuple(telling_words(words[:place]))
            said = "-".join(keys[max(0, place - 1) : place + 1])
            if not subject:
                continue
            if key in _UNCHANGING or said in _UNCHANGING:
                self.rejected.append(Rejection(_no_kinds(subject), "change"))
            elif key in _UNTOUCHED or said in _UNTOUCHED:
                self.rejected.append(Rejection(_no_kinds(subject), "edit"))
            elif stem(key) in role_stems("forbidding"):
                # "Alpine images are forbidden" names a thing; of "pushing to branches" something is done.
                self._is_noun = stem(subject[-1].folded) in role_stems("kinds") and not subject[0].folded.endswith(
                    "ing"
                )
                self._reject([], list(words[:place]), list(words[place + 1 :]))
            else:
                continue
            return True
        return False

    def _reject(self, subject: list[Word], words: list[Word], beyond: Sequence[Word] = ()) -> None:
        """What follows "never", or what it is said of: "invoices must never be renumbered"."""
        words = _without_emphasis(words)
        passive = bool(words) and words[0].folded in ("be", "been", "get")
        head, where, rest = split_places(words[1:] if passive else words)
        about = telling_words(subject)
        allows = bool(head) and stem(head[0].folded) in role_stems("allowing")
        if about and head and (passive or allows or subject[-1].folded in role_words("be")):
            thing_head, thing_where, _ = split_places([*subject, *head[1:]])
            head, where = [head[0], *thing_head], [*thing_where, *where]
        elif about and not head and not where and not passive:
            head = subject
        silent = role_words("empty") | role_words("auxiliaries")
        where += split_places(beyond)[1]
        for group in _alternatives([word for word in head if word.is_code or word.folded not in silent]):
            self._add(group, where, rest)

    def _add(self, head: list[Word], where: list[tuple[str, list[Word]]], rest: list[Word]) -> None:
        deed, telling = self._deed_and_thing(head, where)
        means = _telling_of(where, _MEANS | {"to", "in", "into"} if self._is_noun else _MEANS)
        required, taken = _required(deed, telling, means)
        if deed == "edit" and role_stems("kinds").issuperset(stem(word.folded) for word in required):
            required = _telling_of(where)
        narrows = tuple(word for word in _telling_of(where) if word not in taken)
        is_exact = not rest and _all_names(narrows)
        self.rejected.append(Rejection(tuple(required), deed, narrows, _exceptions(rest), is_exact))

    def _deed_and_thing(self, head: Sequence[Word], where: Sequence[object]) -> tuple[Deed, list[Word]]:
        deed, plain = self._deed(head, where)
        telling = telling_words(plain)
        if deed == "do" and len(telling) == 1 and not where:
            return "use", telling
        if deed == "edit" and len(telling) > 1 and stem(telling[0].folded) in role_stems("there_already"):
            # "Never edit applied migrations": a new one is another matter.
            return "change", telling[1:]
        return deed, telling

    def _deed(self, head: Sequence[Word], where: Sequence[object]) -> tuple[Deed, list[Word]]:
        """What must not be done, and what it is not done to: without the verb, unless that tells what is done."""
        plain = _without_prepositions(head)
        if not plain or plain[0].is_name:
            return "use", plain
        verb, thing = stem(plain[0].folded), plain[1:]
        if self._is_noun:
            return "use", (verb in role_stems("using") and thing) or plain
        if verb in role_stems("editing") and thing:
            return "edit", thing
        # `pip install` is a command; "install packages" only brings them in.
        brings_in = verb in role_stems("using") | role_stems("allowing")
        return ("use", thing) if brings_in and (thing or where) else ("do", plain)


def _without_prepositions(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if word.folded not in role_words("prepositions")]


def _without_emphasis(words: list[Word]) -> list[Word]:
    """The words after "never" without those that say nothing; "globally install" is "install globally"."""
    silent = role_words("empty") - {"a", "an", "the"}
    while words and words[0].folded in silent and not words[0].is_code:
        words = words[1:]
    if len(words) > 1 and words[0].folded.endswith("ly") and not words[0].is_name:
        return [words[1], words[0], *words[2:]]
    return words


def _exceptions(condition: Sequence[Word]) -> tuple[Word, ...]:
    """The words with which something is allowed: "unless", "without"."""
    if not condition or condition[0].folded not in _EXCEPTIONS:
        return ()
    return tuple(telling_words(condition[1:]))


def _all_names(words: Iterable[Word]) -> bool:
    return all(word.is_name for word in words)


def _has_name(words: Iterable[Word]) -> bool:
    return any(word.is_name for word in words)


def _required(deed: Deed, telling: list[Word], means: list[Word]) -> tuple[list[Word], list[Word]]:
    """The words that an action must have to break the rule, and those of them that say with what it is done."""
    required = _without_kinds(telling)
    if deed != "edit" and not _has_name(telling) and _has_name(means):
        # "Globally" says how, and an action shows whether it is done so.
        kept = required if deed == "do" else [word for word in required if word.folded.endswith("ly")]
        names = [word for word in means if word.is_name]
        return [*kept, *names], names
    return (required, []) if required else (means, means)


def _without_kinds(words: list[Word]) -> list[Word]:
    """Of "the Stripe library" and "the Stripe API" the name is enough; `cargo test` is a command."""
    if not _has_name(words) or is_program(words[0].folded):
        return words
    kept = [word for word in words if stem(word.folded) not in role_stems("kinds")]
    return kept if _has_name(kept) else [word for word in words if word.is_name or word in kept]


def _telling_of(where: Iterable[tuple[str, list[Word]]], prepositions: Collection[str] = ()) -> list[Word]:
    """The telling words after the prepositions, or after some of them."""
    found: list[Word] = []
    for preposition, part in where:
        if not prepositions or preposition in prepositions:
            found += telling_words(part)
    return found


class _Mark(NamedTuple):
    """Where something begins to be wanted or rejected: the place of the marker, the one after it, and which it is."""

    start: int
    end: int
    what: str


def _marks(words: Sequence[Word], keys: Sequence[str], rejecting: Sequence[tuple[str, ...]]) -> Iterator[_Mark]:
    """The marks of a clause; `rejecting` are phrases that reject."""
    rejects = prefers = False
    place = 0
    while place < len(keys):
        key = keys[place]
        if words[place].is_code:
            place += 1
            continue
        if key in role_words("conditions") and key not in ("as", "so"):
            # What follows narrows what stands before; it starts nothing.
            return
        length = _phrase_length(keys[place:], rejecting)
        follows = keys[place + 1] if place + 1 < len(keys) else ""
        if length or key in role_words("rejects"):
            rejects, length = True, max(1, length)
            yield _Mark(place, place + length, "reject")
        elif key == "over" and prefers:
            yield _Mark(place, place + 1, "reject")
        elif key in role_words("moved") and follows == "to":
            length = 2
            yield _Mark(place, place + 2, "want")
        elif key in role_words("wants") and not rejects:
            if follows not in role_words("rejects") and not (key == "only" and follows in role_words("wants")):
                yield _Mark(place, place + 1, "want")
            prefers = prefers or key in ("prefer", "prefers", "use", "always")
        elif key in ("but", "instead") and follows:
            rejects = False
        place += max(1, length)


def _phrase_length(keys: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> int:
    """How many words the phrase has that a clause begins with; 0 if it begins with none."""
    return next((len(phrase) for phrase in phrases if tuple(keys[: len(phrase)]) == phrase), 0)


def _alternatives(words: Sequence[Word]) -> list[list[Word]]:
    """What is said of each of several things: "edit a or b" is "edit a" and "edit b"."""
    parts = parts_of_list(words)
    if len(parts) < 2:
        return parts
    first = parts[0]
    lead = [] if not first or first[0].is_name or len(first) < 2 else first[:1]
    return [first, *([*lead, *part] for part in parts[1:] if part)]


def _no_kinds(words: Sequence[Word]) -> tuple[Word, ...]:
    kept = tuple(word for word in words if word.is_name or stem(word.folded) not in role_stems("kinds"))
    return kept or tuple(words)
