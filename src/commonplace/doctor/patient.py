"""Who is examined: the settings, the places of editors, the open memory, and what servers said on the way."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.config import Settings, load
from commonplace.data_folder import data_folder
from commonplace.doctor.asking import Answer
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.hosts.connect.places import Places, places_here
from commonplace.memory.book import Book, open_book

# A store that is busy for longer than this is worth telling, and not worth waiting for.
BUSY_SECONDS = 5.0


@dataclass(slots=True)
class Patient:
    """One installation on one machine, as seen from one folder."""

    settings: Settings
    places: tuple[Places, ...]
    """The person's own, and those of the project around the current folder."""
    trouble: CommonplaceError | None = None
    """Why the settings cannot be used; the usual ones are examined instead."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """What each server said that an editor starts or calls, by what starts it."""
    _book: Book | None = None
    _shut: CommonplaceError | None = None

    def book(self) -> Book:
        """The open memory, or the error that keeps it shut, which is met once."""
        if self._shut is not None:
            raise self._shut
        if self._book is None:
            try:
                self._book = open_book(self.settings)
            except CommonplaceError as error:
                self._shut = error
                raise
        return self._book

    def opens(self) -> bool:
        """Whether there is a memory that can be opened; why it cannot is told about the store, and only there."""
        try:
            return self.settings.has_store and bool(self.book())
        except (OSError, CommonplaceError):
            return False

    def close(self) -> None:
        """Let go of the memory, and of what was said; both are there again when they are asked for."""
        if self._book is not None:
            self._book.close()
        self._book = self._shut = None
        self.answers.clear()


def patient_here(data_dir: str | None = None, project: Path | None = None) -> Patient:
    """The installation of whoever runs this."""
    trouble = None
    try:
        settings = load({"data_dir": data_dir})
    except InvalidInput as error:
        settings = Settings(data_dir=Path(data_folder(data_dir or "", os.environ)).expanduser())
        trouble = error
    patient = replace(settings, busy_timeout=min(settings.busy_timeout, BUSY_SECONDS))
    return Patient(patient, _places(project), trouble)


def _places(project: Path | None) -> tuple[Places, ...]:
    own = places_here()
    return (own,) if project is None else (own, replace(own, project=project))
