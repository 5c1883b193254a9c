"""Makes openings: at once for a session that starts, and ahead of time for the next one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from commonplace.capture.hooks.context_cache import UNKNOWN_STAMP, cache_context, cached_contexts, content_stamp
from commonplace.capture.hooks.repository_identity import is_known_repository, name_clash_warning
from commonplace.capture.hooks.working_folder import WorkingFolders
from commonplace.config import load
from commonplace.hosts.hook_event import Event
from commonplace.memory.content_mark import mark_reader
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.session_context import session_context
from commonplace.text.redact import redact

# A session that starts does not wait for whoever writes.
_PATIENCE = 0.05
# How many are kept ready; those beyond were not asked for in a while.
_MOST = 40
# For a folder that names a project's remote and has none of its commits.
UNPROVEN_REPOSITORY = (
    "# Commonplace\n\nThis folder names {} as its remote but has no commit that was seen in it, so its memory is not"
    " shown here. If it is the same project, run `commonplace projects trust` in this folder.\n"
)
# Characters that a token has at least, but for rare cases.
_FEW = 3


def compose_context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """The opening for a folder, read from the store as it is: nothing is migrated, written or waited for."""
    settings = load({"data_dir": data}, env)
    if settings.opening_tokens == 0:
        return ""
    made_at = content_stamp(data, env)
    memory = open_memory(replace(settings, busy_timeout=_PATIENCE, embedder="off"), migrate=False)
    try:
        text = _told(memory, folder, session)
    finally:
        memory.close()
    if _may_be_named(folder, session):
        cache_context(data, folder, session, made_at, text)
    return text


class ContextRefresher:
    """Keeps what lies ready true, for one process: after each change of the store they are made anew."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env, self._seen = env, ""
        self._owed: dict[tuple[str, str], None] = {}

    def refresh_contexts(self, memory: LocalMemory, starts: Iterable[tuple[str, str]] = ()) -> None:
        """Make anew what no longer holds, and what these folders and sessions will want."""
        data = str(memory.settings.data_dir)
        self._owed |= dict.fromkeys(starts)
        now = content_stamp(data, self._env, mark_reader(memory))
        if now in ("", UNKNOWN_STAMP) or (now == self._seen and not self._owed):
            # There is nothing to tell, nothing new, or it cannot be told now: later, then.
            return
        wanted = dict(self._owed)
        for number, (path, made_at, folder, session) in enumerate(cached_contexts(data)):
            if number >= _MOST or not folder:
                Path(path).unlink(missing_ok=True)
            elif made_at != now:
                wanted.setdefault((folder, session))
        # The latest last, so that it is the last to go.
        for folder, session in reversed(wanted):
            cache_context(data, folder, session, now, _told(memory, folder, session))
        self._seen, self._owed = now, {}


def contexts_wanted_after(events: Iterable[Event]) -> dict[tuple[str, str], None]:
    """The folders, and sessions in them, that will ask for an opening next.

    The next session in a folder starts like any; one that is compacted starts again as itself.
    """
    wanted: dict[tuple[str, str], None] = {}
    for event in events:
        if event.cwd and event.kind in ("session-start", "stop", "session-end"):
            wanted[event.cwd, ""] = None
        elif event.cwd and event.session and event.kind == "compact":
            wanted[event.cwd, f"{event.host}:{event.session}"] = None
    return {place: None for place in wanted if _may_be_named(*place)}


def _may_be_named(folder: str, session: str) -> bool:
    """What lies ready names both as they are: a name with a secret in it is not written down."""
    return redact(f"{folder}\n{session}") == f"{folder}\n{session}"


def _told(memory: LocalMemory, folder: str, session: str) -> str:
    project = WorkingFolders().of(folder).project
    proven = project is None or is_known_repository(memory.settings.data_dir, project, Path(folder))
    mixed = redact(name_clash_warning(str(memory.settings.data_dir), project))
    text = session_context(memory, project, memory.settings.opening_tokens - len(mixed) // _FEW, session)
    if text and not proven:
        return UNPROVEN_REPOSITORY.format(redact(project or ""))
    return f"{text}\n{mixed}\n" if text and mixed else text
