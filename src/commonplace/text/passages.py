"""Cuts a long text into passages at natural borders, so that each can be indexed and ranked by itself."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

_CHARACTERS = 4
"""Characters per token, the estimate of `tokens.count_tokens`."""

_LONGEST_INDENT = 40
_LONGEST_CLUSTER = 32
_FENCE = re.compile(r"^[ \t]{0,40}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_NOT_SPACE = re.compile(r"\S")
_JOINER = "\u200d"

# From the most natural border to the least; each expression ends where the next passage may begin.
_BORDERS = (
    re.compile(r"\n[ \t]*\n|\n(?=#{1,6} )"),
    re.compile(r"\n"),
    re.compile(r"[.!?…][\"')\]]*\s|[。！？]"),
    re.compile(r"\s"),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: `text` is `source[start:end]`."""

    text: str
    start: int
    end: int


def split_passages(text: str, target: int = 400, limit: int = 500) -> list[Piece]:
    """Passages of about `target` and at most `limit` tokens that together hold every visible character once, in order.

    Borders, best first: blank line or heading, line end, sentence end, space, anywhere. A code fence that fits into a
    passage is never cut. A text within the limit is one passage; a blank one is none.
    """
    limit = max(1, limit) * _CHARACTERS
    target = min(max(1, target) * _CHARACTERS, limit)
    last = len(text.rstrip())
    fences = _fences(text, limit) if last > limit else []
    pieces: list[Piece] = []
    position = 0
    while visible := _NOT_SPACE.search(text, position, last):
        start = _line_start(text, position, visible.start(), min(_LONGEST_INDENT, target // 4))
        end = last if last - start <= limit else _cut(text, start, target, limit, fences)
        last_visible = len(text[start:end].rstrip()) + start
        pieces.append(Piece(text[start:last_visible], start, last_visible))
        position = end
    return pieces


def _line_start(text: str, position: int, visible: int, longest: int) -> int:
    """Where a passage begins: with the indentation of its first line, which means something in code and lists."""
    line = text.rfind("\n", position, visible) + 1
    start = max(line, position)
    at_line_start = line > 0 or position == 0 or text[position - 1] == "\n"
    return start if at_line_start and visible - start <= longest else visible


def _fences(text: str, limit: int) -> list[tuple[int, int]]:
    """Code fences short enough to stay whole, as (start, end) from the opening line to after the closing one."""
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            if fence.end() - opened.start() <= limit:
                spans.append((opened.start(), fence.end()))
            opened = None
    return spans


def _cut(text: str, start: int, target: int, limit: int, fences: list[tuple[int, int]]) -> int:
    lowest, highest, wanted = start + target * 3 // 4, start + limit, start + target
    for i, border in enumerate(_BORDERS):
        ends = [found.end() for found in border.finditer(text, lowest, highest)]
        if i == 0:
            ends += _edges(fences, lowest, highest)
        whole = [end for end in ends if start < end <= highest and _around(fences, end) is None]
        if whole:
            return min(whole, key=lambda end: abs(end - wanted))
    fence = _around(fences, highest)
    if fence and start < fence[0]:
        return fence[0]
    return _between_clusters(text, start, highest)


def _edges(fences: list[tuple[int, int]], lowest: int, highest: int) -> list[int]:
    first = max(0, bisect_right(fences, (lowest, 0)) - 1)
    near = fences[first : bisect_right(fences, (highest, 0))]
    return [edge for span in near for edge in span if lowest <= edge <= highest]


def _around(fences: list[tuple[int, int]], place: int) -> tuple[int, int] | None:
    """The fence that a cut at `place` would tear, if any."""
    index = bisect_right(fences, (place, 0)) - 1
    if index >= 0 and fences[index][0] < place < fences[index][1]:
        return fences[index]
    return None


def _between_clusters(text: str, start: int, end: int) -> int:
    """The last place up to `end` that does not part a letter from its marks or an emoji from its modifiers."""
    for place in range(end, max(start, end - _LONGEST_CLUSTER), -1):
        if not _sticks(text[place]) and text[place - 1] != _JOINER:
            return place
    return end


def _sticks(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "M" or char == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff" or "\udc00" <= char <= "\udfff"
