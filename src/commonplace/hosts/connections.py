"""The connection of an editor to this memory: what its settings hold of ours, and the changes that add or remove it.

First every change to its files is planned, then all of them are made or none.
"""

from __future__ import annotations

import contextlib
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from commonplace.errors import Conflict, InvalidInput
from commonplace.hosts.host import NAME, Entry, Hooks, Host, Locations, Server, editors
from commonplace.hosts.project_files import Change, write_all
from commonplace.hosts.settings_file import (
    BACKUP,
    OurSettings,
    SettingsFile,
    add_our_settings,
    change_of_script,
    check_writable,
    commands_in_script,
    event_of_command,
    foreign_settings,
    hook_command,
    is_our_hook_command,
    list_of,
    our_hooks,
    parse_settings,
    read_settings,
    remove_our_settings,
    script_with_commands,
)

if TYPE_CHECKING:
    from commonplace.model import Key

_ADDRESSES = ("url", "serverUrl", "httpUrl")
_PROGRAMS = ("commonplace", "commonplace.exe")
_KEYS = "Bearer sk-sekha-"
CONNECT_KEY_PREFIX = "connect "
"""How the name of a key begins that was made for an editor."""


class Hook(NamedTuple):
    """A command line that an editor runs at an event."""

    event: str
    command: str


class Connection(NamedTuple):
    """What is written now. `entry` is as it stands in the file; the other fields read alike for every editor."""

    file: Path
    entry: Mapping[str, Any] | None
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    hooks: tuple[Hook, ...] = ()

    @property
    def key(self) -> str:
        """The secret of the key that it sends."""
        return (self.headers or {}).get("Authorization", "").removeprefix("Bearer ")

    @property
    def ours(self) -> bool:
        """Whether the entry was made by us, and not by somebody who chose the same name."""
        program = self.command.replace("\\", "/").rpartition("/")[2].lower()
        as_module = self.args[:2] == ("-m", NAME)
        return program in _PROGRAMS or as_module or str((self.headers or {}).get("Authorization")).startswith(_KEYS)


def calls_this_memory(url: str, key: Key | None) -> bool:
    """Whether a server at an address answers from the memory on this machine, given the key of it that is used.

    A key that was made here for an address elsewhere proves nothing: that server does not know it.
    """
    machine = urlsplit(url).hostname or ""
    local = machine in ("localhost", "::1") or machine.startswith("127.")
    return key is not None and (local or not key.name.startswith(CONNECT_KEY_PREFIX))


def read_connection(host: Host, locations: Locations) -> Connection | None:
    """What is written in an editor's files now; None if nothing. Raises Conflict for a file that cannot be read."""
    path = host.mcp.file(locations)
    if path is None:
        return None
    entry = entry_in(read_settings(path, host.mcp.format), host)
    hooks = tuple(_read_hooks(host, locations))
    if entry is None and not hooks:
        return None
    return _describe(path, entry, hooks)


def _read_hooks(host: Host, locations: Locations) -> Iterator[Hook]:
    path = host.hooks.file(locations) if host.hooks else None
    if host.hooks and path:
        is_script = host.hooks.script is not None
        yield from hooks_in(commands_in_script(path) if is_script else read_settings(path, "jsonc").value)


def entry_in(config: SettingsFile, host: Host) -> Mapping[str, Any] | None:
    """The entry under our name; None if there is none. What is no entry at all is an empty one, and not ours."""
    servers = config.value.get(host.mcp.servers)
    if not isinstance(servers, dict) or NAME not in servers:
        return None
    entry = servers[NAME]
    return entry if isinstance(entry, dict) else {}


def hooks_in(value: object) -> Iterator[Hook]:
    """Every command line of ours in a file of hooks."""
    if isinstance(value, str) and is_our_hook_command(value):
        yield Hook(event_of_command(value), value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from hooks_in(inner)


def _describe(path: Path, entry: Mapping[str, Any] | None, hooks: tuple[Hook, ...] = ()) -> Connection:
    """An entry of any editor in the same terms."""
    values = entry or {}
    command, args = values.get("command"), values.get("args")
    # OpenCode has the whole command line in one list.
    line = [*(command if isinstance(command, list) else [command or ""]), *(args if isinstance(args, list) else [])]
    return Connection(
        path,
        entry,
        str(line[0]) if line else "",
        tuple(map(str, line[1:])),
        _texts(values.get("env") or values.get("environment")),
        next((str(values[name]) for name in _ADDRESSES if values.get(name)), ""),
        _texts(values.get("headers") or values.get("http_headers")),
        hooks,
    )


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}


