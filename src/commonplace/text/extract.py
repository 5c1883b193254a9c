"""Extracting: the sentence of a text that says most about something."""

from __future__ import annotations

import re
from collections.abc import Collection

from commonplace.text.summarise import shorten
from commonplace.text.tokens import index_text

_READ = 6_000
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{80,}`", re.DOTALL)
_LEAST, _MOST = 20, 300
_MARKUP = re.compile(r"^(?:[#>*\-\s]+|\d+[.)]\s+|\[\w+\]\s+|(?:Thought|Summary):\s+)")


def telling_sentence(text: str, about: Collection[str], most: int = _MOST) -> str:
    """The sentence that holds most of the words `about` (index tokens), the first among equals; never code."""
    prose = _CODE.sub("\n", text[:_READ]) or text[:_READ]
    best, best_score = "", -1.0
    for position, sentence in enumerate(_SENTENCE_END.split(prose)):
        sentence = _MARKUP.sub("", sentence).strip()
        if len(sentence) < _LEAST and best:
            continue
        words = set(index_text(sentence).split())
        score = len(words & set(about)) - 0.01 * position - (0.5 if len(sentence) < _LEAST else 0.0)
        if sentence and score > best_score:
            best, best_score = sentence, score
    return shorten(best or text, most)


def tokens_about(text: str) -> frozenset[str]:
    """The index tokens of a text, to compare sentences with."""
    return frozenset(index_text(text).split())
