"""`Store` is what every engine offers.

A store is bound to one space. Every write is one transaction; when the call returns, the words are searchable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from commonplace.identity import Ref
from commonplace.model import (
    Change,
    Draft,
    Item,
    PassageText,
    Project,
    Scope,
    Stored,
    Stream,
    TextHit,
    VectorHit,
)
from commonplace.store.maintenance import Captures, Integrity, Keyring, Scrubbing, Sources, Spaces, Upkeep
from commonplace.store.records import Records
from commonplace.store.types import Conversations, Links, News, Periods, Replies, Topics, Turns
from commonplace.text.query import Query

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vector = NDArray[float32]


@dataclass(frozen=True, slots=True)
class Job:
    """A passage that waits for its vector, leased to the caller; `before` is what stands or was said before it."""

    id: int
    passage: PassageText
    before: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is in the space, and what still waits."""

    items: Mapping[str, int]
    projects: int
    sessions: int
    passages: int
    vectors: int
    pending: int
    forgotten: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """Passages found by words.

    `hits` are the best by BM25; `found` tells for each of them, and for each passage asked about, which share of the
    query's words (weighted by how rare they are) stands in it, and is empty if not asked for. `total` counts matches
    up to a bound.
    """

    hits: tuple[TextHit, ...]
    found: Mapping[int, float]
    total: int


_T = TypeVar("_T")
StreamCheck = Callable[[Stream | None], Stream]


class Store(
    Captures,
    Conversations,
    Keyring,
    Links,
    News,
    Periods,
    Records,
    Replies,
    Scrubbing,
    Integrity,
    Sources,
    Spaces,
    Topics,
    Turns,
    Upkeep,
    Protocol,
):
    """One space of one database."""

    # Writing. All of a call happens, or nothing.
    def put(self, drafts: Sequence[Draft], now_ms: int) -> list[Stored]: ...
    def rewrite(
        self,
        item_id: int,
        draft: Draft,
        now_ms: int,
        expect_rev: int | None = None,
        supersedes: int | None = None,
    ) -> Item: ...
    def forget(self, item_ids: Sequence[int], now_ms: int) -> list[int]: ...
    def restore(self, item_ids: Sequence[int], now_ms: int) -> list[int]: ...
    def supersede(self, old_id: int, new_id: int, now_ms: int) -> None: ...

    # Reading.
    def resolve(self, refs: Sequence[Ref]) -> list[int | None]: ...
    def get(self, item_ids: Iterable[int]) -> dict[int, Item]: ...
    def newest(self, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]: ...
    # The anchor, whatever the scope, with its neighbours in time that are in the scope, the oldest first.
    def around(self, anchor: Item, before: int, after: int, scope: Scope) -> list[Item]: ...
    def history(self, item_id: int) -> list[Change]: ...
    # The items that this one took the place of, the latest first.
    def superseded(self, item_id: int) -> list[int]: ...
    def projects(self) -> list[Project]: ...
    def find_project(self, name: str) -> str | None: ...
    def alias_project(self, name: str, alias: str) -> None: ...
    # Of everything, or of one project; `bytes` is the size of the whole store either way.
    def counts(self, project: str | None = None) -> Counts: ...

    # All that `work` reads is of one moment, and costs a database server the trips of one transaction.
    def snapshot(self, work: Callable[[], _T]) -> _T: ...

    # Finding.
    def search_text(
        self, query: Query, scope: Scope, k: int, also: Sequence[int] = (), *, shares: bool = True
    ) -> TextAnswer: ...
    def search_vectors(self, query: Vector, scope: Scope, k: int) -> list[VectorHit]: ...
    def cosines(self, query: Vector, passage_ids: Sequence[int]) -> dict[int, float]: ...
    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]: ...
    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]: ...

    # Work that comes later. StoreBusy after `patience` seconds; whoever gives none has time.
    def use_model(self, name: str, dim: int, patience: float | None = None) -> None: ...
    def uses_model(self, name: str) -> bool: ...
    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]: ...
    # Without an owner, whoever holds the jobs: the vectors of a passage are the same, whoever makes them.
    def finish_jobs(
        self, jobs: Sequence[Job], vectors: Vector, owner: str | None, patience: float | None = None
    ) -> int: ...
    def release_jobs(self, jobs: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None: ...
    # Every passage that is searched waits for its vector again; the one it has stays until then. How many wait.
    def requeue_embeddings(self) -> int: ...
    # How many passages wait; in a scope they are counted among the newest few thousand.
    def pending(self, scope: Scope | None = None) -> int: ...
    # What waits, claimed or not: those of these passages, in their order; and the newest in a scope.
    def pending_jobs(self, passage_ids: Sequence[int]) -> list[Job]: ...
    def newest_pending_jobs(self, scope: Scope, limit: int) -> list[Job]: ...
    def pending_reason(self) -> str | None: ...

    # Streams. `check` sees the stream (None if there is none) inside the transaction; what it raises changes nothing.
    # Open streams last touched before `idle_before_ms` do not count, and lose their chunks when another starts;
    # that is refused (False) while `most` others are open.
    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool: ...
    def streams(self, idle_before_ms: int) -> list[Stream]: ...
    # `chunk_after` is given the end of what the stream holds, and tells what to add to it.
    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream: ...
    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]: ...
    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream: ...

    # Keeping.
    def size(self) -> int: ...
    def describe(self) -> Mapping[str, object]: ...
    def close(self) -> None: ...
