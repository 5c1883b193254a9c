"""A second look at the best hits, by what they say: does one tell what was asked for, or does it only ask as well?"""

from __future__ import annotations

# What it is worth to tell the sort of thing that is sought: a time to "when", a number to "how many".
TELLS = 0.08
# What it is worth to be of the time that the question names, or shortly after.
WHEN = 0.15
# What somebody's question to somebody loses: it has the words of the answer, and not the answer.
ASKS = 0.1


def second_look(likeness: float, *, tells: bool, nearness: float, asks: float) -> float:
    """The likeness of a hit once it was read: `nearness` in time and the share that `asks` are from 0 to 1."""
    return likeness + TELLS * tells + WHEN * nearness - ASKS * asks
