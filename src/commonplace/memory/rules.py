"""Rules: what always holds, everywhere or in a project, for every file or only for some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.model import Item, Scope
from commonplace.text.globs import any_matches, listed_globs

MOST = 1000
# What a rule counts for beside its text, and the most that one text counts for.
_LABEL, _LONGEST = 100, 4_000


@dataclass(frozen=True, slots=True)
class Rules:
    """Active rules, oldest first.

    `elsewhere` counts path rules that do not hold for the files at hand, `left_out` those that were too many to tell.
    """

    project: tuple[Item, ...]
    everywhere: tuple[Item, ...]
    elsewhere: int = 0
    left_out: int = 0


def rules(book: Book, project: str | None, files: Sequence[str] = (), most: int = MOST) -> Rules:
    """The newest rules of a project and of everywhere. With `files`, path rules only if they mean one of them."""
    found = book.store.newest(Scope.around(project, kinds=("memory",), types=("rule",)), most)
    holding = [item for item in reversed(found) if applies(item, files)]
    return Rules(
        project=tuple(item for item in holding if item.project is not None),
        everywhere=tuple(item for item in holding if item.project is None),
        elsewhere=len(found) - len(holding),
    )


def within(active: Rules, characters: int) -> Rules:
    """As many rules as can be told in about so many characters: the project's first, and of those the newest."""
    kept: set[int] = set()
    for item in (*reversed(active.project), *reversed(active.everywhere)):
        characters -= _LABEL + min(len(item.body), _LONGEST)
        if characters < 0:
            break
        kept.add(item.id)
    return Rules(
        project=tuple(item for item in active.project if item.id in kept),
        everywhere=tuple(item for item in active.everywhere if item.id in kept),
        elsewhere=active.elsewhere,
        left_out=len(active.project) + len(active.everywhere) - len(kept),
    )


def applies(item: Item, files: Sequence[str]) -> bool:
    """Whether a rule applies to the files at hand; without files, every rule does."""
    return not files or not paths_of(item) or any_matches(paths_of(item), files)


def paths_of(item: Item) -> tuple[str, ...]:
    """The globs of a path-scoped memory."""
    return listed_globs(item.details.get("paths", ""))
