"""Private keys, known by their frames, or by as much of one as was shown."""

from __future__ import annotations

import re

from commonplace.text.secret_clue import Clue

# A line of a key and the break after it; as many as the longest key has.
_KEY_LINE = re.compile(r"(?:(?<![^\s\"'`:>])|(?<=\\[nr]))([A-Za-z0-9+/=]{1,80})(?:\s|\\[nr]){1,24}\Z")
_LONGEST_KEY_LINE, _KEY_LINES = 110, 400
_LONGEST_FRAME = 42


def _frame(text: str, at: int) -> int:
    """Where the line begins that says that it is the beginning of a private key."""
    begin = text.rfind("-----BEGIN ", max(0, at - _LONGEST_FRAME), at)
    return begin if begin >= 0 else at


def _body_before(text: str, at: int) -> int:
    """Where the lines of a key begin that stand before its end. Its last two, the rest and a sum, may be short."""
    begin = end = text.rfind("-----END ", max(0, at - _LONGEST_FRAME), at)
    short = 0
    for _ in range(_KEY_LINES if end >= 0 else 0):
        line = _KEY_LINE.search(text, max(0, end - _LONGEST_KEY_LINE), end)
        if line is None or short > 2:
            break
        end = line.start()
        if len(line[1]) < 16 or line[1].isalpha():
            short += 1
        else:
            begin, short = end, 0
    return begin if begin >= 0 else at


KEYS: tuple[Clue, ...] = (
    Clue(
        "private-key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]++|-(?!----))*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+(?:[A-Z][A-Za-z-]{3,20}: [^\n]{0,200}|[A-Za-z0-9+/=]{16,}+))++)",
        begins=_frame,
    ),
    # The end of a key whose beginning was not shown.
    Clue(
        "private-key",
        ("private key",),
        r"(?:[A-Za-z0-9+/=\s]|\\[nr]){16,}+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
        begins=_body_before,
    ),
    Clue(
        "private-key",
        ("private-lines:",),
        r"(?i)private-lines: ?\d{1,3}(?P<secret>(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{16,}+)++)",
    ),
)
