"""What commands and servers do for hooks beside their own work: some draining, and no opening left that is untrue.

Both are imported by everybody and seldom have anything to do, so what does the work is loaded when there is some.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.prepared import lay_ready, lying, stamp
from commonplace.capture.hooks.spool import NotOurs, note, reason_of, spool_of
from commonplace.capture.hooks.waiting import anything_waits, our_spool, waiting
from commonplace.config import Settings
from commonplace.errors import StoreBusy

if TYPE_CHECKING:
    from commonplace.capture.hooks.drain import Drained
    from commonplace.capture.hooks.preparing import Openings
    from commonplace.memory.book import Book

# A command is not to be slower for it than a person notices, or than one who asks for what was captured puts up with.
SOME, MORE = 0.2, 2.0
_PATIENCE = 0.05
# How many a server remembers before it looks whether somebody asks.
_EVENTS = 250


def drain_some(settings: Settings, seconds: float = SOME) -> int:
    """Remember some of what waits; how much still does, unless another process is at it.

    Whatever goes wrong with that is counted and does not touch the command.
    """
    if not anything_waits(settings):
        return 0
    try:
        from commonplace.capture.hooks.drain import drain
        from commonplace.memory.book import open_book

        # A handle of its own, which does not wait as long for other writers as the command may.
        with contextlib.closing(open_book(replace(settings, busy_timeout=_PATIENCE))) as book:
            drained = drain(book, settings, seconds=seconds)
            return 0 if drained.elsewhere else drained.left
    except StoreBusy:
        # It waits until nobody writes.
        return _left(settings)
    except Exception as error:  # noqa: BLE001 - counted; whoever asked something else gets an answer
        note(spool_of(str(settings.data_dir)), "drain", getattr(error, "code", None) or reason_of(error))
        return _left(settings)


def drain_all(settings: Settings, seconds: float | None = None) -> Drained:
    """Remember all that waits, also what comes meanwhile, and lay ready what the next sessions are told."""
    from commonplace.capture.hooks.drain import Drained, drain
    from commonplace.capture.hooks.preparing import Openings
    from commonplace.memory.book import open_book

    end = time.monotonic() + (inf if seconds is None else seconds)
    drained = Drained()
    # Looked at once more when the store is closed: what was left until then had somebody to remember it.
    while anything_waits(settings) and (left := end - time.monotonic()) > 0:
        with contextlib.closing(open_book(settings)) as book:
            step = drain(book, settings, seconds=left)
            Openings().keep_true(book, step.starts)
        drained.add(step)
        if step.elsewhere or not step.done:
            break
    drained.left = _left(settings)
    return drained


def _left(settings: Settings) -> int:
    try:
        return len(waiting(our_spool(settings)))
    except (OSError, NotOurs):
        return 0


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
