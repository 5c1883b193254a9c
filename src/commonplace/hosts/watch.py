"""Watch: rule files that follow the store. Looks now and then at the times of its files, or at how far it has grown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commonplace.errors import CommonplaceError
from commonplace.hosts.generate import Generated
from commonplace.memory.book import Book
from commonplace.memory.unchanged import asker

Stamp = tuple[tuple[int, int] | str | None, ...]


def watch(
    book: Book,
    regenerate: Callable[[], Generated],
    wait: Callable[[], bool],
    tell: Callable[[Generated], None],
    complain: Callable[[CommonplaceError], None],
) -> None:
    """Regenerate whenever the store changed, until `wait` returns False.

    A refusal is told once and tried again each time: someone may be in the middle of editing a file.
    """
    seen: Stamp | None = None
    refused, fresh = "", False
    while True:
        now = stamp(book)
        # Once more after each change: a second write within a clock tick looks the same.
        if now != seen or fresh or refused:
            fresh = now != seen
            try:
                made = regenerate()
            except CommonplaceError as error:
                if error.message != refused:
                    complain(error)
                refused = error.message
            else:
                refused = ""
                if made.changed or seen is None:
                    tell(made)
            # Taken before reading, so that what was written meanwhile is seen next time.
            seen = now
        if not wait():
            return


def stamp(book: Book) -> Stamp:
    """Changes with every write to the store, by whichever process."""
    ask = asker(book)
    if ask is not None:
        try:
            return (ask(),)
        except CommonplaceError:
            # Whoever reads the rules then is told why.
            return ("away",)
    database = book.settings.database
    return tuple(_times(path) for path in (database, Path(f"{database}-wal")))


def _times(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
