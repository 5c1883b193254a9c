"""Draining until nothing waits: by `commonplace drain`, and by the process that a hook starts at the end of a turn."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from math import inf

from commonplace.capture.hooks.context_refresh import ContextRefresher
from commonplace.capture.hooks.drain import DrainResult, drain, drain_to
from commonplace.capture.hooks.drain_inline import count_waiting
from commonplace.capture.hooks.spool_reader import has_waiting_events
from commonplace.config import Settings
from commonplace.data_folder import TEAMS, is_team_folder
from commonplace.errors import CommonplaceError, StoreBusy
from commonplace.fast.drain_process import SpawnLock
from commonplace.memory.local_memory import open_memory

# Seconds to wait before events that could not be stored or sent are tried again: the first time, and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 16.0


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
        result = DrainResult(left=count_waiting(settings))
    if (settings.data_dir / TEAMS).is_dir():
        # What speaks to a server takes time and memory that most people need not spend.
        from commonplace.capture.hooks.team_server import team_servers

        for server in team_servers(settings.data_dir):
            sent = _send_all(replace(settings, data_dir=server.folder), seconds)
            sent.left += result.left
            result.add(sent)
    return result


def _send_all(settings: Settings, seconds: float | None) -> DrainResult:
    """Send what waits in the folder of a server, also what comes meanwhile, then store what stays on this machine."""
    # The same.
    from commonplace.capture.hooks.send_events import EventSender, refresh_contexts
    from commonplace.capture.hooks.team_server import home_settings, load_server, remove_server

    server = load_server(settings.data_dir)
    if server is None:
        return DrainResult(left=count_waiting(settings))
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
    result.left = count_waiting(settings)
    if sender.kept_here:
        _drain_here(home_settings(server), seconds)
    if server.leaving:
        remove_server(server)
    return result


def _drain_here(settings: Settings, seconds: float | None) -> DrainResult:
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
    result.left = count_waiting(settings)
    return result
