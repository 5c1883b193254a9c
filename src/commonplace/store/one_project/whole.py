"""What concerns a whole store: keys, models and work for others are refused; of the rest, what lies here is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.model import Draft, Item, Key, Passage, Scope, SessionDraft
from commonplace.store.captures import Captured, Thread
from commonplace.store.damage import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.links import Describe
from commonplace.store.news import Event
from commonplace.store.one_project.place import Place
from commonplace.store.protocol import Job, Store
from commonplace.store.replies import Answered, Claim, Known
from commonplace.store.scrubbing import Holder, Mark
from commonplace.store.soundness import Advance, Breaches, Damage
from commonplace.store.spaces import Limits, SpaceEntry
from commonplace.store.upkeep import IndexState

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_T = TypeVar("_T")


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

    def end_visit(self, digest: bytes, until_ms: int, now_ms: int) -> None:
        self._refuse("ends no visits")

    def is_visit_over(self, digest: bytes) -> bool:
        self._refuse("checks no visits")

    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool:
        self._refuse("makes no spaces")

    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]:
        self._refuse("lists no spaces")

    def limit_space(self, name: str, limits: Limits) -> bool:
        self._refuse("limits no spaces")

    def spaces_of_key(self, prefix: str) -> Sequence[str]:
        self._refuse("checks no keys")

    def waiting_spaces(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]:
        self._refuse("does no work for others")

    def beside(self, name: str) -> Store:
        self._refuse("opens no other space")

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
        self, jobs: Sequence[Job], vectors: NDArray[float32], owner: str | None, patience: float | None = None
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

    def pending(self, scope: Scope | None = None) -> int:
        if not self._inner.pending():
            return 0
        if scope is None:
            return self._inner.counts(self._here()).pending
        narrowed = self._narrowed(scope)
        return 0 if narrowed is None else self._inner.pending(narrowed)

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

    def invariants(self) -> Sequence[Invariant]:
        self._refuse("looks after no store")

    def breaches(self, kept: Invariant, newest: int | None = None) -> Breaches:
        self._refuse("looks after no store")

    def cure(self, kept: Invariant, limit: int) -> int:
        self._refuse("looks after no store")

    def damage(self, *, quick: bool) -> Sequence[Damage]:
        self._refuse("looks after no store")

    def reindex(self) -> None:
        self._refuse("looks after no store")

    def damaged_rows(self, part: str, after: Mark | None, limit: int) -> tuple[list[DamagedRow], Mark | None]:
        self._refuse("checks no store")

    def altered(self, after: int, limit: int) -> tuple[list[int], int | None]:
        self._refuse("checks no store")

    def walk(self, after: int, limit: int) -> list[Item]:
        self._refuse("looks after no store")

    def uncut(self, limit: int) -> list[Item]:
        self._refuse("looks after no store")

    def recut(self, item_id: int, passages: Sequence[Passage]) -> None:
        self._refuse("looks after no store")

    def misworded(self, advance: Advance) -> list[int]:
        self._refuse("looks after no store")

    def reword(self, item_ids: Sequence[int]) -> None:
        self._refuse("looks after no store")

    def miscounted(self, after: int, limit: int) -> tuple[list[int], int | None]:
        self._refuse("looks after no store")

    def recount(self, session_ids: Sequence[int]) -> None:
        self._refuse("looks after no store")

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        self._refuse("copies no store")

    def at_one_moment(self, work: Callable[[], _T]) -> _T:
        return self._inner.at_one_moment(work)

    def size(self) -> int:
        return self._inner.size()

    def describe(self) -> Mapping[str, object]:
        return self._inner.describe()

    def close(self) -> None:
        """Left to whoever opened the store."""
