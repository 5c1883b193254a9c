"""Checks of the editors: their connections, their hooks, and the spool that the hooks write to."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.capture.hooks.drain import ENDED_THE_DRAIN, drain
from commonplace.capture.hooks.spool_reader import (
    SpoolState,
    clear_failures,
    remove_leftovers,
    sessions_without_memories,
    spool_path,
    spool_state,
)
from commonplace.capture.hooks.team_server import TeamServer, save_server, team_server
from commonplace.capture.hooks.working_folder import NAME_CLASH_ADVICE, projects_sharing_a_name
from commonplace.config import Settings
from commonplace.data_folder import closed_folder
from commonplace.doctor.doctor_context import DoctorContext, Finding, Fix, failure, ok, remark
from commonplace.doctor.mcp_probe import ProbeResult, probe_process, probe_url
from commonplace.doctor.team_checks import (
    HOOK_SECONDS,
    are_waiting,
    check_team_hooks,
    check_waiting_for_servers,
    run_hook,
)
from commonplace.errors import CommonplaceError
from commonplace.fast.session_hints import count_hints
from commonplace.fast.spool import PART, SAMPLE, SPOOL, spool_folder
from commonplace.hosts.connections import (
    Connection,
    DesiredConnection,
    Hook,
    apply_plan,
    commonplace_program,
    is_installed,
    local_server,
    plan_connection,
    read_connection,
)
from commonplace.hosts.host import Host, Locations, Server, editors
from commonplace.memory.api_keys import find_working_key
from commonplace.text.dates import DAY_MS, time_ago
from commonplace.text.sentences import counted

PROFILE, DATA_DIR = "--profile", "COMMONPLACE_DATA_DIR"
DEFAULT_PROFILE = "core"


def check_connections(context: DoctorContext) -> Iterator[Finding]:
    """Whether the server that each editor starts or calls lists its tools."""
    some = False
    for locations in context.locations:
        for editor in editors():
            for finding in _check_connection(context, editor, locations):
                some = True
                yield finding
    if not some:
        yield remark("editors", "No editor was found here.", "`commonplace connect NAME` connects one.")


def editor_label(editor: Host, locations: Locations) -> str:
    return f"{editor.name} (project)" if locations.project else editor.name


def connect_command(editor: Host, locations: Locations) -> str:
    """The command that connects an editor again."""
    return f"`commonplace connect {editor.name}{' --project' if locations.project else ''}`"


def _check_connection(context: DoctorContext, editor: Host, locations: Locations) -> Iterator[Finding]:
    what = editor_label(editor, locations)
    if editor.mcp.file(locations) is None:
        return
    try:
        found = read_connection(editor, locations)
    except CommonplaceError as error:
        yield failure(what, error.message, error.hint)
        return
    if found is None or found.entry is None:
        if found is not None:
            sentence = f"{editor.title} has our hooks, but no server."
            yield failure(what, sentence, f"Run {connect_command(editor, locations)}.")
        elif locations.project is None and is_installed(editor, locations):
            yield remark(
                what,
                f"{editor.title} is installed, but not connected.",
                f"Run {connect_command(editor, locations)}.",
            )
    elif not found.ours:
        sentence = f"{found.file} has a server called commonplace that is not ours."
        yield remark(what, sentence, f"To replace it, run {connect_command(editor, locations)} with --force.")
    else:
        yield _probe_connection(context, editor, locations, found)


def _probe_connection(context: DoctorContext, editor: Host, locations: Locations, found: Connection) -> Finding:
    what = editor_label(editor, locations)
    if not found.url and not _exists(found.command):
        sentence = f"{editor.title} starts {found.command}, which does not exist."
        return failure(
            what,
            sentence,
            f"Run {connect_command(editor, locations)}, or use --fix.",
            reconnect(editor, locations, found),
        )
    answer = _answer(context, found)
    if answer.why:
        return failure(
            what,
            f"{editor.title} gets no tools: {answer.why}.",
            _connection_advice(context, editor, locations, found, answer),
        )
    how = f"called {found.url}" if found.url else f"started {Path(found.command).name}"
    sentence = f"{editor.title} {how}, which listed {len(answer.tools)} tools in {answer.seconds:.1f} s."
    return ok(what, sentence)


def _answer(context: DoctorContext, found: Connection) -> ProbeResult:
    """What the server answers. Editors with the same entry share one start."""
    env, headers = found.env or {}, found.headers or {}
    entry = json.dumps([found.command, found.args, sorted(env.items()), found.url, sorted(headers.items())])
    if entry not in context.answers:
        context.answers[entry] = (
            probe_url(found.url, headers) if found.url else probe_process([found.command, *found.args], env)
        )
    return context.answers[entry]


def _connection_advice(
    context: DoctorContext, editor: Host, locations: Locations, found: Connection, answer: ProbeResult
) -> str:
    if not found.url:
        return f"Try it: {' '.join([found.command, *found.args])}. Or run {connect_command(editor, locations)}."
    if "key" in answer.why:
        command = connect_command(editor, locations)
        return f"Run {command} with --http: it creates a key. For a server elsewhere, give its --key."
    if team_server(context.settings.data_dir, found.url, found.key).folder.is_dir():
        return f"Check that this machine reaches {found.url}, or ask whoever runs it."
    return f"Start `commonplace serve`, or run {connect_command(editor, locations)} without --http."


def _exists(command: str) -> bool:
    return Path(command).is_file() if Path(command).is_absolute() else shutil.which(command) is not None


def reconnect(editor: Host, locations: Locations, found: Connection, server: TeamServer | None = None) -> Fix:
    """Let an editor start this Commonplace instead of a missing one, with the same profile, data and hooks.

    `server` is the one elsewhere that its hooks send to.
    """

    def fix() -> str:
        program, data_dir = commonplace_program(), (found.env or {}).get(DATA_DIR)
        if server:
            save_server(server)
            data_dir = str(server.folder)
        wanted = DesiredConnection(_server(program, found), program if found.hooks else (), data_dir)
        apply_plan(plan_connection(editor, locations, wanted), locations)
        return f"{editor.title} was connected again, to {program[0]}."

    return fix


def _server(program: tuple[str, ...], found: Connection) -> Server:
    if found.url:
        return Server(url=found.url, key=found.key)
    at = found.args.index(PROFILE) + 1 if PROFILE in found.args else len(found.args)
    profile = found.args[at] if at < len(found.args) else DEFAULT_PROFILE
    return local_server(program, profile, (found.env or {}).get(DATA_DIR))


@dataclass(frozen=True, slots=True)
class HookTrial:
    """The result of running a hook. `why` is empty if the event arrived."""

    why: str
    seconds: float
    printed: str = ""


def try_hook(
    command: Sequence[str] | str, payload: bytes, settings: Settings, env: Mapping[str, str] = os.environ
) -> HookTrial:
    """Run a hook's command as its host would (a string through the shell), with a sample event that leaves no trace."""
    name = f"sample-{os.getpid():x}-{os.urandom(4).hex()}"
    arrived = Path(spool_folder(str(settings.data_dir))) / (name + SAMPLE)
    began = time.monotonic()
    try:
        ran = run_hook(command, payload, name, env)
    except subprocess.TimeoutExpired:
        return HookTrial(f"it did not finish within {HOOK_SECONDS:.0f} seconds", time.monotonic() - began)
    except OSError as error:
        return HookTrial(error.strerror or type(error).__name__, time.monotonic() - began)
    seconds, printed = time.monotonic() - began, ran.stdout.decode("utf-8", "replace")
    with contextlib.suppress(OSError):
        arrived.unlink()
        return HookTrial("" if ran.returncode == 0 else f"it exited with {ran.returncode}", seconds, printed)
    stderr_lines = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return HookTrial(f"its event did not arrive{': ' + stderr_lines[-1] if stderr_lines else ''}", seconds, printed)


