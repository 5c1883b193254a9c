"""`encrypt` and `decrypt` as a person types them, with the setting that names the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


def test_a_store_is_encrypted_and_decrypted(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "Apple")
    assert run("encrypt", "--json").error["code"] == "VALIDATION_ERROR"
    monkeypatch.setenv("COMMONPLACE_ENCRYPTION", "file")
    assert run("encrypt", "--json").error["code"] == "VALIDATION_ERROR"
    monkeypatch.setenv("COMMONPLACE_ENCRYPTION_KEY_FILE", str(folder / "store.key"))
    done = run("encrypt")
    assert done.code == 0 and done.out == "The store is encrypted.\n" and "without it nobody can open" in done.err
    assert "Apple" in run("search", "apple").out
    assert run("check").code == 0 and run("backup").code == 0
    assert run("encrypt").code == 4
    monkeypatch.setenv("COMMONPLACE_ENCRYPTION", "off")
    assert run("list", "--json").error["code"] == "DB_CORRUPT"
    monkeypatch.setenv("COMMONPLACE_ENCRYPTION", "file")
    assert Path(run("decrypt", "--json").data["kept"]).is_file()
    assert run("list", "--json").error["code"] == "DB_LOCKED"
    monkeypatch.setenv("COMMONPLACE_ENCRYPTION", "off")
    assert "Apple" in run("search", "apple").out
