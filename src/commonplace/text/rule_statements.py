"""What a rule wants and what it rejects, as names that can be compared with an action (`command_actions.py`).

"Use pnpm, never npm" wants pnpm and rejects npm. A rejection has words that an action must all have to break the rule,
and what narrows it: a branch, a folder, an environment. What a sentence says beyond that is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from commonplace.text.known_tools import ENVIRONMENTS, SAME_NAME, is_known_tool, is_program
from commonplace.text.rule_words import (
    ALLOWING,
    AUXILIARIES,
    BE,
    CONDITIONS,
    DAYS,
    EDITING,
    EMPTY,
    EXCEPTIONS,
    FORBIDDING,
    INSTEAD,
    JOINING,
    KINDS,
    MEANS,
    MOVED,
    PREPOSITIONS,
    REJECTS,
    SAYING_NOTHING,
    SPEAKERS,
    THERE_ALREADY,
    TURNED_DOWN,
    UNCHANGING,
    UNTOUCHED,
    USING,
    WANTS,
)
from commonplace.text.tokens import STOP_WORDS, fold, stem

_LOOKED_AT = 1000
_MOST_CLAUSES = 12
Deed = Literal["use", "edit", "change", "do"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a rule. A `name` is of a thing: code, a known tool, or written like one."""

    text: str
    is_name: bool = False
    is_code: bool = False

    @property
    def folded(self) -> str:
        return fold(self.text)


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


_TOKEN = re.compile(
    r"`(?P<code>[^`\n]{1,80})`|(?P<word>[\w@#$*~.+/\\:'’-]*[\w/*+#](?:\(\))?)|(?P<stop>[,;:!?()\[\]—–\n.])"
)
_APOSTROPHE = re.compile(r"[’']")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[._/@*$-]\w|\w[./]|\(\)$|\d|^--?\w|^\.")


@lru_cache(maxsize=4096)
def rule_statements(text: str, is_idea: bool = False) -> RuleStatements:
    """What a rule or constraint wants and rejects. An idea that was turned down rejects what it begins with."""
    wanted: list[tuple[Word, ...]] = []
    rejected: list[Rejection] = []
    before = ""
    for number, (words, joint) in enumerate(_joined(_clauses(text[:_LOOKED_AT]))):
        if number >= _MOST_CLAUSES:
            break
        found = _Clause(words, before if joint == "," else "", is_idea and number == 0)
        wanted += found.wanted
        rejected += found.rejected
        before = found.ends_with
    kept = tuple(one for one in rejected if one.words)
    return RuleStatements(tuple(dict.fromkeys(one for one in wanted if one)), tuple(dict.fromkeys(kept)))


# Verbs with which a prompt proposes to use something, and those after which it asks about what was done.
_PROPOSING = frozenset(
    map(
        stem,
        "use using add install try adopt introduce integrate switch move migrate port replace rewrite store put send"
        " host build implement create bring go pick choose deploy run cache queue".split(),
    )
)
_LOOKING_BACK = frozenset("why did was were who when had".split())


def proposed_words(prompt: str) -> tuple[Word, ...]:
    """The things that a prompt proposes to use: of "Let's store the events in Kafka", Kafka and the events."""
    found: list[Word] = []
    for number, (words, _joint) in enumerate(_clauses(prompt[:_LOOKED_AT])):
        keys = [_APOSTROPHE.sub("", word.folded) for word in words]
        verb = next((place for place, key in enumerate(keys) if stem(key) in _PROPOSING), None)
        if number >= _MOST_CLAUSES or verb is None or _LOOKING_BACK & set(keys[:verb]) or REJECTS & set(keys[:verb]):
            continue
        end = next((place for place in range(verb, len(keys)) if keys[place] in REJECTS | {"instead", "rather"}), None)
        head, where, _rest = _split(words[verb + 1 : end])
        # What is replaced is not proposed.
        found += [] if stem(keys[verb]) == stem("replace") else _telling(head)
        found += [word for _preposition, part in where for word in _telling(part) if word.is_name]
    return tuple(dict.fromkeys(found))


