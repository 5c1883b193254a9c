"""`connect` and `disconnect`: add the server and hooks to the editors on this machine, or remove them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import click

from commonplace.cli.command import Call, command
from commonplace.cli.options import PluginChoice, dry_run_option, project_root
from commonplace.cli.terminal import plain, use_colour
from commonplace.config import PROFILES
from commonplace.data_folder import data_folder
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, Unauthorized
from commonplace.hosts.connections import (
    CONNECT_KEY_PREFIX,
    Connection,
    ConnectionPlan,
    DesiredConnection,
    apply_plan,
    calls_this_memory,
    commonplace_program,
    installed_editors,
    local_server,
    plan_connection,
    plan_disconnection,
    read_connection,
)
from commonplace.hosts.host import EDITOR_NAMES, Host, Locations, Server, editor_names, editors_named, locations_here
from commonplace.hosts.host import editors as all_editors
from commonplace.hosts.project_files import unified_diff
from commonplace.model import Key
from commonplace.text.redact import redact

if TYPE_CHECKING:
    from commonplace.capture.hooks.team_server import TeamServer
    from commonplace.memory.local_memory import LocalMemory

T = TypeVar("T")
DEFAULT_PROFILE = "core"
# A placeholder for a key that is created only if it is written.
NO_KEY_YET = "sk-sekha-"


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """What is configured in every editor that is connected in one run."""

    call: Call
    locations: Locations
    profile: str
    url: str
    key: str
    hooks: bool

    def wanted(self, editor: Host) -> DesiredConnection:
        """What this editor gets. A key that it already has for this address is kept, unless it was revoked."""
        key = self.key or self._known_key(editor) or NO_KEY_YET
        return self._with(key)

    def with_new_key(self, editor: Host, wanted: DesiredConnection) -> DesiredConnection:
        """The same with a valid key, which is created if there is none."""
        if wanted.server.key != NO_KEY_YET:
            return wanted
        from commonplace.memory import api_keys

        with self.call.local_memory() as memory:
            return self._with(api_keys.create_key(memory, _key_name(editor))[1])

    def _with(self, key: str) -> DesiredConnection:
        program, data_dir = commonplace_program(), _custom_data_dir(self.call)
        if not self.url:
            server = local_server(program, self.profile, data_dir)
        else:
            server = Server(url=self.url, key=key)
            if team := self.team_server(key):
                data_dir = str(team.folder)
        return DesiredConnection(server, program if self.hooks else (), data_dir)

    def team_server(self, key: str) -> TeamServer | None:
        """The server elsewhere that the hooks send to; None if they capture into this machine's own memory."""
        if not (self.url and self.hooks) or key == NO_KEY_YET:
            return None
        from commonplace.memory.api_keys import find_working_key

        known = _in_existing_store(self.call, lambda memory: find_working_key(memory, key))
        if known is not None:
            return None
        from commonplace.capture.hooks.team_server import team_server

        return team_server(self.call.settings().data_dir, self.url, key)

    def _known_key(self, editor: Host) -> str:
        if not self.url:
            return ""
        from commonplace.memory.api_keys import is_revoked_or_expired

        there = read_connection(editor, self.locations)
        secret = there.key if there and there.ours and _is_same_server(there.url, self.url) else ""
        if not secret:
            return ""
        revoked = _in_existing_store(self.call, lambda memory: is_revoked_or_expired(memory, secret))
        return "" if revoked else secret

    def hooks_notice(self) -> str:
        """A notice if the address is elsewhere and no key of that server was given, else empty."""
        if not (self.url and self.hooks) or self.key:
            return ""
        if calls_this_memory(self.url, Key(0, CONNECT_KEY_PREFIX, "", "write", None, 0)):
            return ""
        folder = self.call.settings().data_dir.absolute()
        return (
            f"The server at {server_address(self.url)} does not know a key that is created here: give its --key."
            f" Until then hooks capture into this machine's own memory in {folder}."
        )


