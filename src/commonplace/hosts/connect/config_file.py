"""A config file of an editor as it is now: its text, what it says, and where it really is. Refuses what we cannot keep.

A link is followed: whoever keeps their settings in another folder, such as one for dotfiles, wants them changed there.
Out of a project none is (plan.py).
"""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from commonplace.errors import Conflict, TooLarge
from commonplace.hosts.connect import jsonc

Format = Literal["jsonc", "toml"]
BOM = "\ufeff"
MAX_BYTES = 50_000_000
BACKUP = ".before-commonplace"
"""What is added to a file's name for the copy of what it was before we came."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
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


def read_config(path: Path, format_: Format) -> ConfigFile:
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
            raise Conflict(f"{path} is not readable.", "Make it readable for its owner.")
        data = place.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise Conflict(f"{path} is a link to nothing.", "Remove the link, or put the file in place.") from None
        return ConfigFile(path, None, format_)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Conflict(f"{path} cannot be read: {why}.", "Mend that, then call again.") from error
    return _understood(place, data, format_)


def check_writable(config: ConfigFile) -> None:
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
        raise Conflict(f"{path} cannot be used: {error.strerror}.", "Mend that, then call again.") from error


def _understood(path: Path, data: bytes, format_: Format) -> ConfigFile:
    try:
        text = data.decode("utf-8")
        bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
        value = read_text(text, format_)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise Conflict(
            f"{path} was left as it is, because it cannot be understood: {why}.", "Correct it, then call again."
        ) from error
    return ConfigFile(path, data, format_, bom, text, value)


def read_text(text: str, format_: Format) -> dict[str, Any]:
    """What a text says, as plain values. An empty text says nothing; ValueError if it is no table of settings."""
    if format_ == "toml":
        return tomllib.loads(text)
    if not text.strip():
        return {}
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value
