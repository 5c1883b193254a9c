"""A settings file of an editor: reading it, and adding and removing our own entries without changing anything else.

A link is followed: whoever keeps their settings in another folder, such as one for dotfiles, wants them changed there.
Out of a project none is (connections.py). Where hooks are code, the file is all ours: a script that comes with the
host's module, with its command lines as a JSON object, so that they can be read again as those in a settings file.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

from commonplace.errors import Conflict, TooLarge
from commonplace.hosts import json_and_toml_edits
from commonplace.hosts.host import NAME, Entry, Shell, System
from commonplace.hosts.project_files import Change

Format = Literal["jsonc", "toml"]
BOM = "\ufeff"
MAX_BYTES = 50_000_000
BACKUP = ".before-commonplace"
"""What is added to a file's name for the copy of what it was before we changed it."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file, or None as its data if there is none yet; `text` is without a BOM."""

    path: Path
    data: bytes | None
    format: Format
    bom: str = ""
    text: str = ""
    value: dict[str, Any] = field(default_factory=dict)

    @property
    def backup(self) -> Path:
        return self.path.with_name(self.path.name + BACKUP)

    def encoded(self, text: str) -> bytes:
        return (self.bom + text).encode()


def read_settings(path: Path, format_: Format) -> SettingsFile:
    """The file that a path leads to. Raises Conflict, and says why, if it cannot be read or understood."""
    try:
        place = path.resolve(strict=True) if path.is_symlink() else path
        status = place.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Conflict(f"{path} is not a file.", "Move it out of the way.")
        if status.st_size > MAX_BYTES:
            raise TooLarge(f"{path} has {status.st_size:,} bytes, more than {MAX_BYTES:,}.", "Make it smaller.")
        # Asked of the mode as well: a superuser may read anything.
        if not status.st_mode & stat.S_IRUSR:
            raise Conflict(f"{path} is not readable.", "Make it readable by its owner.")
        data = place.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise Conflict(f"{path} is a link to nothing.", "Remove the link, or put the file in place.") from None
        return SettingsFile(path, None, format_)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Conflict(f"{path} cannot be read: {why}.", "Fix that, then call again.") from error
    return _understood(place, data, format_)


def check_writable(config: SettingsFile) -> None:
    """Refuse what could only be written by force: a read-only file, or one in a read-only folder."""
    path = config.path
    try:
        if config.data is not None:
            status = path.stat()
            if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                raise Conflict(f"{path} belongs to another user.", "Run this as its owner.")
            if not status.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
                raise Conflict(f"{path} is read-only.", "Make it writable, then call again.")
        folder = next(folder for folder in path.parents if folder.exists())
        if not folder.is_dir():
            raise Conflict(f"{folder} is not a folder, but {path.name} has to go into it.", "Move it out of the way.")
        if not folder.stat().st_mode & stat.S_IWUSR or not os.access(folder, os.W_OK | os.X_OK):
            raise Conflict(f"The folder {folder} is not writable.", "Make it writable, then call again.")
    except OSError as error:
        raise Conflict(f"{path} cannot be used: {error.strerror}.", "Fix that, then call again.") from error


def _understood(path: Path, data: bytes, format_: Format) -> SettingsFile:
    try:
        text = data.decode("utf-8")
        bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
        value = parse_settings(text, format_)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise Conflict(
            f"{path} was left as it is, because it cannot be parsed: {why}.", "Correct it, then try again."
        ) from error
    return SettingsFile(path, data, format_, bom, text, value)


def parse_settings(text: str, format_: Format) -> dict[str, Any]:
    """What a text says, as plain values. An empty text says nothing; ValueError if it is no table of settings."""
    if format_ == "toml":
        return tomllib.loads(text)
    if not text.strip():
        return {}
    value = json_and_toml_edits.parse_json(text).value
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


_OURS = re.compile(
    r"""(?:^|[\\/\s"'])commonplace(?:\.exe)?["']?[ ]hook[ ]"""
    r"""(?:--data-dir[ ](?:"[^"]*"|'.*'|\S+)[ ])?[\w.-]+[ ](?P<event>[\w.:-]+)\s*""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[\w.:\\/@%+=,~-]+", re.ASCII)


def hook_command(
    program: Sequence[str], host: str, event: str, data_dir: str | None, system: System, windows: Shell
) -> str:
    """`commonplace hook EDITOR EVENT`, quoted so that the editor's shell takes it apart as it was meant."""
    folder = ["--data-dir", data_dir] if data_dir else []
    words = [*program, "hook", *folder, host, event]
    if system != "win32":
        return shlex.join(words)
    if windows == "cmd":
        return " ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in words)
    if windows == "bash or powershell":
        # In bash a backslash outside of quotes is lost; every program takes the other slash.
        words = [PureWindowsPath(word).as_posix() if "\\" in word else word for word in words]
    quoted = [word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "''") + "'" for word in words]
    # What begins with a quote is a mere text to PowerShell unless it is called.
    called = windows == "powershell" or quoted != words
    return " ".join(["&", *quoted] if called else quoted)


