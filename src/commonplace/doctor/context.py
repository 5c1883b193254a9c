"""Who is examined: the settings, the places of editors, the open memory, and what servers said on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from commonplace.config import Settings, load
from commonplace.data_folder import data_folder
from commonplace.doctor.mcp_probe import ProbeResult
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.hosts.host import Locations, locations_here
from commonplace.memory.local_memory import LocalMemory, open_memory

# A store that is busy for longer than this is worth telling, and not worth waiting for.
BUSY_SECONDS = 5.0


@dataclass(slots=True)
class DoctorContext:
    """One installation on one machine, as seen from one folder."""

    settings: Settings
    places: tuple[Locations, ...]
    """The person's own, and those of the project around the current folder."""
    settings_error: CommonplaceError | None = None
    """Why the settings cannot be used; the usual ones are examined instead."""
    answers: dict[str, ProbeResult] = field(default_factory=dict)
    """What each server said that an editor starts or calls, by what starts it."""
    _memory: LocalMemory | None = None
    _open_error: CommonplaceError | None = None

    def memory(self) -> LocalMemory:
        """The open memory, or the error that keeps it shut, which is met once."""
        if self._open_error is not None:
            raise self._open_error
        if self._memory is None:
            try:
                self._memory = open_memory(self.settings)
            except CommonplaceError as error:
                self._open_error = error
                raise
        return self._memory

    def can_open(self) -> bool:
        """Whether there is a memory that can be opened; why it cannot is told about the store, and only there."""
        try:
            return self.settings.has_store and bool(self.memory())
        except (OSError, CommonplaceError):
            return False

    def close(self) -> None:
        """Let go of the memory, and of what was said; both are there again when they are asked for."""
        if self._memory is not None:
            self._memory.close()
        self._memory = self._open_error = None
        self.answers.clear()


def doctor_context(data_dir: str | None = None, project: Path | None = None) -> DoctorContext:
    """The installation of whoever runs this."""
    settings_error = None
    try:
        settings = load({"data_dir": data_dir})
    except InvalidInput as error:
        settings = Settings(data_dir=Path(data_folder(data_dir or "", os.environ)).expanduser())
        settings_error = error
    context = replace(settings, busy_timeout=min(settings.busy_timeout, BUSY_SECONDS))
    return DoctorContext(context, _places(project), settings_error)


def _places(project: Path | None) -> tuple[Locations, ...]:
    own = locations_here()
    return (own,) if project is None else (own, replace(own, project=project))


State = Literal["ok", "remark", "failure"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an examination.

    A remark is worth knowing and hurts nobody. `fix` is what a person can do; `mend` does it where that is safe, and
    tells what it did.
    """

    area: str
    what: str
    state: State
    sentence: str
    fix: str = ""
    mend: Callable[[], str] | None = None


def ok(area: str, what: str, sentence: str) -> Finding:
    return Finding(area, what, "ok", sentence)


def remark(area: str, what: str, sentence: str, fix: str = "", mend: Callable[[], str] | None = None) -> Finding:
    return Finding(area, what, "remark", sentence, fix, mend)


def failure(area: str, what: str, sentence: str, fix: str, mend: Callable[[], str] | None = None) -> Finding:
    return Finding(area, what, "failure", sentence, fix, mend)
