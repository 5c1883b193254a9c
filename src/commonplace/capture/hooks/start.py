"""The start of a session: what its host prints into the conversation."""

from __future__ import annotations

import os

from commonplace.capture.hooks.prepared import is_elsewhere, lay_ready, look_up, stamp
from commonplace.capture.hooks.quick_json import parsed, quoted
from commonplace.capture.hooks.spool import OPENING, note, spool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# Seconds after which a session starts without its opening.
DEADLINE = 1.0
# Starts that go on with a session, which is then told how far it came.
_GOES_ON = ("compact", "resume")


def answer(data: str, host: str, event: str, cwd: str, payload: bytes, env: Mapping[str, str]) -> bytes:
    """What to print: the opening for the folder, in the shape that the host reads."""
    told = _object(payload)
    folder = _text(told, "cwd") or _first(told, "workspace_roots", "workspaceRoots") or cwd
    named = _text(told, "session_id", "sessionId", "conversation_id", "conversationId")
    goes_on = named and _text(told, "source", "trigger") in _GOES_ON
    session = f"{host}:{named}" if goes_on else ""
    return SHAPES[host](event, _opening(data, folder, session, env)).encode()


def _opening(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    now, elsewhere = stamp(data, env), is_elsewhere(data, env)
    text = look_up(data, folder, session, now, whenever=elsewhere) if now else ""
    if text is None and elsewhere:
        # Nobody waits for a database across a network: the next session in this folder is told.
        lay_ready(data, folder, session, "", "")
        return ""
    return _composed(data, folder, session, env) if text is None else text


def _composed(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """Made now, from the store. Whoever takes too long is left behind; the process ends without it."""
    from threading import Thread

    made: list[str] = []

    def make() -> None:
        from commonplace.capture.hooks.preparing import compose

        try:
            made.append(compose(data, folder, session, env))
        except Exception as error:  # noqa: BLE001 - counted; a session can start without a memory
            note(spool_of(data), "hook", f"{OPENING}{getattr(error, 'code', type(error).__name__)}")
            made.append("")

    worker = Thread(target=make, daemon=True)
    worker.start()
    worker.join(DEADLINE)
    if not made:
        note(spool_of(data), "hook", f"{OPENING}too-slow")
    return made[0] if made else ""


def _claude(event: str, text: str) -> str:
    said = f'{{"hookEventName": {quoted(event)}, "additionalContext": {quoted(text)}}}'
    return f'{{"hookSpecificOutput": {said}}}\n' if text else ""


SHAPES: dict[str, Callable[[str, str], str]] = {
    "claude-code": _claude,
    "codex": _claude,
    "gemini": lambda event, text: _claude(event, text) or "{}\n",
    "cursor": lambda _event, text: f'{{"additional_context": {quoted(text)}}}\n' if text else "",
    "kiro": lambda _event, text: text,
}


def _object(payload: bytes) -> dict[str, Any]:
    try:
        found = parsed(payload.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(told: dict[str, Any], *names: str) -> str:
    return next((told[name] for name in names if isinstance(told.get(name), str) and told[name]), "")


def _first(told: dict[str, Any], *names: str) -> str:
    found = next((told[name] for name in names if isinstance(told.get(name), list) and told[name]), [""])[0]
    return os.fspath(found) if isinstance(found, str) else ""