_CREATED = ".made-by-commonplace"
"""An empty file in a folder of an editor that is not installed, which we made: no sign of it, and removed with ours."""


def _mark_created(folders: Iterable[Path]) -> None:
    """Remember that these were made here."""
    for folder in folders:
        with contextlib.suppress(OSError):
            if folder.is_dir():
                (folder / _CREATED).touch()


def _remove_created(folder: Path) -> None:
    """Remove a folder that was made here, if nothing else is in it by now."""
    with contextlib.suppress(OSError):
        if [path.name for path in folder.iterdir()] == [_CREATED]:
            (folder / _CREATED).unlink()
            folder.rmdir()


def _has_only_ours(folder: Path, files: Iterable[Path | None]) -> bool:
    """Whether a folder was made here, and nobody has put anything into it but these files of ours."""
    try:
        if not (folder / _CREATED).is_file():
            return False
        ours = {file.relative_to(folder).parts[0] for file in files if file and file.is_relative_to(folder)}
        return all(path.name.removesuffix(BACKUP) in {_CREATED, *ours} for path in folder.iterdir())
    except OSError:
        return False


def is_installed(host: Host, locations: Locations) -> bool:
    """Whether a sign of an editor is there, or one of its commands is on the PATH."""
    path = locations.env.get("PATH", "")
    files = (host.mcp.file(locations), host.hooks.file(locations) if host.hooks else None)
    signs = (sign for sign in host.mcp.signs(locations) if not _has_only_ours(sign, files))
    return any(sign.exists() for sign in signs) or any(
        shutil.which(program, path=path) for program in host.mcp.programs if path
    )


def installed_editors(locations: Locations) -> list[Host]:
    """The editors on this machine that can be connected here."""
    return [host for host in editors() if host.mcp.file(locations) is not None and is_installed(host, locations)]


def commonplace_program() -> tuple[str, ...]:
    """The command that was called, else the one next to the interpreter, else on the PATH, else the module."""
    called = Path(sys.argv[0])
    if called.stem == NAME and called.is_file():
        return (str(called.absolute()),)
    neighbour = Path(sys.executable).parent / (f"{NAME}.exe" if sys.platform == "win32" else NAME)
    if neighbour.is_file():
        return (str(neighbour),)
    known = shutil.which(NAME)
    return (str(Path(known).absolute()),) if known else (sys.executable, "-m", NAME)


