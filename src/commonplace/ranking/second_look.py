"""A second look at the best hits, by what they say: does one tell what was asked for, or does it only ask as well?"""

from __future__ import annotations

# What it is worth to tell the sort of thing that is sought: a time to "when", a number to "how many".
TELLS = 0.08
# What it is worth to be of the time that the question names, or shortly after.
WHEN = 0.15
# What somebody's question to somebody loses: it has the words of the answer, and not the answer.
ASKS = 0.1
# What a text loses that only repeats the question, and what is left to it at most: it answers nothing.
REPEATS, REPEATED_MOST = 0.4, 0.55
# What it is worth to be the reply to such a text. Both are about the same thing: as much as speaks for the question, up
# to this, speaks for the reply.
REPLIES, REPLY_MOST = 0.15, 0.75


def second_look(
    likeness: float,
    *,
    tells: bool,
    nearness: float,
    asks: float,
    repeats: bool = False,
    replies_to: float | None = None,
) -> float:
    """The likeness of a hit once it was read: `nearness` in time and the share that `asks` are from 0 to 1.

    `repeats` says that it only asks the same; `replies_to` is the likeness of such a text, if this is the reply to it.
    """
    known = likeness + TELLS * tells + WHEN * nearness - ASKS * asks
    if repeats:
        return min(known - REPEATS, REPEATED_MOST)
    return known if replies_to is None else max(known + REPLIES, min(replies_to, REPLY_MOST))
