"""`connect` and `disconnect`: add the server and hooks to the editors on this machine, or remove them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli.command import Call, command
from commonplace.cli.connect_options import NO_KEY_YET, ConnectOptions, connect_options, revoke_key, server_address
from commonplace.cli.options import PluginChoice, dry_run_option, project_root
from commonplace.cli.terminal import plain, use_colour
from commonplace.config import PROFILES
from commonplace.errors import CommonplaceError, NotFound
from commonplace.hosts.connections import (
    Connection,
    ConnectionPlan,
    apply_plan,
    installed_editors,
    plan_connection,
    plan_disconnection,
    read_connection,
)
from commonplace.hosts.host import EDITOR_NAMES, Host, Locations, editor_names, editors_named, locations_here
from commonplace.hosts.host import editors as all_editors
from commonplace.hosts.project_files import unified_diff
from commonplace.text.redact import redact

hosts_argument = click.argument("hosts", metavar="[HOST]...", nargs=-1, type=PluginChoice(EDITOR_NAMES, editor_names))
user_option = click.option("--user", is_flag=True, help="For all your projects (the default).")
project_option = click.option(
    "-p",
    "--project",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value="",
    type=click.Path(),
    help="Only for one project: FOLDER, or the repository around the current folder.",
)


@command(
    "connect",
    "commonplace connect --dry-run",
    "commonplace connect",
    "commonplace connect claude-code",
    "commonplace connect cursor vscode --project",
    "commonplace connect codex --no-hooks --profile all",
    "commonplace connect zed --http",
)
@hosts_argument
@user_option
@project_option
@click.option("--profile", type=click.Choice(PROFILES), help="Which tools to offer (default: core).")
@click.option("--no-hooks", is_flag=True, help="Add only the tools: nothing is captured automatically.")
@click.option(
    "--http",
    metavar="[URL]",
    is_flag=False,
    flag_value="",
    help="Use a running server, by default the one on this machine.",
)
@click.option("--key", help="The key for --http (default: a new one for each editor).")
@click.option(
    "--share",
    metavar="PROJECT",
    multiple=True,
    help="With --key: a repository whose work is shared, such as github.com/acme/*, or `all` for every folder.",
)
@click.option("--no-check", is_flag=True, help="Do not try the address and the key first.")
@click.option("--force", is_flag=True, help="Replace an entry called commonplace that `connect` did not add.")
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
    share: Sequence[str],
    no_check: bool,
    force: bool,
    dry_run: bool,
) -> None:
    """Connect editors and agents to this memory: each HOST, or all on this machine.

    HOST is claude-code, claude-desktop, cursor, windsurf, vscode, cline, kiro, codex, gemini, opencode or zed. Only our
    own entries in their settings are changed, and a copy of each file is kept next to it. Run it again to update them;
    `disconnect` undoes it.
    """
    hosts, project = _split_host_from_value(hosts, project)
    hosts, http = _split_host_from_value(hosts, http)
    locations = _locations(user, project)
    options = connect_options(
        call, locations, profile, http, key, share, hooks=not no_hooks, check=not no_check, dry_run=dry_run
    )

    editors = editors_named(hosts) or [
        editor for editor in installed_editors(locations) if editor.mcp.http or not options.url
    ]
    if not editors:
        raise NotFound("No supported editor was found on this machine.", f"Name one: {', '.join(editor_names())}.")
    options = options.with_known_key(editors, share, check=not no_check, dry_run=dry_run)

    def plan(editor: Host) -> ConnectionPlan:
        wanted = options.wanted(editor)
        planned = plan_connection(editor, locations, wanted, force=force)
        if not dry_run and planned.events and (team := options.team_server(wanted.server.key)):
            from commonplace.capture.hooks.team_server import save_server

            save_server(team)
        if dry_run or not planned.changes or wanted.server.key != NO_KEY_YET:
            return planned
        return plan_connection(editor, locations, options.with_new_key(editor, wanted), force=force)

    if options.url and locations.project and not dry_run:
        call.note("The project's settings will contain a key: keep them out of version control.")
    notice = options.hooks_notice() if any(editor.hooks for editor in editors) else ""
    if notice:
        call.note(notice)
    changed = _each(call, editors, locations, plan, lambda _planned: None, dry_run=dry_run, notice=notice)
    if not dry_run and (options.shared or options.is_open_everywhere):
        call.note(_what_is_shared(options, editors))
    if changed:
        call.note(_after_connecting(changed, dry_run=dry_run))


def _what_is_shared(options: ConnectOptions, editors: Sequence[Host]) -> str:
    """What goes to the server, and where agents could still write to it from elsewhere."""
    from commonplace.capture.hooks.team_server import EVERY_FOLDER

    address = server_address(options.url)
    if options.is_open_everywhere:
        return (
            f"Without hooks, agents can use the tools of {address} in every folder, also in private ones: connect with"
            " --project in each shared repository instead."
        )
    if EVERY_FOLDER in options.shared:
        said = f"Shared with {address}: every folder"
        said += f" but the projects of sync_private ({options.private})" if options.private else ""
        return f"{said}. Colleagues can read prompts, commands and answers of all of them."
    said = f"Shared with {address}: {', '.join(options.shared)}. Everything else stays on this machine"
    said += f", and so do the projects of sync_private ({options.private})." if options.private else "."
    open_ = [editor.title for editor in editors if not (editor.hooks and editor.hooks.server_tools)]
    if open_ and not options.locations.project:
        said += (
            f" {' and '.join(open_)} cannot keep an agent from using the server's tools in other folders: connect"
            " it with --project in each shared repository instead."
        )
    return said


def _after_connecting(changed: int, *, dry_run: bool) -> str:
    """What to do next."""
    if dry_run:
        return "\nNothing was changed. Run it without --dry-run to connect them."
    return (
        f"\nNext: restart {'it' if changed == 1 else 'them'}, open a project, and ask what it remembers.\n"
        "`commonplace ingest` reads the sessions that are already on this machine.\n"
        "`commonplace doctor` checks that everything works."
    )


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
    """Remove what `connect` added, from each HOST or from all that are connected. Nothing else is changed.

    To uninstall Commonplace, disconnect, then remove the program (`uv tool uninstall commonplace`, `pipx uninstall
    commonplace`, or delete the clone). Your memory stays in the data folder, which `commonplace status` shows.
    """
    hosts, project = _split_host_from_value(hosts, project)
    locations = _locations(user, project)
    editors = editors_named(hosts) or [editor for editor in all_editors() if _has_something(editor, locations)]

    if not editors:
        call.note("No editor is connected here.")
    were: dict[str, Connection | None] = {}

    def plan(editor: Host) -> ConnectionPlan:
        there = read_connection(editor, locations)
        were[editor.name] = there if there and there.ours else None
        return plan_disconnection(editor, locations)

    def after(planned: ConnectionPlan) -> None:
        if there := were[planned.host.name]:
            revoke_key(call, planned.host, there.headers or {})
            if there.url and there.key and not locations.project:
                _remove_team_folder(call, locations, there)

    _each(call, editors, locations, plan, after, dry_run=dry_run)
    if (
        editors
        and not (dry_run or locations.project)
        and not any(_has_something(one, locations) for one in all_editors())
    ):
        call.note(
            f"\nNo editor is connected any more. Your memory stays in {call.settings().data_dir}. To uninstall, remove"
            " the program (`pipx uninstall commonplace` or `pip uninstall commonplace`) and delete that folder."
        )


def _remove_team_folder(call: Call, locations: Locations, was: Connection) -> None:
    """Remove what hooks had to send events to a server, with its key, unless another editor uses it."""
    from commonplace.capture.hooks.team_server import remove_server, team_server

    server = team_server(call.settings().data_dir, was.url, was.key)
    others = (read_connection(editor, locations) for editor in all_editors() if _has_something(editor, locations))
    used = any(str(server.folder) in hook.command for other in others if other for hook in other.hooks)
    if server.folder.is_dir() and not used and not remove_server(server):
        call.note(
            f"Captured events are still waiting for {server.url}: `commonplace drain` sends them, and then removes its"
            " key."
        )


def _split_host_from_value(hosts: Sequence[str], value: str | None) -> tuple[Sequence[str], str | None]:
    """`--project cursor` means the editor, not a folder of that name."""
    return ((*hosts, value), "") if value in EDITOR_NAMES or value in editor_names() else (hosts, value)


def _locations(user: bool, project: str | None) -> Locations:
    if user and project is not None:
        raise click.UsageError("Use either --user or --project, not both.", click.get_current_context())
    return locations_here(None if project is None else project_root(project or None))


def _has_something(editor: Host, locations: Locations) -> bool:
    """Whether there may be something of ours; a file that cannot be parsed is worth an error."""
    try:
        there = read_connection(editor, locations)
    except CommonplaceError:
        return True
    return there is not None and (there.ours or bool(there.hooks))


def _each(
    call: Call,
    editors: Sequence[Host],
    locations: Locations,
    plan: Callable[[Host], ConnectionPlan],
    after: Callable[[ConnectionPlan], None],
    *,
    dry_run: bool,
    notice: str = "",
) -> int:
    """Change one editor after the other; the failure of one does not stop the rest. How many change."""
    replies, failures, changed = [], [], 0
    for editor in editors:
        try:
            planned = plan(editor)
            if not dry_run and planned.changes:
                apply_plan(planned, locations)
                after(planned)
        except CommonplaceError as error:
            failures.append(error)
            replies.append(_report_failed(call, editor, error))
        else:
            replies.append(_report_planned(call, planned, locations, dry_run=dry_run))
            changed += bool(planned.changes)
    if call.json:
        more = {"notice": notice} if notice else {}
        call.reply({"hosts": replies, "written": not dry_run, "failed": len(failures), **more})
    if failures:
        call.exit(failures[0].exit_code)
    return changed


def _report_failed(call: Call, editor: Host, error: CommonplaceError) -> dict[str, Any]:
    if not call.json:
        click.secho(f"{editor.title}: ", fg="red", bold=True, nl=False, err=True, color=use_colour())
        click.echo(plain(f"{error.message} {error.hint}"), err=True)
    record = {"code": error.code, "message": error.message, "suggestion": error.hint}
    return {"host": editor.name, "state": "failed", "error": record}


def _report_planned(call: Call, planned: ConnectionPlan, locations: Locations, *, dry_run: bool) -> dict[str, Any]:
    diffs = {change.path: redact(unified_diff(change, _short(change.path, locations))) for change in planned.files}
    if not call.json:
        call.say(_line(planned, locations, dry_run=dry_run))
        for text in diffs.values() if dry_run else ():
            call.say(text)
        if planned.changes and planned.state != "disconnected" and not dry_run:
            hooks = planned.host.hooks if planned.events else None
            for advice in filter(None, (planned.host.mcp.advice, hooks.advice if hooks else "")):
                call.note(advice)
    return {
        "host": planned.host.name,
        "state": planned.state,
        "files": [
            {"path": change.path, "action": change.action} | ({"diff": diffs[change.path]} if dry_run else {})
            for change in planned.files
        ],
        "hooks": list(planned.events),
    }


def _line(planned: ConnectionPlan, locations: Locations, *, dry_run: bool) -> str:
    state = f"would be {planned.state}" if dry_run and planned.changes else planned.state
    files = ", ".join(_short(change.path, locations) for change in planned.files)
    with_hooks = ""
    if planned.state in ("connected", "updated"):
        with_hooks = f", with {len(planned.events)} hooks" if planned.events else ", without hooks"
        with_hooks += "" if planned.host.hooks else " (it has none)"
    return f"{planned.host.title}: {state}{with_hooks}" + (f" ({files})" if files else "")


def _short(path: str, locations: Locations) -> str:
    """A path relative to the project or the home folder."""
    file = Path(path)
    if locations.project and file.is_relative_to(locations.project):
        return file.relative_to(locations.project).as_posix()
    return f"~/{file.relative_to(locations.home).as_posix()}" if file.is_relative_to(locations.home) else path
