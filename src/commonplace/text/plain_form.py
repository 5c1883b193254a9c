"""The plain form of a statement: the same with other capitals, another spacing and other punctuation.

Statements with the same plain form have the same fingerprint, by which the store finds them. PostgreSQL makes it itself
(`text_fingerprint` in its migrations). A change here needs a migration of both engines.
"""

from __future__ import annotations

import hashlib
import re

# Characters of a text that its fingerprint is made of.
READ = 2_000

# A word that is written with a capital letter because of where it stands or what it is, such as Fridays.
_CAPITAL = re.compile(r"\b[A-Z][a-z]+\b")
# Marks between words; a question mark tells a question from a statement.
_PUNCTUATION = re.compile(
    r"(?<![.,;:!\"'“”„’)\]])[.,;:!\"'“”„’)\]]++(?=\s|$)|(?:(?<=\s)|^)[\"'“”„(\[]+|(?<=\s)[–—-]+(?=\s)"
)
# All that the plain form may leave out or change, and more: marks and spaces wherever they stand.
_BETWEEN_WORDS = re.compile(r"[^a-z0-9\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fff\u3001-\U0010ffff]+")
_SMALL = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def plain_form(text: str) -> str:
    """A statement without spacing and punctuation, ordinary words in lower case, but not userId and C++."""
    words = " ".join(_PUNCTUATION.sub("", text).split())
    return _CAPITAL.sub(lambda word: word[0].lower(), words)


def fingerprint(text: str) -> str:
    """A short digest of the letters and digits of a text: the same for all texts of one plain form, and for others."""
    letters = _BETWEEN_WORDS.sub("", text[:READ].translate(_SMALL))
    return hashlib.md5(letters.encode(), usedforsecurity=False).hexdigest()[:16]
