"""What a host says on standard input, read without ever waiting for long: some leave it open and say nothing."""

from __future__ import annotations

import os
import sys
import time

from commonplace.capture.hooks.spool import (
    CONTEXT_FAILURE,
    EVENT,
    SAMPLE,
    count_failure,
    encode_record,
    failure_reason,
    spool_folder,
    write_event,
)
from commonplace.data_folder import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn


# What is kept of a payload; the rest is read and dropped, since a host that cannot write may fail.
MAX_PAYLOAD_BYTES = 1 << 20
# Seconds for the first byte, and from then on for all of it.
FIRST_BYTE_SECONDS, ALL_BYTES_SECONDS = 2.0, 3.0
# A host that may leave it open, and one that told the prompt in the environment already.
FIRST_BYTE_SECONDS_KIRO, FIRST_BYTE_SECONDS_WITH_PROMPT = 0.5, 0.05
_PIECE = 1 << 16
# Seconds without another word after which it is looked at whether that was all.
_PAUSE = 0.02


class Payload:
    """The bytes that were kept, how many there were, and how it ended.

    `whole`, `cut` at the limit, `stalled` in the middle, or `silent`: left open, with nothing said.
    """

    __slots__ = ("_deadline", "ended", "kept", "size")

    def __init__(self, patience: float = FIRST_BYTE_SECONDS) -> None:
        self.kept, self.size, self.ended = b"", 0, "whole"
        self._deadline = time.monotonic() + patience

    def read(self, descriptor: int = 0) -> Payload:
        """Everything up to the end, or up to a deadline. A terminal says nothing."""
        try:
            if not os.isatty(descriptor):
                _read(self, descriptor) if sys.platform != "win32" else _read_in_thread(self, descriptor)
        except OSError:
            # It was closed before we were started.
            return self
        return self

    def take(self, piece: bytes) -> None:
        if not self.size:
            self._deadline = time.monotonic() + ALL_BYTES_SECONDS
        self.size += len(piece)
        self.kept += piece[: MAX_PAYLOAD_BYTES - len(self.kept)]
        if self.size > len(self.kept):
            self.ended = "cut"

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_complete(self) -> bool:
        """Whether everything was said that an event has: some hosts leave their end open after it."""
        if self.size > len(self.kept) or not self.kept.rstrip().endswith(b"}"):
            return False
        from json import loads

        try:
            loads(self.kept)
        except (ValueError, RecursionError):
            return False
        return True

    def stall(self) -> None:
        if self.ended == "whole":
            self.ended = "stalled" if self.size else "silent"


def _read(payload: Payload, descriptor: int) -> None:
    from select import select

    while select([descriptor], [], [], payload.seconds_left)[0]:
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return
        payload.take(piece)
        if not select([descriptor], [], [], _PAUSE)[0] and payload.is_complete:
            return
    payload.stall()


def _read_in_thread(payload: Payload, descriptor: int) -> None:
    """Windows cannot wait for a pipe: a thread reads, and is left behind when its time is over."""
    from queue import Empty, SimpleQueue
    from threading import Thread

    pieces: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        piece = b"?"
        while piece:
            try:
                piece = os.read(descriptor, _PIECE)
            except OSError:
                piece = b""
            pieces.put(piece)

    Thread(target=read, daemon=True).start()
    pause = payload.seconds_left
    while payload.seconds_left:
        try:
            piece = pieces.get(timeout=pause)
        except Empty:
            if payload.is_complete:
                return
            pause = payload.seconds_left
            continue
        if not piece:
            return
        payload.take(piece)
        pause = _PAUSE
    payload.stall()


HOSTS = ("claude-code", "codex", "gemini", "cursor", "kiro", "windsurf")
# A hook that is only tried leaves its event under this name, and nobody drains it.
SAMPLE_VARIABLE = "COMMONPLACE_HOOK_SAMPLE"
# What a host wants to hear after an event whatever happened.
_POLITE = {("cursor", "beforesubmitprompt"): b'{"continue": true}\n'}
_STARTS = {"sessionstart": HOSTS[:5], "agentspawn": ("kiro",)}
# What a host calls the end of a turn or a session, or a conversation about to be shortened.
_ENDS = (
    *("stop", "agentstop", "sessionend", "precompact", "precompress", "afteragent", "afteragentresponse"),
    *("postcascaderesponse", "postcascaderesponsewithtranscript"),
)


def is_hook_command(arguments: Sequence[str]) -> bool:
    """Whether a command line is a hook's, and not somebody asking for help."""
    return "hook" in arguments[:4] and _parsed(arguments) is not None


def main(arguments: Sequence[str]) -> NoReturn:
    """Fire, and end the process at once: there is nothing to tidy up."""
    try:
        os.write(1, handle_event(arguments, os.environ))
        _go_on(arguments, os.environ)
    except BaseException:  # noqa: BLE001 - whatever it is, the editor must not be harmed by it
        pass
    finally:
        os._exit(0)


def handle_event(arguments: Sequence[str], env: Mapping[str, str], stdin: int = 0) -> bytes:
    """Keep the event that is on standard input; what the host is to be told."""
    given, host, event = _parsed(arguments) or ("", "", "")
    data = os.path.expanduser(data_folder(given, env))
    prompt = env.get("USER_PROMPT", "") if host == "kiro" else ""
    patience = (
        FIRST_BYTE_SECONDS_WITH_PROMPT if prompt else FIRST_BYTE_SECONDS_KIRO if host == "kiro" else FIRST_BYTE_SECONDS
    )
    payload = Payload(patience).read(stdin)
    if host not in HOSTS or not event:
        _complain(data, "unknown-host" if event else "unknown-event")
        return b""
    cwd = _here()
    try:
        fields = (host, event, str(time.time_ns() // 1_000_000), cwd, prompt, str(payload.size), payload.ended)
        sample = env.get(SAMPLE_VARIABLE, "")
        write_event(spool_folder(data), encode_record(fields, payload.kept), SAMPLE if sample else EVENT, sample)
    except Exception as error:  # noqa: BLE001 - counted, and the session goes on
        _complain(data, failure_reason(error))
    name = _plain(event)
    if host in _STARTS.get(name, ()):
        return _opening(data, host, event, cwd, payload.kept, env)
    return _POLITE.get((host, name), b"{}\n" if host == "gemini" else b"")


def _go_on(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """At the end of a turn or a session, have remembered what waits. It is no hook's work, and none waits for it."""
    given, host, event = _parsed(arguments) or ("", "", "")
    if host in HOSTS and _plain(event) in _ENDS and not env.get(SAMPLE_VARIABLE):
        from commonplace.capture.hooks.drain_process import spawn_drain

        spawn_drain(os.path.expanduser(data_folder(given, env)), env)


def _opening(data: str, host: str, event: str, cwd: str, payload: bytes, env: Mapping[str, str]) -> bytes:
    try:
        from commonplace.capture.hooks.session_start import session_start_output

        return session_start_output(data, host, event, cwd, payload, env)
    except Exception as error:  # noqa: BLE001 - a session can start without a memory
        _complain(data, f"{CONTEXT_FAILURE}{failure_reason(error)}")
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
    counted = count_failure(spool_folder(data), "hook", reason)
    try:
        sys.stderr.write(f"commonplace hook: {reason}{'' if counted else ' (not counted)'}\n")
    except (OSError, ValueError, AttributeError):
        return
