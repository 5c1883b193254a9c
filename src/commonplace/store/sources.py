"""What a store remembers of the files that it was filled from, and of how the sessions in them hang together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol


class Sources(Protocol):
    """How far each file was read, in the words of whoever read it. Sessions are named by their keys."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None: ...
    def note_source(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None: ...

    # The turns of a session in order, each with the one it follows where its messages say so.
    def turns_of(self, key: str) -> list[tuple[str, str | None]]: ...
    # Marks the messages of these turns as left behind by the conversation, and no others.
    def leave_behind(self, key: str, turns: Collection[str]) -> None: ...
    # Lets sub-agents of a session know the message that started them, once both are there; how many learnt it.
    def tie_sub_agents(self, key: str) -> int: ...
