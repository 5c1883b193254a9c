"""What the judges are known to say, and why it is right so: everything else that they find is a failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """A finding that is explained: patterns of where and of which check, an expression for what is said, the reason.

    One that no finding fits is out of date, which is a failure as well, unless it comes `by_chance`.
    """

    judge: str
    where: str
    check: str
    said: str
    reason: str
    by_chance: bool = False


EXPECTED: tuple[Expected, ...] = ()
