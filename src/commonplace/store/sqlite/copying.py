"""Making a copy of a store: through SQLite's online backup, and checked before it gets its name.

Plain copies of files lose what is in the log, and locks.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StoreCorrupt
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.files import LOG_ENDS, READ_ONLY, address, connect, create_private

COUNTED = ("items", "sessions", "history", "projects", "passages")
HELD = f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in COUNTED)}"


def make(
    source: Path, target: Path, key: str, busy_ms: int, *, to_key: str | None = None, checked: bool = True
) -> None:
    """Copy what is committed in a store. With another key, or none, the copy has that one.

    `checked` refuses a copy that is not whole: one of a damaged store is wanted as it is.
    """
    # Several processes may back up to the same name at once; each writes its own and the last one stays.
    partial = target.with_name(f"{target.name}.{os.getpid()}-{threading.get_ident()}.partial")
    to_key = key if to_key is None else to_key
    try:
        # A connection of its own: what is committed is copied, even from within a transaction.
        with contextlib.closing(connect(source, key, READ_ONLY)) as original:
            original.set_busy_timeout(busy_ms)
            original.execute("BEGIN")
            held = sql.first(original, HELD) if checked else None
            (_copy if to_key == key else _turn)(original, partial, to_key)
            original.execute("ROLLBACK")
        if checked:
            _verify(partial, to_key, held)
        partial.replace(target)
    finally:
        for leftover in (partial, *(partial.with_name(partial.name + end) for end in (*LOG_ENDS, "-journal"))):
            leftover.unlink(missing_ok=True)


def _copy(original: apsw.Connection, partial: Path, key: str) -> None:
    create_private(partial)
    with contextlib.closing(connect(partial, key)) as copy:
        with copy.backup("main", original, "main") as backup:
            backup.step(-1)
        # One file, without a log beside it.
        copy.pragma("journal_mode", "delete")


def _turn(original: apsw.Connection, partial: Path, key: str) -> None:
    """A copy with another key: pages cannot be copied as they are."""
    create_private(partial)
    # Vacuuming is no part of a transaction.
    original.execute("ROLLBACK")
    original.execute("VACUUM INTO ?", (address(partial, f"hexkey={key}" if key else "key="),))
    original.execute("BEGIN")


def _verify(path: Path, key: str, held: Any) -> None:
    with contextlib.closing(connect(path, key)) as copy:
        if copy.pragma("quick_check") != "ok":
            raise StoreCorrupt(
                f"The copy {path.name} failed its check; the store may be damaged.", "Run `commonplace check`."
            )
        if sql.first(copy, HELD) != held:
            raise StoreCorrupt(f"The copy {path.name} does not hold what the store holds.", "Try again.")
