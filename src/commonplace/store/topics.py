"""What every engine keeps of topics: groups of passages that are about the same, each within one project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of passages with the name it is known by; `project` is None for what belongs to none."""

    id: int
    name: str
    size: int
    project: str | None
    built_ms: int


@dataclass(frozen=True, slots=True)
class Grown:
    """What became of a project since its topics were built.

    `place` means it in the other calls. Since they were built from `built` vectors (None if they never were), `fresh`
    ones came and `gone` ones went; `unseen` ones were not looked at yet.
    """

    place: int
    built: int | None
    fresh: int
    gone: int
    unseen: int


@dataclass(frozen=True, slots=True)
class Points:
    """Passages with the directions of their vectors, in the order they came; `last` is where to go on after.

    `model` made the vectors: those of two models are not compared.
    """

    passages: NDArray[int64]
    rows: NDArray[int8]
    last: int
    model: int | None


@dataclass(frozen=True, slots=True)
class Centre:
    """Where a topic lies. One that is new has no id yet."""

    id: int | None
    name: str
    row: NDArray[float32]


@dataclass(frozen=True, slots=True)
class Known:
    """The topics of a place as they were built: their centres, what was taken away before, up to where was looked."""

    centres: Sequence[Centre]
    shift: NDArray[float32]
    seen: int
    model: int | None


# (number of the centre, passage, cosine between them)
Member = tuple[int, int, float]


class Topics(Protocol):
    """The topics of one space. Only passages with a vector of the space's model are in them."""

    # Of one project or of all, the largest first; those that lost all members are not there.
    def topics(self, project: str | None = None) -> list[Topic]: ...
    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]: ...
    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]: ...

    # Work that comes later. Projects whose vectors changed since their topics were built.
    def grown_topics(self) -> list[Grown]: ...
    def points(self, place: int, after: int, limit: int) -> Points: ...
    def known_topics(self, place: int) -> Known | None: ...
    def topic_members(self, place: int) -> Mapping[int, int]: ...

    # Passages up to `last` were looked at, and these belong to centres of `known`. False if someone else did it first.
    def extend_topics(self, place: int, known: Known, members: Sequence[Member], last: int) -> bool: ...

    # Only who claimed a place rebuilds it, all at once: topics that are not among the centres are gone.
    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool: ...
    def replace_topics(
        self, place: int, owner: str, built: Known, members: Sequence[Member], vectors: int, now_ms: int
    ) -> bool: ...
