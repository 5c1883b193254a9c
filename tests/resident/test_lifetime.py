"""The resident process is started once, is private to its user, and ends when nobody wants it any more."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.polling import until

from commonplace.resident.address import FOLDER, is_running, resident_file, start
from commonplace.resident.client import ask

from .conftest import Status

Resident = Callable[[], Status]


def test_without_one_nothing_is_answered(data: str) -> None:
    assert ask("status") is None
    assert not Path(data).exists()


def test_started_at_once_by_many_there_is_one(data: str, resident: Resident) -> None:
    script = f"from commonplace.resident.address import start; assert start({data!r})"
    many = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(5)]
    assert [one.wait(60) for one in many] == [0] * 5
    pid = resident()["pid"]
    assert start(data)
    assert resident()["pid"] == pid


def test_only_its_user_can_reach_it(data: str, resident: Resident) -> None:
    resident()
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in Path(data, FOLDER).iterdir()}
    assert stat.S_IMODE(Path(data, FOLDER).stat().st_mode) == 0o700
    assert modes == {".lock": 0o600, ".address": 0o600, ".sock": 0o600, ".log": 0o600}
    Path(data, FOLDER).chmod(0o755)
    assert ask("status") is None, "somebody else may have put that socket there"
    assert not start(data)
    Path(data, FOLDER).chmod(0o700)


def test_it_answers_with_the_settings_of_who_asks(data: str, resident: Resident) -> None:
    resident()
    ours = ask("search", {"query": "anything"}, 60)
    assert ours == {"hits": [], "by_meaning": False}
    assert ask("search", {"query": "x"}, 60, env={**os.environ, "COMMONPLACE_PROFILE": "none"}) is None
    assert ask("search", {"query": "x"}, 60, env={**os.environ, "TZ": "Asia/Tokyo"}) is None
    assert ask("unheard-of", {}, 60) is None


def test_it_ends_when_it_is_told_to_and_starts_again(data: str, resident: Resident) -> None:
    pid = resident()["pid"]
    assert ask("stop", timeout_s=60) == {"pid": pid}
    until(lambda: not is_running(data))
    assert not Path(resident_file(data, "address")).exists()
    assert resident()["pid"] != pid


def test_one_that_was_killed_is_replaced(data: str, resident: Resident) -> None:
    pid = resident()["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(data))
    assert ask("status") is None
    assert resident()["pid"] != pid


def test_it_ends_with_its_data_folder(data: str, resident: Resident) -> None:
    pid = resident()["pid"]
    shutil.rmtree(data)
    until(lambda: not _exists(pid))


def test_it_ends_when_nobody_uses_it(data: str, resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_RESIDENT_IDLE_MINUTES", "0")
    assert start(data)
    until(lambda: not is_running(data))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An ended process stays in the list until its parent has asked for it.
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
