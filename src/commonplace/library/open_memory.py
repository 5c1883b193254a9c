"""What all methods of Memory share: the open memory, and how projects, kinds and times are written.

What a method needs is imported when it runs: a program that only remembers loads no search, and `Memory` itself loads
no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Annotated

from commonplace.library.checked_arguments import AtLeast, NotBlank

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory
    from commonplace.model import Kind, Scope

Id = int | str
"""An item or conversation: its number, its UUID, or the UUID's last twelve digits."""
When = datetime | int | str
"""A time: a datetime, milliseconds since 1970, or a text such as `2026-11-01`, `yesterday` or `7d`."""
Words = str | Sequence[str]
"""One word or several."""
File = Annotated[str, NotBlank()] | PathLike[str]
"""A file or a folder."""
Question = Annotated[str, NotBlank()]
"""What is asked, in words."""
Limit = Annotated[int, AtLeast(1)]
"""How many at most."""
Number = Annotated[int, AtLeast(0)]
"""How many; none is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Which items are meant, in the words of a method's arguments."""

    kind: Words = ()
    type: Words = ()
    tag: str = ""
    since: When | None = None
    until: When | None = None
    only_global: bool = False
    author: str = ""
    origin: Words = ()
    as_of: When | None = None
    include_expired: bool = False

    def within(self, place: Scope, now_ms: int) -> Scope:
        """Those of them that belong to a place."""
        from commonplace.model import ORIGINS

        return replace(
            place,
            only_global=self.only_global or place.only_global,
            kinds=_kinds(self.kind),
            types=as_words(self.type),
            tag=self.tag,
            since_ms=None if self.since is None else milliseconds(self.since, now_ms),
            until_ms=None if self.until is None else milliseconds(self.until, now_ms, end=True),
            author=self.author,
            origins=_chosen(self.origin, ORIGINS, "origin"),
            at_ms=as_of_ms(self.as_of, now_ms),
            lapsed=self.include_expired,
        )


class OpenMemory:
    """The memory that the methods work on, and how they find what their arguments mean."""

    _local: LocalMemory
    _catches_up: bool

    def _scope(self, project: str | None, narrowing: Narrowing, *, with_global: bool = False) -> Scope:
        return narrowing.within(self._place(project, with_global=with_global), self._local.clock())

    def _place(self, project: str | None, *, with_global: bool = False) -> Scope:
        """A project or all; with what applies everywhere, the project may have nothing yet."""
        from commonplace.model import Scope

        if with_global:
            return Scope.around(project)
        self._require(project)
        return Scope(project=project)

    def _require(self, project: str | None) -> None:
        from commonplace.memory.projects import require_project

        require_project(self._local, project)

    def _moment(self, when: When, *, end: bool = False) -> int:
        return milliseconds(when, self._local.clock(), end=end)

    def _as_of(self, when: When | None) -> int | None:
        return as_of_ms(when, self._local.clock())

    def _embed_for(self, question: str, scope: Scope) -> None:
        """In a program that runs once: vectors for what may answer, and links to it."""
        if not self._catches_up:
            return
        from commonplace.memory.graph import link_pending
        from commonplace.memory.recall_chunks import CHUNK_KINDS
        from commonplace.memory.search_candidates import embed_for_question

        embed_for_question(self._local, question, [replace(scope, kinds=CHUNK_KINDS)])
        link_pending(self._local)


def milliseconds(when: When, now_ms: int, *, end: bool = False) -> int:
    """A time in milliseconds; with `end` the end of a day or another period that is named."""
    from commonplace.text.dates import period_end, period_start

    if isinstance(when, datetime):
        return int(when.timestamp() * 1000)
    if isinstance(when, int):
        return when
    return period_end(when, now_ms) if end else period_start(when, now_ms)


def as_of_ms(when: When | None, now_ms: int) -> int | None:
    """The moment that is asked about; none is now."""
    from commonplace.text.validity import parse_as_of

    return None if when is None else parse_as_of(when, now_ms)


def as_words(value: Words) -> tuple[str, ...]:
    """One word or several as a tuple."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _kinds(value: Words) -> tuple[Kind, ...]:
    from commonplace.model import KINDS

    chosen = _chosen(value, KINDS, "kind")
    return tuple(kind for kind in KINDS if kind in chosen)


def _chosen(value: Words, known: Sequence[str], what: str) -> tuple[str, ...]:
    from commonplace.errors import InvalidInput

    chosen = as_words(value)
    unknown = [word for word in chosen if word not in known]
    if unknown:
        raise InvalidInput(f"There is no {what} {unknown[0]!r}.", f"Choose from {', '.join(known)}.")
    return chosen
