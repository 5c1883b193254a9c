"""Connections: what each editor would start or call is really started or called, and asked for its tools."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.doctor.asking import Answer, ask_address, ask_process
from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.errors import CommonplaceError
from commonplace.hosts.connect.connection import Connection, connection
from commonplace.hosts.connect.editor import Editor, Server
from commonplace.hosts.connect.editors import EDITORS, installed
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.plan import carry_out, plan_connection
from commonplace.hosts.connect.program import our_program
from commonplace.hosts.connect.wanted import Wanted, local_server

AREA = "connections"
PROFILE, DATA_DIR = "--profile", "COMMONPLACE_DATA_DIR"
USUAL_PROFILE = "core"


def examine(patient: Patient) -> Iterator[Finding]:
    some = False
    for places in patient.places:
        for editor in EDITORS:
            for finding in _of_editor(patient, editor, places):
                some = True
                yield finding
    if not some:
        yield remark(AREA, "editors", "No editor was found here.", "`commonplace connect NAME` connects one.")


def name_of(editor: Editor, places: Places) -> str:
    return f"{editor.name} (project)" if places.project else editor.name


def again(editor: Editor, places: Places) -> str:
    """The command that connects an editor anew."""
    return f"`commonplace connect {editor.name}{' --project' if places.project else ''}`"


def _of_editor(patient: Patient, editor: Editor, places: Places) -> Iterator[Finding]:
    what = name_of(editor, places)
    if editor.file(places) is None:
        return
    try:
        found = connection(editor, places)
    except CommonplaceError as error:
        yield failure(AREA, what, error.message, error.hint)
        return
    if found is None or found.entry is None:
        if found is not None:
            told = f"{editor.title} has our hooks, but no server."
            yield failure(AREA, what, told, f"Run {again(editor, places)}.")
        elif places.project is None and installed(editor, places):
            yield remark(
                AREA, what, f"{editor.title} is installed, but not connected.", f"Run {again(editor, places)}."
            )
    elif not found.ours:
        told = f"{found.file} has a server called commonplace that somebody else made."
        yield remark(AREA, what, told, f"If it is not meant, run {again(editor, places)} with --force.")
    else:
        yield _asked(patient, editor, places, found)


def _asked(patient: Patient, editor: Editor, places: Places, found: Connection) -> Finding:
    what = name_of(editor, places)
    if not found.url and not _exists(found.command):
        told = f"{editor.title} starts {found.command}, which is not there."
        return failure(
            AREA, what, told, f"Run {again(editor, places)}, or use --fix.", reconnect(editor, places, found)
        )
    answer = _answer(patient, found)
    if answer.why:
        return failure(AREA, what, f"{editor.title} gets no tools: {answer.why}.", _fix(editor, places, found, answer))
    how = f"called {found.url}" if found.url else f"started {Path(found.command).name}"
    told = f"{editor.title} {how}, which told {len(answer.tools)} tools in {answer.seconds:.1f} s."
    return well(AREA, what, told)


def _answer(patient: Patient, found: Connection) -> Answer:
    """What the server says. Editors that start it in the same way share one start."""
    env, headers = found.env or {}, found.headers or {}
    same = json.dumps([found.command, found.args, sorted(env.items()), found.url, sorted(headers.items())])
    if same not in patient.answers:
        patient.answers[same] = (
            ask_address(found.url, headers) if found.url else ask_process([found.command, *found.args], env)
        )
    return patient.answers[same]


def _fix(editor: Editor, places: Places, found: Connection, answer: Answer) -> str:
    if not found.url:
        return f"Try it: {' '.join([found.command, *found.args])}. Or run {again(editor, places)}."
    if "key" in answer.why:
        return f"Run {again(editor, places)} with --http: it makes a key. For a server elsewhere, name its --key."
    return f"Start `commonplace serve`, or run {again(editor, places)} without --http."


def _exists(command: str) -> bool:
    return Path(command).is_file() if Path(command).is_absolute() else shutil.which(command) is not None


def reconnect(editor: Editor, places: Places, found: Connection) -> Callable[[], str]:
    """Let an editor start this Commonplace instead of one that is gone, with the same profile, data and hooks."""

    def mend() -> str:
        program, data_dir = our_program(), (found.env or {}).get(DATA_DIR)
        wanted = Wanted(_server(program, found), program if found.hooks else (), data_dir)
        carry_out(plan_connection(editor, places, wanted), places)
        return f"{editor.title} was connected anew, to {program[0]}."

    return mend


def _server(program: tuple[str, ...], found: Connection) -> Server:
    if found.url:
        return Server(url=found.url, key=found.key)
    at = found.args.index(PROFILE) + 1 if PROFILE in found.args else len(found.args)
    profile = found.args[at] if at < len(found.args) else USUAL_PROFILE
    return local_server(program, profile, (found.env or {}).get(DATA_DIR))