# A hook that takes longer than this is noticed.
SLOW_SECONDS = 1.0
SLOW_ADVICE = "If hooks stay over a second on an idle machine, run `commonplace doctor --json` and report it."


def check_hooks(context: DoctorContext) -> Iterator[Finding]:
    """Whether every hook of an editor works, when it is run with a sample event."""
    for locations in context.locations:
        for editor in editors():
            if editor.mcp.file(locations) is None or editor.hooks is None or editor.hooks.file(locations) is None:
                continue
            try:
                found = read_connection(editor, locations)
            except CommonplaceError:
                # Reported as a connection that cannot be read.
                continue
            if found is not None:
                yield _check_hooks_of(context, editor, locations, found)
    for project, roots in projects_sharing_a_name(str(context.settings.data_dir)).items():
        yield remark(project, f"{' and '.join(roots)} are treated as one project, {project}.", NAME_CLASH_ADVICE)


def _check_hooks_of(context: DoctorContext, editor: Host, locations: Locations, found: Connection) -> Finding:
    what = editor_label(editor, locations)
    if not found.hooks:
        sentence = f"{editor.title} has none of our hooks, so only what its agent stores is remembered."
        return remark(what, sentence, f"Run {connect_command(editor, locations)}.")
    server = _team_server(context, found)
    settings = replace(context.settings, data_dir=server.folder) if server else context.settings
    tried: list[HookTrial] = []
    for hook in found.hooks:
        one = try_hook(hook.command, _payload(hook), settings)
        if one.why:
            # The others would fail too, after the same wait.
            sentence = f"The hook {hook.event} of {editor.title} fails: {one.why}."
            advice = f"Run {connect_command(editor, locations)}, or use --fix; either writes the hooks again."
            fix = reconnect(editor, locations, found, server) if found.ours else None
            return failure(what, sentence, advice, fix)
        tried.append(one)
    assert editor.hooks is not None
    if missing := sorted(set(editor.hooks.events) - {hook.event for hook in found.hooks}):
        sentence = f"{editor.title} does not run our hooks at {', '.join(missing)}, which this version uses."
        advice = f"Run {connect_command(editor, locations)}, or use --fix."
        return remark(what, sentence, advice, reconnect(editor, locations, found, server) if found.ours else None)
    if server:
        fix = reconnect(editor, locations, found, server)
        proved = check_team_hooks(context, what, editor.title, found, server, fix)
        if proved.state != "ok":
            return proved
        return _hook_times(editor, what, tried, f" {proved.sentence}")
    return _hook_times(editor, what, tried)


