"""Building session contexts: at once for a session that starts, and ahead of time for the next one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.git_changes import work_in_progress
from commonplace.capture.hooks.project_folder import folder_context
from commonplace.capture.hooks.session_start import UNKNOWN_STAMP, cache_context, cached_contexts, content_stamp
from commonplace.config import load
from commonplace.memory.content_mark import mark_reader
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.session_context import session_context
from commonplace.text.redact import redact

if TYPE_CHECKING:
    from commonplace.hosts.hook_event import Event

# A session that starts does not wait for other writers.
_BUSY_TIMEOUT = 0.05
# Contexts that are kept up to date; the ones used least recently are dropped.
_MAX_CONTEXTS = 40


def compose_context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """The context for a folder, read from the store as it is: nothing is migrated, written or waited for."""
    settings = load({"data_dir": data}, env)
    if settings.opening_tokens == 0:
        return ""
    stamp = content_stamp(data, env)
    memory = open_memory(replace(settings, busy_timeout=_BUSY_TIMEOUT, embedder="off"), migrate=False)
    try:
        text = _context(memory, folder, session)
    finally:
        memory.close()
    if _is_cacheable(folder, session):
        cache_context(data, folder, session, stamp, text)
    return text


class ContextRefresher:
    """Keeps the cached contexts up to date, for one process: after each change of the store they are rebuilt."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env, self._last_stamp = env, ""
        self._wanted: dict[tuple[str, str], None] = {}

    def refresh_contexts(self, memory: LocalMemory, starts: Iterable[tuple[str, str]] = ()) -> None:
        """Rebuild what is out of date, and build the contexts for these folders and sessions."""
        data = str(memory.settings.data_dir)
        self._wanted |= dict.fromkeys(starts)
        now = content_stamp(data, self._env, mark_reader(memory))
        if now in ("", UNKNOWN_STAMP) or (now == self._last_stamp and not self._wanted):
            # There is no store, nothing has changed, or its state is unknown at this moment.
            return
        wanted = dict(self._wanted)
        for number, (path, stamp, folder, session) in enumerate(cached_contexts(data)):
            if number >= _MAX_CONTEXTS or not folder:
                Path(path).unlink(missing_ok=True)
            elif stamp != now:
                wanted.setdefault((folder, session))
        # The most recent is written last, so that it is the last to be dropped.
        for folder, session in reversed(wanted):
            cache_context(data, folder, session, now, _context(memory, folder, session))
        self._last_stamp, self._wanted = now, {}


def contexts_wanted_after(events: Iterable[Event]) -> dict[tuple[str, str], None]:
    """The folders, and sessions in them, that will need a context next.

    The next session in a folder starts like any other; one that is compacted starts again as itself.
    """
    wanted: dict[tuple[str, str], None] = {}
    for event in events:
        if event.cwd and event.kind in ("session-start", "stop", "session-end"):
            wanted[event.cwd, ""] = None
        elif event.cwd and event.session and event.kind == "compact":
            wanted[event.cwd, f"{event.host}:{event.session}"] = None
    return {owner: None for owner in wanted if _is_cacheable(*owner)}


def _is_cacheable(folder: str, session: str) -> bool:
    """A cached context names both as they are: a name with a secret in it is not written to disk."""
    return redact(f"{folder}\n{session}") == f"{folder}\n{session}"


def _context(memory: LocalMemory, folder: str, session: str) -> str:
    def ask(project: str | None, tokens: int) -> str:
        return session_context(memory, project, tokens, session, work_in_progress(folder))

    return folder_context(memory.settings.data_dir, folder, memory.settings.opening_tokens, ask)
