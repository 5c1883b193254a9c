"""`commonplace hook HOST EVENT`: the command that editors and agents run while they work. It must never harm them.

It writes the event on standard input to the spool and exits; at the start of a session it prints what is remembered.
It always exits with 0, waits for nobody, and imports so little that it takes about as long as the interpreter itself.
"""

from __future__ import annotations

import os
import sys
import time

from commonplace.capture.hooks.spool import (
    CONTEXT_FAILURE,
    EVENT,
    HINT_FAILURE,
    HINT_FOLDER,
    SAMPLE,
    SAMPLE_VARIABLE,
    count_failure,
    encode_record,
    event_name,
    failure_reason,
    seconds_to_wait,
    spool_folder,
    write_event,
)
from commonplace.data_folder import data_folder, is_team_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from commonplace.hosts.host import HintMoment, Hooks

# What the host files say of their hooks, once more: importing one of them would take longer than the whole hook.
# tests/hosts/test_registry.py compares the two. Hosts of plugins are asked themselves.
HOSTS = ("claude-code", "codex", "gemini", "cursor", "kiro", "windsurf", "opencode")
# What a host expects on standard output after an event, whatever happened.
_FIXED_REPLIES = {("cursor", "beforesubmitprompt"): b'{"continue": true}\n'}
_SUBAGENT_START = "subagentstart"
_STARTS = {
    "sessionstart": HOSTS[:5],
    _SUBAGENT_START: ("claude-code", "codex"),
    "agentspawn": ("kiro",),
    "session.created": ("opencode",),
}
# Events at which a host takes in memories: the moment, and the hosts.
_HINTS: dict[str, tuple[HintMoment, tuple[str, ...]]] = {
    "userpromptsubmit": ("prompt", ("claude-code", "codex", "kiro")),
    "promptsubmit": ("prompt", ("kiro",)),
    "beforeagent": ("prompt", ("gemini",)),
    "chat.message": ("prompt", ("opencode",)),
    "pretooluse": ("before-tool", ("claude-code",)),
    "posttooluse": ("after-tool", ("claude-code", "codex", "cursor")),
    "posttoolusefailure": ("after-tool", ("claude-code",)),
    "aftertool": ("after-tool", ("gemini",)),
    "tool.execute.after": ("after-tool", ("opencode",)),
}
# How the tools of our own server are called by Claude Code, which is told before them, too.
OWN_TOOLS = b"mcp__commonplace__"
# What the output of a tool that failed has in it, mostly.
_ERROR_SIGNS = (b"rror", b"ail", b"xception", b"anic", b"not found", b"denied")
# What hosts call the end of a turn or a session, or a conversation that is about to be compacted.
_ENDS = (
    *("stop", "agentstop", "sessionend", "precompact", "precompress", "afteragent", "afteragentresponse"),
    *("postcascaderesponse", "postcascaderesponsewithtranscript", "session.idle"),
)
# More of a payload is read and dropped: a host that cannot write may fail.
MAX_PAYLOAD_BYTES = 1 << 20
# Seconds to wait for the first byte, and after it for the rest; then in the background, which POSIX can do.
FIRST_BYTE_SECONDS, ALL_BYTES_SECONDS = 2.0, 3.0
LATE_SECONDS = 60.0
# Kiro may leave its end open without writing anything, or pass the prompt in the environment.
FIRST_BYTE_SECONDS_KIRO, FIRST_BYTE_SECONDS_WITH_PROMPT = 0.5, 0.05
_CHUNK = 1 << 16
# Seconds without another byte after which the payload is checked for completeness.
_PAUSE = 0.02


def is_hook_command(arguments: Sequence[str]) -> bool:
    """Whether a command line runs a hook, rather than asking for help."""
    return "hook" in arguments[:4] and _parse(arguments) is not None


