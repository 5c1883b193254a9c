"""`commonplace hook HOST EVENT`: the command that editors and agents run while they work. It must never harm them.

It writes the event on standard input to the spool and exits; at the start of a session it prints what is remembered.
It always exits with 0, waits for nobody, and imports so little that it takes about as long as the interpreter itself.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from commonplace.data_folder import is_team_folder
from commonplace.fast.host_events import HOSTS, SUBAGENT_START, normalised_name
from commonplace.fast.payload import Payload
from commonplace.fast.spool import (
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from commonplace.fast.arguments import Arguments
    from commonplace.fast.host_events import HostEvents
    from commonplace.fast.whole_program import LoadForHooks

# How the tools of our own server are called by Claude Code, which is told before them, too.
OWN_TOOLS = "mcp__commonplace__"
# What the output of a tool that failed has in it, mostly.
_ERROR_SIGNS = (b"rror", b"ail", b"xception", b"anic", b"not found", b"denied")
# Seconds to wait for the first byte, and after it for the rest; then in the background, which POSIX can do.
FIRST_BYTE_SECONDS, ALL_BYTES_SECONDS = 2.0, 3.0
LATE_SECONDS = 60.0
# For the first byte of a host that may pass the prompt in the environment, and where it did.
FIRST_BYTE_SECONDS_OR_NONE, FIRST_BYTE_SECONDS_WITH_PROMPT = 0.5, 0.05


class HookCall:
    """One run of the command: whose event it is, where, and what the host said of it."""

    def __init__(self, arguments: Arguments, env: Mapping[str, str], load_whole_program: LoadForHooks) -> None:
        self.host, self.event = [*arguments.words[1:3], "", ""][:2]
        self.name = normalised_name(self.event)
        self.data, self.env = arguments.data_folder(env), env
        self.load_whole_program = load_whole_program
        self.sample = env.get(SAMPLE_VARIABLE, "")
        self.events = HOSTS.get(self.host)
        self.folder = _working_folder()
        self.content = b""
        self._fields: dict[str, Any] | None = None

    @property
    def prompt(self) -> str:
        """The prompt that the host passed in the environment, where it does that."""
        return self.env.get(self.events.prompt_variable, "") if self.events else ""

    @property
    def fields(self) -> dict[str, Any]:
        """The object that the host sent."""
        if self._fields is None:
            # Most events are saved unread.
            from commonplace.fast.json_text import object_in

            self._fields = object_in(self.content)
        return self._fields

    def look_up_events(self) -> HostEvents | None:
        """The events of the host, also of one that another package adds; None if it is not known."""
        if self.events is None and self.event:
            try:
                self.events = self.load_whole_program().events_of_plugin(self.host)
            except Exception:  # noqa: BLE001 - somebody else's code must not harm the editor either; the doctor tells
                return None
        return self.events if self.event else None

    def report_failure(self, reason: str) -> None:
        """Count a failure, and write it to the host's log in case it cannot be counted."""
        counted = count_failure(spool_folder(self.data), "hook", reason)
        try:
            sys.stderr.write(f"commonplace hook: {reason}{'' if counted else ' (not counted)'}\n")
        except (OSError, ValueError, AttributeError):
            return

    def shape(self, text: str) -> bytes:
        """A text as the host reads it after this event."""
        # Most events are answered with nothing.
        from commonplace.fast.output_shapes import SHAPES

        assert self.events is not None
        output = self.events.output
        shape = SHAPES[output] if isinstance(output, str) else output
        return shape(self.event, text).encode()


def main(arguments: Arguments, load_whole_program: LoadForHooks) -> NoReturn:
    """Handle the event and end the process at once: there is nothing to clean up."""
    # Nor is it worth looking for garbage, which takes a millisecond.
    gc.disable()
    try:
        _ignore_signals(True)
        hook = HookCall(arguments, os.environ, load_whole_program)
        output = handle_event(hook)
        try:
            os.write(1, output)
        except OSError:
            # The host does not read it, or is gone.
            pass
        _ignore_signals(False)
        _spawn_drain_at_end(hook)
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


def handle_event(hook: HookCall, stdin: int = 0) -> bytes:
    """Save the event on standard input; returns what the host should read on standard output."""
    payload = _read_payload(hook, stdin)
    events = hook.look_up_events()
    if events is None:
        hook.report_failure("unknown-host" if hook.event else "unknown-event")
        return b""
    hook.content = payload.content
    moment = events.hints.get(hook.name, "")
    # What is about to be done is nothing to remember yet.
    if hook.sample or (moment != "before-tool" and hook.name != SUBAGENT_START):
        _capture(hook, payload, stdin)
    if hook.name in events.starts:
        output = _session_start_output(hook)
    elif hook.sample:
        output = b""
    elif moment == "before-tool" and OWN_TOOLS.encode() in hook.content:
        output = _refused_tool(hook)
    else:
        output = _hint_output(hook, moment)
    return output or events.reply(hook.name).encode()


