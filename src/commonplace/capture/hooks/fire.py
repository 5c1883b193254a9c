"""`commonplace hook HOST EVENT`: what editors and agents run while they work. It must never hurt them.

It leaves what it was told in the spool and goes; at the start of a session it prints what is remembered. It always
exits with 0, waits for nobody, and imports so little that it takes about as long as the interpreter itself.
"""

from __future__ import annotations

import os
import sys
import time

from commonplace.capture.hooks.payload import FIRST, FIRST_IF_SILENT, FIRST_IF_TOLD, Payload
from commonplace.capture.hooks.spool import EVENT, OPENING, SAMPLE, leave, note, reason_of, record, spool_of
from commonplace.data_folder import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

HOSTS = ("claude-code", "codex", "gemini", "cursor", "kiro", "windsurf")
# A hook that is only tried leaves its event under this name, and nobody drains it.
SAMPLE_NAME = "COMMONPLACE_HOOK_SAMPLE"
# What a host wants to hear after an event whatever happened.
_POLITE = {("cursor", "beforesubmitprompt"): b'{"continue": true}\n'}
_STARTS = {"sessionstart": HOSTS[:5], "agentspawn": ("kiro",)}
# What a host calls the end of a turn or a session, or a conversation about to be shortened.
_ENDS = (
    *("stop", "agentstop", "sessionend", "precompact", "precompress", "afteragent", "afteragentresponse"),
    *("postcascaderesponse", "postcascaderesponsewithtranscript"),
)


def is_hook(arguments: Sequence[str]) -> bool:
    """Whether a command line is a hook's, and not somebody asking for help."""
    return "hook" in arguments[:4] and _parsed(arguments) is not None


def main(arguments: Sequence[str]) -> NoReturn:
    """Fire, and end the process at once: there is nothing to tidy up."""
    try:
        os.write(1, fire(arguments, os.environ))
        _go_on(arguments, os.environ)
    except BaseException:  # noqa: BLE001 - whatever it is, the editor must not be harmed by it
        pass
    finally:
        os._exit(0)


def fire(arguments: Sequence[str], env: Mapping[str, str], stdin: int = 0) -> bytes:
    """Keep the event that is on standard input; what the host is to be told."""
    given, host, event = _parsed(arguments) or ("", "", "")
    data = os.path.expanduser(data_folder(given, env))
    prompt = env.get("USER_PROMPT", "") if host == "kiro" else ""
    patience = FIRST_IF_TOLD if prompt else FIRST_IF_SILENT if host == "kiro" else FIRST
    payload = Payload(patience).read(stdin)
    if host not in HOSTS or not event:
        _complain(data, "unknown-host" if event else "unknown-event")
        return b""
    cwd = _here()
    try:
        fields = (host, event, str(time.time_ns() // 1_000_000), cwd, prompt, str(payload.size), payload.ended)
        sample = env.get(SAMPLE_NAME, "")
        leave(spool_of(data), record(fields, payload.kept), SAMPLE if sample else EVENT, sample)
    except Exception as error:  # noqa: BLE001 - counted, and the session goes on
        _complain(data, reason_of(error))
    name = _plain(event)
    if host in _STARTS.get(name, ()):
        return _opening(data, host, event, cwd, payload.kept, env)
    return _POLITE.get((host, name), b"{}\n" if host == "gemini" else b"")


def _go_on(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """At the end of a turn or a session, have remembered what waits. It is no hook's work, and none waits for it."""
    given, host, event = _parsed(arguments) or ("", "", "")
    if host in HOSTS and _plain(event) in _ENDS and not env.get(SAMPLE_NAME):
        from commonplace.capture.hooks.afterwards import start

        start(os.path.expanduser(data_folder(given, env)), env)


def _opening(data: str, host: str, event: str, cwd: str, payload: bytes, env: Mapping[str, str]) -> bytes:
    try:
        from commonplace.capture.hooks.start import answer

        return answer(data, host, event, cwd, payload, env)
    except Exception as error:  # noqa: BLE001 - a session can start without a memory
        _complain(data, f"{OPENING}{reason_of(error)}")
        return b"{}\n" if host == "gemini" else b""


def _parsed(arguments: Sequence[str]) -> tuple[str, str, str] | None:
    """Data folder, host and event; None if somebody asks for help or for another command."""
    data, rest = "", list(arguments)
    words: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--data-dir":
            data = rest.pop(0) if rest else ""
        elif word.startswith("--data-dir="):
            data = word.partition("=")[2]
        elif word in ("-h", "--help") or (not words and word != "hook"):
            return None
        else:
            words.append(word)
    host, event = [*words[1:3], "", ""][:2]
    return (data, host, event) if words else None


def _plain(event: str) -> str:
    return event.replace("_", "").replace("-", "").lower()


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _complain(data: str, reason: str) -> None:
    """Count it; and tell whoever looks at the host's log, in case it cannot be counted."""
    counted = note(spool_of(data), "hook", reason)
    try:
        sys.stderr.write(f"commonplace hook: {reason}{'' if counted else ' (not counted)'}\n")
    except (OSError, ValueError, AttributeError):
        return