def connect_options(
    call: Call, locations: Locations, profile: str | None, http: str | None, key: str | None, *, hooks: bool
) -> ConnectOptions:
    """Check the options. An empty address means the server on this machine."""
    if http is None and key is not None:
        raise InvalidInput("--key is for --http.", "Give both or neither.")
    if key is not None:
        from commonplace.memory.api_keys import looks_like_key

        if not looks_like_key(key):
            raise InvalidInput("That is not a Commonplace key.", "`commonplace keys create NAME` creates one.")
    url = "" if http is None else _with_profile(_address(call, http), profile)
    return ConnectOptions(call, locations, profile or DEFAULT_PROFILE, url, key or "", hooks)


def revoke_key(call: Call, editor: Host, headers: Mapping[str, str]) -> None:
    """Revoke a key that was created for an editor. A key given with --key is left alone."""
    from commonplace.memory import api_keys

    def revoke(memory: LocalMemory) -> None:
        with contextlib.suppress(Unauthorized):
            key = api_keys.check_key(memory, secret)
            if key.name == _key_name(editor):
                api_keys.revoke_key(memory, key.id)

    if secret := headers.get("Authorization", "").removeprefix("Bearer "):
        _in_existing_store(call, revoke)


def _in_existing_store(call: Call, ask: Callable[[LocalMemory], T]) -> T | None:
    """Ask the memory of this machine, if it has a store."""
    if not call.settings().has_store:
        return None
    with call.local_memory() as memory:
        return ask(memory)


def server_address(url: str) -> str:
    """An address without its query, which chooses the tools."""
    return url.partition("?")[0]


def _is_same_server(one: str, other: str) -> bool:
    return server_address(one) == server_address(other)


def _with_profile(url: str, profile: str | None) -> str:
    """The address with the profile, unless it names one: the same tools as a server that is started offers."""
    named = "profile" in parse_qs(urlsplit(url).query)
    if named and profile is not None:
        raise InvalidInput(
            "The address already names a profile.", "Leave out --profile, or remove it from the address."
        )
    if named or urlsplit(url).fragment:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}profile={profile or DEFAULT_PROFILE}"


def _key_name(editor: Host) -> str:
    return f"{CONNECT_KEY_PREFIX}{editor.name}"


def _address(call: Call, url: str) -> str:
    if not url:
        settings = call.settings()
        return f"http://{settings.host}:{settings.port}/mcp"
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or not url.isprintable() or " " in url:
        raise InvalidInput(f"{url[:200]!r} is not an address.", "Write it like http://127.0.0.1:8765/mcp.")
    # The address of the server alone, as it is shown in a browser.
    return parts._replace(path="/mcp").geturl() if parts.path in ("", "/") else url


def _custom_data_dir(call: Call) -> str | None:
    """The data folder, if it is not the one that the processes of an editor would use."""
    # An editor that was not started from a shell has only these variables.
    env = {name: os.environ[name] for name in ("HOME", "USERPROFILE", "LOCALAPPDATA") if name in os.environ}
    folder = call.settings().data_dir.absolute()
    return None if folder == Path(data_folder("", env)).absolute() else str(folder)


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
    options = connect_options(call, locations, profile, http, key, hooks=not no_hooks)

    def plan(editor: Host) -> ConnectionPlan:
        wanted = options.wanted(editor)
        planned = plan_connection(editor, locations, wanted, force=force)
        if not dry_run and planned.events and (team := options.team_server(wanted.server.key)):
            from commonplace.capture.hooks.team_server import save_server

            save_server(team)
        if dry_run or not planned.changes or wanted.server.key != NO_KEY_YET:
            return planned
        return plan_connection(editor, locations, options.with_new_key(editor, wanted), force=force)

    editors = editors_named(hosts) or [
        editor for editor in installed_editors(locations) if editor.mcp.http or not options.url
    ]
    if not editors:
        raise NotFound("No supported editor was found on this machine.", f"Name one: {', '.join(editor_names())}.")
    if options.url and locations.project and not dry_run:
        call.note("The project's settings will contain a key: keep them out of version control.")
    notice = options.hooks_notice() if any(editor.hooks for editor in editors) else ""
    if notice:
        call.note(notice)
    changed = _each(call, editors, locations, plan, lambda _planned: None, dry_run=dry_run, notice=notice)
    if changed:
        call.note(_after_connecting(changed, dry_run=dry_run))


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
        call.note(f"Captured events are still waiting for {server.url}; `commonplace drain` sends them.")


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