def _read_payload(hook: HookCall, stdin: int) -> Payload:
    first_byte_seconds = FIRST_BYTE_SECONDS
    if hook.prompt:
        first_byte_seconds = FIRST_BYTE_SECONDS_WITH_PROMPT
    elif hook.events and hook.events.prompt_variable:
        first_byte_seconds = FIRST_BYTE_SECONDS_OR_NONE
    limits = (seconds_to_wait(hook.env, first_byte_seconds), seconds_to_wait(hook.env, ALL_BYTES_SECONDS))
    return Payload(*limits).read(stdin)


def _capture(hook: HookCall, payload: Payload, stdin: int) -> None:
    """Save the event. What a busy host has not written yet is waited for in the background, where that is possible."""
    fields = (hook.host, hook.event, str(time.time_ns() // 1_000_000), hook.folder, hook.prompt)
    is_late = not (hook.sample or hook.prompt or payload.came_in_time)
    if not (is_late and _read_on(hook, fields, payload, stdin)):
        _save_event(hook, fields, payload)


def _save_event(hook: HookCall, fields: Sequence[str], payload: Payload, name: str = "") -> None:
    try:
        record = encode_record((*fields, str(payload.size), payload.ended), payload.content)
        write_event(spool_folder(hook.data), record, SAMPLE if hook.sample else EVENT, hook.sample or name)
    except Exception as error:  # noqa: BLE001 - counted, and the session goes on
        hook.report_failure(failure_reason(error))


def _read_on(hook: HookCall, fields: Sequence[str], payload: Payload, stdin: int) -> bool:
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
                payload.read_on(stdin, LATE_SECONDS)
                _save_event(hook, fields, payload, name)
                _spawn_drain_at_end(hook)
        finally:
            os._exit(0)
    return child > 0 and os.waitpid(child, 0)[0] == child


def _spawn_drain_at_end(hook: HookCall) -> None:
    """At the end of a turn or a session, start a process that drains the spool, without waiting for it."""
    if hook.events and hook.name in hook.events.ends and not hook.sample:
        # Only these events need it.
        from commonplace.fast.drain_process import spawn_drain

        spawn_drain(hook.data, hook.env)


def _session_start_output(hook: HookCall) -> bytes:
    try:
        # Only the start of a session needs it.
        from commonplace.fast.session_start import session_start_text

        return hook.shape(session_start_text(hook))
    except Exception as error:  # noqa: BLE001 - a session can start without a memory
        hook.report_failure(f"{CONTEXT_FAILURE}{failure_reason(error)}")
        return b""


def _refused_tool(hook: HookCall) -> bytes:
    """What keeps an agent from using a team's tools in a folder that is not shared; nothing anywhere else."""
    # Only a use of our own tools needs these.
    from commonplace.fast.json_text import field_text
    from commonplace.fast.output_shapes import refused_tool

    try:
        if not is_team_folder(hook.data) or not field_text(hook.fields, "tool_name").startswith(OWN_TOOLS):
            return b""
        folder = field_text(hook.fields, "cwd") or hook.folder
        given = hook.fields.get("tool_input")
        given = given if isinstance(given, dict) else {}
        why = hook.load_whole_program().tool_refusal(hook.data, folder, hook.env, given)
    except Exception as error:  # noqa: BLE001 - what cannot be told to be shared stays here
        why = "Whether this folder is shared with the team's memory cannot be told."
        hook.report_failure(f"{HINT_FAILURE}{failure_reason(error)}")
    return refused_tool(hook.event, why).encode() if why else b""


def _hint_output(hook: HookCall, moment: str) -> bytes:
    """What is remembered of a prompt or a tool. An event that says what an agent did shows whether hints were used."""
    assert hook.events is not None
    try:
        was_told_before = moment == "after-tool" and "before-tool" in hook.events.hints.values()
        if was_told_before and not any(sign in hook.content for sign in _ERROR_SIGNS):
            moment = ""
        if not moment and not os.path.isdir(os.path.join(hook.data, HINT_FOLDER)):
            return b""
        # Most hooks need neither.
        from commonplace.fast.hints import hint_text, note_use

        if moment != "prompt":
            note_use(hook)
        text = hint_text(hook, moment) if moment else ""
        return hook.shape(text) if text else b""
    except Exception as error:  # noqa: BLE001 - a session can do without a hint
        hook.report_failure(f"{HINT_FAILURE}{failure_reason(error)}")
        return b""


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
