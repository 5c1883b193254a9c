"""Hooks of a host whose hooks are code: a file that is all ours, which runs our command at each event.

The file is a script that comes with the host's module. Its command lines are the one thing that differs between
machines: they stand in it as a JSON object, so that they can be read again as those in a settings file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from commonplace.errors import Conflict
from commonplace.hosts.project_files import Change

_COMMANDS = re.compile(r"^const COMMANDS = (\{.*\})$", re.MULTILINE)
_MARK = "// Made by `commonplace connect"
_LARGEST = 1 << 20


def script_with_commands(script: Path, commands: Mapping[str, str]) -> str:
    """The script with the command line of each event."""
    line = f"const COMMANDS = {json.dumps(dict(commands))}"
    return _COMMANDS.sub(lambda _match: line, script.read_text(encoding="utf-8"), count=1)


def commands_in_script(path: Path) -> dict[str, str]:
    """The command line of each event in a file of ours; empty if there is none. Raises Conflict."""
    text = _read(path)
    found = _COMMANDS.search(text) if text is not None and text.startswith(_MARK) else None
    try:
        commands = json.loads(found[1]) if found else {}
    except ValueError:
        return {}
    return {str(event): str(line) for event, line in commands.items()} if isinstance(commands, dict) else {}


def change_of_script(path: Path, wanted: str | None, mode: int, *, force: bool = False) -> list[Change]:
    """The change that makes a file what is wanted, None for no file. A file of somebody else is left alone."""
    text = _read(path)
    foreign = text is not None and not text.startswith(_MARK)
    if text == wanted or (foreign and wanted is None):
        return []
    if foreign and not force:
        raise Conflict(f"{path} is not a file of ours.", "Rename it, or use --force.")
    before = None if text is None else path.read_bytes()
    return [Change(str(path), before, None if wanted is None else wanted.encode(), mode)]


def _read(path: Path) -> str | None:
    try:
        if not path.exists():
            return None
        if path.stat().st_size > _LARGEST:
            raise Conflict(f"{path} is too large to be a script.", "Look at it, then call again.")
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Conflict(f"{path} cannot be read: {error}.", "Correct it, then call again.") from error
