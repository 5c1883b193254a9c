"""A clue: what stands beside a kind of secret, and where to look for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Judge = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class Clue:
    """A kind of secret: hints (lower case), and an expression whose group `secret`, `quoted` or `bare`, or all, goes.

    The expression is tried where a hint stands, or `before` letters earlier, and nowhere else: that is what makes
    broad ones cheap. Where that is not a fixed number, `begins` tells it from the text and the hint's place.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    judge: Judge | None = None
    before: int = 0
    begins: Callable[[str, int], int] | None = None
