"""What a command does for hooks beside its own work: a little draining, and no opening left that is no longer true."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from commonplace.capture.hooks.prepared import lying, stamp
from commonplace.capture.hooks.spool import note, reason_of, spool_of
from commonplace.capture.hooks.waiting import anything_waits
from commonplace.config import Settings
from commonplace.errors import StoreBusy

# A command is not to be slower for it than a person notices: the rest is left to the next.
_EVENTS, _SECONDS, _PATIENCE = 250, 0.3, 0.2


def drain_some(settings: Settings) -> None:
    """Remember some of what waits. Whatever goes wrong with that is counted and does not touch the command."""
    if not anything_waits(settings):
        return
    try:
        from commonplace.capture.hooks.drain import drain
        from commonplace.memory.book import open_book

        # A handle of its own, which does not wait as long for other writers as the command may.
        with contextlib.closing(open_book(replace(settings, busy_timeout=_PATIENCE))) as book:
            drain(book, settings, _EVENTS, _SECONDS)
    except StoreBusy:
        # It waits until nobody writes.
        return
    except Exception as error:  # noqa: BLE001 - counted; whoever asked something else gets an answer
        note(spool_of(str(settings.data_dir)), "drain", getattr(error, "code", None) or reason_of(error))


def drop_untrue(settings: Settings) -> None:
    """Remove the openings that the store has outgrown: they may hold what was just forgotten."""
    data = str(settings.data_dir)
    now = stamp(data, os.environ)
    for path, made_at, _folder, _session in lying(data):
        if made_at != now:
            with contextlib.suppress(OSError):
                Path(path).unlink()
