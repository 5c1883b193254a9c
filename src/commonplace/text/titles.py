"""Titles and short forms of long texts: a title, one shortened line, a truncated text."""

from __future__ import annotations

import re
import unicodedata

from commonplace.text.redact import redact

_READ = 20_000
_FENCE = re.compile(r"\s*(?:```|~~~)")
_EMPTY = re.compile(r"[\s\-=*_#>|+~`.:]*")
_COMMENT = re.compile(r"<!--(?:(?!<!--).){0,2000}?-->", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,50}?---[ \t]*(?:\n|\Z)")
_LEADER = re.compile(r"\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?:\s+\"[^\"]{0,200}\")?\)")
_EMPHASIS = re.compile(r"(\*{1,3}|~~|`{1,2})(?=\S)([^*~`]{1,300})(?<=\S)\1")
_SENTENCE = re.compile(r"[^\n]*?[.!?。！？](?=\s|\Z|(?<=[。！？]))")


def title_of(text: str, limit: int = 80) -> str:
    """The first meaningful line without its Markdown, its first sentence if it is long; empty if there is none."""
    head = text[:_READ]
    if head.startswith("---"):
        head = _FRONT_MATTER.sub("", head)
    if "<!--" in head:
        head = _COMMENT.sub(" ", head)
    code = ""
    fenced = False
    for line in head.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not _EMPTY.fullmatch(line):
            if not fenced:
                return _title(line, limit)
            code = code or line
    return shorten(code, limit)


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut at a word border and marked with an ellipsis if it is longer than `limit`."""
    line = " ".join(text[: max(0, limit) * 4 + _READ].split())
    if len(line) <= limit:
        return line
    if limit <= 1:
        return line[: max(0, limit)]
    border = line[:limit].rfind(" ")
    head = line[:border] if border >= limit // 2 else line[: limit - 1]
    return head.rstrip(" ,;:-–—") + "…"


def truncate(text: str, limit: int) -> str:
    """The text as it is, or its beginning and an ellipsis if it is longer than `limit`; its lines stay."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _title(line: str, limit: int) -> str:
    line = line[:2000]
    while leader := _LEADER.match(line):
        line = line[leader.end() :]
    line = _LINK.sub(r"\1", line)
    for _ in range(2):
        line = _EMPHASIS.sub(r"\2", line)
    line = " ".join(line.rstrip("# \t").split())
    if len(line) > limit and (sentence := _SENTENCE.match(line)) and 10 <= len(sentence[0]) <= limit:
        return sentence[0]
    return shorten(line, limit)


def normalise_statement(text: str) -> str:
    """What makes two statements the same: their words, whatever their case, spacing and final full stop."""
    return " ".join(unicodedata.normalize("NFC", redact(text)).split()).rstrip(".").rstrip().casefold()