def main(arguments: Sequence[str]) -> NoReturn:
    """Handle the event and end the process at once: there is nothing to clean up."""
    try:
        _ignore_signals(True)
        output = handle_event(arguments, os.environ)
        try:
            os.write(1, output)
        except OSError:
            # The host does not read it, or is gone.
            pass
        _ignore_signals(False)
        _spawn_drain_at_end(arguments, os.environ)
    except BaseException:  # noqa: BLE001 - whatever it is, the editor must not be harmed by it
        pass
    finally:
        os._exit(0)


def _ignore_signals(ignore: bool) -> None:
    """Whoever interrupts the agent does not take away its event: this process ends by itself soon."""
    # `signal` would import more than the whole hook.
    import _signal  # type: ignore[import-not-found]

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if number := getattr(_signal, name, None):
            _signal.signal(number, _signal.SIG_IGN if ignore else _signal.SIG_DFL)


def handle_event(arguments: Sequence[str], env: Mapping[str, str], stdin: int = 0) -> bytes:
    """Save the event on standard input; returns what the host should read on standard output."""
    given, host, event = _parse(arguments) or ("", "", "")
    data = os.path.expanduser(data_folder(given, env))
    prompt = env.get("USER_PROMPT", "") if host == "kiro" else ""
    wait = FIRST_BYTE_SECONDS_KIRO if host == "kiro" else FIRST_BYTE_SECONDS
    first = seconds_to_wait(env, FIRST_BYTE_SECONDS_WITH_PROMPT if prompt else wait)
    payload = Payload(first, seconds_to_wait(env, ALL_BYTES_SECONDS)).read(stdin)
    plugin = None if host in HOSTS or not event else _plugin_hooks(host)
    if not event or (host not in HOSTS and plugin is None):
        _report_failure(data, "unknown-host" if event else "unknown-event")
        return b""
    cwd, name, sample = _working_folder(), _normalise(event), env.get(SAMPLE_VARIABLE, "")
    moment = _moment(host, name, plugin)
    # What is about to be done is nothing to remember yet.
    if (moment != "before-tool" and name != _SUBAGENT_START) or sample:
        fields = (host, event, str(time.time_ns() // 1_000_000), cwd, prompt)
        if (
            sample
            or prompt
            or payload.ended not in ("silent", "stalled")
            or not _read_on(arguments, fields, payload, stdin)
        ):
            _save_event(data, fields, payload, sample)
    call = (data, host, event, cwd, payload.content, env, plugin.output if plugin else None)
    if host in _STARTS.get(name, ()) or (plugin and name in map(_normalise, plugin.starts)):
        return _session_start_output(*call)
    if moment == "before-tool" and OWN_TOOLS in payload.content and not sample:
        return _refused_tool(data, event, cwd, payload.content, env)
    hint = b"" if sample else _hint_output(moment, prompt, *call)
    return hint or _FIXED_REPLIES.get((host, name), b"{}\n" if host == "gemini" else b"")


def _refused_tool(data: str, event: str, cwd: str, payload: bytes, env: Mapping[str, str]) -> bytes:
    """What keeps an agent from using a team's tools in a folder that is not shared; nothing anywhere else."""
    from commonplace.capture.hooks.context_cache import field_text, object_in, quote_json

    try:
        fields = object_in(payload)
        if not is_team_folder(data) or not field_text(fields, "tool_name").startswith(OWN_TOOLS.decode()):
            return b""
        from commonplace.capture.hooks.team_server import tool_refusal

        given = fields.get("tool_input")
        why = tool_refusal(data, field_text(fields, "cwd") or cwd, env, given if isinstance(given, dict) else {})
    except Exception as error:  # noqa: BLE001 - what cannot be told to be shared stays here
        why = "Whether this folder is shared with the team's memory cannot be told."
        _report_failure(data, f"{HINT_FAILURE}{failure_reason(error)}")
    decision = f'"permissionDecision": "deny", "permissionDecisionReason": {quote_json(why)}'
    output = f'{{"hookEventName": {quote_json(event)}, {decision}}}'
    return f'{{"hookSpecificOutput": {output}}}\n'.encode() if why else b""


def _save_event(data: str, fields: Sequence[str], payload: Payload, sample: str = "", name: str = "") -> None:
    try:
        record = encode_record((*fields, str(payload.size), payload.ended), payload.content)
        write_event(spool_folder(data), record, SAMPLE if sample else EVENT, sample or name)
    except Exception as error:  # noqa: BLE001 - counted, and the session goes on
        _report_failure(data, failure_reason(error))


def _read_on(arguments: Sequence[str], fields: Sequence[str], payload: Payload, stdin: int) -> bool:
    """Wait in the background for what a busy host writes late, and save the event then; False if that is impossible."""
    name = event_name()
    try:
        child = os.fork() if sys.platform != "win32" else -1
    except OSError:
        return False
    if child == 0:
        try:
            os.setsid()
            # Once more: nobody has to wait for the end of a grandchild.
            if os.fork() == 0:
                null = os.open(os.devnull, os.O_RDWR)
                for stream in (1, 2):
                    os.dup2(null, stream)
                _ignore_signals(False)
                given, _host, _event = _parse(arguments) or ("", "", "")
                payload.read_on(stdin, LATE_SECONDS)
                _save_event(os.path.expanduser(data_folder(given, os.environ)), fields, payload, name=name)
                _spawn_drain_at_end(arguments, os.environ)
        finally:
            os._exit(0)
    return child > 0 and os.waitpid(child, 0)[0] == child


def _moment(host: str, name: str, plugin: Hooks | None) -> HintMoment | None:
    """What a host takes in memories about at an event; None if it takes in none."""
    if plugin:
        return next((moment for event, moment in plugin.hints.items() if _normalise(event) == name), None)
    moment, hosts = _HINTS.get(name, (None, ()))
    return moment if host in hosts else None


def _spawn_drain_at_end(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """At the end of a turn or a session, start a process that drains the spool, without waiting for it."""
    given, host, event = _parse(arguments) or ("", "", "")
    data = os.path.expanduser(data_folder(given, env))
    plugin = None if host in HOSTS or not event else _plugin_hooks(host)
    ends = _ENDS if host in HOSTS else tuple(map(_normalise, plugin.ends)) if plugin else ()
    if _normalise(event) in ends and not env.get(SAMPLE_VARIABLE):
        from commonplace.capture.hooks.drain_process import spawn_drain

        spawn_drain(data, env)


def _plugin_hooks(host: str) -> Hooks | None:
    """The hooks of a host that another package adds; None if there is none, or it is broken, which the doctor tells."""
    try:
        from commonplace.hosts.host import hooks_of

        return hooks_of(host)
    except Exception:  # noqa: BLE001 - somebody else's code must not harm the editor either
        return None


def _session_start_output(
    data: str,
    host: str,
    event: str,
    cwd: str,
    payload: bytes,
    env: Mapping[str, str],
    shape: Callable[[str, str], str] | None,
) -> bytes:
    try:
        from commonplace.capture.hooks.context_cache import session_start_output

        return session_start_output(data, host, event, cwd, payload, env, shape)
    except Exception as error:  # noqa: BLE001 - a session can start without a memory
        _report_failure(data, f"{CONTEXT_FAILURE}{failure_reason(error)}")
        return b"{}\n" if host == "gemini" else b""


def _hint_output(
    moment: HintMoment | None,
    prompt: str,
    data: str,
    host: str,
    event: str,
    cwd: str,
    payload: bytes,
    env: Mapping[str, str],
    shape: Callable[[str, str], str] | None,
) -> bytes:
    """What is remembered of a prompt or a tool. An event that says what an agent did shows whether hints were used."""
    try:
        if moment == "after-tool" and host == HOSTS[0] and not any(sign in payload for sign in _ERROR_SIGNS):
            # It was told about the file or the command before.
            moment = None
        if moment is None and not os.path.isdir(os.path.join(data, HINT_FOLDER)):
            return b""
        from commonplace.capture.hooks.hint_output import hint_output, note_use

        if moment != "prompt":
            note_use(data, host, payload)
        return hint_output(data, host, event, moment, cwd, payload, env, prompt, shape) if moment else b""
    except Exception as error:  # noqa: BLE001 - a session can do without a hint
        _report_failure(data, f"{HINT_FAILURE}{failure_reason(error)}")
        return b""


def _parse(arguments: Sequence[str]) -> tuple[str, str, str] | None:
    """Data folder, host and event; None for a request for help or another command."""
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


def _normalise(event: str) -> str:
    return event.replace("_", "").replace("-", "").lower()


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _report_failure(data: str, reason: str) -> None:
    """Count a failure, and write it to the host's log in case it cannot be counted."""
    counted = count_failure(spool_folder(data), "hook", reason)
    try:
        sys.stderr.write(f"commonplace hook: {reason}{'' if counted else ' (not counted)'}\n")
    except (OSError, ValueError, AttributeError):
        return


class Payload:
    """What a host writes to standard input, read without waiting for long: some leave it open and write nothing.

    `content` is limited in length, `size` is the whole length, and `ended` is `whole`, `cut` at the limit, `stalled` in
    the middle, or `silent` if nothing came at all.
    """

    __slots__ = ("_all_bytes_seconds", "_deadline", "content", "ended", "size")

    def __init__(
        self, first_byte_seconds: float = FIRST_BYTE_SECONDS, all_bytes_seconds: float = ALL_BYTES_SECONDS
    ) -> None:
        self.content, self.size, self.ended = b"", 0, "whole"
        self._all_bytes_seconds = all_bytes_seconds
        self._deadline = time.monotonic() + first_byte_seconds

    def read(self, descriptor: int = 0) -> Payload:
        """Read up to the end or a deadline. A terminal is not read."""
        try:
            if not os.isatty(descriptor):
                _read(self, descriptor) if sys.platform != "win32" else _read_in_thread(self, descriptor)
        except OSError:
            # It was closed before this process started.
            return self
        return self

    def read_on(self, descriptor: int, seconds: float) -> None:
        """Read the rest of what was not complete in time."""
        self.ended = "whole"
        self._all_bytes_seconds = seconds
        self._deadline = time.monotonic() + seconds
        self.read(descriptor)
        if not self.size:
            self.ended = "silent"

    def add(self, chunk: bytes) -> None:
        if not self.size:
            self._deadline = time.monotonic() + self._all_bytes_seconds
        self.size += len(chunk)
        self.content += chunk[: MAX_PAYLOAD_BYTES - len(self.content)]
        if self.size > len(self.content):
            self.ended = "cut"

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_complete(self) -> bool:
        """Whether it is a whole JSON object: some hosts leave their end open after it."""
        if self.size > len(self.content) or not self.content.rstrip().endswith(b"}"):
            return False
        from json import loads

        try:
            loads(self.content)
        except (ValueError, RecursionError):
            return False
        return True

    def stall(self) -> None:
        if self.ended == "whole":
            self.ended = "stalled" if self.size else "silent"


def _read(payload: Payload, descriptor: int) -> None:
    from select import select

    while select([descriptor], [], [], payload.seconds_left)[0]:
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        payload.add(chunk)
        if not select([descriptor], [], [], _PAUSE)[0] and payload.is_complete:
            return
    payload.stall()


def _read_in_thread(payload: Payload, descriptor: int) -> None:
    """Windows cannot wait for a pipe: a thread reads, and is abandoned at the deadline."""
    from queue import Empty, SimpleQueue
    from threading import Thread

    chunks: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        chunk = b"?"
        while chunk:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError:
                chunk = b""
            chunks.put(chunk)

    Thread(target=read, daemon=True).start()
    pause = payload.seconds_left
    while payload.seconds_left:
        try:
            chunk = chunks.get(timeout=pause)
        except Empty:
            if payload.is_complete:
                return
            pause = payload.seconds_left
            continue
        if not chunk:
            return
        payload.add(chunk)
        pause = _PAUSE
    payload.stall()
