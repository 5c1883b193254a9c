"""Openings that lie ready: what a session in a folder is told when it starts, good for as long as nothing was written.

Each names the state of the store that it was made from, so that a hook can tell without opening the store whether it
still holds. Whoever drains the spool makes them anew.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace import __version__
from commonplace.capture.hooks.spool import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OPENINGS = "openings"
UNSETTLED = "unsettled"
_DATABASE, _CONFIG = "commonplace.db", "config.toml"
# Some file systems date a write to a few milliseconds: a second one within this time could look like the first.
_SETTLES_NS = 50_000_000
# What a process may be told that changes an opening.
_TELLING = ("COMMONPLACE_CONFIG", "COMMONPLACE_SPACE", "COMMONPLACE_OPENING_TOKENS")


def stamp(data: str, env: Mapping[str, str]) -> str:
    """What the store and the settings are at this moment, in a few words; empty if there is no store.

    The files are looked at and never opened: closing one would end the locks that SQLite holds on it in this process.
    Every commit writes the log, so its date tells them apart, once it is a moment old.
    """
    database = os.path.join(data, _DATABASE)
    files = [_changed(database), _changed(f"{database}-wal")]
    if not files[0]:
        return ""
    if any(0 <= time.time_ns() - changed[0] < _SETTLES_NS for changed in files if changed):
        return UNSETTLED
    told = [env.get(name, "") for name in _TELLING]
    files.append(_changed(told[0] or os.path.join(data, _CONFIG)))
    words = [__version__, *("-".join(f"{part:x}" for part in changed) for changed in files)]
    return " ".join([*words, *(f"{crc32(os.fsencode(word)):x}" for word in told)])


def look_up(data: str, folder: str, session: str, now: str) -> str | None:
    """The opening that lies ready for a session in a folder; None if there is none that holds now."""
    try:
        found = _read(_path(data, folder, session))
    except (OSError, ValueError):
        return None
    return found[3] if found[:3] == (now, folder, session) else None


def lay_ready(data: str, folder: str, session: str, made_at: str, text: str) -> None:
    """Keep an opening for the next who asks. `made_at` is the stamp from before it was made."""
    if made_at == UNSETTLED:
        return
    parent = os.path.join(data, OPENINGS)
    enter(parent)
    path = _path(data, folder, session)
    part = f"{path}.{os.getpid():x}-{time.monotonic_ns():x}"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"\0".join(os.fsencode(one) for one in (made_at, folder, session, text)))
    os.replace(part, path)


def lying(data: str) -> Iterator[tuple[str, str, str, str]]:
    """(path, stamp, folder, session) of every opening there is, the last made first."""
    try:
        with os.scandir(os.path.join(data, OPENINGS)) as entries:
            found = sorted(((entry.stat().st_mtime_ns, entry.path) for entry in entries), reverse=True)
    except OSError:
        return
    for _age, path in found:
        try:
            yield path, *_read(path)[:3]
        except (OSError, ValueError):
            yield path, "", "", ""


def _read(path: str) -> tuple[str, str, str, str]:
    with open(path, "rb") as file:
        made_at, folder, session, text = (os.fsdecode(part) for part in file.read().split(b"\0", 3))
    return made_at, folder, session, text


def _path(data: str, folder: str, session: str) -> str:
    name = f"{crc32(os.fsencode(folder)):08x}-{crc32(os.fsencode(session)):08x}"
    return os.path.join(data, OPENINGS, name)


def _changed(path: str) -> tuple[int, ...]:
    """When a file was written, and how long it is; nothing if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size
