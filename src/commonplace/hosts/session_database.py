"""The SQLite files in which products keep their sessions: read beside the product, and never touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import InvalidInput

if TYPE_CHECKING:
    import apsw


@contextmanager
def foreign_errors(product: str) -> Iterator[None]:
    """What goes wrong in a product's file is its own, and says what to do."""
    import apsw

    try:
        yield
    except apsw.Error as error:
        raise InvalidInput(
            f"{product}'s database could not be read: {error}.",
            f"Close {product} and try again; its file was not touched.",
        ) from error


def open_for_reading(path: Path) -> apsw.Connection:
    """A connection that takes no lock where it can."""
    import apsw

    # Beside a write-ahead log a reader never blocks the writer. Without one, only `immutable` takes no lock.
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
    return apsw.Connection(f"{path.resolve().as_uri()}?{how}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
