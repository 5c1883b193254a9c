"""The company a hit keeps: what was said just before and after it, and elsewhere in its session, speaks for it too.

An answer is often a few words long, and what it is about stands in the question before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# The part of a neighbour's likeness, and of the best in the session, that counts for a hit: only what is above the
# noise, and no more than this, so that nothing becomes an answer by standing beside one.
BESIDE, SESSION = 0.1, 0.2
FLOOR, MOST = 0.3, 0.5
# What it is worth that somebody whom the question names said it.
NAMED = 0.2
# What it is worth that it is the words of whoever is asked about, and what it costs to be the other's.
THEIRS, OTHERS = 0.1, 0.2
# What a turn loses that says hardly anything, and from how many bytes on it loses nothing.
BRIEF, TELLING = 0.1, 80


def lifted(own: Mapping[int, float], sessions: Mapping[int, int], following: Mapping[int, int]) -> dict[int, float]:
    """The likeness of each hit with that of its company: its session, and what follows what, by the same keys.

    What is part of no session is its own best company, so that it stands behind nobody for being alone.
    """
    spare = {key: min(max(score - FLOOR, 0.0), MOST) for key, score in own.items()}
    scores = dict(own)
    for key, after in following.items():
        if key in spare and after in spare:
            scores[key] += BESIDE * spare[after]
            scores[after] += BESIDE * spare[key]
    best: dict[int, float] = {}
    for key, session in sessions.items():
        best[session] = max(best.get(session, 0.0), spare.get(key, 0.0))
    for key in own:
        scores[key] += SESSION * (best[sessions[key]] if key in sessions else spare[key])
    return scores


def whose(own: Mapping[int, float], theirs: Collection[int], others: Collection[int]) -> dict[int, float]:
    """The same, with more for the words of those whom a question is about, and less for those of the others."""
    more = dict.fromkeys(theirs, THEIRS) | dict.fromkeys(others, -OTHERS)
    return {key: score + more.get(key, 0.0) for key, score in own.items()}


def brevity(size: int) -> float:
    """What a turn of so many bytes loses: a few words are near to much, and answer little."""
    return BRIEF * max(0.0, 1.0 - size / TELLING)


def spoken(own: Mapping[int, float], by_named: Collection[int]) -> dict[int, float]:
    """The same, with more for what those said whom the question names; if they said everything, that tells nothing."""
    named = own.keys() & set(by_named)
    more = NAMED if len(named) < len(own) else 0.0
    return {key: score + (more if key in named else 0.0) for key, score in own.items()}
