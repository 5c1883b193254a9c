"""What somebody says in their own words, and what they only show: pasted text, code, quotations, other documents.

A prompt often carries a mail, a page or a log, and an answer often repeats what a file says. None of that is stated by
who sends it. Everything here goes line by line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

_FENCE = re.compile(r"\s*(```|~~~)")
# Markup that a program put around what it adds to a prompt, and markup that was pasted.
_OPENS = re.compile(r"<([a-z][\w-]{0,60})(?:\s[^<>\n]{0,300})?>")
_CLOSES = re.compile(r"</([a-z][\w-]{0,60})>")
# A slash command of an editor, whose arguments a person typed.
_TYPED_TAGS = ("command-args", "command-message", "command-name")
# A line that points at a text which stands beside it: "summarise this page", "answer the mail below".
_POINTS = re.compile(
    r"\b(?:th(?:is|ese) (?!is\b|are\b|was\b|were\b|has\b|have\b|way\b|time\b|repo|project|package\b|code ?base)\w+"
    r"|following|below|above|attached|pasted|dies(?:e[rsnm]?)? \w+|folgende\w*|unten|oben|anbei"
    r"|ce(?:tte|t|s)? \w+|ci-dessous|suivante?s?|est[eao]s? \w+|siguientes?|seguintes?|quest[oaie] \w+)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$)")
_QUOTED_LINE = re.compile(r"\s*(?:>|\|)")
_INDENTED = re.compile(r"(?: {4,}+|\t)(?!(?:[-*+•]|\d{1,2}[.)])\s)\S")
_LIST_ENTRY = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s")


_REPORTED = re.compile(
    r"\b(?:says?|said|wrote|writes|told|tells|asks (?:for|to|you|us|that)|according to|claims?|mention(?:s|ed)|heard"
    r"|states|quotes?)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”„«][^\"“”„«»\n]{3,300}[\"“”»]|(?<!\w)['‘][^'‘’\n]{8,300}['’](?!\w)")


def is_reported(sentence: str) -> bool:
    """Whether a sentence tells what somebody else or another text says, or quotes it."""
    return bool(_REPORTED.search(sentence) or _QUOTED.search(sentence))


def without_markup(text: str) -> str:
    """A text without what stands between tags: a program's report, a reminder, pasted HTML."""
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for closing in _CLOSES.finditer(text):
        ends[closing[1]].append(closing.start())
    kept: list[str] = []
    at = 0
    for tag in _OPENS.finditer(text):
        if tag.start() < at or tag[1] in _TYPED_TAGS:
            continue
        after = bisect_left(ends[tag[1]], tag.end())
        if after < len(ends[tag[1]]):
            kept.append(text[at : tag.start()])
            at = ends[tag[1]][after] + len(tag[1]) + 3
    return "\n".join([*kept, text[at:]])


def own_paragraphs(prompt: str) -> list[str]:
    """The paragraphs of a prompt that its writer may have written for it.

    Where a line points at a text beside it, only that line and those before it in its paragraph.
    """
    paragraphs = _paragraphs(_without_fences(without_markup(prompt)))
    if sum(map(len, paragraphs)) > 1:
        for lines in paragraphs:
            for number, line in enumerate(lines):
                if _POINTS.search(line):
                    return ["\n".join(lines[: number + 1])]
    return ["\n".join(lines) for lines in paragraphs]


def shown_beside(prompt: str) -> str:
    """What a prompt only shows: all of it but the paragraphs that its writer may have written for it."""
    own = {line for paragraph in own_paragraphs(prompt) for line in paragraph.splitlines()}
    return "\n".join(line for line in prompt.splitlines() if line not in own)


def own_answer(answer: str) -> str:
    """An answer without code, quoted lines, and a document that it shows after a line with a colon, to its end."""
    lines = _without_fences(answer)
    kept: list[str] = []
    for number, line in enumerate(lines):
        if _QUOTED_LINE.match(line) or (_INDENTED.match(line) and not _in_list(kept)):
            continue
        if line.rstrip().endswith(":") and not _LIST_ENTRY.match(line) and _begins_document(lines[number + 1 :]):
            break
        kept.append(line)
    return "\n".join(kept)


def _without_fences(text: str) -> list[str]:
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or fence == mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            kept.append(line)
    return kept


def _paragraphs(lines: Sequence[str]) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [lines for lines in paragraphs if lines]


def _in_list(lines: Sequence[str]) -> bool:
    """Whether a list goes on: a line that is indented below an entry belongs to it."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return bool(_LIST_ENTRY.match(last)) or last.startswith(("  ", "\t"))


def _begins_document(lines: Sequence[str]) -> bool:
    """Whether what follows a line with a colon has a heading or a label of its own right away: another's text."""
    following = next((line for line in lines if line.strip()), "")
    labelled = following.rstrip().endswith(":") and not _LIST_ENTRY.match(following)
    return labelled or _HEADING.match(following) is not None
