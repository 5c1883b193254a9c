"""What a store offers about sessions, which people know as conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.identity import Ref
from commonplace.model import Change, Draft, Item, Session, SessionDraft, SessionScope, Stored
from commonplace.text.sketch import Sketch

BY_CONTENT = "conversation:"
"""How the key of a conversation begins that is known by what it says."""


def key_in(project: str | None, key: str) -> str:
    """The key of a conversation in a project: where it is known by what it says, the same elsewhere is another."""
    if project is None or not key.startswith(BY_CONTENT) or "@" in key:
        return key
    return f"{key}@{hashlib.sha256(project.casefold().encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """Sums over some sessions with messages. `labels` has the commonest only; `all_labels` counts them."""

    sessions: int
    messages: int
    words: int
    bytes: int
    importance: float
    oldest_ms: int | None
    newest_ms: int | None
    folders: Mapping[str, int]
    labels: Mapping[str, int]
    all_labels: int
    statuses: Mapping[str, int]
    sources: Mapping[str, int]


class Conversations(Protocol):
    """Sessions of one space. A session that was forgotten is found by its id only."""

    # A session whose uid or key is known gets the messages that are new, and comes back if it was forgotten.
    def keep_sessions(
        self, kept: Sequence[tuple[SessionDraft, Sequence[Draft]]], now_ms: int
    ) -> list[tuple[Session, list[Stored]]]: ...
    def append_messages(
        self, session_id: int, drafts: Sequence[Draft], now_ms: int, expect_rev: int | None = None
    ) -> tuple[Session, list[Stored]]: ...
    def change_session(
        self, session_id: int, changes: Mapping[str, object], now_ms: int, expect_rev: int | None = None
    ) -> Session: ...
    def forget_session(self, session_id: int, now_ms: int, expect_rev: int | None = None) -> Session: ...
    def restore_session(self, session_id: int, now_ms: int) -> Session: ...
    # Remembers that it was read, unless the store is busy or cannot be written.
    def touch_session(self, session_id: int, now_ms: int) -> None: ...

    def resolve_session(self, ref: Ref, key: str) -> int | None: ...
    def get_sessions(self, session_ids: Iterable[int]) -> dict[int, Session]: ...
    def sessions_of(self, item_ids: Sequence[int]) -> dict[int, Session]: ...
    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]: ...
    # The one with the newest message first: those after a position, or after so many.
    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]: ...
    def count_sessions(self, scope: SessionScope) -> int: ...
    def session_counts(self, scope: SessionScope, most_labels: int) -> SessionCounts: ...
    # How many live messages were said on each day (UTC, in days since 1970), from a moment on.
    def activity(self, scope: SessionScope, since_ms: int) -> Mapping[int, int]: ...
    def session_history(self, session_id: int) -> list[Change]: ...
    # Active sessions whose last message is older and whose importance is lower, and how alike all sessions are.
    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]: ...
    def sketches(self) -> dict[int, Sketch]: ...
