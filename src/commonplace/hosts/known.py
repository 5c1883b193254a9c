"""What is said already: whether a statement repeats another, in the store or in a file."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.hosts.markers import without_imports
from commonplace.memory.rulebook import essence

# A statement of so few words may need its heading to mean anything: "Use two spaces" is one rule for each language.
FEW_WORDS = 6


class Known:
    """Statements by their words."""

    def __init__(self, said: Iterable[tuple[str, str, tuple[str, ...]]] = ()) -> None:
        self._topics: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        for text, topic, paths in said:
            self.add(text, topic, paths)

    def add(self, text: str, topic: str = "", paths: tuple[str, ...] = ()) -> None:
        for spelled, under in _spellings(text, topic):
            for key in ((spelled, tuple(sorted(paths))), (spelled, ("*",))):
                self._topics.setdefault(key, set()).add(under)

    def has(self, text: str, topic: str = "", paths: tuple[str, ...] = ()) -> bool:
        """Whether this was said about the same files."""
        return self._has(text, topic, tuple(sorted(paths)))

    def has_anywhere(self, text: str, topic: str = "") -> bool:
        """Whether this was said, about whichever files."""
        return self._has(text, topic, ("*",))

    def _has(self, text: str, topic: str, paths: tuple[str, ...]) -> bool:
        for spelled, under in _spellings(text, topic):
            topics = self._topics.get((spelled, paths))
            if topics is not None and (
                len(spelled.split()) >= FEW_WORDS or not under or under in topics or "" in topics
            ):
                return True
        return False


def _spellings(text: str, topic: str) -> list[tuple[str, str]]:
    """A statement under its heading, and with the heading in front of it."""
    words = essence(without_imports(text))
    return [(words, essence(topic)), (essence(f"{topic}: {words}"), "")] if topic else [(words, "")]
