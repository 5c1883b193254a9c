"""A patient with a home, a store and a project of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from commonplace.config import Settings
from commonplace.doctor.finding import Finding
from commonplace.doctor.patient import Patient
from commonplace.hosts.connect.places import places_here
from commonplace.memory.book import open_book
from commonplace.memory.remember import Note, remember_all

Behind = Callable[[str], None]


@pytest.fixture
def patient(settings: Settings, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Patient]:
    """Somebody who has installed it and used nothing yet."""
    # What hooks and servers that are started here use.
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    found = Patient(settings, (places_here(),))
    yield found
    found.close()


@pytest.fixture
def filled(patient: Patient) -> Patient:
    """The same, with ten things remembered."""
    book = open_book(patient.settings)
    remember_all(book, [Note(f"Apple number {n}") for n in range(10)])
    book.close()
    return patient


@pytest.fixture
def behind(filled: Patient) -> Behind:
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
    assert found.fix, found
    return found