def check_recall(context: DoctorContext) -> Iterator[Finding]:
    """What hooks show while agents work, and how much of it was used."""
    mode = f"hooks_recall is {context.settings.hooks_recall}"
    sessions, shown, used = count_hints(str(context.settings.data_dir))
    if context.settings.hooks_recall == "off":
        yield ok("hooks", f"Hooks show memories at the start of a session only ({mode}).")
    elif not shown:
        yield ok("hooks", f"Hooks have not shown any memories to a working agent yet ({mode}).")
    else:
        sentence = f"Hooks showed {counted(shown, 'memory', 'memories')} in {counted(sessions, 'session')}"
        yield ok("hooks", f"{sentence}; agents used {used:,} of them ({mode}).")


def _team_server(context: DoctorContext, found: Connection) -> TeamServer | None:
    """The server elsewhere that the hooks of an editor have to send to, if it calls one."""
    if not (found.url and found.ours and found.key):
        return None
    if context.can_open() and find_working_key(context.memory(), found.key) is not None:
        return None
    server = team_server(context.settings.data_dir, found.url, found.key)
    # What is shared is said by a person: a connection whose folder is lost shares nothing until they say it again.
    return server if server.folder.is_dir() else server._replace(shared=())


def _hook_times(editor: Host, what: str, tried: list[HookTrial], more: str = "") -> Finding:
    slowest = max(one.seconds for one in tried)
    sentence = f"{editor.title} ran {len(tried)} hooks, each in at most {slowest * 1000:.0f} ms.{more}"
    if slowest > SLOW_SECONDS:
        return remark(what, sentence, SLOW_ADVICE)
    return ok(what, sentence)


def _payload(hook: Hook) -> bytes:
    sample = {
        "session_id": "doctor",
        "hook_event_name": hook.event,
        "prompt": "A check by the doctor.",
        "tool_name": "doctor",
    }
    return json.dumps(sample).encode()


# Events that wait longer, or take more space, wait for a server or a command that never comes.
LATE_MS, LARGE = DAY_MS, 100 * 1024**2
DRAIN_SECONDS = 30.0
# Every hook has ended long before this.
LEFT_SECONDS = 3600
NOTHING_LOST = "Nothing was lost: their events were captured. --fix resets the counter."
SPOOL_ADVICE = {
    "disk-full": "Free some space on the data folder's disk.",
    "not-writable": "Make the data folder writable by its owner.",
    "not-our-folder": "The spool must be your own folder, not a link: move it out of the way.",
    ENDED_THE_DRAIN: "Whoever read them died or hung, so they were set aside: their beginnings are in spool/refused.",
    "unknown-host": "Connect the editor again: `commonplace connect`.",
    "unknown-event": "Connect the editor again: `commonplace connect`.",
}


