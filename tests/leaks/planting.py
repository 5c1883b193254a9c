"""Secrets to be planted in every field, and how to see that none of them came through anywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.secret_kinds import ALONE, letters


@dataclass(frozen=True)
class Seed:
    """A text to plant, and the part of it that nobody may ever read again."""

    kind: str
    text: str
    secret: str


def _seeds() -> tuple[Seed, ...]:
    rng = random.Random(11)
    token, key_id = ALONE["github"](rng), ALONE["aws key id"](rng)
    typed, drawn, hidden = f"Falke{rng.randrange(10**6)}x!", letters(rng, 40), "Geburtstag" + letters(rng, 8)
    jwt = ALONE["jwt"](rng)
    return (
        Seed("token", f"say {token} now", token),
        Seed("key id", key_id, key_id),
        Seed("jwt", f"say {jwt}", jwt),
        Seed("url", f"postgres://app:{typed}@db/x", typed),
        Seed("password", f'password = "{typed}"', typed),
        Seed("header", f"Authorization: Bearer {drawn}", drawn),
        Seed("env", f"API_TOKEN={drawn}", drawn),
        Seed("private", f"say <private>{hidden}</private> now", hidden),
        Seed("private, open", f"say <PRIVATE>{hidden}", hidden),
    )


SEEDS = _seeds()


def everywhere(value: Any, text: str) -> Iterator[Any]:
    """Copies of a value with the text in place of each of its texts, and as a name, one place after the other."""
    if isinstance(value, str):
        yield text
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from ({**value, name: planted} for planted in everywhere(entry, text))
        yield {**value, text: text}
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from ([*value[:place], planted, *value[place + 1 :]] for planted in everywhere(entry, text))


def leaks(text: str) -> list[str]:
    """The kinds of planted secrets that can be read in a text."""
    return sorted({seed.kind for seed in SEEDS if seed.secret in text})


def leaks_in_files(folder: Path) -> dict[str, list[str]]:
    """The same for every file in a folder, whatever it is; an index has them in small letters."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            held = path.read_bytes().decode("latin-1")
            result = sorted({seed.kind for seed in SEEDS if seed.secret in held or seed.secret.lower() in held})
            if result:
                found[path.name] = result
    return found
