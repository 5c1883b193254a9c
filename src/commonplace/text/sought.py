"""What a question seeks beside its topic: a time or a number, and whose words. And which texts tell such a thing.

English only: in other languages nothing is sought, and the topic decides alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from commonplace.text.query import plain_words

Sort = Literal["time", "number"]

_WHEN = re.compile(r"\W*(?:when|how long|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|old)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|since|recently|just|weekend|day|week|month|year|morning"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|summer|autumn|winter|spring|\d{4}|\d\d?(?:st|nd|rd|th))s?\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|couple|several)\b",
    re.IGNORECASE,
)
_I = re.compile(r"(?<![\w/.-])(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)(?![\w/-])")
_YOU_SAID = re.compile(
    r"\b(?:(?:did|had) you|you (?:recommended|suggested|said|told|mentioned|advised|proposed|explained|gave|wrote)"
    r"|your (?:advice|answer|reply|recommendation|suggestion|proposal|explanation)s?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_QUESTION = re.compile(r"\W*(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_ABOUT_QUESTIONS = re.compile(r"\b(?:ask(?:s|ed|ing)?|questions?)\b", re.IGNORECASE)
# A text that asks for so much of its length only asks. It asks the same if it shares so many of its words with a
# question, and those are so many of the question's.
_ONLY, _SAME, _COVERED = 0.9, 0.6, 0.5

_TOLD = {"time": _TIME, "number": _NUMBER}


def sort_sought(question: str) -> Sort | None:
    """The sort of thing that an answer has to tell, if the question says so."""
    if _WHEN.match(question):
        return "time"
    return "number" if _HOW_MANY.search(question) else None


def tells(text: str, sort: Sort) -> bool:
    """Whether a text tells anything of that sort."""
    return _TOLD[sort].search(text) is not None


def whose_words(question: str) -> Literal["user", "assistant"] | None:
    """Who said what is asked about: "did I" is about what a user said, "you suggested" about what an assistant did."""
    if _YOU_SAID.search(question):
        return "assistant"
    return "user" if _I.search(question) else None


def is_about_questions(question: str) -> bool:
    """Whether a question is about what somebody asked."""
    return _ABOUT_QUESTIONS.search(question) is not None


def only_asks(text: str) -> bool:
    """Whether a text is a question and nothing else, with its question mark or without."""
    if "?" in text:
        return asking_share(text) >= _ONLY
    return _QUESTION.match(text) is not None and len(_SENTENCE_END.split(text.strip())) == 1


def asks_the_same(text: str, tokens: Collection[str]) -> bool:
    """Whether a text only asks, and with nearly the same words as a question of these tokens."""
    if not only_asks(text):
        return False
    own = {word.token for word in plain_words(text)}
    shared = len(own.intersection(tokens))
    return shared >= _SAME * len(own) and shared >= _COVERED * len(tokens)


def asking_share(text: str) -> float:
    """How much of a text asks something, from 0 to 1."""
    if "?" not in text:
        return 0.0
    sentences = _SENTENCE_END.split(text)
    asked = sum(len(sentence) for sentence in sentences if sentence.rstrip().endswith("?"))
    return asked / max(1, sum(map(len, sentences)))
