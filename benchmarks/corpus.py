"""Synthetic memories: coding-session observations over a Zipf vocabulary, the same for the same seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from commonplace.memory.remember import NewItem

START_MS = 1_740_000_000_000
PROJECTS = 50
TYPES = ("file-write", "file-read", "command", "research", "decision", "tool-use")

_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "or", "un")]
_COMMON = [
    "server",
    "request",
    "database",
    "query",
    "index",
    "cache",
    "token",
    "user",
    "session",
    "error",
    "test",
    "build",
    "deploy",
    "config",
    "api",
    "handler",
    "file",
    "schema",
    "migration",
    "client",
    "retry",
    "timeout",
    "queue",
    "worker",
    "batch",
    "stream",
    "parser",
    "module",
]


def vocabulary(size: int = 60_000) -> list[str]:
    """Words by falling frequency: the common ones first, then pronounceable inventions."""
    invented = ("".join(parts) for n in (2, 3) for parts in itertools.product(_SYLLABLES, repeat=n))
    return _COMMON + list(itertools.islice(invented, size - len(_COMMON)))


def notes(count: int, seed: int = 7) -> Iterator[NewItem]:
    """`count` observations, a minute apart."""
    chance = random.Random(seed)
    words = vocabulary()
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))
    for number in range(count):
        drawn = chance.choices(words, cum_weights=weights, k=44)
        type_ = TYPES[number % len(TYPES)]
        yield NewItem(
            kind="memory" if type_ == "decision" else "observation",
            type=type_,
            title=" ".join(drawn[:5]),
            content=" ".join(drawn[5:32]),
            details={
                "narrative": " ".join(drawn[32:42]),
                "concepts": ", ".join(drawn[42:44]),
                "files_modified": f"src/{drawn[0]}/{drawn[1]}.py",
            },
            project=f"project-{chance.randrange(PROJECTS)}",
            created_ms=START_MS + number * 60_000,
        )


def questions(count: int, seed: int = 11) -> list[str]:
    """Plain questions of three words, of the middle of the vocabulary."""
    chance = random.Random(seed)
    words = vocabulary()
    return [" ".join(words[chance.randrange(40, 3000)] for _ in range(3)) for _ in range(count)]


def common_questions(count: int, seed: int = 13) -> list[str]:
    """Questions made of nothing but the commonest words."""
    chance = random.Random(seed)
    return [" ".join(chance.sample(_COMMON[:12], 3)) for _ in range(count)]


def mixed_questions(count: int, seed: int = 29) -> list[str]:
    """Questions of five words, some of them among the commonest."""
    chance = random.Random(seed)
    words = vocabulary()
    results = []
    for _ in range(count):
        chosen = chance.sample(_COMMON, 2) + [words[chance.randrange(40, 3000)] for _ in range(3)]
        chance.shuffle(chosen)
        results.append(" ".join(chosen))
    return results


def strict_queries(count: int, seed: int = 31) -> list[str]:
    """Queries with operators: both words, a column, a prefix, neither a phrase nor a word alone."""
    chance = random.Random(seed)
    words = vocabulary()
    shapes = ("{} AND {}", "title:{} OR {}", "{} NOT {}", '"{} {}"', "{0:.4}* AND {1}")
    return [
        shapes[n % len(shapes)].format(words[chance.randrange(0, 300)], words[chance.randrange(0, 3000)])
        for n in range(count)
    ]
