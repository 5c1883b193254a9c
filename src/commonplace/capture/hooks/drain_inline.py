"""Draining within other processes: a little before each command, and all the time in a server.

Every command and server imports this and seldom has anything to do, so what does the work is imported when needed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.spool_reader import has_waiting_events, spool_path, waiting_events
from commonplace.config import Settings
from commonplace.data_folder import TEAMS, is_team_folder
from commonplace.errors import CommonplaceError, StoreBusy
from commonplace.fast.context_cache import cache_context, cached_contexts, content_stamp
from commonplace.fast.drain_process import SpawnLock
from commonplace.fast.spool import UnsafeFolder, count_failure, failure_reason, seconds_to_wait, spool_folder
from commonplace.memory.content_fingerprint import content_fingerprint

if TYPE_CHECKING:
    from commonplace.capture.hooks.context_refresh import ContextRefresher
    from commonplace.capture.hooks.drain import DrainResult
    from commonplace.memory.local_memory import LocalMemory

# Short enough not to be noticed before any command; longer before a command that looks up what was captured.
SHORT_DRAIN_SECONDS, LONG_DRAIN_SECONDS = 0.2, 2.0
_BUSY_TIMEOUT = 0.05
# Seconds to wait before events that could not be stored or sent are tried again: the first time, and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 16.0
# Events that a server stores before it checks whether a request waits.
_EVENTS_PER_STEP = 250


def drain_some(settings: Settings, seconds: float = SHORT_DRAIN_SECONDS) -> int:
    """Store some of the waiting events; returns how many still wait, or 0 if another process is draining.

    Whatever goes wrong is counted and does not affect the command.
    """
    if not has_waiting_events(settings) or is_team_folder(str(settings.data_dir)):
        return 0
    try:
        from commonplace.capture.hooks.drain import drain
        from commonplace.memory.local_memory import open_memory

        # A connection of its own, which waits less for other writers than the command does.
        with contextlib.closing(open_memory(replace(settings, busy_timeout=_BUSY_TIMEOUT))) as memory:
            result = drain(memory, memory.settings, seconds=seconds_to_wait(os.environ, seconds))
            return 0 if result.elsewhere else result.left
    except StoreBusy:
        # The events wait until nobody writes.
        return _count_waiting(settings)
    except Exception as error:  # noqa: BLE001 - counted; the command itself still runs
        reason = getattr(error, "code", None) or failure_reason(error)
        count_failure(spool_folder(str(settings.data_dir)), "drain", reason)
        return _count_waiting(settings)


def drain_all(settings: Settings, seconds: float | None = None) -> DrainResult:
    """Store all waiting events, including new ones, and prepare the contexts of the next sessions.

    Events for servers elsewhere are sent there. With `seconds`, what cannot be stored or sent is tried again until they
    are over; without, it still waits.
    """
    lock, end, pause = SpawnLock(str(settings.data_dir)), time.monotonic() + (seconds or 0.0), _FIRST_PAUSE
    result = _drain_once(settings, seconds)
    while True:
        left = end - time.monotonic()
        result.waits_because = result.waits_because if result.left else ""
        if result.left and left > pause:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        # A hook that saw us running started no process of its own: look once more when it would.
        elif left <= 0 or not lock.release() or not has_waiting_events(settings) or not lock.take_again():
            return result
        result.add(_drain_once(settings, max(0.0, end - time.monotonic())))


def _drain_once(settings: Settings, seconds: float | None) -> DrainResult:
    if is_team_folder(str(settings.data_dir)):
        return _send_all(settings, seconds)
    try:
        result = _drain_here(settings, seconds)
    except StoreBusy:
        if seconds is None:
            raise
        from commonplace.capture.hooks.drain import DrainResult

        result = DrainResult(left=_count_waiting(settings))
    if (settings.data_dir / TEAMS).is_dir():
        from commonplace.capture.hooks.team_server import team_servers

        for server in team_servers(settings.data_dir):
            sent = _send_all(replace(settings, data_dir=server.folder), seconds)
            sent.left += result.left
            result.add(sent)
    return result


def _send_all(settings: Settings, seconds: float | None) -> DrainResult:
    """Send what waits in the folder of a server, also what comes meanwhile, then store what stays on this machine."""
    from commonplace.capture.hooks.drain import DrainResult, drain_to
    from commonplace.capture.hooks.send_events import EventSender, refresh_contexts
    from commonplace.capture.hooks.team_server import home_settings, load_server, remove_server

    server = load_server(settings.data_dir)
    if server is None:
        return DrainResult(left=_count_waiting(settings))
    sender, result = EventSender(server), DrainResult()
    end = time.monotonic() + (inf if seconds is None else seconds)
    try:
        while has_waiting_events(settings) and (left := end - time.monotonic()) > 0:
            step = drain_to(sender, settings, seconds=None if seconds is None else left)
            result.add(step)
            if step.elsewhere or not step.done:
                break
        if not server.leaving:
            refresh_contexts(server, result.starts, os.environ)
    except CommonplaceError as error:
        result.waits_because = f"{error.message} {error.hint}"
    finally:
        sender.close()
    result.left = _count_waiting(settings)
    if sender.kept_here:
        _drain_here(home_settings(server), seconds)
    if server.leaving:
        remove_server(server)
    return result


def _drain_here(settings: Settings, seconds: float | None) -> DrainResult:
    from commonplace.capture.hooks.context_refresh import ContextRefresher
    from commonplace.capture.hooks.drain import DrainResult, drain
    from commonplace.memory.local_memory import open_memory

    end = time.monotonic() + (inf if seconds is None else seconds)
    result = DrainResult()
    # Checked once more when the store is closed: hooks that wrote until then started no process of their own.
    while has_waiting_events(settings) and (left := end - time.monotonic()) > 0:
        with contextlib.closing(open_memory(settings)) as memory:
            step = drain(memory, settings, seconds=left)
            ContextRefresher().refresh_contexts(memory, step.starts)
        result.add(step)
        if step.elsewhere or not step.done:
            break
    result.left = _count_waiting(settings)
    return result


def _count_waiting(settings: Settings) -> int:
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
        from commonplace.capture.hooks.context_refresh import ContextRefresher
        from commonplace.capture.hooks.drain import DrainResult, drain

        waits = has_waiting_events(memory.settings)
        result = drain(memory, memory.settings, _EVENTS_PER_STEP) if waits else DrainResult()
        if result.left > 0 and result.done > 0:
            return True
        self._contexts = self._contexts or ContextRefresher(self._env)
        self._contexts.refresh_contexts(memory, result.starts)
        return False
