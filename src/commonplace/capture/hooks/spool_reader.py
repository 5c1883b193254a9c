"""Reading the spool: for draining it, for the doctor and the status.

Every command and server imports this, so what only some functions need is imported by them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.fast.spool import (
    CONTEXT_FAILURE,
    DISK_FULL,
    EVENT,
    FAILURES,
    HINT_FAILURE,
    PART,
    REFUSED,
    SAMPLE,
    UNWRITTEN,
    VERSION,
    UnsafeFolder,
    count_failure,
    ensure_private_folder,
    spool_folder,
)

if TYPE_CHECKING:
    from commonplace.hosts.hook_event import HookRecord

# Files of killed hooks and of tests are removed after this long.
_LEFTOVER_NS = 3600 * 10**9
_FIELDS = 8
_REMOVERS = 8
# How many refused events are saved, and how many characters of each.
_MAX_REFUSED, _MAX_REFUSED_CHARACTERS = 50, 20_000


@dataclass(frozen=True, slots=True)
class SpoolState:
    """How many events wait, since when, how large the spool is, and all failures counted by their reason."""

    waiting: int = 0
    oldest_ms: int | None = None
    refused: Mapping[str, int] = field(default_factory=dict)
    hook_failures: Mapping[str, int] = field(default_factory=dict)
    last_failure_ms: int | None = None
    size: int = 0
    broken: str = ""
    """Why the spool cannot be used at all; empty if it can, or does not exist yet."""

    @property
    def without_context(self) -> dict[str, int]:
        """How many sessions started without their memories, by the reason. Their events were captured."""
        return self._hook_failures_of(CONTEXT_FAILURE)

    @property
    def without_hints(self) -> dict[str, int]:
        """How often nothing could be looked up while an agent worked. Those events were captured, too."""
        return self._hook_failures_of(HINT_FAILURE)

    @property
    def not_written(self) -> dict[str, int]:
        """How many events hooks could not write: they are lost."""
        known = (CONTEXT_FAILURE, HINT_FAILURE)
        return {reason: number for reason, number in self.hook_failures.items() if not reason.startswith(known)}

    @property
    def lost(self) -> int:
        """How many events are not in the memory."""
        return sum(self.not_written.values()) + sum(self.refused.values())

    def _hook_failures_of(self, kind: str) -> dict[str, int]:
        found = self.hook_failures.items()
        return {reason.removeprefix(kind): number for reason, number in found if reason.startswith(kind)}


# Why sessions started without their memories, as people say it.
_WHY = {"too-slow": ": reading them took over a second", "server-away": ": the server did not answer"}


def sessions_without_memories(reasons: Mapping[str, int]) -> str:
    """How many there were, and why."""
    # Only if there are any.
    from commonplace.text.sentences import counted

    number = sum(reasons.values())
    why = _WHY.get(next(iter(reasons))) if len(reasons) == 1 else None
    if why is None:
        why = f" ({', '.join(f'{reason} {count:,}' for reason, count in reasons.items())})"
    return f"{counted(number, 'session')} started without memories{why}."


class UnreadableEvent(Exception):
    """A file in the spool that cannot be read as an event; the message is the reason, as it is counted."""


def has_waiting_events(settings: Settings) -> bool:
    """A quick check, before anything that drains the spool is imported."""
    with contextlib.suppress(OSError), os.scandir(spool_folder(str(settings.data_dir))) as entries:
        return any(entry.name.endswith(EVENT) for entry in entries)
    return False


def spool_path(settings: Settings) -> Path:
    """The folder of the spool; UnsafeFolder if it is a link."""
    spool = Path(spool_folder(str(settings.data_dir)))
    if spool.is_symlink():
        raise UnsafeFolder(f"{spool} is a link.")
    return spool


def waiting_events(spool: Path) -> list[str]:
    """The names of the events that wait, oldest first."""
    try:
        return sorted(path.name for path in spool.iterdir() if path.name.endswith(EVENT))
    except FileNotFoundError:
        return []


def read_record(spool: Path, name: str) -> HookRecord:
    """An event that waits. Its file name identifies it: read again, it is the same event."""
    # Only if something waits.
    from commonplace.hosts.hook_event import HookRecord

    parts = (spool / name).read_bytes().split(b"\0", _FIELDS)
    if len(parts) != _FIELDS + 1 or parts[0] != VERSION:
        raise UnreadableEvent("unknown-record")
    host, event, at, cwd, prompt, size, ended = (os.fsdecode(part) for part in parts[1:-1])
    return HookRecord(name.removesuffix(EVENT), host, event, _number(at), cwd, prompt, _number(size), ended, parts[-1])


def remove_events(spool: Path, names: Sequence[str]) -> None:
    """Delete events. Deleting a synced file is slow on the disk, so several are deleted at once."""
    if len(names) > _REMOVERS:
        # A few events need no threads.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_REMOVERS) as removers:
            list(removers.map(lambda name: (spool / name).unlink(missing_ok=True), names))
    else:
        for name in names:
            (spool / name).unlink(missing_ok=True)


def refuse_event(spool: Path, name: str, reason: str) -> None:
    """Count an event that cannot be used, and save its beginning, redacted, where people can look at it."""
    # Hardly any event is refused.
    from commonplace.text.redact import redact

    count_failure(str(spool), "drain", reason)
    folder = spool / REFUSED
    with contextlib.suppress(OSError, UnsafeFolder):
        ensure_private_folder(str(folder))
        text = (spool / name).read_bytes()[: 4 * _MAX_REFUSED_CHARACTERS].decode("utf-8", "replace")
        path = folder / f"{name.removesuffix(EVENT)}-{reason}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(redact(text.replace("\0", "\n"))[:_MAX_REFUSED_CHARACTERS])
        for old in sorted(folder.iterdir())[:-_MAX_REFUSED]:
            old.unlink(missing_ok=True)
    remove_events(spool, [name])


def remove_leftovers(spool: Path) -> None:
    """Delete half-written files of killed hooks, and sample events that no test picked up."""
    now = time.time_ns()
    with contextlib.suppress(OSError):
        for path in spool.iterdir():
            if path.name.endswith((PART, SAMPLE)) and now - path.lstat().st_mtime_ns > _LEFTOVER_NS:
                path.unlink(missing_ok=True)


def spool_state(settings: Settings) -> SpoolState:
    """What waits and what failed, without changing anything."""
    counts: dict[str, Counter[str]] = {"hook": Counter(), "drain": Counter()}
    last = None
    try:
        spool = spool_path(settings)
        names = waiting_events(spool)
        with contextlib.suppress(FileNotFoundError):
            for line in (spool / FAILURES).read_text(encoding="utf-8", errors="replace").splitlines():
                at, who, reason = [*line.split("\t", 2), "", ""][:3]
                if who in counts:
                    counts[who][reason] += 1
                    last = _number(at)
        with contextlib.suppress(FileNotFoundError):
            unwritten = (spool / UNWRITTEN).lstat()
            counts["hook"][DISK_FULL] += unwritten.st_size
            last = max(last or 0, unwritten.st_mtime_ns // 1_000_000)
    except (OSError, UnsafeFolder) as error:
        return SpoolState(broken=str(error))
    oldest = int(names[0].partition("-")[0]) // 1_000_000 if names and names[0][:20].isdigit() else None
    return SpoolState(len(names), oldest, dict(counts["drain"]), dict(counts["hook"]), last, _size(spool, names))


def clear_failures(settings: Settings) -> None:
    """Start counting failures again, once somebody has seen them."""
    for name in (FAILURES, UNWRITTEN):
        (spool_path(settings) / name).unlink(missing_ok=True)


def _size(spool: Path, names: Sequence[str]) -> int:
    """Bytes in all; events that are drained meanwhile count as nothing."""
    size = 0
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            size += (spool / name).lstat().st_size
    return size


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
