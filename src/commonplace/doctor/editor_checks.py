"""Connections: what each editor would start or call is really started or called, and asked for its tools."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.capture.hooks.drain import drain
from commonplace.capture.hooks.hook_command import SAMPLE_VARIABLE
from commonplace.capture.hooks.repository_identity import NAME_CLASH_ADVICE, projects_sharing_a_name
from commonplace.capture.hooks.spool import CONTEXT_FAILURE, PART, SAMPLE, spool_folder
from commonplace.capture.hooks.spool_reader import SpoolState, clear_failures, remove_leftovers, spool_path, spool_state
from commonplace.config import Settings
from commonplace.doctor.context import DoctorContext, Finding, failure, ok, remark
from commonplace.doctor.mcp_probe import ProbeResult, probe_process, probe_url
from commonplace.errors import CommonplaceError
from commonplace.hosts.connections import (
    Connection,
    Hook,
    apply_plan,
    calls_this_memory,
    is_installed,
    plan_connection,
    read_connection,
)
from commonplace.hosts.host import Host, Locations, Server
from commonplace.hosts.registry import editors
from commonplace.hosts.server_entry import DesiredConnection, commonplace_program, local_server
from commonplace.memory.keys import find_working_key
from commonplace.model import Key
from commonplace.text.dates import DAY_MS, time_ago

CONNECTIONS_AREA = "connections"
PROFILE, DATA_DIR = "--profile", "COMMONPLACE_DATA_DIR"
USUAL_PROFILE = "core"


def check_connections(context: DoctorContext) -> Iterator[Finding]:
    some = False
    for places in context.places:
        for editor in editors():
            for finding in _check_connection(context, editor, places):
                some = True
                yield finding
    if not some:
        yield remark(
            CONNECTIONS_AREA, "editors", "No editor was found here.", "`commonplace connect NAME` connects one."
        )


def editor_label(editor: Host, places: Locations) -> str:
    return f"{editor.name} (project)" if places.project else editor.name


def connect_command(editor: Host, places: Locations) -> str:
    """The command that connects an editor anew."""
    return f"`commonplace connect {editor.name}{' --project' if places.project else ''}`"


def _check_connection(context: DoctorContext, editor: Host, places: Locations) -> Iterator[Finding]:
    what = editor_label(editor, places)
    if editor.mcp.file(places) is None:
        return
    try:
        found = read_connection(editor, places)
    except CommonplaceError as error:
        yield failure(CONNECTIONS_AREA, what, error.message, error.hint)
        return
    if found is None or found.entry is None:
        if found is not None:
            sentence = f"{editor.title} has our hooks, but no server."
            yield failure(CONNECTIONS_AREA, what, sentence, f"Run {connect_command(editor, places)}.")
        elif places.project is None and is_installed(editor, places):
            yield remark(
                CONNECTIONS_AREA,
                what,
                f"{editor.title} is installed, but not connected.",
                f"Run {connect_command(editor, places)}.",
            )
    elif not found.ours:
        sentence = f"{found.file} has a server called commonplace that somebody else made."
        yield remark(
            CONNECTIONS_AREA, what, sentence, f"If it is not meant, run {connect_command(editor, places)} with --force."
        )
    else:
        yield _probe_connection(context, editor, places, found)


def _probe_connection(context: DoctorContext, editor: Host, places: Locations, found: Connection) -> Finding:
    what = editor_label(editor, places)
    if not found.url and not _exists(found.command):
        sentence = f"{editor.title} starts {found.command}, which is not there."
        return failure(
            CONNECTIONS_AREA,
            what,
            sentence,
            f"Run {connect_command(editor, places)}, or use --fix.",
            reconnect(editor, places, found),
        )
    answer = _answer(context, found)
    if answer.why:
        return failure(
            CONNECTIONS_AREA,
            what,
            f"{editor.title} gets no tools: {answer.why}.",
            _connection_advice(editor, places, found, answer),
        )
    how = f"called {found.url}" if found.url else f"started {Path(found.command).name}"
    sentence = f"{editor.title} {how}, which told {len(answer.tools)} tools in {answer.seconds:.1f} s."
    return ok(CONNECTIONS_AREA, what, sentence)


def _answer(context: DoctorContext, found: Connection) -> ProbeResult:
    """What the server says. Editors that start it in the same way share one start."""
    env, headers = found.env or {}, found.headers or {}
    same = json.dumps([found.command, found.args, sorted(env.items()), found.url, sorted(headers.items())])
    if same not in context.answers:
        context.answers[same] = (
            probe_url(found.url, headers) if found.url else probe_process([found.command, *found.args], env)
        )
    return context.answers[same]


def _connection_advice(editor: Host, places: Locations, found: Connection, answer: ProbeResult) -> str:
    if not found.url:
        return f"Try it: {' '.join([found.command, *found.args])}. Or run {connect_command(editor, places)}."
    if "key" in answer.why:
        command = connect_command(editor, places)
        return f"Run {command} with --http: it makes a key. For a server elsewhere, name its --key."
    return f"Start `commonplace serve`, or run {connect_command(editor, places)} without --http."


def _exists(command: str) -> bool:
    return Path(command).is_file() if Path(command).is_absolute() else shutil.which(command) is not None


def reconnect(editor: Host, places: Locations, found: Connection) -> Callable[[], str]:
    """Let an editor start this Commonplace instead of one that is gone, with the same profile, data and hooks."""

    def mend() -> str:
        program, data_dir = commonplace_program(), (found.env or {}).get(DATA_DIR)
        wanted = DesiredConnection(_server(program, found), program if found.hooks else (), data_dir)
        apply_plan(plan_connection(editor, places, wanted), places)
        return f"{editor.title} was connected anew, to {program[0]}."

    return mend


def _server(program: tuple[str, ...], found: Connection) -> Server:
    if found.url:
        return Server(url=found.url, key=found.key)
    at = found.args.index(PROFILE) + 1 if PROFILE in found.args else len(found.args)
    profile = found.args[at] if at < len(found.args) else USUAL_PROFILE
    return local_server(program, profile, (found.env or {}).get(DATA_DIR))


HOOK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HookTrial:
    """How a hook fared. `why` is empty if the event arrived."""

    why: str
    seconds: float
    printed: str = ""


def try_hook(
    command: Sequence[str] | str, payload: bytes, settings: Settings, env: Mapping[str, str] | None = None
) -> HookTrial:
    """Run a hook's command as its host would (a string through the shell); nothing of it stays or is remembered."""
    name = f"sample-{os.getpid():x}-{os.urandom(4).hex()}"
    arrived = Path(spool_folder(str(settings.data_dir))) / (name + SAMPLE)
    began = time.monotonic()
    try:
        ran = subprocess.run(
            command,
            shell=isinstance(command, str),
            input=payload,
            capture_output=True,
            timeout=HOOK_SECONDS,
            check=False,
            env={**(os.environ if env is None else env), SAMPLE_VARIABLE: name},
        )
    except subprocess.TimeoutExpired:
        return HookTrial(f"it did not end within {HOOK_SECONDS:.0f} seconds", time.monotonic() - began)
    except OSError as error:
        return HookTrial(error.strerror or type(error).__name__, time.monotonic() - began)
    seconds, printed = time.monotonic() - began, ran.stdout.decode("utf-8", "replace")
    with contextlib.suppress(OSError):
        arrived.unlink()
        return HookTrial("" if ran.returncode == 0 else f"it ended with {ran.returncode}", seconds, printed)
    stderr_lines = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return HookTrial(f"its event did not arrive{': ' + stderr_lines[-1] if stderr_lines else ''}", seconds, printed)