def check_spool(context: DoctorContext) -> Iterator[Finding]:
    """What waits in the spool, since when, and what went wrong."""
    if closed_folder(context.settings.data_dir) is not None:
        # The check of the store says so.
        return
    state = spool_state(context.settings)
    if state.broken:
        yield failure("folder", f"Hooks cannot write events: {state.broken}.", SPOOL_ADVICE["not-our-folder"])
        return
    elsewhere = [*check_waiting_for_servers(context)]
    if state.waiting or not elsewhere:
        yield _waiting(context, state)
    yield from elsewhere
    yield from _leftovers(context)
    if state.not_written:
        yield _failures(context, "hooks", state.not_written, state)
    if state.without_context:
        sentence = sessions_without_memories(state.without_context)
        yield remark("openings", f"{sentence}{_last(state)}", NOTHING_LOST, _reset(context))
    if state.without_hints:
        number = sum(state.without_hints.values())
        times = "once" if number == 1 else f"{number:,} times"
        sentence = f"Hooks could not look up what to show {times} ({_reasons(state.without_hints)})."
        yield remark("hints", f"{sentence}{_last(state)}", NOTHING_LOST, _reset(context))
    if state.refused:
        yield _failures(context, "refused", state.refused, state)


def _waiting(context: DoctorContext, state: SpoolState) -> Finding:
    if not state.waiting:
        return ok("waiting", "No events are waiting.")
    now = time.time_ns() // 1_000_000
    since = "" if state.oldest_ms is None else f", the oldest from {time_ago(state.oldest_ms, now)}"
    sentence = f"{are_waiting(state.waiting)} to be stored ({state.size / 1e6:,.1f} MB){since}."
    late = state.oldest_ms is not None and now - state.oldest_ms > LATE_MS
    advice = "A running server stores them, and so does `commonplace drain`; or use --fix."
    return (failure if late or state.size > LARGE else remark)("waiting", sentence, advice, _drain_now(context))


def _drain_now(context: DoctorContext) -> Fix:
    def fix() -> str:
        drained = drain(context.memory(), context.settings, seconds=DRAIN_SECONDS)
        if drained.elsewhere:
            return "Another process is storing them right now."
        return f"{drained.remembered:,} events were stored, {drained.left:,} are waiting."

    return fix


def _leftovers(context: DoctorContext) -> Iterator[Finding]:
    """Partial files of hooks that were killed."""

    def fix() -> str:
        remove_leftovers(spool_path(context.settings))
        return "They were deleted."

    folder, old = spool_path(context.settings), time.time() - LEFT_SECONDS
    partial = [path for path in folder.iterdir() if path.suffix in (PART, SAMPLE)] if folder.is_dir() else []
    if left := sum(path.exists() and path.lstat().st_mtime < old for path in partial):
        sentence = f"{left:,} partial files are left from hooks that were killed."
        yield remark("leftovers", sentence, "The next drain of the spool deletes them; or use --fix.", fix)


def _failures(context: DoctorContext, what: str, counts: Mapping[str, int], state: SpoolState) -> Finding:
    """Events that are not in the memory."""
    number, reasons = sum(counts.values()), _reasons(counts)
    events = counted(number, "event")
    advice = next((SPOOL_ADVICE[reason] for reason in counts if reason in SPOOL_ADVICE), "")
    if what == "hooks":
        sentence = f"Hooks could not write {events} ({reasons})."
        advice = advice or "See whether it continues; if so, please report it."
    else:
        sentence = f"{events} could not be stored ({reasons})."
        advice = advice or f"Look at them in {context.settings.data_dir / SPOOL / 'refused'}."
    return failure(what, f"{sentence}{_last(state)}", f"{advice} --fix resets the counters.", _reset(context))


def _reset(context: DoctorContext) -> Fix:
    def fix() -> str:
        clear_failures(context.settings)
        return "The counters were reset."

    return fix


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number:,}" for reason, number in counts.items())


def _last(state: SpoolState) -> str:
    if state.last_failure_ms is None:
        return ""
    return f" The last was {time_ago(state.last_failure_ms, time.time_ns() // 1_000_000)}."
