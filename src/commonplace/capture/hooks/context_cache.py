"""Openings that lie ready: what a session in a folder is told when it starts, good for as long as nothing is changed.

Each names what the store held when it was made, so that a hook can tell whether it is still true without loading what
reads the store. A server makes them anew after each change; whoever is no server leaves word that they are wanted.
A database on another machine is not asked by a hook: what lies ready is then as true as whoever keeps it can tell.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace import __version__
from commonplace.capture.hooks.spool import ensure_private_folder
from commonplace.memory.content_mark import content_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONTEXT_FOLDER = "openings"
UNKNOWN_STAMP = "unknown"
_DATABASE, _CONFIG = "commonplace.db", "config.toml"
# What a process may be told that changes an opening.
_ADDRESS = "COMMONPLACE_DATABASE_URL"
_TELLING = ("COMMONPLACE_CONFIG", "COMMONPLACE_SPACE", "COMMONPLACE_OPENING_TOKENS", _ADDRESS)


def content_stamp(data: str, env: Mapping[str, str], ask: Callable[[], str] | None = None) -> str:
    """What is remembered and set at this moment, in a few words; empty if there is no store.

    `ask` tells it of a database that is elsewhere; who cannot ask gets all the other words.
    """
    told = [env.get(name, "") for name in _TELLING]
    config = told[0] or os.path.join(data, _CONFIG)
    set_to = " ".join([__version__, _changed(config), *(f"{crc32(os.fsencode(word)):x}" for word in told)])
    if ask is not None:
        return f"{set_to} {ask()}"
    if is_remote_store(data, env):
        return set_to
    database = os.path.join(data, _DATABASE)
    if not os.path.exists(database):
        return ""
    mark = content_mark(database)
    return UNKNOWN_STAMP if mark is None else f"{set_to} {mark}"


def is_remote_store(data: str, env: Mapping[str, str]) -> bool:
    """Whether the store is a database on a server: said by the environment, or by a line of the configuration."""
    if env.get(_ADDRESS):
        return True
    try:
        with open(env.get(_TELLING[0]) or os.path.join(data, _CONFIG), "rb") as file:
            settings = [line.partition(b"=") for line in file]
    except OSError:
        return False
    return any(name.strip() == b"database_url" and value.strip()[1:2] not in b"'\"" for name, _is, value in settings)


def cached_context(data: str, folder: str, session: str, now: str, *, whenever: bool = False) -> str | None:
    """The opening that lies ready for a session in a folder; None if there is none that holds now.

    `whenever` it was made: that is not asked, only that nothing was set otherwise since.
    """
    try:
        made_at, *of, text = _read(_path(data, folder, session))
    except (OSError, ValueError):
        return None
    holds = made_at.startswith(f"{now} ") if whenever else made_at == now
    return text if holds and of == [folder, session] else None


def cache_context(data: str, folder: str, session: str, made_at: str, text: str) -> None:
    """Keep an opening for the next who asks. `made_at` is the stamp from before it was made."""
    if made_at == UNKNOWN_STAMP:
        return
    parent = os.path.join(data, CONTEXT_FOLDER)
    ensure_private_folder(parent)
    path = _path(data, folder, session)
    part = f"{path}.{os.getpid():x}-{time.monotonic_ns():x}"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"\0".join(os.fsencode(one) for one in (made_at, folder, session, text)))
    os.replace(part, path)


def cached_contexts(data: str) -> Iterator[tuple[str, str, str, str]]:
    """(path, stamp, folder, session) of every opening there is, the last made first."""
    try:
        with os.scandir(os.path.join(data, CONTEXT_FOLDER)) as entries:
            found = sorted(((entry.stat().st_mtime_ns, entry.path) for entry in entries), reverse=True)
    except OSError:
        return
    for _age, path in found:
        try:
            yield path, *_read(path)[:3]
        except (OSError, ValueError):
            yield path, "", "", ""


def drop_cached_contexts(data: str, folder: str) -> None:
    """Remove what lies ready for a folder: the next session there has its opening composed anew."""
    for path, _made_at, of, _session in cached_contexts(data):
        if of == folder:
            os.unlink(path)


def _read(path: str) -> tuple[str, str, str, str]:
    with open(path, "rb") as file:
        made_at, folder, session, text = (os.fsdecode(part) for part in file.read().split(b"\0", 3))
    return made_at, folder, session, text


def _path(data: str, folder: str, session: str) -> str:
    name = f"{crc32(os.fsencode(folder)):08x}-{crc32(os.fsencode(session)):08x}"
    return os.path.join(data, CONTEXT_FOLDER, name)


def _changed(path: str) -> str:
    """When a file was written, and how long it is."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns:x}-{found.st_size:x}"
