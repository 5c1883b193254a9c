"""Encryption at rest: a store that only its key opens, converted both ways, with backups that have the same key."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from tests.conftest import Clock
from tests.raw_sql import behind

from commonplace import config
from commonplace.config import Settings
from commonplace.errors import Conflict, InvalidInput, NotFound, StoreBusy, StoreLocked
from commonplace.memory.backup import back_up_if_due, back_up_store, list_backups, restore_backup
from commonplace.memory.check_and_repair import check_store, repair_store
from commonplace.memory.encryption import decrypt_store, encrypt_store
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.store_key import store_key
from commonplace.model import Scope

SAID = "Rumpelstilzchen"


class Drawer(KeyringBackend):
    """A keyring for a test, as the library lets anybody bring one."""

    priority = 1

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture
def plain(tmp_path: Path) -> Settings:
    return config.load({"data_dir": str(tmp_path / "data"), "embedder": "off", "durability": "normal"})


@pytest.fixture
def secret(plain: Settings, tmp_path: Path) -> Settings:
    return replace(plain, encryption="file", encryption_key_file=str(tmp_path / "keys" / "store.key"))


@pytest.fixture
def filled(plain: Settings) -> Settings:
    with opened(plain) as memory:
        remember_all(memory, [NewItem(f"{SAID} number {n}") for n in range(20)])
    return plain


@contextlib.contextmanager
def opened(settings: Settings) -> Iterator[LocalMemory]:
    with contextlib.closing(open_memory(settings, Clock())) as memory:
        yield memory


def holding(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and SAID.encode() in path.read_bytes())


def test_a_new_store_is_encrypted_if_there_is_a_key(secret: Settings) -> None:
    with pytest.raises(StoreLocked, match="There is no key"), opened(secret):
        pass
    key = Path(secret.encryption_key_file)
    key.parent.mkdir()
    key.write_text("ab" * 32, encoding="ascii")
    with opened(secret) as memory:
        remember(memory, NewItem(SAID))
        assert recall(memory, SAID, Scope(), 5).hits and check_store(memory) == []
        assert holding(secret.data_dir) == []
    assert holding(secret.data_dir) == []
    key.write_text("not a key", encoding="ascii")
    with pytest.raises(StoreLocked, match="64 hexadecimal"):
        store_key(secret)


def test_a_store_is_encrypted_and_decrypted_again(filled: Settings, secret: Settings, clock: Clock) -> None:
    with pytest.raises(StoreLocked, match="There is no key"), opened(secret):
        pass
    stored = encrypt_store(secret, clock())
    if sys.platform != "win32":
        assert stat.S_IMODE(Path(secret.encryption_key_file).stat().st_mode) == 0o600
    assert holding(secret.data_dir) == [stored.name]
    with opened(secret) as memory:
        assert recall(memory, SAID, Scope(), 50).hits and check_store(memory) == []
    with pytest.raises(Conflict):
        encrypt_store(secret, clock())
    decrypt_store(secret, clock())
    with pytest.raises(StoreLocked, match="not encrypted"), opened(secret):
        pass
    with opened(filled) as memory:
        assert len(recall(memory, SAID, Scope(), 50).hits) == 20
    with pytest.raises(InvalidInput):
        encrypt_store(filled, clock())


def test_another_key_opens_nothing(filled: Settings, secret: Settings, clock: Clock) -> None:
    encrypt_store(secret, clock())
    Path(secret.encryption_key_file).write_text("00" * 32, encoding="ascii")
    with pytest.raises(StoreLocked, match="does not open") as refused, opened(secret):
        pass
    assert refused.value.code == "DB_LOCKED" and "encryption_key_file" in refused.value.hint
    with pytest.raises(StoreLocked):
        restore_backup(secret, str(filled.database), clock())


def test_backups_of_an_encrypted_store_have_its_key(filled: Settings, secret: Settings, clock: Clock) -> None:
    encrypt_store(secret, clock()).unlink()
    with opened(secret) as memory:
        made = back_up_store(memory)
        assert back_up_if_due(memory) is not None and back_up_if_due(memory) is None
        remember(memory, NewItem(f"{SAID} that is lost"))
    assert holding(secret.data_dir) == [] and len(list_backups(secret)) == 2
    done = restore_backup(secret, made.path.name, clock())
    assert done.difference is not None and done.difference.lost == 1
    with opened(secret) as memory:
        assert len(recall(memory, SAID, Scope(), 50).hits) == 20
    assert holding(secret.data_dir) == []


def test_a_backup_of_a_plain_store_can_be_encrypted(filled: Settings, tmp_path: Path, clock: Clock) -> None:
    named = replace(filled, encryption_key_file=str(tmp_path / "backup.key"))
    with opened(named) as memory:
        made = back_up_store(memory, tmp_path / "copy.db", encrypt=True)
        remember(memory, NewItem(f"{SAID} that is lost"))
    assert SAID.encode() not in made.path.read_bytes()
    assert restore_backup(named, str(made.path), clock(), dry_run=True).backup.counts["items"] == 20
    restore_backup(named, str(made.path), clock())
    with opened(filled) as memory:
        assert len(recall(memory, SAID, Scope(), 50).hits) == 20


def test_a_plain_backup_is_put_back_encrypted(filled: Settings, secret: Settings, clock: Clock) -> None:
    with opened(filled) as memory:
        made = back_up_store(memory)
    encrypt_store(secret, clock()).unlink()
    restore_backup(secret, made.path.name, clock())
    made.path.unlink()
    with opened(secret) as memory:
        assert len(recall(memory, SAID, Scope(), 50).hits) == 20
    assert holding(secret.data_dir) == []


def test_an_encrypted_store_is_repaired_like_any(filled: Settings, secret: Settings, clock: Clock) -> None:
    encrypt_store(secret, clock()).unlink()
    data = bytearray(secret.database.read_bytes())
    data[4096 * 30 : 4096 * 32] = bytes(8192)
    secret.database.write_bytes(data)
    done = repair_store(secret, clock)
    assert done.found and not any(fault.derived for fault in done.left)
    assert holding(secret.data_dir) == []


def test_a_store_that_is_open_is_not_converted(filled: Settings, secret: Settings, clock: Clock) -> None:
    with behind(filled, reading=True) as ask:
        ask("SELECT count(*) FROM items")
        with pytest.raises(StoreBusy):
            encrypt_store(replace(secret, busy_timeout=0.1), clock())
    with opened(filled) as memory:
        assert recall(memory, SAID, Scope(), 5).hits


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    before = keyring.get_keyring()
    mine = Drawer()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def test_the_key_can_be_in_the_keyring(filled: Settings, drawer: Drawer, clock: Clock) -> None:
    own_settings = replace(filled, encryption="keyring")
    encrypt_store(own_settings, clock())
    assert [*drawer.kept] == [("commonplace", str(own_settings.database.absolute()))]
    with opened(own_settings) as memory:
        assert recall(memory, SAID, Scope(), 5).hits
    drawer.kept.clear()
    with pytest.raises(StoreLocked, match="keyring"), opened(own_settings):
        pass


def test_a_keyring_that_refuses_is_told(filled: Settings, drawer: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_service: str, _username: str) -> str | None:
        raise KeyringLocked("the drawer is locked")

    monkeypatch.setattr(drawer, "get_password", refuse)
    with pytest.raises(StoreLocked, match="the drawer is locked"):
        store_key(replace(filled, encryption="keyring"))


def test_without_the_extra_it_says_how_to_install_it(filled: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(StoreLocked, match="package keyring") as refused:
        store_key(replace(filled, encryption="keyring"))
    assert "make install" in refused.value.hint and "commonplace-*.whl)[keyring]" in refused.value.hint


def test_there_must_be_something_to_encrypt(secret: Settings, clock: Clock) -> None:
    with pytest.raises(NotFound):
        encrypt_store(secret, clock())