def _clauses(text: str) -> Iterator[tuple[list[Word], str]]:
    """The clauses of a text as their words, and what joins each to the one before."""
    words: list[Word] = []
    joint = ""
    text = re.sub(r"\s-+\s", " — ", text)
    matches = list(_TOKEN.finditer(text))
    for match in matches:
        if match["stop"]:
            if words:
                yield words, joint
                words = []
            joint = match["stop"]
        elif match["code"]:
            words.append(Word(match["code"].strip(), is_name=True, is_code=True))
        else:
            plain = match["word"].rstrip(".:'’")
            at_start = not words and (joint in ("", ".", "!", "?", "\n"))
            if plain:
                words.append(Word(plain, _is_name(plain, at_start)))
            if match["word"][len(plain) :] and not match["word"].endswith(("'", "’")):
                yield words, joint
                words, joint = [], match["word"][-1]
    if words:
        yield words, joint


def _joined(clauses: Iterable[tuple[list[Word], str]]) -> Iterator[tuple[list[Word], str]]:
    """The clauses, with one that goes on after an insertion as a whole: "never push (or force-push) to main"."""
    held: list[tuple[list[Word], str]] = []
    for words, joint in clauses:
        if len(held) == 2 and joint in _AFTER_INSERTION and words[0].folded in PREPOSITIONS and _is_inserted(held[1]):
            held[0] = ([*held[0][0], *words], held[0][1])
            if _only_stresses(held[1][0]):
                held.pop()
            continue
        if len(held) == 2:
            yield held.pop(0)
        held.append((words, joint))
    yield from held


_AFTER_INSERTION = (")", "]", ",", "—", "–")


def _only_stresses(words: Sequence[Word]) -> bool:
    """Whether an insertion rejects no more than what it stands in: "not even with --force"."""
    return "even" in [word.folded for word in words[:2]]


def _is_inserted(clause: tuple[list[Word], str]) -> bool:
    words, joint = clause
    return joint in ("(", "[", "—", "–") or (joint == "," and (words[0].folded in JOINING or _only_stresses(words)))


