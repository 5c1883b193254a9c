"""A store that was read-only for a moment leaves files beside it that stay so: the doctor finds and mends them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.data_folder import read_only_files


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
@pytest.mark.parametrize("which", ["store.db", "store.db-wal", "store.db-shm", ""])
def test_each_file_that_cannot_be_written_is_named(tmp_path: Path, which: str) -> None:
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (tmp_path / name).touch(mode=0o600)
    assert read_only_files(tmp_path / "store.db") == []
    path = tmp_path / which
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~stat.S_IWUSR)
    try:
        assert read_only_files(tmp_path / "store.db") == [path]
    finally:
        path.chmod(0o700)


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., str]:
    """Runs a command as a user whom the modes of files stop."""
    prefix: list[str] = []
    if sys.platform == "win32":
        pytest.skip("modes are of POSIX")
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everything")
        without = "-dac_override,-dac_read_search"
        prefix = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}"]
    env = {**os.environ, "COMMONPLACE_DATA_DIR": str(tmp_path / "data"), "COMMONPLACE_EMBEDDER": "off"}

    def run(*arguments: str) -> str:
        words = [*prefix, sys.executable, "-m", "commonplace", *arguments]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    return run


def test_what_keeps_a_store_from_being_written_is_named_and_mended(tmp_path: Path, command: Callable[..., str]) -> None:
    database = tmp_path / "data" / "commonplace.db"
    assert "Remembered" in command("add", "one")
    database.chmod(0o400)
    # SQLite gives the files beside it the same mode.
    command("search", "one")
    assert f"Read-only: {database}" in command("add", "two")
    database.chmod(0o600)
    assert f"Read-only: {database}-shm." in command("add", "three")
    assert f"{database}-shm is read-only" in command("doctor", "store")
    assert "Everything works" in command("doctor", "store", "--fix")
    assert "Remembered" in command("add", "four")
    database.parent.chmod(0o500)
    assert f"Read-only: {database.parent}." in command("add", "five")
    assert "Everything works" not in command("doctor", "store")
    assert "Everything works" in command("doctor", "store", "--fix")
    assert "Remembered" in command("add", "six")


@pytest.mark.parametrize("mode", [0o000, 0o600])
@pytest.mark.parametrize("where", ["data", "."])
def test_a_data_folder_that_may_not_be_opened_is_named(
    tmp_path: Path, command: Callable[..., str], mode: int, where: str
) -> None:
    assert "Remembered" in command("add", "one")
    closed = tmp_path / where
    closed.chmod(mode)
    try:
        for arguments in (("search", "one"), ("add", "two"), ("status",), ("mcp",), ("settings",)):
            said = command("--json", *arguments)
            assert json.loads(said)["error"]["code"] == "DB_ERROR"
            assert f"this user may not open {closed}." in said and f"chmod u+rwx {closed}." in said
        said = command("doctor", "store", "spool", "permissions", "versions")
        assert "may not open" in said and "report it" not in said
        if where == "data":
            assert "Everything works" in command("doctor", "store", "spool", "permissions", "versions", "--fix")
            assert "one" in command("search", "one")
    finally:
        closed.chmod(0o700)
