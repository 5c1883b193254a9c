"""The first API key, in a file that only the owner of the server can read, and the link that signs in with it."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from commonplace.errors import StoreReadOnly, Unauthorized
from commonplace.memory import keys_and_spaces
from commonplace.memory.local_memory import LocalMemory
from commonplace.web.login import LoginTickets

FIRST_KEY_NAME = "first"
_ANOTHER = "`commonplace keys create NAME` creates a key."


def ensure_first_key(memory: LocalMemory, path: Path) -> str:
    """Make a key if none works yet; returns what the person starting the server should know about keys."""
    if path.is_symlink():
        raise StoreReadOnly(f"The key file {path} is a link.", "Put the file itself there, or remove the link.")
    stored = _read(path)
    if stored and _works(memory, stored):
        return f"Its API key is in {path}."
    if keys_and_spaces.working_keys(memory):
        return f"Keys exist, but none is in {path}. {_ANOTHER}"
    if stored and not keys_and_spaces.looks_like_key(stored):
        return f"{path} contains no Commonplace key. {_ANOTHER}"
    try:
        if stored is not None:
            path.unlink(missing_ok=True)
        # A store on a server does not need the folder.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(memory, path)
    except FileExistsError:
        # Another server starts at the same moment.
        return f"Its API key is in {path}."
    except OSError as error:
        raise StoreReadOnly(f"The key file {path} cannot be written: {error.strerror}.") from error
    return f"Its first API key was created and is in {path}."


def read_key_file(path: Path) -> str | None:
    """The key in the file, if there is one."""
    stored = _read(path)
    return stored if stored is not None and keys_and_spaces.looks_like_key(stored) else None


def _make(memory: LocalMemory, path: Path) -> None:
    """The file gets its name once it is complete. If it cannot be written, the key is revoked."""
    key, secret = keys_and_spaces.create_key(memory, FIRST_KEY_NAME, "admin")
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with _create_private(part) as file:
            file.write(secret + "\n")
        _name(part, path)
    except OSError:
        keys_and_spaces.revoke_key(memory, key.id)
        raise
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, path: Path) -> None:
    """Name the file by a hard link, which, unlike renaming, replaces nothing."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        part.rename(path)


def _create_private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _works(memory: LocalMemory, secret: str) -> bool:
    try:
        keys_and_spaces.check_key(memory, secret)
    except Unauthorized:
        return False
    return True


def login_link(address: str, secret: str | None, tickets: LoginTickets) -> str:
    """The address of the home page; with a ticket if a person who has the key anyway reads it."""
    if secret is None or not sys.stderr.isatty():
        return f"{address}/"
    return f"{address}/enter?ticket={tickets.issue(secret)}"


def should_open_browser(wanted: bool | None) -> bool:
    """Whether to open a browser: as wanted, or if a person sits at a terminal with a screen."""
    if wanted is not None:
        return wanted
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and _has_screen()


def open_browser(address: str) -> None:
    """Open the page in the browser without waiting for it: some return only when they are closed."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
