"""Hooks: what each editor would run is really run, with a sample event that arrives and leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Iterator

from commonplace.capture.hooks.namesakes import ADVICE, namesakes
from commonplace.capture.hooks.sample import Tried, try_hook
from commonplace.doctor.connections import again, name_of, reconnect
from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.errors import CommonplaceError
from commonplace.hosts.connect.connection import Connection, Hook, calls_this_memory, connection
from commonplace.hosts.connect.editor import Editor
from commonplace.hosts.connect.editors import EDITORS
from commonplace.hosts.connect.places import Places
from commonplace.memory.keys import works_here
from commonplace.model import Key

AREA = "hooks"
# A hook that takes longer than this is felt.
SLOW_SECONDS = 1.0


def examine(patient: Patient) -> Iterator[Finding]:
    for places in patient.places:
        for editor in EDITORS:
            if editor.file(places) is None or editor.hooks is None or editor.hooks.file(places) is None:
                continue
            try:
                found = connection(editor, places)
            except CommonplaceError:
                # Told as a connection that cannot be read.
                continue
            if found is not None:
                yield _of_editor(patient, editor, places, found)
    for project, roots in namesakes(str(patient.settings.data_dir)).items():
        yield remark(AREA, project, f"{' and '.join(roots)} are remembered as one project, {project}.", ADVICE)


def _of_editor(patient: Patient, editor: Editor, places: Places, found: Connection) -> Finding:
    what = name_of(editor, places)
    if not found.hooks:
        told = f"{editor.title} has no hooks of ours, so it is remembered only what its agent asks for."
        return remark(AREA, what, told, f"Run {again(editor, places)}.")
    tried: list[Tried] = []
    for hook in found.hooks:
        one = try_hook(hook.command, _payload(hook), patient.settings)
        if one.why:
            # The others would be waited for in vain too.
            told = f"The hook {hook.event} of {editor.title} fails: {one.why}."
            fix = f"Run {again(editor, places)}, or use --fix; either writes the hooks anew."
            return failure(AREA, what, told, fix, reconnect(editor, places, found) if found.ours else None)
        tried.append(one)
    if found.url and found.ours and not calls_this_memory(found.url, _key_here(patient, found.key)):
        return _split(patient, editor, places, what, found)
    return _took(editor, what, tried)


def _key_here(patient: Patient, secret: str) -> Key | None:
    return works_here(patient.book(), secret) if patient.opens() else None


def _split(patient: Patient, editor: Editor, places: Places, what: str, found: Connection) -> Finding:
    """Tools and hooks of an editor use two memories, which nobody would notice."""
    server, folder = found.url.partition("?")[0], patient.settings.data_dir
    told = (
        f"{editor.title} calls {server}, but its hooks capture into this machine's own memory in {folder}:"
        " what they capture does not reach that server, and sessions start without what it knows."
    )
    fix = f"`commonplace sync` exchanges the two memories; {again(editor, places)} with --http and --no-hooks"
    return remark(AREA, what, told, f"{fix} captures nothing here.")


def _took(editor: Editor, what: str, tried: list[Tried]) -> Finding:
    slowest = max(one.seconds for one in tried)
    told = f"{editor.title} fired {len(tried)} hooks, each in {slowest * 1000:.0f} ms at most."
    if slowest > SLOW_SECONDS:
        return remark(AREA, what, told, "See what keeps the machine busy, or the disk of the data folder.")
    return well(AREA, what, told)


def _payload(hook: Hook) -> bytes:
    sample = {
        "session_id": "doctor",
        "hook_event_name": hook.event,
        "prompt": "The doctor asks.",
        "tool_name": "doctor",
    }
    return json.dumps(sample).encode()
