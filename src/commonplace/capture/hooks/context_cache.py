"""The start of a session: the context that its hook prints into the conversation, and the cache of such contexts.

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
from commonplace.capture.hooks.spool import (
    CONTEXT_FAILURE,
    SAMPLE_VARIABLE,
    count_failure,
    ensure_private_folder,
    seconds_to_wait,
    spool_folder,
)
from commonplace.data_folder import is_team_folder
from commonplace.memory.content_fingerprint import content_fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

CONTEXT_FOLDER = "openings"
UNKNOWN_STAMP = "unknown"
_DATABASE, _CONFIG = "commonplace.db", "config.toml"
# Environment variables that change a context.
_ADDRESS = "COMMONPLACE_DATABASE_URL"
_VARIABLES = (
    *("COMMONPLACE_CONFIG", "COMMONPLACE_SPACE", "COMMONPLACE_OPENING_TOKENS", "COMMONPLACE_USER_PROFILE"),
    _ADDRESS,
)


def settings_stamp(data: str, env: Mapping[str, str]) -> str:
    """A short text that changes with the settings that change a context, and with the file of settings."""
    values = [env.get(name, "") for name in _VARIABLES]
    config = values[0] or os.path.join(data, _CONFIG)
    return " ".join([__version__, _file_stamp(config), *(f"{crc32(os.fsencode(value)):x}" for value in values)])


def content_stamp(data: str, env: Mapping[str, str], read_fingerprint: Callable[[], str] | None = None) -> str:
    """A short text that changes with the content of the store and with the settings; empty if there is no store.

    `read_fingerprint` reads the fingerprint of a database on a server; without it, the stamp has only the settings.
    """
    settings = settings_stamp(data, env)
    if read_fingerprint is not None:
        return f"{settings} {read_fingerprint()}"
    if is_remote_store(data, env):
        return settings
    database = os.path.join(data, _DATABASE)
    if not os.path.exists(database):
        return ""
    fingerprint = content_fingerprint(database)
    return UNKNOWN_STAMP if fingerprint is None else f"{settings} {fingerprint}"


def is_remote_store(data: str, env: Mapping[str, str]) -> bool:
    """Whether the store is a database on a server, by the environment or by a line of the configuration."""
    if env.get(_ADDRESS):
        return True
    return any(value[1:2] not in b"'\"" for value in config_values(data, env, b"database_url"))


def config_values(data: str, env: Mapping[str, str], name: bytes) -> list[bytes]:
    """What the configuration's lines give a setting, as written: the reader of TOML takes longer than a hook."""
    try:
        with open(env.get(_VARIABLES[0]) or os.path.join(data, _CONFIG), "rb") as file:
            lines = [line.partition(b"=") for line in file]
    except OSError:
        return []
    return [value.strip() for key, _is, value in lines if key.strip() == name]


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
    except OSError:
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


# Seconds after which a session starts without a context.
DEADLINE = 1.0
# Sub-agents start with the rules alone; this stands for all of them where a session is named. It is the name that
# memory/session_context.py has, once more: importing that would take longer than the whole hook.
SUBAGENTS = "subagents"
# The heading of what is told once, as the same module has it.
OTHERS_HEADING = "## By others since"
_SUBAGENT_EVENT = "subagentstart"
# Starts that continue a session, which then also gets its own progress.
_CONTINUES = ("compact", "resume")


def session_start_output(
    data: str,
    host: str,
    event: str,
    cwd: str,
    payload: bytes,
    env: Mapping[str, str],
    shape: Callable[[str, str], str] | None = None,
) -> bytes:
    """What to print: the context for the folder, in the shape that the host reads, which a plugin gives itself."""
    fields = object_in(payload)
    folder = field_text(fields, "cwd") or _first(fields, "workspace_roots", "workspaceRoots") or cwd
    name = field_text(fields, "session_id", "sessionId", "conversation_id", "conversationId")
    continues = name and field_text(fields, "source", "trigger") in _CONTINUES
    session = SUBAGENTS if event.lower() == _SUBAGENT_EVENT else f"{host}:{name}" if continues else ""
    text = _context(data, folder, session, env)
    if text and name and not env.get(SAMPLE_VARIABLE):
        from commonplace.capture.hooks.hint_output import note_start, session_name

        note_start(data, session_name(host, fields), text)
    if not (is_team_folder(data) or is_remote_store(data, env) or env.get(SAMPLE_VARIABLE)):
        from commonplace.capture.hooks.hint_output import start_resident

        start_resident(data, env)
    return (shape or OUTPUT_SHAPES[host])(event, text).encode()


