"""Draining within other processes: a little before each command, and all the time in a server.

Every command and server imports this and seldom has anything to do, so what does the work is imported when needed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.spool_reader import has_waiting_events, spool_path, waiting_events
from commonplace.config import Settings
from commonplace.data_folder import is_team_folder
from commonplace.errors import StoreBusy
from commonplace.fast.context_cache import cache_context, cached_contexts, content_stamp
from commonplace.fast.spool import UnsafeFolder, count_failure, failure_reason, seconds_to_wait, spool_folder
from commonplace.memory.content_fingerprint import content_fingerprint

if TYPE_CHECKING:
    from commonplace.capture.hooks.context_refresh import ContextRefresher
    from commonplace.memory.local_memory import LocalMemory

# Short enough not to be noticed before any command; longer before a command that looks up what was captured.
SHORT_DRAIN_SECONDS, LONG_DRAIN_SECONDS = 0.2, 2.0
_BUSY_TIMEOUT = 0.05
# Events that a server stores before it checks whether a request waits.
_EVENTS_PER_STEP = 250


def drain_some(settings: Settings, seconds: float = SHORT_DRAIN_SECONDS) -> int:
    """Store some of the waiting events; returns how many still wait, or 0 if another process is draining.

    Whatever goes wrong is counted and does not affect the command.
    """
    if not has_waiting_events(settings) or is_team_folder(str(settings.data_dir)):
        return 0
    try:
        # Most commands find nothing that waits.
        from commonplace.capture.hooks.drain import drain
        from commonplace.memory.local_memory import open_memory

        # A connection of its own, which waits less for other writers than the command does.
        with contextlib.closing(open_memory(replace(settings, busy_timeout=_BUSY_TIMEOUT))) as memory:
            result = drain(memory, memory.settings, seconds=seconds_to_wait(os.environ, seconds))
            return 0 if result.elsewhere else result.left
    except StoreBusy:
        # The events wait until nobody writes.
        return count_waiting(settings)
    except Exception as error:  # noqa: BLE001 - counted; the command itself still runs
        reason = getattr(error, "code", None) or failure_reason(error)
        count_failure(spool_folder(str(settings.data_dir)), "drain", reason)
        return count_waiting(settings)


def count_waiting(settings: Settings) -> int:
    """How many events wait; 0 if the spool cannot be read."""
    try:
        return len(waiting_events(spool_path(settings)))
    except (OSError, UnsafeFolder):
        return 0


def drop_stale_contexts(
    settings: Settings, read_fingerprint: Callable[[], str] | None = None, env: Mapping[str, str] = os.environ
) -> None:
    """Empty the cached contexts that are out of date: they may hold something that was just forgotten.

    Their files stay, so that the next server rebuilds them. `read_fingerprint` reads the fingerprint of a database on
    a server; without it, all of its contexts are emptied.
    """
    data = str(settings.data_dir)
    found = list(cached_contexts(data))
    now = content_stamp(data, env, content_fingerprint, read_fingerprint) if found else ""
    for path, stamp, folder, session in reversed(found):
        if stamp not in ("", now):
            with contextlib.suppress(OSError, UnsafeFolder):
                Path(path).unlink()
                cache_context(data, folder, session, "", "")


class BackgroundDrain:
    """A server's background task: one step of draining, then the cached contexts once nothing waits."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env = env
        self._contexts: ContextRefresher | None = None

    def __call__(self, memory: LocalMemory) -> bool:
        # A server answers before it drains.
        from commonplace.capture.hooks.context_refresh import ContextRefresher
        from commonplace.capture.hooks.drain import DrainResult, drain

        waits = has_waiting_events(memory.settings)
        result = drain(memory, memory.settings, _EVENTS_PER_STEP) if waits else DrainResult()
        if result.left > 0 and result.done > 0:
            return True
        self._contexts = self._contexts or ContextRefresher(self._env)
        self._contexts.refresh_contexts(memory, result.starts)
        return False