HOOKS_AREA = "hooks"
# A hook that takes longer than this is felt.
SLOW_SECONDS = 1.0


def check_hooks(context: DoctorContext) -> Iterator[Finding]:
    for places in context.places:
        for editor in editors():
            if editor.mcp.file(places) is None or editor.hooks is None or editor.hooks.file(places) is None:
                continue
            try:
                found = read_connection(editor, places)
            except CommonplaceError:
                # Told as a connection that cannot be read.
                continue
            if found is not None:
                yield _check_hooks_of(context, editor, places, found)
    for project, roots in projects_sharing_a_name(str(context.settings.data_dir)).items():
        yield remark(
            HOOKS_AREA, project, f"{' and '.join(roots)} are remembered as one project, {project}.", NAME_CLASH_ADVICE
        )


def _check_hooks_of(context: DoctorContext, editor: Host, places: Locations, found: Connection) -> Finding:
    what = editor_label(editor, places)
    if not found.hooks:
        sentence = f"{editor.title} has no hooks of ours, so it is remembered only what its agent asks for."
        return remark(HOOKS_AREA, what, sentence, f"Run {connect_command(editor, places)}.")
    tried: list[HookTrial] = []
    for hook in found.hooks:
        one = try_hook(hook.command, _payload(hook), context.settings)
        if one.why:
            # The others would be waited for in vain too.
            sentence = f"The hook {hook.event} of {editor.title} fails: {one.why}."
            fix = f"Run {connect_command(editor, places)}, or use --fix; either writes the hooks anew."
            return failure(HOOKS_AREA, what, sentence, fix, reconnect(editor, places, found) if found.ours else None)
        tried.append(one)
    if found.url and found.ours and not calls_this_memory(found.url, _key_here(context, found.key)):
        return _split_memory(context, editor, places, what, found)
    return _hook_times(editor, what, tried)


