"""`connect` and `disconnect`: put the server and the hooks into the editors on this machine, or take them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli.call import Call, command
from commonplace.cli.chosen_server import NO_KEY_YET, choose, revoke_key
from commonplace.cli.diffs import diff
from commonplace.cli.place import folder_of
from commonplace.cli.terminal import colour, plain
from commonplace.config import PROFILES
from commonplace.errors import CommonplaceError, NotFound
from commonplace.hosts.connect.connection import connection
from commonplace.hosts.connect.editor import Editor
from commonplace.hosts.connect.editors import EDITORS, NAMES, called, found
from commonplace.hosts.connect.places import Places, places_here
from commonplace.hosts.connect.plan import Planned, carry_out, plan_connection, plan_disconnection
from commonplace.text.redact import redact

hosts_argument = click.argument("hosts", metavar="[HOST]...", nargs=-1, type=click.Choice(NAMES))
user_option = click.option("--user", is_flag=True, help="In your own settings, for every project (the default).")
project_option = click.option(
    "--project",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value="",
    help="In the settings of one project: FOLDER, or the repository around this one.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Write nothing; show what would change.")


@command(
    "connect",
    "commonplace connect claude-code",
    "commonplace connect --dry-run",
    "commonplace connect cursor vscode --project",
    "commonplace connect codex --no-hooks --profile all",
    "commonplace connect zed --http",
)
@hosts_argument
@user_option
@project_option
@click.option("--profile", type=click.Choice(PROFILES), help="Which tools to offer (default: core).")
@click.option("--no-hooks", is_flag=True, help="Only the server: nothing is captured without being asked.")
@click.option(
    "--http", metavar="[URL]", is_flag=False, flag_value="", help="Call a server that runs instead of starting one."
)
@click.option("--key", help="The key for --http; one is made for each editor if omitted.")
@click.option("--force", is_flag=True, help="Replace a server of the same name that is not ours.")
@dry_run_option
def connect(
    call: Call,
    hosts: Sequence[str],
    user: bool,
    project: str | None,
    profile: str | None,
    no_hooks: bool,
    http: str | None,
    key: str | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Let editors and agents use this memory: each HOST, or all that are found on this machine.

    HOST is claude-code, claude-desktop, cursor, windsurf, vscode, cline, kiro, codex, gemini, opencode or zed.
    Only our own entries are changed in their files, and what a file was is kept beside it. Connecting again changes
    nothing, or brings the entries up to date. `disconnect` undoes it.
    """
    hosts, project = _told_apart(hosts, project)
    hosts, http = _told_apart(hosts, http)
    places = _places(user, project)
    choice = choose(call, places, profile, http, key, hooks=not no_hooks)

    def plan(editor: Editor) -> Planned:
        wanted = choice.wanted(editor)
        planned = plan_connection(editor, places, wanted, force=force)
        if dry_run or not planned.changes or wanted.server.key != NO_KEY_YET:
            return planned
        return plan_connection(editor, places, choice.with_new_key(editor, wanted), force=force)

    editors = called(hosts) or [editor for editor in found(places) if editor.http or not choice.url]
    if not editors:
        raise NotFound("None of the editors that can be connected was found here.", f"Name one: {', '.join(NAMES)}.")
    if choice.url and places.project and not dry_run:
        call.note("The project's settings will hold a key: keep them out of version control.")
    notice = choice.split_memory() if any(editor.hooks for editor in editors) else ""
    if notice:
        call.note(notice)
    _each(call, editors, places, plan, lambda _planned: None, dry_run=dry_run, notice=notice)


@command(
    "disconnect",
    "commonplace disconnect claude-code",
    "commonplace disconnect --dry-run",
    "commonplace disconnect cursor --project",
)
@hosts_argument
@user_option
@project_option
@dry_run_option
def disconnect(call: Call, hosts: Sequence[str], user: bool, project: str | None, dry_run: bool) -> None:
    """Take out of editors what `connect` put in: of each HOST, or of all that are connected. Nothing else changes."""
    hosts, project = _told_apart(hosts, project)
    places = _places(user, project)
    editors = called(hosts) or [editor for editor in EDITORS if _has_something(editor, places)]

    if not editors:
        call.note("No editor is connected here.")
    headers: dict[str, Mapping[str, str]] = {}

    def plan(editor: Editor) -> Planned:
        there = connection(editor, places)
        headers[editor.name] = (there.headers if there and there.ours else None) or {}
        return plan_disconnection(editor, places)

    def afterwards(planned: Planned) -> None:
        revoke_key(call, planned.editor, headers[planned.editor.name])

    _each(call, editors, places, plan, afterwards, dry_run=dry_run)


