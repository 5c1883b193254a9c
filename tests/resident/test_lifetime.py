"""The resident process is started once, is private to its user, and ends when nobody wants it any more."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.polling import until

from commonplace.fast.ask_resident import ask
from commonplace.fast.find_or_start import (
    FOLDER,
    SECONDS_VARIABLE,
    identity,
    is_running,
    read_address,
    resident_file,
    start,
)
from commonplace.resident_client.list_and_stop import resident_processes, stop_residents

from .conftest import Status

Resident = Callable[[], Status]


def test_without_one_nothing_is_answered(data: str) -> None:
    assert ask("status") is None
    assert not Path(data).exists()


def test_started_at_once_by_many_there_is_one(data: str, resident: Resident) -> None:
    script = f"from commonplace.fast.find_or_start import start; assert start({data!r})"
    many = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(5)]
    assert [one.wait(60) for one in many] == [0] * 5
    pid = resident()["pid"]
    assert start(data)
    assert resident()["pid"] == pid


def test_only_its_user_can_reach_it(data: str, resident: Resident) -> None:
    resident()
    words = read_address(data)
    assert words is not None
    # Where the path of the data folder is too long for a socket, it is in a folder of its own.
    socket = Path(" ".join(words[1:]))
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in (*Path(data, FOLDER).iterdir(), socket)}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (Path(data, FOLDER), socket.parent)} == {0o700}
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
    # Codex starts servers without this variable, and hooks with it.
    assert ask("search", {"query": "anything"}, 60, env={**os.environ, "XDG_DATA_HOME": "/elsewhere"}) == ours
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


def test_status_and_doctor_show_it_and_stop_ends_it(data: str, resident: Resident) -> None:
    def run(*arguments: str) -> tuple[int, Any]:
        command = [sys.executable, "-m", "commonplace", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        return done.returncode, json.loads(done.stdout)

    assert run("status")[1]["resident"] == []
    assert run("stop") == (0, {"stopped": []})
    pid = resident()["pid"]
    (shown,) = run("status")[1]["resident"]
    assert (shown["pid"], shown["windows"]) == (pid, 0)
    (finding,) = run("doctor", "resident")[1]["findings"]
    assert finding["state"] == "ok" and "running for" in finding["sentence"]
    assert run("stop") == (0, {"stopped": [pid]})
    assert not is_running(data)


def test_one_that_hangs_is_reported_and_stopped(data: str, resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = resident()["pid"]
    monkeypatch.setenv(SECONDS_VARIABLE, "0.5")
    os.kill(pid, signal.SIGSTOP)
    assert resident_processes(data) == [{"name": identity(), "pid": pid, "hangs": True}]
    assert stop_residents(data) == [pid]
    assert not is_running(data)


def test_one_of_another_version_ends_for_the_new_one(data: str, resident: Resident, tmp_path: Path) -> None:
    """The same program under the name of another interpreter is another copy of it."""
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    script = f"from commonplace.fast.find_or_start import start; assert start({data!r})"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([other, "-c", script], env=env, timeout=60, check=True)
    until(lambda: resident_processes(data))
    (old,) = resident_processes(data)
    assert old["name"] != identity()
    new = resident()
    until(lambda: [one["pid"] for one in resident_processes(data)] == [new["pid"]])


def test_a_store_is_closed_before_it_is_replaced(data: str, resident: Resident) -> None:
    resident()
    commands = (("add", "Deploy on Tuesdays"), ("backup",), ("backups", "restore", "latest"))
    for arguments in commands:
        command = [sys.executable, "-m", "commonplace", *arguments]
        assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0, arguments
    assert not is_running(data)


def test_its_log_holds_no_secret(data: str, resident: Resident) -> None:
    resident()
    key = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    # A question that fails in an unexpected way is logged with what it says.
    assert ask("search", {"query": "x", "limit": key}, 60) is None
    log = Path(resident_file(data, "log"))
    until(lambda: "invalid literal" in log.read_text(encoding="utf-8"))
    assert key not in log.read_text(encoding="utf-8")