def _key_here(context: DoctorContext, secret: str) -> Key | None:
    return find_working_key(context.memory(), secret) if context.can_open() else None


def _split_memory(context: DoctorContext, editor: Host, places: Locations, what: str, found: Connection) -> Finding:
    """Tools and hooks of an editor use two memories, which nobody would notice."""
    server, folder = found.url.partition("?")[0], context.settings.data_dir
    sentence = (
        f"{editor.title} calls {server}, but its hooks capture into this machine's own memory in {folder}:"
        " what they capture does not reach that server, and sessions start without what it knows."
    )
    fix = f"`commonplace sync` exchanges the two memories; {connect_command(editor, places)} with --http and --no-hooks"
    return remark(HOOKS_AREA, what, sentence, f"{fix} captures nothing here.")


def _hook_times(editor: Host, what: str, tried: list[HookTrial]) -> Finding:
    slowest = max(one.seconds for one in tried)
    sentence = f"{editor.title} fired {len(tried)} hooks, each in {slowest * 1000:.0f} ms at most."
    if slowest > SLOW_SECONDS:
        return remark(HOOKS_AREA, what, sentence, "See what keeps the machine busy, or the disk of the data folder.")
    return ok(HOOKS_AREA, what, sentence)


def _payload(hook: Hook) -> bytes:
    sample = {
        "session_id": "doctor",
        "hook_event_name": hook.event,
        "prompt": "The doctor asks.",
        "tool_name": "doctor",
    }
    return json.dumps(sample).encode()


SPOOL_AREA = "spool"
# Whoever waits longer, or takes more room, waits for a server or a command that never comes.
LATE_MS, LARGE = DAY_MS, 100 * 1024**2
DRAIN_SECONDS = 30.0
# A hook is done long before this.
LEFT_SECONDS = 3600
SPOOL_ADVICE = {
    "disk-full": "Make room on the disk of the data folder.",
    "not-writable": "Make the data folder writable for its owner.",
    "not-our-folder": "The spool has to be a folder of your own, and no link: move what is there out of the way.",
    "unknown-host": "Connect the editor again: `commonplace connect`.",
    "unknown-event": "Connect the editor again: `commonplace connect`.",
}


