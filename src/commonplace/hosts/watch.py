"""Watch: rule files that follow the store. Looks at its files' times now and then, which costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import CommonplaceError
from commonplace.hosts.generate import Generated

Stamp = tuple[tuple[int, int] | None, ...]


def watch(
    settings: Settings,
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
        now = stamp(settings)
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


def stamp(settings: Settings) -> Stamp:
    """Changes with every write to the store, by whichever process."""
    return tuple(_times(path) for path in (settings.database, Path(f"{settings.database}-wal")))


def _times(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
