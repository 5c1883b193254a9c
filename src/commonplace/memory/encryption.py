"""The key of an encrypted store: in the keyring of the system or in a file, made once and never shown."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonplace.config import Settings
from commonplace.errors import StoreLocked, StoreReadOnly

SERVICE = "commonplace"
_KEY = re.compile(r"[0-9a-f]{64}")
_MISSING = "It was lost, or was never made: `commonplace encrypt` makes one. Without it, nothing opens the store."


def key_of(settings: Settings) -> str:
    """The key of the store, as hexadecimal digits; empty for one that is not encrypted."""
    if settings.encryption == "off" or settings.database_url:
        return ""
    kept = _kept(settings)
    if kept is None:
        raise StoreLocked(f"There is no key in {_where(settings)}.", _MISSING)
    if not _KEY.fullmatch(kept):
        raise StoreLocked(f"What is in {_where(settings)} is no key of a store: that has 64 hexadecimal digits.")
    return kept


def key_or_new(settings: Settings) -> str:
    """The key, made if there is none yet. One that is there is used: it may be the key of a backup."""
    if _kept(settings) is None:
        _keep(settings, os.urandom(32).hex())
    return key_of(settings)


def _where(settings: Settings) -> str:
    return f"the file {_file(settings)}" if settings.encryption == "file" else f"the keyring under {_name(settings)!r}"


def _file(settings: Settings) -> Path:
    return Path(settings.encryption_key_file).expanduser()


def _name(settings: Settings) -> str:
    """What the key is called in the keyring: one for each store."""
    return str(settings.database.absolute())


def _kept(settings: Settings) -> str | None:
    if settings.encryption == "file":
        try:
            return _file(settings).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreLocked(f"The key file {_file(settings)} cannot be read: {error}.") from error
    with _keyring() as keyring:
        found: str | None = keyring.get_password(SERVICE, _name(settings))
        return found


def _keep(settings: Settings, key: str) -> None:
    if settings.encryption != "file":
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
        install = "Install Commonplace with its extra: pip install 'commonplace[encrypted]'."
        raise StoreLocked("The key is in the keyring of the system, which cannot be asked.", install) from error
    try:
        yield keyring
    except KeyringError as error:
        use = 'Unlock it, or keep the key in a file: `encryption = "file"`.'
        raise StoreLocked(f"The keyring of the system refused: {error}.", use) from error