def check_spool(context: DoctorContext) -> Iterator[Finding]:
    state = spool_state(context.settings)
    if state.broken:
        yield failure(
            SPOOL_AREA, "folder", f"Hooks cannot leave anything: {state.broken}.", SPOOL_ADVICE["not-our-folder"]
        )
        return
    yield _waiting(context, state)
    yield from _leftovers(context)
    untold = {reason: number for reason, number in state.hook_failures.items() if reason.startswith(CONTEXT_FAILURE)}
    lost = {reason: number for reason, number in state.hook_failures.items() if reason not in untold}
    for what, counts in (("hooks", lost), ("openings", untold), ("refused", state.refused)):
        if counts:
            yield _troubles(context, what, counts, state)


def _waiting(context: DoctorContext, state: SpoolState) -> Finding:
    if not state.waiting:
        return ok(SPOOL_AREA, "waiting", "Nothing waits that hooks told.")
    now = time.time_ns() // 1_000_000
    since = "" if state.oldest_ms is None else f", the oldest from {time_ago(state.oldest_ms, now)}"
    sentence = f"{state.waiting:,} events wait to be remembered ({state.size / 1e6:,.1f} MB){since}."
    late = state.oldest_ms is not None and now - state.oldest_ms > LATE_MS
    fix = "A running server remembers them, and so does `commonplace drain`; or use --fix."
    return (failure if late or state.size > LARGE else remark)(SPOOL_AREA, "waiting", sentence, fix, _draining(context))


def _draining(context: DoctorContext) -> Callable[[], str]:
    def mend() -> str:
        drained = drain(context.memory(), context.settings, seconds=DRAIN_SECONDS)
        if drained.elsewhere:
            return "Another process is remembering them at this moment."
        return f"{drained.remembered:,} events were remembered, {drained.left:,} wait."

    return mend


def _leftovers(context: DoctorContext) -> Iterator[Finding]:
    """What hooks that were killed left half written."""

    def mend() -> str:
        remove_leftovers(spool_path(context.settings))
        return "They were swept away."

    folder, old = spool_path(context.settings), time.time() - LEFT_SECONDS
    halves = [path for path in folder.iterdir() if path.suffix in (PART, SAMPLE)] if folder.is_dir() else []
    if left := sum(path.exists() and path.lstat().st_mtime < old for path in halves):
        sentence = f"{left:,} files lie there that hooks began and could not finish."
        yield remark(
            SPOOL_AREA, "leftovers", sentence, "The next who drains the spool sweeps them away; or use --fix.", mend
        )


def _troubles(context: DoctorContext, what: str, counts: Mapping[str, int], state: SpoolState) -> Finding:
    def mend() -> str:
        clear_failures(context.settings)
        return "They were seen, and are counted anew from now on."

    reasons = ", ".join(f"{reason} {number:,}" for reason, number in counts.items())
    if state.last_failure_ms is not None:
        reasons += f", the last {time_ago(state.last_failure_ms, time.time_ns() // 1_000_000)}"
    known = next((SPOOL_ADVICE[reason] for reason in counts if reason in SPOOL_ADVICE), "")
    if what == "openings":
        sentence = f"{sum(counts.values()):,} sessions started without being told what is remembered ({reasons})."
        return remark(SPOOL_AREA, what, sentence, "What happened in them was kept. --fix counts anew.", mend)
    if what == "hooks":
        sentence = f"Hooks could not leave {sum(counts.values()):,} events ({reasons})."
        known = known or "See whether it goes on; if it does, tell us."
    else:
        sentence = f"{sum(counts.values()):,} events could not be kept ({reasons})."
        known = known or f"Look at them in {context.settings.data_dir / SPOOL_AREA / 'refused'}."
    return failure(SPOOL_AREA, what, sentence, f"{known} --fix counts anew.", mend)
