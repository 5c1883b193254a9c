"""Checks of hooks that send to a server elsewhere: an event goes all the way there, is read back, and removed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from commonplace.capture.hooks.drain import drain_to
from commonplace.capture.hooks.send_events import EventSender, event_record
from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.capture.hooks.team_hints import HINTS_PATH, NEAR_SECONDS
from commonplace.capture.hooks.team_server import TeamServer, team_servers
from commonplace.capture.hooks.working_folder import WorkingFolder
from commonplace.doctor.doctor_context import DoctorContext, Finding, Fix, failure, ok, remark
from commonplace.errors import CommonplaceError
from commonplace.fast.spool import EVENT, SAMPLE, SAMPLE_VARIABLE, event_name, spool_folder
from commonplace.hosts.connections import Connection, Hook
from commonplace.hosts.hook_event import Event
from commonplace.text.dates import time_ago
from commonplace.text.sentences import counted

_PROMPT = "A check by the doctor: what is known about this?"
HOOK_SECONDS, ANSWER_SECONDS = 10.0, 5.0
_ADVICE = "Check the server and its key; events wait until it takes them, and `commonplace drain` sends them."


def check_team_hooks(
    context: DoctorContext, what: str, title: str, found: Connection, server: TeamServer, fix: Fix
) -> Finding:
    """Whether what the hooks of an editor capture reaches the server, and can be found there."""
    if not any(str(server.folder) in hook.command for hook in found.hooks):
        sentence = f"{title} calls {server.url}, but its hooks capture into this machine's own memory."
        return failure(what, sentence, "Connect it again with the same --http and --key, or use --fix.", fix)
    hook = next((hook for hook in found.hooks if _is_prompt(hook)), found.hooks[0])
    began = time.monotonic()
    if why := _send_and_read_back(context, server, hook):
        return failure(what, f"What the hooks of {title} capture does not reach {server.url}: {why}", _ADVICE)
    sent = f"A hook of {title} sent an event to {server.url}, where it was found and removed"
    sent = f"{sent} ({time.monotonic() - began:.1f} s)."
    seconds = _seconds_for_hints(server)
    if seconds is None:
        return remark(what, f"{sent} It shows nothing at prompts.", "Update the server.")
    late = " Since that is long, they are shown a step later." if seconds > NEAR_SECONDS else ""
    return ok(what, f"{sent} Memories at prompts take {1000 * seconds:.0f} ms.{late}")


def check_waiting_for_servers(context: DoctorContext) -> Iterator[Finding]:
    """What still waits to be sent."""
    now = time.time_ns() // 1_000_000
    for server in team_servers(context.settings.data_dir):
        state = spool_state(replace(context.settings, data_dir=server.folder))
        if state.waiting:
            since = f" (the oldest from {time_ago(state.oldest_ms, now)})" if state.oldest_ms else ""
            yield remark("waiting", f"{are_waiting(state.waiting)} for {server.url}{since}.", _ADVICE)


def are_waiting(number: int) -> str:
    """How many events wait: "1 event is waiting"."""
    return f"{counted(number, 'event')} {'is' if number == 1 else 'are'} waiting"


def run_hook(
    command: Sequence[str] | str, payload: bytes, sample: str, env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook's command as its host would (a string through the shell), with an event that is a sample."""
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        input=payload,
        capture_output=True,
        timeout=HOOK_SECONDS,
        check=False,
        env={**env, SAMPLE_VARIABLE: sample},
    )


def _is_prompt(hook: Hook) -> bool:
    name = hook.event.replace("_", "").replace("-", "").lower()
    return "prompt" in name or name in ("beforeagent", "chat.message")


def _send_and_read_back(context: DoctorContext, server: TeamServer, hook: Hook) -> str:
    """Send one event by the hook's own command; returns what went wrong, or nothing."""
    mark = f"doctor{os.urandom(6).hex()}"
    name = event_name()
    spool = Path(spool_folder(str(server.folder)))
    try:
        run_hook(hook.command, _payload(hook, mark), name)
        (spool / (name + SAMPLE)).replace(spool / (name + EVENT))
        sender = EventSender(server, tries=1, sample=name)
        try:
            drain_to(sender, replace(context.settings, data_dir=server.folder))
        finally:
            sender.close()
        return "" if _find_and_remove(server, mark) else "the server accepted it, but cannot find it."
    except CommonplaceError as error:
        return error.message
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the hook {hook.event} failed ({type(error).__name__})."
    finally:
        for ending in (SAMPLE, EVENT):
            (spool / (name + ending)).unlink(missing_ok=True)


def _find_and_remove(server: TeamServer, mark: str) -> bool:
    client = server.client(ANSWER_SECONDS)
    try:
        with client.reading_reply():
            found = client.request("GET", f"/api/v1/search?{urlencode({'q': mark, 'kind': 'observation'})}")
            ids = [hit["id"] for hit in found["results"]]
            for id_ in ids:
                client.request("DELETE", f"/api/v1/items/{id_}")
            return bool(ids)
    finally:
        client.close()


def _seconds_for_hints(server: TeamServer) -> float | None:
    """How long the server takes to say what concerns a prompt, over an open connection; None if it cannot say."""
    client = server.client(ANSWER_SECONDS, tries=1)
    event = Event("claude-code", "prompt", event_name(), "doctor", text=_PROMPT, at_ms=time.time_ns() // 1_000_000)
    body = {"moment": "prompt", "event": event_record(event, WorkingFolder())}
    try:
        for _ in range(2):
            began = time.monotonic()
            client.request("POST", HINTS_PATH, body)
    except CommonplaceError:
        return None
    finally:
        client.close()
    return time.monotonic() - began


def _payload(hook: Hook, mark: str) -> bytes:
    """A prompt, wherever the editor of the hook puts it."""
    text = f"A check by the doctor, which it removes again: {mark}"
    session = dict.fromkeys(("session_id", "conversation_id", "trajectory_id"), mark)
    fields = {**session, "hook_event_name": hook.event, "prompt": text, "tool_info": {"user_prompt": text}}
    return json.dumps(fields).encode()
