"""What all methods of Memory share: the open memory, and how projects, kinds and times are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any

from commonplace.library.checked_arguments import AtLeast, NotBlank, checked

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


class BoundMethods:
    """Methods that work on an open memory. All of them check their arguments against their annotations."""

    _local: LocalMemory
    _catches_up: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            is_public = name == "__init__" or not name.startswith("_")
            if is_public and isinstance(method, FunctionType):
                setattr(cls, name, checked(method))

    def _scope(
        self,
        project: str | None,
        kind: Words = (),
        type: Words = (),
        tag: str = "",
        since: When | None = None,
        until: When | None = None,
        only_global: bool = False,
        author: str = "",
        origin: Words = (),
        as_of: When | None = None,
        include_expired: bool = False,
        with_global: bool = False,
    ) -> Scope:
        from commonplace.model import ORIGINS

        place = self._place(project, with_global=with_global)
        return replace(
            place,
            only_global=only_global or place.only_global,
            kinds=_kinds(kind),
            types=as_words(type),
            tag=tag,
            since_ms=None if since is None else self._moment(since),
            until_ms=None if until is None else self._moment(until, end=True),
            author=author,
            origins=_chosen(origin, ORIGINS, "origin"),
            at_ms=self._as_of(as_of),
            lapsed=include_expired,
        )

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
        """A time in milliseconds; the end of a day or another period that is named."""
        from commonplace.text.dates import period_end, period_start

        if isinstance(when, datetime):
            return int(when.timestamp() * 1000)
        if isinstance(when, int):
            return when
        return (period_end if end else period_start)(when, self._local.clock())

    def _as_of(self, when: When | None) -> int | None:
        from commonplace.text.validity import parse_as_of

        return None if when is None else parse_as_of(when, self._local.clock())

    def _catch_up(self, question: str, scope: Scope | None = None) -> None:
        if self._catches_up:
            from commonplace.memory.graph import link_pending
            from commonplace.memory.recall_chunks import CHUNK_KINDS
            from commonplace.memory.search_candidates import embed_for_question, embed_pending
            from commonplace.model import Scope

            if question:
                embed_for_question(self._local, question, [replace(scope or Scope(), kinds=CHUNK_KINDS)])
            else:
                embed_pending(self._local)
            link_pending(self._local)


def as_words(value: Words) -> tuple[str, ...]:
    """One word or several as a tuple."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _kinds(value: Words) -> tuple[Kind, ...]:
    from commonplace.model import KINDS

    return tuple(kind for kind in KINDS if kind in _chosen(value, KINDS, "kind"))


def _chosen(value: Words, known: Sequence[str], what: str) -> tuple[str, ...]:
    from commonplace.errors import InvalidInput

    chosen = as_words(value)
    unknown = [word for word in chosen if word not in known]
    if unknown:
        raise InvalidInput(f"There is no {what} {unknown[0]!r}.", f"Choose from {', '.join(known)}.")
    return chosen
