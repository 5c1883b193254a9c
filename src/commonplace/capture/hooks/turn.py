"""Whose turn it is to drain: one process at a time, and nobody waits for it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from commonplace.capture.hooks.lock import locked
from commonplace.capture.hooks.spool import spool_of

_LOCK = "drain.lock"


@contextlib.contextmanager
def turn(data_folder: Path) -> Iterator[bool]:
    """True if it is ours for the length of the block; False if another process drains, or there is no spool."""
    spool = Path(spool_of(str(data_folder)))
    if spool.is_symlink() or not spool.is_dir():
        yield False
        return
    try:
        descriptor = os.open(spool / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        # A link: whoever put it there has the turn for ever, and the doctor tells of what waits.
        yield False
        return
    try:
        yield locked(descriptor)
    finally:
        # Closing it gives the lock up.
        os.close(descriptor)
