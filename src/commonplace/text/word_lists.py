"""Lists of words that others can read and extend: a file each in `words/`, read when it is first used.

A file has one word or entry on each line, and lines with # for people. `a = b` says what a stands for.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("words")


@cache
def word_lines(name: str) -> tuple[str, ...]:
    """The lines of a list, in their order."""
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def word_set(name: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(word_lines(name))


@cache
def word_map(name: str) -> dict[str, str]:
    """What each word of a list stands for."""
    found: dict[str, str] = {}
    for line in word_lines(name):
        word, _, meaning = line.partition(" = ")
        found[word] = meaning
    return found


@cache
def any_of(name: str) -> str:
    """An expression for the words and phrases of a list, as whole words, whichever apostrophe they are written with."""
    phrases = sorted(word_lines(name), key=len, reverse=True)
    listed = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in phrases)
    return rf"(?<!\w)(?:{listed})(?!\w)"


@cache
def phrase_pattern(name: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """What finds the words and phrases of a list, in small or capital letters, between two expressions."""
    return re.compile(f"{before}{any_of(name)}{after}", re.IGNORECASE)
