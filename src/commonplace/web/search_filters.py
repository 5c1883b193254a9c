"""The filters of a search: what is chosen in an address or a form, and which part of the memory that means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from commonplace.errors import InvalidInput
from commonplace.model import KINDS, Scope, SessionScope
from commonplace.text.folders import ROOT, folder_path
from commonplace.text.names import normalise_project
from commonplace.text.periods import beginning, ending
from commonplace.web.page import Asked

NAMES = ("project", "kind", "type", "tag", "folder", "when", "since", "until")
T = TypeVar("T")

# Stretches of time that one click chooses.
SPANS = ("today", "7d", "30d", "365d")
# What belongs to no project.
NOWHERE = "*"


@dataclass(frozen=True, slots=True)
class Filters:
    """What is chosen, what it means, and what of it means nothing: that is left out, and told."""

    chosen: dict[str, str]
    scope: Scope
    unclear: tuple[str, ...]

    @property
    def are_set(self) -> bool:
        return any(self.chosen.values())

    def address(self, question: str, **more: str) -> str:
        """Where this is found again."""
        named = {"q": question, **self.chosen, **more}
        return "/search?" + urlencode({name: value for name, value in named.items() if value})


def filters(asked: Asked, now_ms: int) -> Filters:
    """Read them leniently: no address is an error."""
    chosen = {name: asked.one(name)[:1000] for name in NAMES}
    unclear: list[str] = []

    def read(text: str, reader: Callable[[str], T]) -> T | None:
        try:
            return reader(text) if text else None
        except InvalidInput:
            unclear.append(text[:60])
            return None

    span = chosen["when"] if chosen["when"] in SPANS else ""
    folder = read(chosen["folder"], folder_path)
    nowhere = chosen["project"] == NOWHERE
    scope = Scope(
        project=None if nowhere else read(chosen["project"], normalise_project),
        only_global=nowhere,
        kinds=tuple(kind for kind in KINDS if kind == chosen["kind"]),
        types=(chosen["type"],) if chosen["type"] else (),
        tag=chosen["tag"],
        sessions=SessionScope(folder=folder) if folder and folder != ROOT else None,
        since_ms=read(chosen["since"] or span, lambda text: beginning(text, now_ms)),
        until_ms=read(chosen["until"], lambda text: ending(text, now_ms)),
    )
    return Filters(chosen, scope, tuple(unclear))
