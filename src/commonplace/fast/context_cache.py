"""The cache of session contexts: what the hook at the start of a session prints into the conversation.

A cached context is valid as long as the store is unchanged: it names the state of the store it was made from, so that a
hook can check it without loading what reads the store. A server rebuilds the contexts after each change; other
processes leave empty ones, which say that a context is wanted. A hook does not ask a database on another machine: its
cached contexts are as current as their maker could know.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace import __version__
from commonplace.data_folder import DATABASE_NAME
from commonplace.fast.settings import CONFIG_VARIABLE, DATABASE_VARIABLE, config_path, is_remote_store
from commonplace.fast.spool import UnsafeFolder, ensure_private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONTEXT_FOLDER = "openings"
UNKNOWN_STAMP = "unknown"
# Environment variables that change a context.
_VARIABLES = (
    *(CONFIG_VARIABLE, "COMMONPLACE_SPACE", "COMMONPLACE_OPENING_TOKENS", "COMMONPLACE_USER_PROFILE"),
    DATABASE_VARIABLE,
)


def settings_stamp(data: str, env: Mapping[str, str]) -> str:
    """A short text that changes with the settings that change a context, and with the file of settings."""
    values = [f"{crc32(os.fsencode(env.get(name, ''))):x}" for name in _VARIABLES]
    return " ".join([__version__, _file_stamp(config_path(data, env)), *values])


def content_stamp(
    data: str,
    env: Mapping[str, str],
    read_file: Callable[[str], str | None],
    read_server: Callable[[], str] | None = None,
) -> str:
    """A short text that changes with the content of the store and with the settings; empty if there is no store.

    `read_file` reads the fingerprint of a file with a store, `read_server` that of a database on a server; without it,
    the stamp of such a store has only the settings.
    """
    if read_server is not None:
        return f"{settings_stamp(data, env)} {read_server()}"
    if is_remote_store(data, env):
        return settings_stamp(data, env)
    database = os.path.join(data, DATABASE_NAME)
    if not os.path.exists(database):
        return ""
    fingerprint = read_file(database)
    return UNKNOWN_STAMP if fingerprint is None else f"{settings_stamp(data, env)} {fingerprint}"


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
    """Save a context for the next session. `stamp` was read before the context was made.

    Where nothing can be written, the next session has its own made.
    """
    if stamp == UNKNOWN_STAMP:
        return
    parent = os.path.join(data, CONTEXT_FOLDER)
    path = _path(data, folder, session)
    part = f"{path}.{os.getpid():x}-{time.monotonic_ns():x}"
    try:
        ensure_private_folder(parent)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"\0".join(os.fsencode(one) for one in (stamp, folder, session, text)))
        os.replace(part, path)
    except (OSError, UnsafeFolder):
        return


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
