"""A second look at the best hits, by what they say: does one tell what was asked for, or does it only ask as well?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# What it is worth to tell the sort of thing that is sought: a time to "when", a number to "how many".
TELLS = 0.08
# What it is worth to be of the time that the question names, or shortly after.
WHEN = 0.15
# What somebody's question to somebody loses: it has the words of the answer, and not the answer.
ASKS = 0.1
# What a text without a reply loses that only repeats the question, and what is left to it at most: it answers nothing.
REPEATS, REPEATED_MOST = 0.4, 0.55
# What it is worth to be the reply to such a text, which then stands this far behind it.
REPLIES, BEHIND = 0.15, 0.01


def second_look(likeness: float, *, tells: bool, nearness: float, asks: float) -> float:
    """The likeness of a hit once it was read: `nearness` in time and the share that `asks` are from 0 to 1."""
    return likeness + TELLS * tells + WHEN * nearness - ASKS * asks


def answers_first(
    likeness: Mapping[int, float], repeats: Iterable[int], replies: Mapping[int, int]
) -> dict[int, float]:
    """What changes if `repeats` only repeat the question, and some of them have `replies`.

    A reply is about what it replies to: at least as much speaks for it, and the repeated question comes after it.
    """
    changed: dict[int, float] = {}
    for question in repeats:
        own = likeness[question]
        reply = replies.get(question)
        if reply is None:
            changed[question] = min(own - REPEATS, REPEATED_MOST)
        else:
            changed[reply] = max(changed.get(reply, likeness[reply] + REPLIES), own)
            changed[question] = own - BEHIND
    return changed
