"""The clauses of a rule as words: which are names of things, which join a place, and which say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from commonplace.text.known_tools import ENVIRONMENTS, SAME_NAME, is_known_tool
from commonplace.text.tokens import STOP_WORDS, fold, stem
from commonplace.text.word_lists import word_map

_TOKEN = re.compile(
    r"`(?P<code>[^`\n]{1,80})`|(?P<word>[\w@#$*~.+/\\:'’-]*[\w/*+#](?:\(\))?)|(?P<stop>[,;:!?()\[\]—–\n.])"
)
APOSTROPHE = re.compile(r"[’']")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[._/@*$-]\w|\w[./]|\(\)$|\d|^--?\w|^\.")
_AFTER_INSERTION = (")", "]", ",", "—", "–")
_JOINING = frozenset(("and", "or", "nor", "plus"))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a rule. A `name` is of a thing: code, a known tool, or written like one."""

    text: str
    is_name: bool = False
    is_code: bool = False

    @property
    def folded(self) -> str:
        return fold(self.text)


@cache
def role_words(role: str) -> frozenset[str]:
    """The words that have a part in a rule: that reject, that want, that join a place."""
    return frozenset(word_map("rule_words")[role].split())


@cache
def role_stems(role: str) -> frozenset[str]:
    return frozenset(map(stem, role_words(role)))


@cache
def _saying_nothing() -> frozenset[str]:
    return role_words("empty") | role_words("auxiliaries") | STOP_WORDS


def clauses_of(text: str) -> Iterator[tuple[list[Word], str]]:
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


def joined(clauses: Iterable[tuple[list[Word], str]]) -> Iterator[tuple[list[Word], str]]:
    """The clauses, with one that goes on after an insertion as a whole: "never push (or force-push) to main"."""
    held: list[tuple[list[Word], str]] = []
    for words, joint in clauses:
        goes_on = joint in _AFTER_INSERTION and words[0].folded in role_words("prepositions")
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
    folded = APOSTROPHE.sub("", fold(word))
    if folded in _saying_nothing() or folded in role_words("rejects") or folded in role_words("wants"):
        return False
    if stem(folded) in role_stems("days") or SAME_NAME.get(folded, folded) in ENVIRONMENTS:
        return False
    if is_known_tool(word) or _IDENTIFIER.search(word):
        return APOSTROPHE.search(word) is None
    return any(map(str.isupper, word[1:] if at_start else word))


def split_places(words: Sequence[Word]) -> tuple[list[Word], list[tuple[str, list[Word]]], list[Word]]:
    """What is named first, what follows each preposition, and the condition at the end."""
    head: list[Word] = []
    where: list[tuple[str, list[Word]]] = []
    for place, word in enumerate(words):
        if word.is_code:
            pass
        elif word.folded in role_words("conditions"):
            return head, where, list(words[place:])
        elif word.folded in role_words("prepositions"):
            where.append((word.folded, []))
            continue
        if where:
            where[-1][1].append(word)
        else:
            head.append(word)
    return head, where, []


def parts_of_list(words: Sequence[Word]) -> list[list[Word]]:
    """The parts of a list joined by "and" and "or"."""
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.folded in _JOINING and not word.is_code:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def telling_words(words: Sequence[Word]) -> list[Word]:
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
