"""The start of a session: what its hook prints into the conversation."""

from __future__ import annotations

import os

from commonplace.capture.hooks.context_cache import cache_context, cached_context, content_stamp, is_remote_store
from commonplace.capture.hooks.spool import CONTEXT_FAILURE, count_failure, spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# Seconds after which a session starts without a context.
DEADLINE = 1.0
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
    fields = _object(payload)
    folder = _text(fields, "cwd") or _first(fields, "workspace_roots", "workspaceRoots") or cwd
    name = _text(fields, "session_id", "sessionId", "conversation_id", "conversationId")
    continues = name and _text(fields, "source", "trigger") in _CONTINUES
    session = f"{host}:{name}" if continues else ""
    return (shape or OUTPUT_SHAPES[host])(event, _context(data, folder, session, env)).encode()


def _context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    now, remote = content_stamp(data, env), is_remote_store(data, env)
    text = cached_context(data, folder, session, now, any_age=remote) if now else ""
    if text is None and remote:
        # A session does not wait for a database across a network: the next one in this folder gets a context.
        cache_context(data, folder, session, "", "")
        return ""
    return _compose(data, folder, session, env) if text is None else text


def _compose(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """Made now, from the store. If that takes too long, the thread is abandoned; the process ends without it."""
    from threading import Thread

    made: list[str] = []

    def make() -> None:
        from commonplace.capture.hooks.context_builder import compose_context

        try:
            made.append(compose_context(data, folder, session, env))
        except Exception as error:  # noqa: BLE001 - counted; a session can start without a memory
            count_failure(
                spool_folder(data), "hook", f"{CONTEXT_FAILURE}{getattr(error, 'code', type(error).__name__)}"
            )
            made.append("")

    worker = Thread(target=make, daemon=True)
    worker.start()
    worker.join(DEADLINE)
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
}


def _object(payload: bytes) -> dict[str, Any]:
    try:
        found = parse_json(payload.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(fields: dict[str, Any], *names: str) -> str:
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
    except StopIteration:
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
