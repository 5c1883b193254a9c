"""The key of an encrypted store: in the system's keyring or in a file, made once and never shown."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonplace.config import Settings
from commonplace.errors import StoreLocked, StoreReadOnly, install_extra_hint

SERVICE = "commonplace"
_KEY = re.compile(r"[0-9a-f]{64}")
_MISSING = "It was lost, or never created: `commonplace encrypt` creates one. Without it, the store cannot be opened."


def store_key(settings: Settings) -> str:
    """The key of the store, as hexadecimal digits; empty for one that is not encrypted."""
    return "" if settings.encryption == "off" or settings.database_url else read_key(settings)


def read_key(settings: Settings) -> str:
    """The key at hand, whether the store uses it or only its backups do."""
    key = _read_stored_key(settings)
    if key is None:
        raise StoreLocked(f"There is no key in {_where(settings)}.", _MISSING)
    if not _KEY.fullmatch(key):
        raise StoreLocked(f"What is in {_where(settings)} is not a store key, which has 64 hexadecimal digits.")
    return key


def read_or_make_key(settings: Settings) -> str:
    """The key, made if there is none yet. One that is there is used: it may be the key of a backup."""
    if _read_stored_key(settings) is None:
        _save_key(settings, os.urandom(32).hex())
    return read_key(settings)


def _in_file(settings: Settings) -> bool:
    """Whether the key is in a file. A store that is not encrypted may have a key too, for its backups."""
    return settings.encryption == "file" or (settings.encryption == "off" and bool(settings.encryption_key_file))


def _where(settings: Settings) -> str:
    return f"the file {_file(settings)}" if _in_file(settings) else f"the keyring under {_name(settings)!r}"


def _file(settings: Settings) -> Path:
    return Path(settings.encryption_key_file).expanduser()


def _name(settings: Settings) -> str:
    """What the key is called in the keyring: one for each store."""
    return str(settings.database.absolute())


def _read_stored_key(settings: Settings) -> str | None:
    if _in_file(settings):
        try:
            return _file(settings).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreLocked(f"The key file {_file(settings)} cannot be read: {error}.") from error
    with _keyring() as keyring:
        found: str | None = keyring.get_password(SERVICE, _name(settings))
        return found


def _save_key(settings: Settings, key: str) -> None:
    if not _in_file(settings):
        with _keyring() as keyring:
            keyring.set_password(SERVICE, _name(settings), key)
        return
    path = _file(settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreReadOnly(f"The key file {path} cannot be written: {error}.", "Name another in it.") from error


@contextlib.contextmanager
def _keyring() -> Iterator[Any]:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        message = f"The key is in the system's keyring, and the package keyring cannot be loaded: {error}."
        raise StoreLocked(message, install_extra_hint("keyring")) from error
    try:
        yield keyring
    except KeyringError as error:
        use = 'Unlock it, or keep the key in a file: `encryption = "file"`.'
        raise StoreLocked(f"The system's keyring refused: {error}.", use) from error
