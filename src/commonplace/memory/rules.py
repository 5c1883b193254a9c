"""Rules: what always holds, everywhere or in a project, for every file or only for some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.model import Item, Scope
from commonplace.text.globs import any_matches

MOST = 1000


@dataclass(frozen=True, slots=True)
class Rules:
    """Active rules, oldest first. `elsewhere` counts path rules that do not hold for the files at hand."""

    project: tuple[Item, ...]
    everywhere: tuple[Item, ...]
    elsewhere: int = 0


def rules(book: Book, project: str | None, files: Sequence[str] = ()) -> Rules:
    """The rules of a project and of everywhere. With `files`, path rules only if they mean one of them."""
    scope = Scope(project=project, with_global=True) if project else Scope(only_global=True)
    found = book.store.newest(Scope(scope.project, scope.with_global, scope.only_global, types=("rule",)), MOST)
    holding = [
        item for item in reversed(found) if not files or not paths_of(item) or any_matches(paths_of(item), files)
    ]
    return Rules(
        project=tuple(item for item in holding if item.project is not None),
        everywhere=tuple(item for item in holding if item.project is None),
        elsewhere=len(found) - len(holding),
    )


def paths_of(item: Item) -> tuple[str, ...]:
    """The globs of a path-scoped memory."""
    return tuple(glob for glob in item.details.get("paths", "").split("\n") if glob)
