"""Try a hook for real: run its command with a sample event that reaches the spool, is found there, and is taken out."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.capture.hooks.fire import SAMPLE_NAME
from commonplace.capture.hooks.spool import SAMPLE, spool_of
from commonplace.config import Settings

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Tried:
    """How a hook fared. `why` is empty if the event arrived."""

    why: str
    seconds: float
    printed: str = ""


def try_hook(
    command: Sequence[str] | str, payload: bytes, settings: Settings, env: Mapping[str, str] | None = None
) -> Tried:
    """Run a hook's command as its host would (a string through the shell); nothing of it stays or is remembered."""
    name = f"sample-{os.getpid():x}-{os.urandom(4).hex()}"
    arrived = Path(spool_of(str(settings.data_dir))) / (name + SAMPLE)
    began = time.monotonic()
    try:
        ran = subprocess.run(
            command,
            shell=isinstance(command, str),
            input=payload,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**(os.environ if env is None else env), SAMPLE_NAME: name},
        )
    except subprocess.TimeoutExpired:
        return Tried(f"it did not end within {_SECONDS:.0f} seconds", time.monotonic() - began)
    except OSError as error:
        return Tried(error.strerror or type(error).__name__, time.monotonic() - began)
    seconds, printed = time.monotonic() - began, ran.stdout.decode("utf-8", "replace")
    with contextlib.suppress(OSError):
        arrived.unlink()
        return Tried("" if ran.returncode == 0 else f"it ended with {ran.returncode}", seconds, printed)
    said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return Tried(f"its event did not arrive{': ' + said[-1] if said else ''}", seconds, printed)
