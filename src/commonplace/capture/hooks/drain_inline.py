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

from commonplace.capture.hooks.context_cache import cache_context, cached_contexts, content_stamp
from commonplace.capture.hooks.spool import UnsafeFolder, count_failure, failure_reason, spool_folder
from commonplace.capture.hooks.spool_reader import has_waiting_events, spool_path, waiting_events
from commonplace.config import Settings
from commonplace.errors import StoreBusy

if TYPE_CHECKING:
    from commonplace.capture.hooks.context_builder import ContextRefresher
    from commonplace.capture.hooks.drain import DrainResult
    from commonplace.memory.local_memory import LocalMemory

# A command is not to be slower for it than a person notices, or than one who asks for what was captured puts up with.
SHORT_DRAIN_SECONDS, LONG_DRAIN_SECONDS = 0.2, 2.0
_PATIENCE = 0.05
# How many a server remembers before it looks whether somebody asks.
_EVENTS = 250


def drain_some(settings: Settings, seconds: float = SHORT_DRAIN_SECONDS) -> int:
    """Remember some of what waits; how much still does, unless another process is at it.

    Whatever goes wrong with that is counted and does not touch the command.
    """
    if not has_waiting_events(settings):
        return 0
    try:
        from commonplace.capture.hooks.drain import drain
        from commonplace.memory.local_memory import open_memory

        # A handle of its own, which does not wait as long for other writers as the command may.
        with contextlib.closing(open_memory(replace(settings, busy_timeout=_PATIENCE))) as memory:
            drained = drain(memory, settings, seconds=seconds)
            return 0 if drained.elsewhere else drained.left
    except StoreBusy:
        # It waits until nobody writes.
        return _left(settings)
    except Exception as error:  # noqa: BLE001 - counted; whoever asked something else gets an answer
        count_failure(
            spool_folder(str(settings.data_dir)), "drain", getattr(error, "code", None) or failure_reason(error)
        )
        return _left(settings)


def drain_all(settings: Settings, seconds: float | None = None) -> DrainResult:
    """Remember all that waits, also what comes meanwhile, and lay ready what the next sessions are told."""
    from commonplace.capture.hooks.context_builder import ContextRefresher
    from commonplace.capture.hooks.drain import DrainResult, drain
    from commonplace.memory.local_memory import open_memory

    end = time.monotonic() + (inf if seconds is None else seconds)
    drained = DrainResult()
    # Looked at once more when the store is closed: what was left until then had somebody to remember it.
    while has_waiting_events(settings) and (left := end - time.monotonic()) > 0:
        with contextlib.closing(open_memory(settings)) as memory:
            step = drain(memory, settings, seconds=left)
            ContextRefresher().refresh_contexts(memory, step.starts)
        drained.add(step)
        if step.elsewhere or not step.done:
            break
    drained.left = _left(settings)
    return drained


def _left(settings: Settings) -> int:
    try:
        return len(waiting_events(spool_path(settings)))
    except (OSError, UnsafeFolder):
        return 0


def drop_stale_contexts(settings: Settings, ask: Callable[[], str] | None = None) -> None:
    """Empty the openings that the store has outgrown: they may hold what was just forgotten.

    That they are wanted is kept, for the next server to make them anew. `ask` is for a database that is elsewhere;
    without it, all of its openings go.
    """
    data = str(settings.data_dir)
    found = list(cached_contexts(data))
    now = content_stamp(data, os.environ, ask) if found else ""
    for path, made_at, folder, session in reversed(found):
        if made_at not in ("", now):
            with contextlib.suppress(OSError, UnsafeFolder):
                Path(path).unlink()
                cache_context(data, folder, session, "", "")


class BackgroundDrain:
    """A server's task in the background: a step of draining, and the openings made anew once nothing waits."""

    def __init__(self) -> None:
        self._openings: ContextRefresher | None = None

    def __call__(self, memory: LocalMemory) -> bool:
        from commonplace.capture.hooks.context_builder import ContextRefresher
        from commonplace.capture.hooks.drain import DrainResult, drain

        waits = has_waiting_events(memory.settings)
        drained = drain(memory, memory.settings, _EVENTS) if waits else DrainResult()
        if drained.left > 0 and drained.done > 0:
            return True
        self._openings = self._openings or ContextRefresher()
        self._openings.refresh_contexts(memory, drained.starts)
        return False