def _is_name(word: str, at_start: bool) -> bool:
    folded = _APOSTROPHE.sub("", fold(word))
    if folded in REJECTS or folded in WANTS or folded in EMPTY or folded in AUXILIARIES or folded in STOP_WORDS:
        return False
    if stem(folded) in DAYS or folded in ENVIRONMENTS or SAME_NAME.get(folded) in ENVIRONMENTS:
        return False
    if is_known_tool(word) or _IDENTIFIER.search(word):
        return "'" not in word and "’" not in word
    inner = word[1:] if at_start else word
    return any(letter.isupper() for letter in inner)


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
        keys = [_APOSTROPHE.sub("", word.folded) for word in words]
        marks = list(_marks(words, keys, INSTEAD + TURNED_DOWN if is_idea else INSTEAD))
        if not marks:
            if is_idea:
                self._reject([], words)
            elif before and len(_telling(words)) <= 2 and not set(keys) & (AUXILIARIES | EMPTY - {"the", "a", "an"}):
                # A list that goes on: "never npm, yarn or bun".
                self._take(before, [], words)
            elif not before or before != "reject":
                self._declare(words, keys)
            return
        first = marks[0][0]
        if is_idea and marks[0][2] == "want":
            # "Use Kafka for events" was the idea.
            self._reject([], words[marks[0][1] :])
            return
        if is_idea and first and (keys[0] in SPEAKERS or not _telling(words[:first])):
            # "We ruled out Celery", "we tried Celery and dropped it"
            rejected = words[marks[0][1] :]
            self._reject([], rejected if _telling(rejected) else words[:first])
            return
        if is_idea and first:
            self._reject([], words[:first])
        subject = words[:first]
        if marks[0][2] == "want" and keys[first] == "only" and _telling(subject):
            self._only(subject, words[first + 1 :])
            return
        for place, (_start, end, what) in enumerate(marks):
            stop = marks[place + 1][0] if place + 1 < len(marks) else len(words)
            self._take(what, subject if place == 0 else [], words[end:stop])

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
        head, where, _rest = _split(words)
        means = [word for preposition, part in where if preposition in MEANS for word in part]
        verb = head[0] if head and stem(head[0].folded) in USING else None
        telling = _telling(head[1:] if verb else head)
        for part in _listed(telling):
            if part:
                self.wanted.append(tuple(part))
        if means and not any(word.is_name for word in telling):
            self.wanted.append(tuple(_telling(means)))

    def _only(self, subject: list[Word], words: list[Word]) -> None:
        """What is done only in one way: without that, it is rejected. "pnpm only" names just what is wanted."""
        way = _telling([word for word in words if word.folded not in PREPOSITIONS])
        head, where, _rest = _split(subject)
        if not way:
            # "Tests with vitest only" wants vitest.
            means = [word for preposition, part in where if preposition in MEANS for word in _telling(part)]
            self.wanted.append(tuple(means if any(word.is_name for word in means) else _telling(subject)))
            return
        narrows = tuple(word for _preposition, part in where for word in _telling(part))
        if _telling(head):
            self.rejected.append(Rejection(tuple(_telling(head)), "do", narrows, tuple(way), is_exact=False))
        self.wanted.append(tuple(way))

    def _declare(self, words: Sequence[Word], keys: Sequence[str]) -> bool:
        """What is said of files or things as such: "Migrations are append-only", "Redis is forbidden"."""
        for place, key in enumerate(keys):
            subject = tuple(_telling(words[:place]))
            if not subject:
                continue
            if key in UNCHANGING or (key == "only" and place and keys[place - 1] == "append"):
                self.rejected.append(Rejection(_no_kinds(subject), "change"))
                return True
            if key in UNTOUCHED or (key == "limits" and place and keys[place - 1] == "off"):
                self.rejected.append(Rejection(_no_kinds(subject), "edit"))
                return True
            if stem(key) in FORBIDDING:
                # "Alpine images are forbidden" names a thing; of "pushing to branches" something is done.
                self._is_noun = stem(subject[-1].folded) in KINDS and not subject[0].folded.endswith("ing")
                self._reject([], list(words[:place]), list(words[place + 1 :]))
                return True
        return False

    def _reject(self, subject: list[Word], words: list[Word], beyond: Sequence[Word] = ()) -> None:
        """What follows "never", or what it is said of: "invoices must never be renumbered"."""
        while words and words[0].folded in EMPTY - {"a", "an", "the"} and not words[0].is_code:
            words = words[1:]
        if len(words) > 1 and words[0].folded.endswith("ly") and not words[0].is_name:
            # "Never globally install" is "never install globally".
            words = [words[1], words[0], *words[2:]]
        passive = bool(words) and words[0].folded in ("be", "been", "get")
        words = words[1:] if passive else words
        keys = [word.folded for word in words]
        was = subject[-1].folded if subject else ""
        told_of = bool(_telling(subject)) and (passive or was in BE or (keys[:1] and stem(keys[0]) in ALLOWING))
        head, where, rest = _split(words)
        if told_of and head:
            verb, thing = head[0], [*subject, *head[1:]]
            thing_head, thing_where, _ = _split(thing)
            head, where = [verb, *thing_head], [*thing_where, *where]
        elif not told_of and _telling(subject) and not head and not where:
            head = subject
        head_words = [word for word in head if word.is_code or word.folded not in EMPTY | AUXILIARIES]
        where += _split(list(beyond))[1]
        for group in _alternatives(head_words):
            self._add(group, where, rest)

    def _add(self, head: list[Word], where: list[tuple[str, list[Word]]], rest: list[Word]) -> None:
        deed: Deed = "use"
        verb = stem(head[0].folded) if head and not head[0].is_code and not self._is_noun else ""
        plain = [word for word in head if word.folded not in PREPOSITIONS]
        if verb in EDITING and len(plain) > 1 and not plain[0].is_name:
            deed, plain = "edit", plain[1:]
        elif self._is_noun and len(plain) > 1 and stem(plain[0].folded) in USING and not plain[0].is_name:
            plain = plain[1:]
        elif (verb in USING or verb in ALLOWING) and (len(plain) > 1 or where) and not plain[0].is_name:
            # `pip install` is a command; "install packages" only brings them in.
            plain = plain[1:]
        elif plain and not plain[0].is_name and not self._is_noun:
            deed = "do"
        telling = _telling(plain)
        if deed == "do" and len(telling) == 1 and not where:
            deed = "use"
        if deed == "edit" and len(telling) > 1 and stem(telling[0].folded) in THERE_ALREADY:
            # "Never edit applied migrations": a new one is another matter.
            deed, telling = "change", telling[1:]
        names = [word for word in telling if word.is_name]
        naming = MEANS | {"to", "in", "into"} if self._is_noun else MEANS
        means = _telling([word for preposition, part in where if preposition in naming for word in part])
        narrows = _telling([word for preposition, part in where for word in part])
        # Of "the Stripe library" the name is enough; `cargo test` is a command.
        command = bool(telling) and is_program(telling[0].folded)
        dropped = () if command or not names else [word for word in telling if stem(word.folded) in KINDS]
        own = [word for word in names if stem(word.folded) not in KINDS]
        # "The Stripe API" too.
        dropped = [word for word in telling if stem(word.folded) in KINDS] if own and not command else dropped
        required = [word for word in telling if word not in dropped]
        if deed != "edit" and not names and any(word.is_name for word in means):
            wanted = [word for word in means if word.is_name]
            # "Globally" says how, and an action shows whether it is done so.
            kept = required if deed == "do" else [word for word in required if word.folded.endswith("ly")]
            required = [*kept, *wanted]
            narrows = [word for word in narrows if word not in wanted]
        elif not required and means:
            required, narrows = means, [word for word in narrows if word not in means]
        if deed == "edit" and all(stem(word.folded) in KINDS for word in required):
            required = [word for _preposition, part in where for word in _telling(part)]
        unless = tuple(_telling(rest[1:])) if rest and rest[0].folded in EXCEPTIONS else ()
        exact = not rest and all(word.is_name for word in narrows)
        self.rejected.append(Rejection(tuple(required), deed, tuple(narrows), unless, exact))