def _context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    if is_team_folder(data):
        from commonplace.capture.hooks.team_server import team_context

        return team_context(data, folder, session, env, _context)
    now, remote = content_stamp(data, env), is_remote_store(data, env)
    text = cached_context(data, folder, session, now, any_age=remote) if now else ""
    if text is None and remote:
        # A session does not wait for a database across a network: the next one in this folder gets a context.
        cache_context(data, folder, session, "", "")
        return ""
    if text is None or (not remote and _tells_again(data, text)):
        return _compose(data, folder, session, env)
    return text


def _tells_again(data: str, text: str) -> bool:
    """Whether what others said since was told to a session that started after this context was made."""
    news = text.partition(f"\n{OTHERS_HEADING}\n")[2].partition("\n\n")[0]
    if not news:
        return False
    from commonplace.capture.hooks.hint_output import ids_in, shown_ids

    return not set(ids_in(news)).isdisjoint(shown_ids(data))


def _compose(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """Made now, from the store. If that takes too long, the thread is abandoned; the process ends without it."""
    from threading import Thread

    made: list[str] = []

    def make() -> None:
        from commonplace.capture.hooks.context_refresh import compose_context

        try:
            made.append(compose_context(data, folder, session, env))
        except Exception as error:  # noqa: BLE001 - counted; a session can start without a memory
            count_failure(
                spool_folder(data), "hook", f"{CONTEXT_FAILURE}{getattr(error, 'code', type(error).__name__)}"
            )
            made.append("")

    worker = Thread(target=make, daemon=True)
    worker.start()
    worker.join(seconds_to_wait(env, DEADLINE))
    if not made:
        count_failure(spool_folder(data), "hook", f"{CONTEXT_FAILURE}too-slow")
    return made[0] if made else ""


def _claude(event: str, text: str) -> str:
    output = f'{{"hookEventName": {quote_json(event)}, "additionalContext": {quote_json(text)}}}'
    return f'{{"hookSpecificOutput": {output}}}\n' if text else ""


OUTPUT_SHAPES: dict[str, Callable[[str, str], str]] = {
    "claude-code": _claude,
    "codex": _claude,
    "gemini": lambda event, text: _claude(event, text) or "{}\n",
    "cursor": lambda _event, text: f'{{"additional_context": {quote_json(text)}}}\n' if text else "",
    "kiro": lambda _event, text: text,
    "opencode": lambda _event, text: text,
}


def object_in(payload: bytes) -> dict[str, Any]:
    """The object that a host sent; an empty one if it is no object."""
    try:
        found = parse_json(payload.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def field_text(fields: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds some text."""
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]), "")


def _first(fields: dict[str, Any], *names: str) -> str:
    found = next((fields[name] for name in names if isinstance(fields.get(name), list) and fields[name]), [""])[0]
    return os.fspath(found) if isinstance(found, str) else ""


def parse_json(text: str) -> object:
    """The first JSON value of a text; ValueError if there is none.

    It uses the interpreter's own scanner: importing `json` takes longer than the whole hook.
    """
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text)
    try:
        return make_scanner(_ScannerOptions())(text.lstrip(), 0)[0]  # type: ignore[arg-type] # needs these names only
    except (StopIteration, SystemError):
        # The second where the error for half a value would be one of `json`, which is not loaded.
        raise ValueError("no JSON") from None


def quote_json(text: str) -> str:
    """A text as a JSON string, in ASCII; without `json`, for the same reason."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        import json

        return json.dumps(text)
    return encode_basestring_ascii(text)


class _ScannerOptions:
    """How the scanner reads: like `json` does by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
