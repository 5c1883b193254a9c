"""Hooks as their hosts run them: the installed command, a payload on standard input, nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.capture.hooks.spool_reader import spool_path, waiting_events
from commonplace.config import Settings
from commonplace.detached_process import take_lock
from commonplace.fast.spool import encode_record, spool_folder, write_event

COMMAND = str(Path(sys.executable).with_name("commonplace.exe" if sys.platform == "win32" else "commonplace"))
SECONDS = 60


def argv(settings: Settings, host: str, event: str) -> list[str]:
    return [COMMAND, "--data-dir", str(settings.data_dir), "hook", host, event]


def fire(
    settings: Settings,
    host: str = "claude-code",
    event: str = "PostToolUse",
    payload: Mapping[str, Any] | bytes = b"{}",
    **more: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook to its end."""
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return subprocess.run(
        argv(settings, host, event), input=given, capture_output=True, timeout=SECONDS, check=False, **more
    )


def put(
    settings: Settings,
    payload: Mapping[str, Any] | bytes,
    event: str = "PostToolUse",
    host: str = "claude-code",
    *,
    ended: str = "whole",
    name: str = "",
) -> str:
    """What a hook leaves, without the process."""
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    fields = (host, event, "1742049000000", "/src/my-api", "", str(len(given)), ended)
    return write_event(spool_folder(str(settings.data_dir)), encode_record(fields, given), name=name)


def names(settings: Settings) -> list[str]:
    """The events that wait."""
    return waiting_events(spool_path(settings))


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}


def is_drain_running(data: str) -> bool:
    """Whether the process that a hook started to drain the spool is running at this moment."""
    path = Path(spool_folder(data)) / "afterwards.lock"
    if sys.platform == "win32" or not path.exists():
        return False
    lock = take_lock(str(path))
    if lock is not None:
        os.close(lock)
    return lock is None
