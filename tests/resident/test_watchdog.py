"""An event at which a process hangs is set aside, the process that it holds up is ended, and both are told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.capture.hooks.hook_runner import COMMAND, fire, names
from tests.capture.hooks.test_drain import observations, write
from tests.hosts.test_plugins import install
from tests.polling import until

from commonplace.capture.hooks.drain import ENDED_THE_DRAIN
from commonplace.capture.hooks.spool_reader import spool_path, spool_state
from commonplace.config import Settings, load
from commonplace.fast.find_or_start import start
from commonplace.fast.spool import REFUSED
from commonplace.memory.local_memory import open_memory
from commonplace.watchdog import SECONDS_VARIABLE, log_path

from .conftest import Status

# A host whose events hold the interpreter for good.
PLUGIN = """
import re
from dataclasses import replace
from commonplace.hosts.claude_code import HOST as CLAUDE

def read(event, payload, record):
    if "hang" in str(payload):
        re.match(r"(?:a+)+$", "a" * 64 + "b")
    return CLAUDE.hooks.read(event, payload, record)

HOST = replace(CLAUDE, name="hanging", title="Hanging", hooks=replace(CLAUDE.hooks, read=read))
"""


@pytest.fixture
def settings(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    install(tmp_path / "packages", "hanging", PLUGIN, {"commonplace.hosts": {"hanging": "hanging:HOST"}})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.setenv(SECONDS_VARIABLE, "4")
    return load()


def test_what_hangs_is_ended_and_its_event_set_aside(
    settings: Settings, resident: Callable[[], Status], tmp_path: Path
) -> None:
    memory = open_memory(settings)
    first = resident()["pid"]
    # The store is opened, so that the process reads the spool.
    assert subprocess.run([COMMAND, "list"], capture_output=True, timeout=60, check=False).returncode == 0
    fire(settings, "hanging", "PostToolUse", {**write(1), "note": "hang"})
    until(lambda: log_path(settings.data_dir).stat().st_size > 0)
    for number in (2, 3):
        fire(settings, "claude-code", "PostToolUse", write(number))

    # Whoever comes next hangs once more at it, alone and last, and then never again.
    def is_stored() -> bool:
        assert start(str(settings.data_dir))
        subprocess.run([COMMAND, "list"], capture_output=True, timeout=120, check=False)
        return not names(settings)

    until(is_stored)

    assert resident()["pid"] != first
    assert [item.title.split()[-1] for item in observations(memory)] == ["part2.py", "part3.py"]
    assert spool_state(settings).refused == {ENDED_THE_DRAIN: 1}
    (kept,) = (spool_path(settings) / REFUSED).iterdir()
    assert "hang" in kept.read_text(encoding="utf-8")
    said = subprocess.run([COMMAND, "doctor"], capture_output=True, text=True, timeout=120, check=False).stdout
    assert ENDED_THE_DRAIN in said and "A process was ended" in said
    memory.close()
