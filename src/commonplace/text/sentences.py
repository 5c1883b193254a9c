"""The sentences of a text that say most of it, chosen by their words; nothing is invented."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from commonplace.text.summarise import shorten
from commonplace.text.tokens import STOP_WORDS, stem, words_of

LONGEST = 400
# A sentence of fewer words says too little by itself.
_FEWEST = 3
# What is read of one text, and how many sentences compete.
_READ, _MOST = 20_000, 2_000
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_LEADER = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,3}[.)]\s+)")
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without code and the signs of Markdown."""
    plain = _FENCE.sub("\n", text[:_READ])
    parts = (" ".join(_LEADER.sub("", part).split()) for part in _END.split(plain))
    return [shorten(part, LONGEST) for part in parts if part]


def main_sentences(texts: Sequence[str], characters: int) -> list[str]:
    """The sentences whose words come up most often in all the texts, in their order, within so many characters."""
    told = list(dict.fromkeys(sentence for text in texts for sentence in sentences(text)))[-_MOST:]
    meant = [{stem(word) for word in words_of(sentence) if word not in STOP_WORDS} for sentence in told]
    spread = Counter(word for words in meant for word in words)
    weight = [
        sum(spread[word] - 1 for word in words) / (len(words) + 3) if len(words) >= _FEWEST else -1.0 for words in meant
    ]
    chosen: list[int] = []
    room = characters
    covered: set[str] = set()
    for place in sorted(range(len(told)), key=lambda place: (-weight[place], place)):
        repeats = bool(meant[place]) and len(meant[place] & covered) > 0.8 * len(meant[place])
        if len(told[place]) <= room and not (repeats and chosen):
            chosen.append(place)
            covered |= meant[place]
            room -= len(told[place]) + 1
    return [told[place] for place in sorted(chosen)]
