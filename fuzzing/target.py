"""A target: something that reads bytes from outside, and what must hold whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


class Broken(AssertionError):
    """A promise that does not hold for an input."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is tried, and the words that its input is made of. `take` raises whatever goes wrong."""

    name: str
    what: str
    take: Callable[[bytes], None]
    words: tuple[str, ...] = field(default=(), repr=False)
    # Calls that reading may take, beyond those for each byte: what starts once, and what a store costs.
    calls: int = 20_000
    calls_per_byte: int = 400
    longest: int = 4_096

    def corpus(self) -> list[Path]:
        """The inputs that are kept."""
        folder = CORPUS / self.name
        return sorted(folder.iterdir()) if folder.is_dir() else []


def must(held: bool, promise: str) -> None:
    """Complain if a promise does not hold."""
    if not held:
        raise Broken(promise)
