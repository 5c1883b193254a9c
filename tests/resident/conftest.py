"""A data folder whose resident process is on, and which leaves none behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import spawn_in_terminal
from tests.polling import until

from commonplace.fast.ask_resident import ask
from commonplace.fast.find_or_start import FOLDER, SECONDS_VARIABLE, is_running, start
from commonplace.fast.settings import RESIDENT_VARIABLE

__all__ = ["spawn_in_terminal"]

Status = dict[str, Any]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The data folder of this test. Nothing is given up because the machine is busy."""
    folder = tmp_path / "data"
    monkeypatch.delenv(RESIDENT_VARIABLE)
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(folder))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    monkeypatch.setenv(SECONDS_VARIABLE, "60")
    yield str(folder)

    def ended() -> bool:
        # One that a hook has started may only come up now.
        status = ask("status", timeout_s=10)
        for address in (folder / FOLDER).glob("*.address"):
            # It ends when nobody can find it.
            address.unlink(missing_ok=True)
        if status is not None:
            with suppress(ProcessLookupError):
                os.kill(status["pid"], signal.SIGTERM)
        return not is_running(str(folder))

    until(ended)


@pytest.fixture
def resident(data: str) -> Callable[[], Status]:
    """Starts the resident process if there is none, and says what it says of itself."""

    def started() -> Status:
        assert start(data)
        until(lambda: ask("status", timeout_s=60))
        status = ask("status", timeout_s=60)
        assert status is not None
        return status

    return started
