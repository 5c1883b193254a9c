"""A place for the databases of others, and importing from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.imports import import_path
from commonplace.capture.summary import Summary
from commonplace.memory.book import Book
from commonplace.memory.browse import browse
from commonplace.model import Item, Scope

from .databases import Rows, make

MoveIn = Callable[..., Summary]


@pytest.fixture
def move_in(book: Book, tmp_path: Path) -> MoveIn:
    """Imports a database made of these tables and rows."""

    def call(tables: dict[str, str], rows: Rows, name: str = "theirs.db") -> Summary:
        path = tmp_path / "theirs" / name
        path.unlink(missing_ok=True)
        return import_path(book, make(path, tables, rows))

    return call


@pytest.fixture
def kept(book: Book) -> Callable[..., dict[str, Item]]:
    """Everything that is remembered, by its title."""

    def call(**scope: object) -> dict[str, Item]:
        return {item.title: item for item in browse(book, Scope(**scope), 100).items}  # type: ignore[arg-type]

    return call