# What says how a server is reached: always ours. The rest of an entry (allowed tools, a time limit) is the person's.
_REACHED = {"type", "command", "args", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
_VARIABLES = ("env", "environment")
_DATA_DIR = "COMMONPLACE_DATA_DIR"


class DesiredConnection(NamedTuple):
    """A server, and the program that hooks call; () for no hooks."""

    server: Server
    hook_program: tuple[str, ...] = ()
    data_dir: str | None = None


def local_server(program: tuple[str, ...], profile: str, data_dir: str | None) -> Server:
    """The server that an editor starts itself."""
    args = (*program[1:], "mcp", "--profile", profile)
    return Server(program[0], args, {_DATA_DIR: data_dir} if data_dir else {})


def wanted_entry(host: Host, wanted: DesiredConnection, there: Mapping[str, Any]) -> Entry:
    """Our entry, with what a person added to the one that is there: other settings, and other variables."""
    entry = host.mcp.entry(wanted.server)
    others = {key: value for key, value in there.items() if key not in _REACHED and key not in _VARIABLES}
    for name in _VARIABLES:
        old = there.get(name)
        if isinstance(old, dict) and not wanted.server.url:
            merged = {key: value for key, value in old.items() if key != _DATA_DIR} | dict(entry.get(name) or {})
            others |= {name: merged} if merged else {}
    return entry | others


def wanted_events(host: Host, locations: Locations, wanted: DesiredConnection) -> tuple[str, ...]:
    """The events at which the editor is to call us."""
    offered = host.hooks if host.hooks and host.hooks.file(locations) else None
    return offered.events if offered and wanted.hook_program else ()


def wanted_hooks(host: Host, locations: Locations, wanted: DesiredConnection) -> list[tuple[tuple[str, ...], Entry]]:
    """The hooks, each with the path of the list that it belongs to."""
    if host.hooks is None:
        return []
    hooks: list[tuple[tuple[str, ...], Entry]] = []
    for event, line in wanted_commands(host, host.hooks, locations, wanted).items():
        entry = host.hooks.entry(event, line)
        if wanted.server.url and host.hooks.server_tools and "matcher" in entry:
            entry["matcher"] += f"|{host.hooks.server_tools}"
        hooks.append((host.hooks.path(event), entry))
    return hooks


def wanted_commands(host: Host, hooks: Hooks, locations: Locations, wanted: DesiredConnection) -> dict[str, str]:
    """The command line that the editor is to run at each event."""
    program, folder, system = wanted.hook_program, wanted.data_dir, locations.system
    return {
        event: hook_command(program, host.name, event, folder, system, hooks.windows)
        for event in wanted_events(host, locations, wanted)
    }


State = Literal["connected", "updated", "already connected", "disconnected", "not connected"]
PRIVATE = 0o600
SHARED = 0o666


class ConnectionPlan(NamedTuple):
    """What becomes of an editor's files. Copies of what they were are among the changes, before them."""

    host: Host
    state: State
    changes: tuple[Change, ...] = ()
    events: tuple[str, ...] = ()

    @property
    def files(self) -> list[Change]:
        """The changes of the editor's own files."""
        return [change for change in self.changes if not change.path.endswith(BACKUP)]


class _Part(NamedTuple):
    """A file of an editor, and which of its two tasks it has; some files have both."""

    config: SettingsFile
    servers: bool
    hooks: bool


def plan_connection(
    host: Host, locations: Locations, wanted: DesiredConnection, *, force: bool = False
) -> ConnectionPlan:
    """The changes that connect an editor. Raises if it cannot be done without harm; nothing is written here."""
    if host.mcp.file(locations) is None:
        raise InvalidInput(f"{host.title} does not read servers from a project.", "Connect it without --project.")
    if wanted.server.url and host.mcp.http is None:
        raise InvalidInput(f"{host.title} cannot connect to an address.", "Leave out --http for it.")
    mode = SHARED if locations.project and not wanted.server.key else PRIVATE
    parts = _parts(host, locations)
    new = all(_found(part, host).empty for part in parts) and not any(_read_hooks(host, locations))
    changes = [
        change
        for part in parts
        for change in _brought_to(part, _found(part, host), _wanted(part, host, locations, wanted, force), mode)
    ]
    if (script := _script(host, locations)) and host.hooks:
        commands = wanted_commands(host, host.hooks, locations, wanted)
        text = script_with_commands(script.source, commands) if commands else None
        changes += change_of_script(script.path, text, mode, force=force)
    state: State = "already connected" if not changes else "connected" if new else "updated"
    return ConnectionPlan(host, state, tuple(changes), wanted_events(host, locations, wanted))


class _Script(NamedTuple):
    """The file of an editor whose hooks are code, and what it is made of."""

    path: Path
    source: Path


def _script(host: Host, locations: Locations) -> _Script | None:
    path = host.hooks.file(locations) if host.hooks and host.hooks.script else None
    if path is None or host.hooks is None or host.hooks.script is None:
        return None
    _check_inside(path, locations.project)
    return _Script(path, host.hooks.script)


def plan_disconnection(host: Host, locations: Locations) -> ConnectionPlan:
    """The changes that take out of an editor's files what we put in, and no more."""
    changes = []
    for part in _parts(host, locations):
        found = _found(part, host)
        changes += [] if found.empty else _without(part.config, found)
    if script := _script(host, locations):
        changes += change_of_script(script.path, None, PRIVATE)
    return ConnectionPlan(host, "disconnected" if changes else "not connected", tuple(changes))


def apply_plan(planned: ConnectionPlan, locations: Locations) -> None:
    """Make the changes, unless a file was changed since it was read."""
    for change in planned.changes:
        path = Path(change.path)
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise Conflict(f"{path} was just changed by something else.", "Call again.")
    signs = planned.host.mcp.signs(locations)
    new = [sign for sign in signs if not sign.exists()]
    if planned.changes:
        write_all(Path(Path(planned.changes[0].path).anchor), planned.changes)
    _mark_created(new)
    for change in planned.changes:
        if change.action == "remove":
            _remove_empty_folders(Path(change.path).parent, {locations.top, *signs})
    for sign in signs:
        _remove_created(sign)


def _parts(host: Host, locations: Locations) -> list[_Part]:
    servers, hooks = host.mcp.file(locations), host.hooks.file(locations) if host.hooks else None
    if servers is None:
        return []
    for path in filter(None, (servers, hooks)):
        _check_inside(path, locations.project)
    parts = [_Part(read_settings(servers, host.mcp.format), servers=True, hooks=hooks == servers)]
    if hooks and hooks != servers and not (host.hooks and host.hooks.script):
        parts.append(_Part(read_settings(hooks, "jsonc"), servers=False, hooks=True))
    return parts


def _check_inside(path: Path, project: Path | None) -> None:
    """A link may lead a person's own settings elsewhere, but a project is what somebody else may have put there."""
    if project is not None and not path.resolve().is_relative_to(project.resolve()):
        raise Conflict(f"{path} leads out of the project through a link.", "Put the file itself there, then try again.")


def _found(part: _Part, host: Host) -> OurSettings:
    """What of ours is in a file now."""
    entry = entry_in(part.config, host) if part.servers else None
    ours = entry if entry is not None and _describe(part.config.path, entry).ours else None
    if not part.hooks or host.hooks is None:
        return OurSettings(host.mcp.servers, ours)
    hooks = [(list_of(path), item) for path, item in our_hooks(part.config.value)]
    return OurSettings(host.mcp.servers, ours, tuple(hooks), host.hooks.always)


def _wanted(part: _Part, host: Host, locations: Locations, wanted: DesiredConnection, force: bool) -> OurSettings:
    """What of ours is to be in a file."""
    entry = None
    if part.servers:
        there = entry_in(part.config, host)
        foreign = there is not None and not _describe(part.config.path, there).ours
        if foreign and not force:
            raise Conflict(
                f"{part.config.path} already has another server called {NAME}.", "Rename it, or use --force."
            )
        entry = wanted_entry(host, wanted, {} if foreign else there or {})
    if not part.hooks or host.hooks is None:
        return OurSettings(host.mcp.servers, entry)
    return OurSettings(host.mcp.servers, entry, tuple(wanted_hooks(host, locations, wanted)), host.hooks.always)


def _brought_to(part: _Part, found: OurSettings, wanted: OurSettings, mode: int) -> list[Change]:
    """The change of a file to what is wanted, with a copy of what it was before it held anything of ours."""
    config = part.config
    if wanted.empty:
        return [] if found.empty else _without(config, found)
    try:
        text = add_our_settings(config.text, config.format, wanted)
        harmless = foreign_settings(parse_settings(text, config.format), wanted) == foreign_settings(
            config.value, wanted
        )
    except (ValueError, RecursionError) as error:
        raise Conflict(f"{config.path} was left as it is: {error}.", "Correct it, then try again.") from error
    if text == config.text and config.data is not None:
        return []
    if not harmless:
        raise Conflict(f"{config.path} was left as it is: its shape is unusual.", "Add the server by hand.")
    check_writable(config)
    change = Change(str(config.path), config.data, config.encoded(text), mode)
    return [*_copied(config), change] if found.empty else [change]


def _copied(config: SettingsFile) -> list[Change]:
    """The copy of a file as it is now. One from an earlier time, when we were here before, makes way for it."""
    old = config.backup.read_bytes() if config.backup.is_file() else None
    mode = PRIVATE if config.data is None else stat.S_IMODE(config.path.stat().st_mode)
    return [] if old == config.data else [Change(str(config.backup), old, config.data, mode)]


def _without(config: SettingsFile, found: OurSettings) -> list[Change]:
    """The change of a file that takes ours out, and its copy away if that says no more than the file does now."""
    check_writable(config)
    backup = read_settings(config.backup, config.format)
    text = remove_our_settings(config, found, backup if backup.data is not None else None)
    after = None if text is None else config.encoded(text)
    spare = [Change(str(backup.path), backup.data, None)] if backup.data is not None and backup.data == after else []
    return [Change(str(config.path), config.data, after), *spare]


def _remove_empty_folders(folder: Path, lasting: set[Path]) -> None:
    """The folders that a removed file leaves empty go with it, but not those by which an editor is found."""
    with contextlib.suppress(OSError):
        while folder not in lasting and any(folder.is_relative_to(path) for path in lasting):
            folder.rmdir()
            folder = folder.parent