def _marks(
    words: Sequence[Word], keys: Sequence[str], rejecting_phrases: Sequence[tuple[str, ...]]
) -> Iterator[tuple[int, int, str]]:
    """Where something begins to be wanted or rejected: the place of the marker, the one after it, and which it is."""
    rejecting = False
    place = 0
    preferring = False
    while place < len(keys):
        key = keys[place]
        if words[place].is_code:
            place += 1
            continue
        if key in CONDITIONS and key not in ("as", "so"):
            # What follows narrows what stands before; it starts nothing.
            return
        length = next((len(one) for one in rejecting_phrases if tuple(keys[place : place + len(one)]) == one), 0)
        if length:
            yield place, place + length, "reject"
            rejecting = True
            place += length
            continue
        if key == "over" and preferring:
            yield place, place + 1, "reject"
        elif key in REJECTS:
            yield place, place + 1, "reject"
            rejecting = True
        elif key in MOVED and keys[place + 1 : place + 2] == ["to"]:
            yield place, place + 2, "want"
            place += 1
        elif key in WANTS and not rejecting:
            follows = keys[place + 1] if place + 1 < len(keys) else ""
            if follows not in REJECTS and not (key == "only" and follows in WANTS):
                yield place, place + 1, "want"
            preferring = preferring or key in ("prefer", "prefers", "use", "always")
        elif key in ("but", "instead") and rejecting and place + 1 < len(keys):
            rejecting = False
        place += 1


def _split(words: Sequence[Word]) -> tuple[list[Word], list[tuple[str, list[Word]]], list[Word]]:
    """What is named first, what follows each preposition, and the condition at the end."""
    head: list[Word] = []
    where: list[tuple[str, list[Word]]] = []
    for place, word in enumerate(words):
        if word.is_code:
            pass
        elif word.folded in CONDITIONS:
            return head, where, list(words[place:])
        elif word.folded in PREPOSITIONS:
            where.append((word.folded, []))
            continue
        if where:
            where[-1][1].append(word)
        else:
            head.append(word)
    return head, where, []


def _alternatives(words: Sequence[Word]) -> list[list[Word]]:
    """What is said of each of several things: "edit a or b" is "edit a" and "edit b"."""
    parts = _listed(words)
    if len(parts) < 2:
        return parts
    first = parts[0]
    lead = [] if not first or first[0].is_name or len(first) < 2 else first[:1]
    return [first, *([*lead, *part] for part in parts[1:] if part)]


def _listed(words: Sequence[Word]) -> list[list[Word]]:
    """The parts of a list joined by "and" and "or"."""
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.folded in JOINING and not word.is_code:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _telling(words: Sequence[Word]) -> list[Word]:
    """The words that say something, those of a command in backticks one by one."""
    found: list[Word] = []
    for word in words:
        if word.is_code and " " in word.text:
            found += [replace(word, text=part) for part in word.text.split()]
        elif word.is_name or word.folded in JOINING or word.folded not in SAYING_NOTHING:
            found.append(word)
    while found and not found[-1].is_name and found[-1].folded in JOINING:
        found.pop()
    return found


def _no_kinds(words: Sequence[Word]) -> tuple[Word, ...]:
    kept = tuple(word for word in words if word.is_name or stem(word.folded) not in KINDS)
    return kept or tuple(words)
