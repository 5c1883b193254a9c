"""Connecting and disconnecting an editor: first a plan of every change to its files, then all of them or none."""

from __future__ import annotations

import contextlib
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commonplace.errors import Conflict, InvalidInput
from commonplace.hosts.connect.config_file import BACKUP, ConfigFile, check_writable, read_config, read_text
from commonplace.hosts.connect.connection import described, entry_in
from commonplace.hosts.connect.editor import NAME, Editor
from commonplace.hosts.connect.made import mark, unmake
from commonplace.hosts.connect.ours import Ours, list_of, others, our_hooks, put_ours, take_ours
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.wanted import Wanted, wanted_entry, wanted_events, wanted_hooks
from commonplace.hosts.writing import Change, write_all

State = Literal["connected", "updated", "already connected", "disconnected", "not connected"]
PRIVATE = 0o600
SHARED = 0o666


@dataclass(frozen=True, slots=True)
class Planned:
    """What becomes of an editor's files. Copies of what they were are among the changes, before them."""

    editor: Editor
    state: State
    changes: tuple[Change, ...] = ()
    events: tuple[str, ...] = ()

    @property
    def files(self) -> list[Change]:
        """The changes of the editor's own files."""
        return [change for change in self.changes if not change.path.endswith(BACKUP)]


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of an editor, and which of its two tasks it has; some files have both."""

    config: ConfigFile
    servers: bool
    hooks: bool


def plan_connection(editor: Editor, places: Places, wanted: Wanted, *, force: bool = False) -> Planned:
    """The changes that connect an editor. Raises if it cannot be done without harm; nothing is written here."""
    if editor.file(places) is None:
        raise InvalidInput(f"{editor.title} reads no servers from a project.", "Connect it without --project.")
    if wanted.server.url and editor.http is None:
        raise InvalidInput(f"{editor.title} cannot call an address.", "Leave --http out for it.")
    mode = SHARED if places.project and not wanted.server.key else PRIVATE
    parts = _parts(editor, places)
    new = all(_found(part, editor).empty for part in parts)
    changes = [
        change
        for part in parts
        for change in _brought_to(part, _found(part, editor), _wanted(part, editor, places, wanted, force), mode)
    ]
    state: State = "already connected" if not changes else "connected" if new else "updated"
    return Planned(editor, state, tuple(changes), wanted_events(editor, places, wanted))


def plan_disconnection(editor: Editor, places: Places) -> Planned:
    """The changes that take out of an editor's files what we put in, and no more."""
    changes = []
    for part in _parts(editor, places):
        found = _found(part, editor)
        changes += [] if found.empty else _without(part.config, found)
    return Planned(editor, "disconnected" if changes else "not connected", tuple(changes))


def carry_out(planned: Planned, places: Places) -> None:
    """Make the changes, unless a file was changed since it was read."""
    for change in planned.changes:
        path = Path(change.path)
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise Conflict(f"{path} was changed by somebody else just now.", "Call again.")
    signs = planned.editor.signs(places)
    new = [sign for sign in signs if not sign.exists()]
    if planned.changes:
        write_all(Path(Path(planned.changes[0].path).anchor), planned.changes)
    mark(new)
    for change in planned.changes:
        if change.action == "remove":
            _remove_empty_folders(Path(change.path).parent, {places.top, *signs})
    for sign in signs:
        unmake(sign)


def _parts(editor: Editor, places: Places) -> list[_Part]:
    servers, hooks = editor.file(places), editor.hooks.file(places) if editor.hooks else None
    if servers is None:
        return []
    for path in filter(None, (servers, hooks)):
        _check_inside(path, places.project)
    parts = [_Part(read_config(servers, editor.format), servers=True, hooks=hooks == servers)]
    if hooks and hooks != servers:
        parts.append(_Part(read_config(hooks, "jsonc"), servers=False, hooks=True))
    return parts


def _check_inside(path: Path, project: Path | None) -> None:
    """A link may lead a person's own settings elsewhere, but a project is what somebody else may have put there."""
    if project is not None and not path.resolve().is_relative_to(project.resolve()):
        raise Conflict(f"{path} leads out of the project by a link.", "Put the file itself there, then call again.")


def _found(part: _Part, editor: Editor) -> Ours:
    """What of ours is in a file now."""
    entry = entry_in(part.config, editor) if part.servers else None
    ours = entry if entry is not None and described(part.config.path, entry).ours else None
    if not part.hooks or editor.hooks is None:
        return Ours(editor.servers, ours)
    hooks = [(list_of(path), item) for path, item in our_hooks(part.config.value)]
    return Ours(editor.servers, ours, tuple(hooks), editor.hooks.always)


def _wanted(part: _Part, editor: Editor, places: Places, wanted: Wanted, force: bool) -> Ours:
    """What of ours is to be in a file."""
    entry = None
    if part.servers:
        there = entry_in(part.config, editor)
        foreign = there is not None and not described(part.config.path, there).ours
        if foreign and not force:
            raise Conflict(
                f"{part.config.path} has another server that is called {NAME}.", "Rename it, or use --force."
            )
        entry = wanted_entry(editor, wanted, {} if foreign else there or {})
    if not part.hooks or editor.hooks is None:
        return Ours(editor.servers, entry)
    return Ours(editor.servers, entry, tuple(wanted_hooks(editor, places, wanted)), editor.hooks.always)


def _brought_to(part: _Part, found: Ours, wanted: Ours, mode: int) -> list[Change]:
    """The change of a file to what is wanted, with a copy of what it was before it held anything of ours."""
    config = part.config
    if wanted.empty:
        return [] if found.empty else _without(config, found)
    try:
        text = put_ours(config.text, config.format, wanted)
        harmless = others(read_text(text, config.format), wanted) == others(config.value, wanted)
    except (ValueError, RecursionError) as error:
        raise Conflict(f"{config.path} was left as it is: {error}.", "Correct it, then call again.") from error
    if text == config.text and config.data is not None:
        return []
    if not harmless:
        raise Conflict(f"{config.path} was left as it is: its shape is unusual.", "Add the server by hand.")
    check_writable(config)
    change = Change(str(config.path), config.data, config.encoded(text), mode)
    return [*_copied(config), change] if found.empty else [change]


def _copied(config: ConfigFile) -> list[Change]:
    """The copy of a file as it is now. One from an earlier time, when we were here before, makes way for it."""
    old = config.backup.read_bytes() if config.backup.is_file() else None
    mode = PRIVATE if config.data is None else stat.S_IMODE(config.path.stat().st_mode)
    return [] if old == config.data else [Change(str(config.backup), old, config.data, mode)]


def _without(config: ConfigFile, found: Ours) -> list[Change]:
    """The change of a file that takes ours out, and its copy away if that says no more than the file does now."""
    check_writable(config)
    kept = read_config(config.backup, config.format)
    text = take_ours(config, found, kept if kept.data is not None else None)
    after = None if text is None else config.encoded(text)
    spare = [Change(str(kept.path), kept.data, None)] if kept.data is not None and kept.data == after else []
    return [Change(str(config.path), config.data, after), *spare]


def _remove_empty_folders(folder: Path, lasting: set[Path]) -> None:
    """The folders that a removed file leaves empty go with it, but not those by which an editor is found."""
    with contextlib.suppress(OSError):
        while folder not in lasting and any(folder.is_relative_to(path) for path in lasting):
            folder.rmdir()
            folder = folder.parent