def is_our_hook_command(line: str) -> bool:
    """Whether a command line is one of ours, of whichever version and place."""
    return _OURS.search(line) is not None


def event_of_command(line: str) -> str:
    """The event that a line of ours is for."""
    match = _OURS.search(line)
    return match["event"] if match else ""


Keys = tuple[str | int, ...]
_LINES = ("command", "powershell")


@dataclass(frozen=True, slots=True)
class OurSettings:
    """Our part of one file: a server under our name in `servers`, and hooks, each in the list at its path."""

    servers: str = ""
    entry: Mapping[str, Any] | None = None
    hooks: tuple[tuple[tuple[str, ...], Entry], ...] = ()
    # What the file has to say for the hooks to count.
    always: Mapping[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return self.entry is None and not self.hooks


def our_hooks(value: Mapping[str, Any]) -> list[tuple[Keys, Entry]]:
    """Our hooks in a file, each with its path. Where somebody put other hooks next to ours, only ours."""
    hooks = value.get("hooks")
    lists: list[tuple[Keys, Any]] = [(("hooks",), hooks)]
    if isinstance(hooks, dict):
        lists = [(("hooks", event), items) for event, items in hooks.items()]
    return [found for path, items in lists for found in _among(items, path)]


def add_our_settings(text: str, format_: Format, ours: OurSettings) -> str:
    """The text with exactly our part in it. ValueError if what is there leaves no room for it."""
    value = parse_settings(text, format_)
    if ours.entry is not None and _at(value, (ours.servers, NAME)) != ours.entry:
        if format_ == "toml":
            text = json_and_toml_edits.put_toml(text, ours.servers, NAME, dict(ours.entry))
        else:
            text = json_and_toml_edits.put_json(text, (ours.servers, NAME), dict(ours.entry))
    return text if format_ == "toml" else _put_hooks(text, ours)


def foreign_settings(value: Mapping[str, Any], ours: OurSettings) -> dict[str, Any]:
    """All that is not ours, to see that none of it changed."""
    left = {key: inner for key, inner in value.items() if key not in ours.always}
    servers, hooks = left.get(ours.servers), left.get("hooks")
    if isinstance(servers, dict):
        left[ours.servers] = {name: entry for name, entry in servers.items() if name != NAME}
    if isinstance(hooks, dict):
        left["hooks"] = {event: rest for event, items in hooks.items() if (rest := _not_ours(items))}
    elif hooks:
        left["hooks"] = _not_ours(hooks)
    return {key: inner for key, inner in left.items() if inner not in ({}, [])}


def remove_our_settings(config: SettingsFile, ours: OurSettings, before: SettingsFile | None) -> str | None:
    """The text without our part; None if the file has nothing to say any more and was made by us.

    `before` is what the file was before we changed it: it comes back byte for byte, if only our part changed since.
    """
    if before is not None and (before.bom, _or_none(before, ours)) == (config.bom, config.text):
        return before.text
    text = config.text
    removed = [path for path, _item in our_hooks(config.value)] if ours.hooks else []
    if ours.entry is not None:
        removed.append((ours.servers, NAME))
    for path in reversed(removed):
        text = _removed(text, config.format, path)
    was = {} if before is None else before.value
    text = _without_empty(text, config.format, removed, was)
    value = parse_settings(text, config.format)
    for key, needed in ours.always.items():
        if ours.hooks and "hooks" not in value and value.get(key) == needed and key not in was:
            text = json_and_toml_edits.remove_json(text, (key,))
    gone = before is None and not parse_settings(text, config.format) and not _says_more(text)
    return None if gone else text


def _put_hooks(text: str, ours: OurSettings) -> str:
    wanted = list(ours.hooks)
    stale = []
    for path, item in our_hooks(parse_settings(text, "jsonc")):
        if (list_of(path), item) in wanted:
            wanted.remove((list_of(path), item))
        else:
            stale.append(path)
    for path in reversed(stale):
        text = json_and_toml_edits.remove_json(text, path)
    text = _without_empty(
        text, "jsonc", [path for path in stale if list_of(path) not in {where for where, _item in wanted}], {}
    )
    value = parse_settings(text, "jsonc")
    for key, needed in ours.always.items():
        if ours.hooks and key not in value:
            text = json_and_toml_edits.put_json(text, (key,), needed)
    for list_path, item in wanted:
        text = json_and_toml_edits.append_json(text, list_path, item)
    return text


def _without_empty(text: str, format_: Format, removed: Sequence[Keys], before: Mapping[str, Any]) -> str:
    """The text without what held the things that were removed, where that is empty now and was not there before."""
    around = {path[:depth] for path in removed for depth in range(1, len(path))}
    for path in sorted(around, key=len, reverse=True):
        if _at(parse_settings(text, format_), path) in ({}, []) and _at(before, path) is None:
            text = _removed(text, format_, path)
    return text


def _or_none(before: SettingsFile, ours: OurSettings) -> str | None:
    try:
        return add_our_settings(before.text, before.format, ours)
    except ValueError:
        return None


def _removed(text: str, format_: Format, path: Keys) -> str:
    if format_ == "toml":
        return json_and_toml_edits.remove_toml(text, tuple(str(key) for key in path))
    return json_and_toml_edits.remove_json(text, path)


def _among(items: Any, path: Keys) -> Iterator[tuple[Keys, Entry]]:
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if _is_ours(item):
            yield (*path, place), item
        elif isinstance(item, dict):
            yield from _among(item.get("hooks"), (*path, place, "hooks"))


def _not_ours(items: Any) -> Any:
    """A list of hooks without ours."""
    if not isinstance(items, list):
        return items
    return [
        {**item, "hooks": _not_ours(item["hooks"])} if isinstance(item, dict) and "hooks" in item else item
        for item in items
        if not _is_ours(item)
    ]


def _is_ours(item: Any) -> bool:
    lines = list(_command_lines(item))
    return bool(lines) and all(is_our_hook_command(line) for line in lines)


def _command_lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _LINES and isinstance(inner, str):
                yield inner
            else:
                yield from _command_lines(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _command_lines(inner)


def list_of(path: Keys) -> tuple[str, ...]:
    """The list that a hook is in, by its names."""
    return tuple(key for key in path[:-1] if isinstance(key, str))


def _at(value: Any, path: Keys) -> Any:
    """What is at a path; None if nothing."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _says_more(text: str) -> bool:
    """Whether anything is in a text without settings: a comment."""
    return bool(text.strip().strip("{}").strip())


_COMMANDS = re.compile(r"^const COMMANDS = (\{.*\})$", re.MULTILINE)
_MARK = "// Made by `commonplace connect"
_LARGEST_SCRIPT = 1 << 20


def script_with_commands(script: Path, commands: Mapping[str, str]) -> str:
    """The script with the command line of each event."""
    line = f"const COMMANDS = {json.dumps(dict(commands))}"
    return _COMMANDS.sub(lambda _match: line, script.read_text(encoding="utf-8"), count=1)


def commands_in_script(path: Path) -> dict[str, str]:
    """The command line of each event in a file of ours; empty if there is none. Raises Conflict."""
    text = _read_script(path)
    found = _COMMANDS.search(text) if text is not None and text.startswith(_MARK) else None
    try:
        commands = json.loads(found[1]) if found else {}
    except ValueError:
        return {}
    return {str(event): str(line) for event, line in commands.items()} if isinstance(commands, dict) else {}


def change_of_script(path: Path, wanted: str | None, mode: int, *, force: bool = False) -> list[Change]:
    """The change that makes a file what is wanted, None for no file. A file of somebody else is left alone."""
    text = _read_script(path)
    foreign = text is not None and not text.startswith(_MARK)
    if text == wanted or (foreign and wanted is None):
        return []
    if foreign and not force:
        raise Conflict(f"{path} is not a file of ours.", "Rename it, or use --force.")
    before = None if text is None else path.read_bytes()
    return [Change(str(path), before, None if wanted is None else wanted.encode(), mode)]


def _read_script(path: Path) -> str | None:
    try:
        if not path.exists():
            return None
        if path.stat().st_size > _LARGEST_SCRIPT:
            raise Conflict(f"{path} is too large to be a script.", "Look at it, then call again.")
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Conflict(f"{path} cannot be read: {error}.", "Correct it, then call again.") from error
