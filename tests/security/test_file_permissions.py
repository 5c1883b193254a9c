"""Nobody but its owner reads what is remembered: all of the data folder, after everything was used."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mcp.conftest import DEADLINE, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
HOOK = json.dumps({"session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "make test"}})
# Everything below is done by processes that would let anybody read and write.
OPEN_TO_ALL = 0


def run(folder: Path, *arguments: str, given: str = "") -> str:
    command = [sys.executable, "-m", "commonplace", *arguments]
    done = subprocess.run(
        command, input=given.encode(), env=environment(folder), capture_output=True, timeout=DEADLINE, umask=OPEN_TO_ALL
    )
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout.decode()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """A server over a data folder, so that its log lies beside the store."""
    env = environment(tmp_path)
    command = [sys.executable, "-m", "commonplace", "serve", "--port", "0"]
    server = subprocess.Popen(
        command, env=env, umask=OPEN_TO_ALL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    timer = threading.Timer(DEADLINE, server.kill)
    timer.start()
    assert server.stderr is not None and "http" in server.stderr.readline()
    timer.cancel()
    yield tmp_path / "data"
    server.terminate()
    server.communicate(timeout=DEADLINE)


def test_only_the_owner_can_enter_the_data_folder(served: Path, tmp_path: Path) -> None:
    run(tmp_path, "add", "Tabs, not spaces", "--type", "rule")
    run(tmp_path, "hook", "claude-code", "PostToolUse", given=HOOK)
    run(tmp_path, "hook", "claude-code", "Stop", given="[no JSON")
    run(tmp_path, "hook", "claude-code", "SessionStart", given=json.dumps({"session_id": "s", "cwd": str(tmp_path)}))
    run(tmp_path, "drain")
    run(tmp_path, "backup")
    exported = tmp_path / "export.json"
    run(tmp_path, "export", "--all", "--output", str(exported))
    found = {str(path.relative_to(served)): path.lstat() for path in [served, *served.rglob("*")]}
    kinds = {"commonplace.db", "commonplace.db-wal", "commonplace.db-shm", "api-key", "backups", "spool", "openings"}
    assert {*kinds, "health.json", "running", "spool/refused", "spool/troubles"} <= found.keys()
    assert any(name.startswith("backups/") for name in found)
    for name, status in found.items():
        mode = stat.S_IMODE(status.st_mode)
        assert mode == (0o700 if stat.S_ISDIR(status.st_mode) else 0o600), f"{name} has {mode:o}"
        assert status.st_uid == os.geteuid()
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
