"""What a store remembers of the files that it was filled from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Sources(Protocol):
    """How far each file was read, in the words of whoever read it."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None: ...
    def note_source(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None: ...
