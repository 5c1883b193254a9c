"""What a rule wants and what it rejects, as names that can be compared with an action (`command_actions.py`).

"Use pnpm, never npm" wants pnpm and rejects npm. A rejection has words that an action must all have to break the rule,
and what narrows it: a branch, a folder, an environment. What a sentence says beyond that is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from commonplace.text.known_tools import ENVIRONMENTS, SAME_NAME, is_known_tool, is_program
from commonplace.text.tokens import STOP_WORDS, fold, stem
from commonplace.text.word_lists import word_map

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
_AFTER_INSERTION = (")", "]", ",", "—", "–")
_JOINING = frozenset(("and", "or", "nor", "plus"))
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[._/@*$-]\w|\w[./]|\(\)$|\d|^--?\w|^\.")


@cache
def _words(role: str) -> frozenset[str]:
    """The words that have a part in a rule: that reject, that want, that join a place."""
    return frozenset(word_map("rule_words")[role].split())


@cache
def _stems(role: str) -> frozenset[str]:
    return frozenset(map(stem, _words(role)))


@cache
def _saying_nothing() -> frozenset[str]:
    return _words("empty") | _words("auxiliaries") | STOP_WORDS


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


def proposed_words(prompt: str) -> tuple[Word, ...]:
    """The things that a prompt proposes to use: of "Let's store the events in Kafka", Kafka and the events."""
    found: list[Word] = []
    for number, (words, _joint) in enumerate(_clauses(prompt[:_LOOKED_AT])):
        if number < _MOST_CLAUSES:
            found += _proposed_in(words)
    return tuple(dict.fromkeys(found))


def _proposed_in(words: Sequence[Word]) -> list[Word]:
    keys = [_APOSTROPHE.sub("", word.folded) for word in words]
    verb = next((place for place, key in enumerate(keys) if stem(key) in _stems("proposing")), None)
    if verb is None or not (_words("looking_back") | _words("rejects")).isdisjoint(keys[:verb]):
        return []
    ends = _words("rejects") | {"instead", "rather"}
    end = next((place for place in range(verb, len(keys)) if keys[place] in ends), None)
    head, where, _rest = _split(words[verb + 1 : end])
    # What is replaced is not proposed.
    proposed = [] if stem(keys[verb]) == stem("replace") else _telling(head)
    return [*proposed, *(word for word in _telling_of(where) if word.is_name)]


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
        goes_on = joint in _AFTER_INSERTION and words[0].folded in _words("prepositions")
        if len(held) == 2 and goes_on and _is_inserted(*held[1]):
            held[0] = ([*held[0][0], *words], held[0][1])
            if _only_stresses(held[1][0]):
                held.pop()
            continue
        if len(held) == 2:
            yield held.pop(0)
        held.append((words, joint))
    yield from held


def _only_stresses(words: Sequence[Word]) -> bool:
    """Whether an insertion rejects no more than what it stands in: "not even with --force"."""
    return "even" in [word.folded for word in words[:2]]


def _is_inserted(words: list[Word], joint: str) -> bool:
    return joint in ("(", "[", "—", "–") or (joint == "," and (words[0].folded in _JOINING or _only_stresses(words)))


def _is_name(word: str, at_start: bool) -> bool:
    folded = _APOSTROPHE.sub("", fold(word))
    if folded in _saying_nothing() or folded in _words("rejects") or folded in _words("wants"):
        return False
    if stem(folded) in _stems("days") or SAME_NAME.get(folded, folded) in ENVIRONMENTS:
        return False
    if is_known_tool(word) or _IDENTIFIER.search(word):
        return _APOSTROPHE.search(word) is None
    return any(map(str.isupper, word[1:] if at_start else word))


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
        marks = list(_marks(words, keys, _INSTEAD + _TURNED_DOWN if is_idea else _INSTEAD))
        if is_idea:
            self._read_idea(words, keys, marks)
        elif not marks:
            self._read_unmarked(words, keys, before)
        elif marks[0].what == "want" and keys[marks[0].start] == "only" and _telling(words[: marks[0].start]):
            self._only(words[: marks[0].start], words[marks[0].start + 1 :])
        else:
            self._take_marked(words, marks)

    def _read_idea(self, words: list[Word], keys: list[str], marks: list[_Mark]) -> None:
        """An idea that was turned down rejects what it names first: "Kafka, we decided against it"."""
        if not marks:
            self._reject([], words)
            return
        first = marks[0]
        speaks = keys[0] in _SPEAKERS or not _telling(words[: first.start])
        if first.what == "want" or (first.start and speaks):
            # "Use Kafka for events" was the idea, and so it is in "we ruled out Celery", "we tried Celery and dropped it".
            rejected = words[first.end :]
            self._reject([], rejected if _telling(rejected) else words[: first.start])
            return
        if first.start:
            self._reject([], words[: first.start])
        self._take_marked(words, marks)

    def _read_unmarked(self, words: list[Word], keys: list[str], before: str) -> None:
        """A list that goes on, as "never npm, yarn or bun" does, or what is said of things as such."""
        full = not set(keys).isdisjoint(_words("auxiliaries") | (_words("empty") - {"the", "a", "an"}))
        if before and not full and len(_telling(words)) <= 2:
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
        head, where, _rest = _split(words)
        if head and stem(head[0].folded) in _stems("using"):
            head = head[1:]
        telling = _telling(head)
        self.wanted += [tuple(part) for part in _listed(telling) if part]
        if not _has_name(telling):
            self.wanted.append(tuple(_telling_of(where, _MEANS)))

    def _only(self, subject: list[Word], words: list[Word]) -> None:
        """What is done only in one way: without that, it is rejected. "pnpm only" names just what is wanted."""
        way = _telling(_without_prepositions(words))
        head, where, _rest = _split(subject)
        if not way:
            # "Tests with vitest only" wants vitest.
            means = _telling_of(where, _MEANS)
            self.wanted.append(tuple(means if _has_name(means) else _telling(subject)))
            return
        narrows = tuple(_telling_of(where))
        if _telling(head):
            self.rejected.append(Rejection(tuple(_telling(head)), "do", narrows, tuple(way), is_exact=False))
        self.wanted.append(tuple(way))

    def _declare(self, words: Sequence[Word], keys: Sequence[str]) -> bool:
        """What is said of files or things as such: "Migrations are append-only", "Redis is forbidden"."""
        for place, key in enumerate(keys):
            subject = tuple(_telling(words[:place]))
            said = "-".join(keys[max(0, place - 1) : place + 1])
            if not subject:
                continue
            if key in _UNCHANGING or said in _UNCHANGING:
                self.rejected.append(Rejection(_no_kinds(subject), "change"))
            elif key in _UNTOUCHED or said in _UNTOUCHED:
                self.rejected.append(Rejection(_no_kinds(subject), "edit"))
            elif stem(key) in _stems("forbidding"):
                # "Alpine images are forbidden" names a thing; of "pushing to branches" something is done.
                self._is_noun = stem(subject[-1].folded) in _stems("kinds") and not subject[0].folded.endswith("ing")
                self._reject([], list(words[:place]), list(words[place + 1 :]))
            else:
                continue
            return True
        return False

    def _reject(self, subject: list[Word], words: list[Word], beyond: Sequence[Word] = ()) -> None:
        """What follows "never", or what it is said of: "invoices must never be renumbered"."""
        words = _without_emphasis(words)
        passive = bool(words) and words[0].folded in ("be", "been", "get")
        head, where, rest = _split(words[1:] if passive else words)
        about = _telling(subject)
        allows = bool(head) and stem(head[0].folded) in _stems("allowing")
        if about and head and (passive or allows or subject[-1].folded in _words("be")):
            thing_head, thing_where, _ = _split([*subject, *head[1:]])
            head, where = [head[0], *thing_head], [*thing_where, *where]
        elif about and not head and not where and not passive:
            head = subject
        silent = _words("empty") | _words("auxiliaries")
        where += _split(list(beyond))[1]
        for group in _alternatives([word for word in head if word.is_code or word.folded not in silent]):
            self._add(group, where, rest)

    def _add(self, head: list[Word], where: list[tuple[str, list[Word]]], rest: list[Word]) -> None:
        deed, telling = self._deed_and_thing(head, where)
        means = _telling_of(where, _MEANS | {"to", "in", "into"} if self._is_noun else _MEANS)
        required, taken = _required(deed, telling, means)
        if deed == "edit" and _stems("kinds").issuperset(stem(word.folded) for word in required):
            required = _telling_of(where)
        narrows = tuple(word for word in _telling_of(where) if word not in taken)
        is_exact = not rest and _all_names(narrows)
        self.rejected.append(Rejection(tuple(required), deed, narrows, _exceptions(rest), is_exact))

    def _deed_and_thing(self, head: Sequence[Word], where: Sequence[object]) -> tuple[Deed, list[Word]]:
        deed, plain = self._deed(head, where)
        telling = _telling(plain)
        if deed == "do" and len(telling) == 1 and not where:
            return "use", telling
        if deed == "edit" and len(telling) > 1 and stem(telling[0].folded) in _stems("there_already"):
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
            return "use", (verb in _stems("using") and thing) or plain
        if verb in _stems("editing") and thing:
            return "edit", thing
        # `pip install` is a command; "install packages" only brings them in.
        brings_in = verb in _stems("using") | _stems("allowing")
        return ("use", thing) if brings_in and (thing or where) else ("do", plain)


def _without_prepositions(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if word.folded not in _words("prepositions")]


def _without_emphasis(words: list[Word]) -> list[Word]:
    """The words after "never" without those that say nothing; "globally install" is "install globally"."""
    silent = _words("empty") - {"a", "an", "the"}
    while words and words[0].folded in silent and not words[0].is_code:
        words = words[1:]
    if len(words) > 1 and words[0].folded.endswith("ly") and not words[0].is_name:
        return [words[1], words[0], *words[2:]]
    return words


def _exceptions(condition: Sequence[Word]) -> tuple[Word, ...]:
    """The words with which something is allowed: "unless", "without"."""
    if not condition or condition[0].folded not in _EXCEPTIONS:
        return ()
    return tuple(_telling(condition[1:]))


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
    kept = [word for word in words if stem(word.folded) not in _stems("kinds")]
    return kept if _has_name(kept) else [word for word in words if word.is_name or word in kept]


def _telling_of(where: Iterable[tuple[str, list[Word]]], prepositions: Collection[str] = ()) -> list[Word]:
    """The telling words after the prepositions, or after some of them."""
    found: list[Word] = []
    for preposition, part in where:
        if not prepositions or preposition in prepositions:
            found += _telling(part)
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
        if key in _words("conditions") and key not in ("as", "so"):
            # What follows narrows what stands before; it starts nothing.
            return
        length = _phrase_length(keys[place:], rejecting)
        follows = keys[place + 1] if place + 1 < len(keys) else ""
        if length or key in _words("rejects"):
            rejects, length = True, max(1, length)
            yield _Mark(place, place + length, "reject")
        elif key == "over" and prefers:
            yield _Mark(place, place + 1, "reject")
        elif key in _words("moved") and follows == "to":
            length = 2
            yield _Mark(place, place + 2, "want")
        elif key in _words("wants") and not rejects:
            if follows not in _words("rejects") and not (key == "only" and follows in _words("wants")):
                yield _Mark(place, place + 1, "want")
            prefers = prefers or key in ("prefer", "prefers", "use", "always")
        elif key in ("but", "instead") and follows:
            rejects = False
        place += max(1, length)


def _phrase_length(keys: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> int:
    """How many words the phrase has that a clause begins with; 0 if it begins with none."""
    return next((len(phrase) for phrase in phrases if tuple(keys[: len(phrase)]) == phrase), 0)


def _split(words: Sequence[Word]) -> tuple[list[Word], list[tuple[str, list[Word]]], list[Word]]:
    """What is named first, what follows each preposition, and the condition at the end."""
    head: list[Word] = []
    where: list[tuple[str, list[Word]]] = []
    for place, word in enumerate(words):
        if word.is_code:
            pass
        elif word.folded in _words("conditions"):
            return head, where, list(words[place:])
        elif word.folded in _words("prepositions"):
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
        if word.folded in _JOINING and not word.is_code:
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
        elif word.is_name or word.folded in _JOINING or word.folded not in _saying_nothing():
            found.append(word)
    while found and not found[-1].is_name and found[-1].folded in _JOINING:
        found.pop()
    return found


def _no_kinds(words: Sequence[Word]) -> tuple[Word, ...]:
    kept = tuple(word for word in words if word.is_name or stem(word.folded) not in _stems("kinds"))
    return kept or tuple(words)
