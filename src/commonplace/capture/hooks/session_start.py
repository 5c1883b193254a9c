"""The little JSON that the start of a session needs, without `json`: what that loads takes longer than the whole hook.

The interpreter's own scanner and quoter are what `json` is built on; where there are none, `json` does it.
"""

from __future__ import annotations

import os

from commonplace.capture.hooks.context_cache import cache_context, cached_context, content_stamp, is_remote_store
from commonplace.capture.hooks.spool import CONTEXT_FAILURE, count_failure, spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def parse_json(text: str) -> object:
    """What a text says, up to where its value ends; a ValueError if it says nothing."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text)
    try:
        return make_scanner(_Plain())(text.lstrip(), 0)[0]  # type: ignore[arg-type] # whatever has these names will do
    except StopIteration:
        raise ValueError("no JSON") from None


def quote_json(text: str) -> str:
    """A text as JSON, in letters of ASCII."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        import json

        return json.dumps(text)
    return encode_basestring_ascii(text)


class _Plain:
    """How a scanner is to read: like `json` does if it is told nothing else."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


# Seconds after which a session starts without its opening.
DEADLINE = 1.0
# Starts that go on with a session, which is then told how far it came.
_GOES_ON = ("compact", "resume")


def session_start_output(data: str, host: str, event: str, cwd: str, payload: bytes, env: Mapping[str, str]) -> bytes:
    """What to print: the opening for the folder, in the shape that the host reads."""
    told = _object(payload)
    folder = _text(told, "cwd") or _first(told, "workspace_roots", "workspaceRoots") or cwd
    named = _text(told, "session_id", "sessionId", "conversation_id", "conversationId")
    goes_on = named and _text(told, "source", "trigger") in _GOES_ON
    session = f"{host}:{named}" if goes_on else ""
    return OUTPUT_SHAPES[host](event, _opening(data, folder, session, env)).encode()


def _opening(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    now, elsewhere = content_stamp(data, env), is_remote_store(data, env)
    text = cached_context(data, folder, session, now, whenever=elsewhere) if now else ""
    if text is None and elsewhere:
        # Nobody waits for a database across a network: the next session in this folder is told.
        cache_context(data, folder, session, "", "")
        return ""
    return _composed(data, folder, session, env) if text is None else text


def _composed(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """Made now, from the store. Whoever takes too long is left behind; the process ends without it."""
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
    said = f'{{"hookEventName": {quote_json(event)}, "additionalContext": {quote_json(text)}}}'
    return f'{{"hookSpecificOutput": {said}}}\n' if text else ""


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


def _text(told: dict[str, Any], *names: str) -> str:
    return next((told[name] for name in names if isinstance(told.get(name), str) and told[name]), "")


def _first(told: dict[str, Any], *names: str) -> str:
    found = next((told[name] for name in names if isinstance(told.get(name), list) and told[name]), [""])[0]
    return os.fspath(found) if isinstance(found, str) else ""
