"""The part of a long text that speaks to a question, where there is no room for all of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection

from commonplace.text.summarise import cut
from commonplace.text.tokens import index_text

_BORDER = re.compile(r"\n+|(?<=[.!?])\s+")
_MARK = "… "


def excerpt(text: str, sought: Collection[str], limit: int) -> str:
    """At most `limit` characters of a text, from the border on after which most of the words sought stand.

    `sought` are index tokens. What holds none of them is told from its beginning, as is what begins with them.
    """
    if len(text) <= limit:
        return text
    starts = [0, *(found.end() for found in _BORDER.finditer(text))]
    room = max(1, limit - len(_MARK))
    ends = [*starts[1:], len(text)]
    found = [_found(text[start:end], sought) for start, end in zip(starts, ends, strict=True)]
    worth = [len(found[n].union(*found[n : bisect_right(ends, start + room)])) for n, start in enumerate(starts)]
    # The beginning is easiest to read; else it begins with what was sought, and is as long as it may be.
    n = max(range(len(starts)), key=lambda n: (worth[n], n == 0, bool(found[n]), -n))
    best = min(starts[n], next((start for start in starts if start >= len(text) - room), starts[n]))
    return cut(text, limit) if best == 0 else _MARK + cut(text[best:], room)


def _found(part: str, sought: Collection[str]) -> frozenset[str]:
    return frozenset(index_text(part).split()).intersection(sought)
