"""Building session contexts: at once for a session that starts, and ahead of time for the next one.

What is changing in the working folder is read from git's own files: no process is started for it. The branch is in
`HEAD`. A file counts as changed if its size or time is not the one that git's index has for it, which is how git itself
decides where to look. Files that git does not know are not looked for.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.capture.hooks.working_folder import checked_out_branch, folder_context, own_git_folder
from commonplace.config import load
from commonplace.fast.context_cache import UNKNOWN_STAMP, cache_context, cached_contexts, content_stamp
from commonplace.fast.session_hints import shown_ids
from commonplace.memory.content_fingerprint import content_fingerprint, fingerprint_reader
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.session_context import NO_CHANGES, WorkInProgress, session_context
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
    stamp = content_stamp(data, env, content_fingerprint)
    memory = open_memory(replace(settings, busy_timeout=_BUSY_TIMEOUT, embedder="off"), migrate=False)
    try:
        text = start_context(memory, folder, session)
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
        now = content_stamp(data, self._env, content_fingerprint, fingerprint_reader(memory))
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
            cache_context(data, folder, session, now, start_context(memory, folder, session))
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


def start_context(memory: LocalMemory, folder: str, session: str = "") -> str:
    """What a session that starts in a folder is shown; one that goes on also gets its own progress."""

    told = shown_ids(str(memory.settings.data_dir))

    def ask(project: str | None, tokens: int) -> str:
        return session_context(memory, project, tokens, session, work_in_progress(folder), told)

    return folder_context(memory.settings.data_dir, folder, memory.settings.opening_tokens, ask)


# Larger indexes are not read; nor are more files compared, nor more changes told.
_MAX_INDEX_BYTES, _MAX_FILES, _MAX_CHANGES = 8 << 20, 20_000, 50
_HEADER, _ENTRY = struct.Struct(">4sII"), struct.Struct(">10I20sH")
_NAME_LENGTH, _EXTENDED, _STAGE = 0x0FFF, 0x4000, 0x3000
# Branches that say nothing about what is being done on them.
_USUAL_BRANCHES = ("main", "master", "develop", "trunk")


def work_in_progress(folder: str) -> WorkInProgress:
    """The branch and the changed files of the repository around a folder."""
    root = next((path for path in (Path(folder), *Path(folder).parents) if (path / ".git").exists()), None)
    if root is None or not Path(folder).is_absolute():
        return NO_CHANGES
    branch, index = checked_out_branch(str(root)), own_git_folder(root) / "index"
    files = tuple(name for _place, name in zip(range(_MAX_CHANGES), _changed(index, root), strict=False))
    return WorkInProgress("" if branch in _USUAL_BRANCHES else branch[:200], files)


def _changed(index: Path, root: Path) -> Iterator[str]:
    for name, mtime, nanoseconds, size in _entries(index):
        try:
            found = os.lstat(root / name)
        except OSError:
            yield name
            continue
        exact = (mtime, nanoseconds) if nanoseconds else (mtime, found.st_mtime_ns % 1_000_000_000)
        seen = (found.st_mtime_ns // 1_000_000_000 & 0xFFFFFFFF, found.st_mtime_ns % 1_000_000_000)
        if seen != exact or found.st_size & 0xFFFFFFFF != size:
            yield name


def _entries(index: Path) -> Iterator[tuple[str, int, int, int]]:
    """(name, seconds, nanoseconds, size) of each file that an index of version 2 or 3 lists."""
    try:
        content = index.read_bytes() if index.stat().st_size <= _MAX_INDEX_BYTES else b""
        signature, version, count = _HEADER.unpack_from(content)
    except (OSError, struct.error):
        return
    if signature != b"DIRC" or version not in (2, 3):
        return
    at = _HEADER.size
    for _number in range(min(count, _MAX_FILES)):
        try:
            fields = _ENTRY.unpack_from(content, at)
        except struct.error:
            return
        flags = fields[11]
        start = at + _ENTRY.size + (2 if version == 3 and flags & _EXTENDED else 0)
        end = content.find(b"\0", start) if flags & _NAME_LENGTH == _NAME_LENGTH else start + (flags & _NAME_LENGTH)
        if end < start:
            return
        # Entries are padded with one to eight zero bytes to a multiple of eight.
        at += (end - at + 8) // 8 * 8
        if not flags & _STAGE:
            yield content[start:end].decode("utf-8", "replace"), fields[2], fields[3], fields[9]
