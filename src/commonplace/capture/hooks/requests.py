"""Requests: what a prompt asks for, in a line. A greeting, "Here is a log:" or the first of a list say too little."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.extract import says_little
from commonplace.text.sentences import sentences
from commonplace.text.summarise import title_of

LONGEST = 100
_LOOKED_AT = 20_000
_FEWEST_WORDS = 3
_MOST_FILLERS = 5
_FILLERS = frozenset(
    (
        "a ahead all alright and awesome be can carry commit continue cool correct do done exactly excellent fine"
        " go going good great hello hey hi it just keep let lgtm looks me more nice next no nope now of off ok okay"
        " on one perfect please proceed really resume right run same see so start stop sure thank thanks that the then"
        " this too try very wait well wonderful works yeah yep yes you again lets sounds approved approve ja nein"
        " weiter danke gut bitte mach si sí oui non"
    ).split()
)
_REPLIES = (
    "no nope nah yes yeah yep ok okay sure right correct wrong not wait actually instead rather hm hmm but and or so"
    " then also thanks thank great good perfect nice fine keep leave stop same both neither either that this it never"
    " nein ja doch lieber stattdessen"
)
_REPLY = re.compile(
    rf"\W*(?:{'|'.join(_REPLIES.split())}|don['’]t|the (?:first|second|latter|former))\b", re.IGNORECASE
)
_LONGEST_REPLY = 12
_ENTRY = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
# How Claude Code writes down that a command of its own was called.
_TAG = re.compile(r"</?command-[a-z]{1,20}>")


def request_of(text: str) -> str:
    """The first line that says something, with what follows if it is thin or a list, as far as there is room."""
    told, listed = "", False
    for line in _outside_code(_TAG.sub(" ", text[:_LOOKED_AT])):
        entry = _ENTRY.match(line) is not None
        if told and not (_is_thin(told) or (listed and entry)):
            break
        joint = "; " if listed and entry else " "
        for said in sentences(_ENTRY.sub("", line)):
            if not told and not entry and is_filler(said):
                continue
            if told and len(told) + len(said) > LONGEST and not _is_thin(told):
                return title_of(told, LONGEST)
            told, joint = f"{told}{joint if told else ''}{said}", " "
        listed = entry
    return title_of(told, LONGEST) or title_of(text, LONGEST)


def is_filler(text: str) -> bool:
    """Whether a few words say nothing by themselves: yes, continue, thanks."""
    words = re.findall(r"\w+", text.casefold().replace("'", "").replace("’", ""))
    return len(words) <= _MOST_FILLERS and _FILLERS.issuperset(words)


def is_reply(text: str) -> bool:
    """Whether a prompt only answers what was said before it: "no, keep 15 minutes", "run it again"."""
    return says_little(text) or (len(text.split()) <= _LONGEST_REPLY and _REPLY.match(text) is not None)


def _is_thin(told: str) -> bool:
    return told.endswith(":") or len(told.split()) < _FEWEST_WORDS


def _outside_code(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif line.strip() and not fenced:
            yield line
