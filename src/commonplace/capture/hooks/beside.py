"""What commands and servers do for hooks beside their own work: some draining, and no opening left that is untrue.

Both are imported by everybody and seldom have anything to do, so what does the work is loaded when there is some.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.prepared import lay_ready, lying, stamp
from commonplace.capture.hooks.spool import NotOurs, note, reason_of, spool_of
from commonplace.capture.hooks.waiting import anything_waits
from commonplace.config import Settings
from commonplace.errors import StoreBusy

if TYPE_CHECKING:
    from commonplace.capture.hooks.preparing import Openings
    from commonplace.memory.book import Book

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


def drop_untrue(settings: Settings, ask: Callable[[], str] | None = None) -> None:
    """Empty the openings that the store has outgrown: they may hold what was just forgotten.

    That they are wanted is kept, for the next server to make them anew. `ask` is for a database that is elsewhere;
    without it, all of its openings go.
    """
    data = str(settings.data_dir)
    found = list(lying(data))
    now = stamp(data, os.environ, ask) if found else ""
    for path, made_at, folder, session in reversed(found):
        if made_at not in ("", now):
            with contextlib.suppress(OSError, NotOurs):
                Path(path).unlink()
                lay_ready(data, folder, session, "", "")


class Draining:
    """A server's task in the background: a step of draining, and the openings made anew once nothing waits."""

    def __init__(self) -> None:
        self._openings: Openings | None = None

    def __call__(self, book: Book) -> bool:
        from commonplace.capture.hooks.drain import Drained, drain
        from commonplace.capture.hooks.preparing import Openings

        waits = anything_waits(book.settings)
        drained = drain(book, book.settings, _EVENTS) if waits else Drained()
        if drained.left > 0 and drained.done > 0:
            return True
        self._openings = self._openings or Openings()
        self._openings.keep_true(book, drained.starts)
        return False
