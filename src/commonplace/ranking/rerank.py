"""The company a hit keeps: what was said just before and after it, and elsewhere in its session, speaks for it too.

An answer is often a few words long, and what it is about stands in the question before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

# The part of a neighbour's likeness, and of the best in the session, that counts for a hit: only what is above the
# noise, and no more than this, so that nothing becomes an answer by standing beside one.
NEIGHBOUR_BOOST, SESSION_BOOST = 0.1, 0.2
CONTEXT_FLOOR, CONTEXT_CAP = 0.3, 0.5
# What it is worth that somebody whom the question names said it.
SPEAKER_BOOST = 0.2
# What it is worth that it is the words of whoever is asked about, and what it costs to be the other's.
ROLE_BOOST, OTHER_ROLE_PENALTY = 0.1, 0.2
# What a turn loses that says hardly anything, and from how many bytes on it loses nothing.
BREVITY_PENALTY, BREVITY_BYTES = 0.1, 80


def boost_by_context(
    own: Mapping[int, float], sessions: Mapping[int, int], following: Mapping[int, int]
) -> dict[int, float]:
    """The likeness of each hit with that of its company: its session, and what follows what, by the same keys.

    What is part of no session is its own best company, so that it stands behind nobody for being alone.
    """
    spare = {key: min(max(score - CONTEXT_FLOOR, 0.0), CONTEXT_CAP) for key, score in own.items()}
    scores = dict(own)
    for key, after in following.items():
        if key in spare and after in spare:
            scores[key] += NEIGHBOUR_BOOST * spare[after]
            scores[after] += NEIGHBOUR_BOOST * spare[key]
    best: dict[int, float] = {}
    for key, session in sessions.items():
        best[session] = max(best.get(session, 0.0), spare.get(key, 0.0))
    for key in own:
        scores[key] += SESSION_BOOST * (best[sessions[key]] if key in sessions else spare[key])
    return scores


def boost_by_role(own: Mapping[int, float], theirs: Collection[int], others: Collection[int]) -> dict[int, float]:
    """The same, with more for the words of those whom a question is about, and less for those of the others."""
    more = dict.fromkeys(theirs, ROLE_BOOST) | dict.fromkeys(others, -OTHER_ROLE_PENALTY)
    return {key: score + more.get(key, 0.0) for key, score in own.items()}


def brevity_penalty(size: int) -> float:
    """What a turn of so many bytes loses: a few words are near to much, and answer little."""
    return BREVITY_PENALTY * max(0.0, 1.0 - size / BREVITY_BYTES)


def boost_by_speaker(own: Mapping[int, float], by_named: Collection[int]) -> dict[int, float]:
    """The same, with more for what those said whom the question names; if they said everything, that tells nothing."""
    named = own.keys() & set(by_named)
    more = SPEAKER_BOOST if len(named) < len(own) else 0.0
    return {key: score + (more if key in named else 0.0) for key, score in own.items()}


# What it is worth to tell the sort of thing that is sought: a time to "when", a number to "how many".
ANSWER_TYPE_BOOST = 0.08
# What it is worth to be of the time that the question names, or shortly after.
TIME_BOOST = 0.15
# What somebody's question to somebody loses: it has the words of the answer, and not the answer.
QUESTION_PENALTY = 0.1
# What a text without a reply loses that only repeats the question, and what is left to it at most: it answers nothing.
REPEATED_QUESTION_PENALTY, REPEATED_QUESTION_CAP = 0.4, 0.55
# What it is worth to be the reply to such a text, which then stands this far behind it.
REPLY_BOOST, REPLY_MARGIN = 0.15, 0.01


def rerank_score(likeness: float, *, tells: bool, nearness: float, asks: float) -> float:
    """The likeness of a hit once it was read: `nearness` in time and the share that `asks` are from 0 to 1."""
    return likeness + ANSWER_TYPE_BOOST * tells + TIME_BOOST * nearness - QUESTION_PENALTY * asks


def prefer_answers(
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
            changed[question] = min(own - REPEATED_QUESTION_PENALTY, REPEATED_QUESTION_CAP)
        else:
            changed[reply] = max(changed.get(reply, likeness[reply] + REPLY_BOOST), own)
            changed[question] = own - REPLY_MARGIN
    return changed


# The share of words in common from which on two texts say the same, and from which on they say nearly the same.
SAME_TEXT, SIMILAR_TEXT = 0.9, 0.7

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")


def drop_near_duplicates(items: Iterable[_T], text: Callable[[_T], str], same: float = SAME_TEXT) -> list[_T]:
    """Items in order, without those whose words are almost those of an earlier one."""
    kept: list[_T] = []
    seen: list[frozenset[Hashable]] = []
    for item in items:
        words = frozenset(_WORD.findall(text(item).lower()))
        if not any(_alike(words, other, same) for other in seen):
            kept.append(item)
            seen.append(words)
    return kept


def first_per_key(items: Iterable[_T], key: Callable[[_T], Hashable | None]) -> list[_T]:
    """Items in order, the first of each key; those without a key all stay."""
    kept: list[_T] = []
    seen: set[Hashable] = set()
    for item in items:
        name = key(item)
        if name is None or name not in seen:
            kept.append(item)
        if name is not None:
            seen.add(name)
    return kept


def group_near_duplicates(items: Sequence[_T], text: Callable[[_T], str], same: float = SIMILAR_TEXT) -> list[list[_T]]:
    """The groups of two and more whose words are nearly those of their first, in the order of the items."""
    words = [frozenset(_WORD.findall(text(item).lower())) for item in items]
    groups: list[list[_T]] = []
    taken: set[int] = set()
    for first in range(len(items)):
        if first in taken:
            continue
        alike = [n for n in range(first, len(items)) if n not in taken and _alike(words[first], words[n], same)]
        taken.update(alike)
        if len(alike) > 1:
            groups.append([items[n] for n in alike])
    return groups


def _alike(a: frozenset[Hashable], b: frozenset[Hashable], same: float) -> bool:
    # The lengths alone bound what can be shared.
    if len(a) < same * len(b) or len(b) < same * len(a):
        return False
    shared = len(a & b)
    return shared >= same * (len(a) + len(b) - shared)
