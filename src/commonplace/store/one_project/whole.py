"""What concerns a whole store: keys, models and work for others are refused; of the rest, what lies here is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import Draft, Item, Key, SessionDraft
from commonplace.store.captures import Captured, Thread
from commonplace.store.links import Describe
from commonplace.store.news import Event
from commonplace.store.one_project.place import Place
from commonplace.store.protocol import Job
from commonplace.store.replies import Answered, Claim, Known
from commonplace.store.scrubbing import Holder, Mark
from commonplace.store.upkeep import IndexState

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Whole(Place):
    """The part of a narrowed store that is about more than its project."""

    def news(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        here = self._here()
        events, mark = self._inner.news(after, limit)
        return [event for event in events if event.project == here], mark

    # Answers belong to the caller who got them.

    def claim_reply(self, claim: Claim, now_ms: int, given_up_ms: int, forgotten_ms: int) -> Known | None:
        return self._inner.claim_reply(claim, now_ms, given_up_ms, forgotten_ms)

    def keep_reply(self, claim: Claim, answer: Answered) -> None:
        self._inner.keep_reply(claim, answer)

    def drop_claim(self, claim: Claim) -> None:
        self._inner.drop_claim(claim)

    def add_key(self, key: Key, digest: bytes) -> Key:
        self._refuse("makes no keys")

    def all_keys(self) -> list[Key]:
        self._refuse("lists no keys")

    def keys_beginning(self, prefix: str) -> list[tuple[Key, bytes]]:
        self._refuse("checks no keys")

    def revoke_key(self, key_id: int, now_ms: int) -> Key | None:
        self._refuse("revokes no keys")

    def touch_key(self, key_id: int, now_ms: int) -> None:
        self._refuse("changes no keys")

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        self._refuse("reads no files")

    def note_source(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        self._refuse("reads no files")

    def turns_of(self, key: str) -> list[tuple[str, str | None]]:
        self._refuse("reads no files")

    def leave_behind(self, key: str, turns: Collection[str]) -> None:
        self._refuse("reads no files")

    def tie_sub_agents(self, key: str) -> int:
        self._refuse("reads no files")

    def known_events(self, events: Sequence[bytes]) -> set[bytes]:
        self._refuse("captures nothing")

    def thread(self, key: str, opening: int, recent: int) -> Thread | None:
        self._refuse("captures nothing")

    def capture(
        self, sessions: Sequence[SessionDraft], events: Sequence[Captured], told: Sequence[Draft], now_ms: int
    ) -> list[bool]:
        self._refuse("captures nothing")

    def captured(self) -> Mapping[str, int]:
        """Counted for the whole store only."""
        return {}

    def use_model(self, name: str, dim: int, patience: float | None = None) -> None:
        self._refuse("chooses no model")

    def uses_model(self, name: str) -> bool:
        return self._inner.uses_model(name)

    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]:
        self._refuse("does no work for others")

    def finish_jobs(
        self, jobs: Sequence[Job], vectors: NDArray[float32], owner: str, patience: float | None = None
    ) -> int:
        self._refuse("does no work for others")

    def release_jobs(self, jobs: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None:
        self._refuse("does no work for others")

    def embed_again(self) -> int:
        self._refuse("has no work done for others")

    def link(self, limit: int, describe: Describe, now_ms: int) -> int:
        self._refuse("does no work for others")

    def unlinked(self) -> int:
        return self._inner.unlinked()

    def pending(self) -> int:
        return self._inner.counts(self._here()).pending

    def waiting_because(self) -> str | None:
        return self._inner.waiting_because()

    def parts(self) -> Sequence[str]:
        self._refuse("cleans no store")

    def holders(self, part: str, after: Mark | None, limit: int) -> list[Holder]:
        self._refuse("cleans no store")

    def clean_holders(self, part: str, marks: Sequence[Mark], clean: Callable[[str], str]) -> None:
        self._refuse("cleans no store")

    def clean_items(self, marks: Sequence[Mark], redraft: Callable[[Item], Draft]) -> None:
        self._refuse("cleans no store")

    def wipe(self) -> bool:
        self._refuse("cleans no store")

    def check_schema(self) -> int:
        return self._inner.check_schema()

    def complaints(self, seconds: float) -> Sequence[str]:
        self._refuse("looks after no store")

    def index_state(self, seconds: float) -> IndexState:
        self._refuse("looks after no store")

    def clear_words(self) -> None:
        self._refuse("looks after no store")

    def mend_words(self, limit: int) -> int:
        self._refuse("looks after no store")

    def size(self) -> int:
        return self._inner.size()

    def describe(self) -> Mapping[str, object]:
        return self._inner.describe()

    def close(self) -> None:
        """Left to whoever opened the store."""
