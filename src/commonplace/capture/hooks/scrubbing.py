"""Scrubbing beside the store: what hooks left in the spool holds raw words until it is remembered."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from commonplace.capture.hooks.spool import EVENT, PART, REFUSED, SAMPLE
from commonplace.capture.hooks.waiting import our_spool
from commonplace.config import Settings
from commonplace.memory.scrub import Cleaner, Scrubbing

SPOOL = "spool"
# A hook is done long before this; what it left half written then stays so.
_DONE_SECONDS = 60.0


def scrub_spool(settings: Settings, named: str | None, found: Scrubbing, *, dry_run: bool = False) -> int:
    """Clean what was refused and what was never finished, and add it to what was found.

    How many events wait that hold something: they are cleaned by being remembered, not here.
    """
    clean, spool, waiting = Cleaner(named), our_spool(settings), 0
    for path in _files(spool):
        with contextlib.suppress(FileNotFoundError):
            text = path.read_bytes().decode("utf-8", "replace")
            found.looked_at += 1
            kinds = clean.kinds_in(text)
            if not kinds:
                continue
            waiting += path.suffix == EVENT
            found.note(SPOOL, str(path.relative_to(spool.parent)), kinds)
            if path.suffix == EVENT or dry_run:
                continue
            if path.parent == spool:
                path.unlink()
            else:
                path.write_text(clean(text), encoding="utf-8")
    return waiting


def _files(spool: Path) -> Iterator[Path]:
    old = time.time() - _DONE_SECONDS
    for path in sorted(spool.iterdir()) if spool.is_dir() else ():
        if path.suffix == EVENT or (path.suffix in (PART, SAMPLE) and path.lstat().st_mtime < old):
            yield path
    refused = spool / REFUSED
    if refused.is_dir() and not refused.is_symlink():
        yield from (path for path in sorted(refused.iterdir()) if path.is_file() and not path.is_symlink())
