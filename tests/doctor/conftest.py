"""A patient with a home, a store and a project of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from commonplace.config import Settings
from commonplace.doctor.doctor_context import DoctorContext, Finding
from commonplace.hosts.host import locations_here
from commonplace.memory.local_memory import open_memory
from commonplace.memory.remember import NewItem, remember_all

Behind = Callable[[str], None]


@pytest.fixture
def context(settings: Settings, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DoctorContext]:
    """Somebody who has installed it and used nothing yet."""
    # What hooks and servers that are started here use.
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    found = DoctorContext(settings, (locations_here(),))
    yield found
    found.close()


@pytest.fixture
def filled(context: DoctorContext) -> DoctorContext:
    """The same, with ten things remembered."""
    memory = open_memory(context.settings)
    remember_all(memory, [NewItem(f"Apple number {n}") for n in range(10)])
    memory.close()
    return context


@pytest.fixture
def behind(filled: DoctorContext) -> Behind:
    """Does something to the store's file that nobody knows of."""

    def do(script: str) -> None:
        with contextlib.closing(apsw.Connection(str(filled.settings.database))) as connection:
            connection.execute(script).fetchall()

    return do


def states(findings: list[Finding]) -> dict[str, str]:
    """What each thing is, by its name."""
    return {finding.what: finding.state for finding in findings}


def failing(findings: list[Finding]) -> Finding:
    """The one failure."""
    (found,) = [finding for finding in findings if finding.state == "failure"]
    assert found.advice, found
    return found
