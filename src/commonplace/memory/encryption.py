"""Encrypt the store, and decrypt it, after copying it aside."""

from __future__ import annotations

from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.backup import backup_path, make_private_folder
from commonplace.memory.store_key import read_key, read_or_make_key


def encrypt_store(settings: Settings, now_ms: int) -> Path:
    """Encrypt the store with the key that the settings name, made if there is none; returns the plain copy."""
    if settings.encryption == "off":
        raise InvalidInput("Setting encryption is off.", "Set it to keyring, or to file with encryption_key_file.")
    return _turned(settings, "", read_or_make_key(settings), "plain", now_ms)


def decrypt_store(settings: Settings, now_ms: int) -> Path:
    """The same the other way."""
    return _turned(settings, read_key(settings), "", "encrypted", now_ms)


def _turned(settings: Settings, key: str, to_key: str, was: str, now_ms: int) -> Path:
    from commonplace.store.sqlite.encryption_and_copies import is_plain
    from commonplace.store.sqlite.restore import change_key

    if settings.database_url:
        raise InvalidInput("The memory is on a PostgreSQL server.", "Encrypt the disk of that server.")
    if not settings.database.exists():
        raise NotFound(
            f"There is no store at {settings.database} yet.",
            "It will be created encrypted.",
        )
    if is_plain(settings.database) != (not key):
        raise Conflict(f"The store {settings.database} is {'encrypted' if to_key else 'not encrypted'} already.")
    aside = backup_path(settings, was, now_ms)
    make_private_folder(aside.parent)
    change_key(settings.database, aside, key, to_key, int(settings.busy_timeout * 1000))
    return aside
