"""A place for the databases of others, and importing from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.import_files import import_path
from commonplace.capture.import_report import ImportReport
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope

from .databases import Rows, make

ImportDatabase = Callable[..., ImportReport]


@pytest.fixture
def move_in(memory: LocalMemory, tmp_path: Path) -> ImportDatabase:
    """Imports a database made of these tables and rows."""

    def call(tables: dict[str, str], rows: Rows, name: str = "theirs.db") -> ImportReport:
        path = tmp_path / "theirs" / name
        path.unlink(missing_ok=True)
        return import_path(memory, make(path, tables, rows))

    return call


@pytest.fixture
def items_by_title(memory: LocalMemory) -> Callable[..., dict[str, Item]]:
    """Everything that is remembered, by its title."""

    def call(**scope: object) -> dict[str, Item]:
        return {item.title: item for item in browse_items(memory, Scope(**scope), 100).items}  # type: ignore[arg-type]

    return call
