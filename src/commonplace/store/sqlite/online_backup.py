"""Making a copy of a store: through SQLite's online backup, and checked before it gets its name.

Plain copies of files lose what is in the log, and locks.
"""

from __future__ import annotations

import contextlib
import operator
import secrets
from pathlib import Path

from commonplace.errors import StoreCorrupt
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.files import LOG_ENDS, READ_ONLY, address, connect, create_new, spelled

# What SQLite says of a value that its table does not allow. The pages are whole: such a row is damaged, not the file.
ROW_PROBLEMS = ("CHECK constraint failed in", "NULL value in ", "value in ")
COUNTED = ("items", "sessions", "history", "projects", "passages")
COUNT_ROWS = f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in COUNTED)}"


def is_whole(connection: SqliteConnection) -> bool:
    """Whether the pages of a file are; rows may be damaged."""
    lines = [str(row[0]) for row in connection.rows("PRAGMA quick_check")]
    return all(line == "ok" or any(mark in line for mark in ROW_PROBLEMS) for line in lines)


def make_copy(
    source: Path,
    target: Path,
    key: str,
    busy_ms: int,
    *,
    to_key: str | None = None,
    checked: bool = True,
    original: SqliteConnection | None = None,
) -> None:
    """Copy what is committed in a store, through a connection of its own, or one that keeps all others out.

    With another key, or none, the copy has that one. `checked` refuses a copy that is not whole: one of a damaged
    store is wanted as it is.
    """
    # Several processes may back up to the same name at once; each writes its own and the last one stays. Nobody can
    # tell its name before: in a folder of many, somebody might have put a link there.
    partial = target.with_name(f"{target.name}.{secrets.token_hex(8)}.partial")
    to_key = key if to_key is None else to_key
    with contextlib.ExitStack() as stack:
        if original is None:
            original = stack.enter_context(contextlib.closing(connect(source, key, READ_ONLY)))
            original.set_busy_timeout(busy_ms)
        try:
            # What is counted is what is copied. Vacuuming cannot be a part of a transaction.
            turned = to_key != key
            original.execute("" if turned else "BEGIN")
            held = original.first(COUNT_ROWS) if checked else None
            (_copy_with_other_key if turned else _copy)(original, partial, to_key)
            original.execute("" if turned else "ROLLBACK")
            if checked:
                _verify(partial, to_key, held, exactly=not turned)
            partial.replace(target)
        finally:
            for leftover in (partial, *(partial.with_name(partial.name + end) for end in (*LOG_ENDS, "-journal"))):
                leftover.unlink(missing_ok=True)


def _copy(original: SqliteConnection, partial: Path, key: str) -> None:
    create_new(partial)
    with contextlib.closing(connect(partial, key)) as copy:
        with copy.backup("main", original, "main") as backup:
            backup.step(-1)
        # One file, without a log beside it.
        copy.pragma("journal_mode", "delete")


def _copy_with_other_key(original: SqliteConnection, partial: Path, key: str) -> None:
    """A copy with another key: pages cannot be copied as they are."""
    create_new(partial)
    original.execute("VACUUM INTO ?", (address(partial, f"key={spelled(key)}"),))


def _verify(path: Path, key: str, held: tuple[int, ...] | None, *, exactly: bool) -> None:
    with contextlib.closing(connect(path, key)) as copy:
        if not is_whole(copy):
            raise StoreCorrupt(
                f"The copy {path.name} failed its check; the store may be damaged.", "Run `commonplace check`."
            )
        copied: tuple[int, ...] = copy.first(COUNT_ROWS)
        # Others may have written more since it was counted.
        if held is not None and (copied != held if exactly else any(map(operator.lt, copied, held))):
            raise StoreCorrupt(f"The copy {path.name} does not hold what the store holds.", "Try again.")