def _told_apart(hosts: Sequence[str], value: str | None) -> tuple[Sequence[str], str | None]:
    """`--project cursor` means the editor, not a folder of that name."""
    return ((*hosts, value), "") if value in NAMES else (hosts, value)


def _places(user: bool, project: str | None) -> Places:
    if user and project is not None:
        raise click.UsageError("--user and --project exclude each other.", click.get_current_context())
    return places_here(None if project is None else folder_of(project or None))


def _has_something(editor: Editor, places: Places) -> bool:
    """Whether there may be something of ours: a file that cannot be understood is worth its complaint."""
    try:
        there = connection(editor, places)
    except CommonplaceError:
        return True
    return there is not None and (there.ours or bool(there.hooks))


def _each(
    call: Call,
    editors: Sequence[Editor],
    places: Places,
    plan: Callable[[Editor], Planned],
    afterwards: Callable[[Planned], None],
    *,
    dry_run: bool,
    notice: str = "",
) -> None:
    """Do one editor after the other; one that cannot be done does not keep the rest from it."""
    replies, failures = [], []
    for editor in editors:
        try:
            planned = plan(editor)
            if not dry_run and planned.changes:
                carry_out(planned, places)
                afterwards(planned)
        except CommonplaceError as error:
            failures.append(error)
            replies.append(_failed(call, editor, error))
        else:
            replies.append(_told(call, planned, places, dry_run=dry_run))
    if call.json:
        told = {"notice": notice} if notice else {}
        call.reply({"hosts": replies, "written": not dry_run, "failed": len(failures), **told})
    if failures:
        click.get_current_context().exit(failures[0].exit_code)


def _failed(call: Call, editor: Editor, error: CommonplaceError) -> dict[str, Any]:
    if not call.json:
        click.secho(f"{editor.title}: ", fg="red", bold=True, nl=False, err=True, color=colour())
        click.echo(plain(f"{error.message} {error.hint}"), err=True)
    told = {"code": error.code, "message": error.message, "suggestion": error.hint}
    return {"host": editor.name, "state": "failed", "error": told}


def _told(call: Call, planned: Planned, places: Places, *, dry_run: bool) -> dict[str, Any]:
    diffs = {change.path: redact(diff(change, _short(change.path, places))) for change in planned.files}
    if not call.json:
        call.say(_line(planned, places, dry_run=dry_run))
        for text in diffs.values() if dry_run else ():
            call.say(text)
        if planned.changes and planned.state != "disconnected" and not dry_run:
            for advice in filter(None, (planned.editor.afterwards, planned.editor.after_hooks * bool(planned.events))):
                call.note(advice)
    return {
        "host": planned.editor.name,
        "state": planned.state,
        "files": [
            {"path": change.path, "action": change.action} | ({"diff": diffs[change.path]} if dry_run else {})
            for change in planned.files
        ],
        "hooks": list(planned.events),
    }


def _line(planned: Planned, places: Places, *, dry_run: bool) -> str:
    state = f"would be {planned.state}" if dry_run and planned.changes else planned.state
    files = ", ".join(_short(change.path, places) for change in planned.files)
    with_hooks = ""
    if planned.state in ("connected", "updated"):
        with_hooks = f", with {len(planned.events)} hooks" if planned.events else ", without hooks"
        with_hooks += "" if planned.editor.hooks else " (it has none)"
    return f"{planned.editor.title}: {state}{with_hooks}" + (f" ({files})" if files else "")


def _short(path: str, places: Places) -> str:
    """A path from the project or the home on."""
    file = Path(path)
    if places.project and file.is_relative_to(places.project):
        return file.relative_to(places.project).as_posix()
    return f"~/{file.relative_to(places.home).as_posix()}" if file.is_relative_to(places.home) else path
