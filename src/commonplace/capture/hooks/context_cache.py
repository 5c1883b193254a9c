"""Cached contexts: what a session in a folder gets when it starts, valid as long as the store is unchanged.

Each names the state of the store it was made from, so that a hook can check it without loading what reads the store. A
server rebuilds them after each change; other processes leave empty ones, which say that a context is wanted. A hook
does not ask a database on another machine: its cached contexts are as current as their maker could know.
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
# Environment variables that change a context.
_ADDRESS = "COMMONPLACE_DATABASE_URL"
_VARIABLES = ("COMMONPLACE_CONFIG", "COMMONPLACE_SPACE", "COMMONPLACE_OPENING_TOKENS", _ADDRESS)


def content_stamp(data: str, env: Mapping[str, str], read_mark: Callable[[], str] | None = None) -> str:
    """A short text that changes with the content of the store and with the settings; empty if there is no store.

    `read_mark` reads the mark of a database on a server; without it, the stamp has only the settings.
    """
    values = [env.get(name, "") for name in _VARIABLES]
    config = values[0] or os.path.join(data, _CONFIG)
    settings = " ".join([__version__, _file_stamp(config), *(f"{crc32(os.fsencode(value)):x}" for value in values)])
    if read_mark is not None:
        return f"{settings} {read_mark()}"
    if is_remote_store(data, env):
        return settings
    database = os.path.join(data, _DATABASE)
    if not os.path.exists(database):
        return ""
    mark = content_mark(database)
    return UNKNOWN_STAMP if mark is None else f"{settings} {mark}"


def is_remote_store(data: str, env: Mapping[str, str]) -> bool:
    """Whether the store is a database on a server, by the environment or by a line of the configuration."""
    if env.get(_ADDRESS):
        return True
    try:
        with open(env.get(_VARIABLES[0]) or os.path.join(data, _CONFIG), "rb") as file:
            settings = [line.partition(b"=") for line in file]
    except OSError:
        return False
    return any(name.strip() == b"database_url" and value.strip()[1:2] not in b"'\"" for name, _is, value in settings)


def cached_context(data: str, folder: str, session: str, now: str, *, any_age: bool = False) -> str | None:
    """The cached context for a session in a folder; None if there is none that is valid now.

    With `any_age`, only the settings have to be the same, not the content of the store.
    """
    try:
        stamp, *owner, text = _read(_path(data, folder, session))
    except (OSError, ValueError):
        return None
    valid = stamp.startswith(f"{now} ") if any_age else stamp == now
    return text if valid and owner == [folder, session] else None


def cache_context(data: str, folder: str, session: str, stamp: str, text: str) -> None:
    """Save a context for the next session. `stamp` was read before the context was made."""
    if stamp == UNKNOWN_STAMP:
        return
    parent = os.path.join(data, CONTEXT_FOLDER)
    ensure_private_folder(parent)
    path = _path(data, folder, session)
    part = f"{path}.{os.getpid():x}-{time.monotonic_ns():x}"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"\0".join(os.fsencode(one) for one in (stamp, folder, session, text)))
    os.replace(part, path)


def cached_contexts(data: str) -> Iterator[tuple[str, str, str, str]]:
    """(path, stamp, folder, session) of every cached context, the latest first."""
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
    """Remove the cached contexts of a folder: the next session there has its context composed again."""
    for path, _stamp, of, _session in cached_contexts(data):
        if of == folder:
            os.unlink(path)


def _read(path: str) -> tuple[str, str, str, str]:
    with open(path, "rb") as file:
        stamp, folder, session, text = (os.fsdecode(part) for part in file.read().split(b"\0", 3))
    return stamp, folder, session, text


def _path(data: str, folder: str, session: str) -> str:
    name = f"{crc32(os.fsencode(folder)):08x}-{crc32(os.fsencode(session)):08x}"
    return os.path.join(data, CONTEXT_FOLDER, name)


def _file_stamp(path: str) -> str:
    """When a file was written, and how long it is."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns:x}-{found.st_size:x}"
