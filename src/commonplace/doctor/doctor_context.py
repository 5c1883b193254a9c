"""What the checks share: the settings, the editors' files, the open memory, and the type of their findings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from commonplace.config import Settings, load
from commonplace.data_folder import data_folder
from commonplace.doctor.mcp_probe import ProbeResult
from commonplace.errors import CommonplaceError
from commonplace.hosts.host import Locations, locations_here
from commonplace.memory.local_memory import LocalMemory, open_memory

# A store that is busy for longer than this is reported, not waited for.
BUSY_SECONDS = 5.0

State = Literal["ok", "remark", "failure"]
Fix = Callable[[], str]
"""Fixes something, and says what it did."""


@dataclass(slots=True)
class DoctorContext:
    """One installation on one machine, as seen from one folder."""

    settings: Settings
    locations: tuple[Locations, ...]
    """Where editors keep their settings: the user's own, and those of the project around the current folder."""
    settings_error: CommonplaceError | None = None
    """Why the settings cannot be used; the defaults are checked instead."""
    answers: dict[str, ProbeResult] = field(default_factory=dict)
    """The answer of each server that an editor starts or calls, by what starts it."""
    _memory: LocalMemory | None = None
    _open_error: CommonplaceError | None = None

    def memory(self) -> LocalMemory:
        """The open memory; if it cannot be opened, the same error each time."""
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
        """Whether there is a memory that can be opened; only the check of the store says why it cannot."""
        try:
            return self.settings.has_store and bool(self.memory())
        except (OSError, CommonplaceError):
            return False

    def close(self) -> None:
        """Close the memory and forget the servers' answers; both are there again when they are needed."""
        if self._memory is not None:
            self._memory.close()
        self._memory = self._open_error = None
        self.answers.clear()


def doctor_context(data_dir: str | None = None, project: Path | None = None) -> DoctorContext:
    """The installation of whoever runs this."""
    settings_error = None
    try:
        settings = load({"data_dir": data_dir})
    except CommonplaceError as error:
        settings = Settings(data_dir=Path(data_folder(data_dir or "", os.environ)).expanduser())
        settings_error = error
    settings = replace(settings, busy_timeout=min(settings.busy_timeout, BUSY_SECONDS))
    own = locations_here()
    locations = (own,) if project is None else (own, replace(own, project=project))
    return DoctorContext(settings, locations, settings_error)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    A remark is worth knowing, but harmless. `advice` is what a person can do; `fix` does it where that is safe. The
    area is filled in by whoever runs the checks of that area.
    """

    what: str
    state: State
    sentence: str
    advice: str = ""
    fix: Fix | None = None
    area: str = ""


def ok(what: str, sentence: str) -> Finding:
    return Finding(what, "ok", sentence)


def remark(what: str, sentence: str, advice: str = "", fix: Fix | None = None) -> Finding:
    return Finding(what, "remark", sentence, advice, fix)


def failure(what: str, sentence: str, advice: str, fix: Fix | None = None) -> Finding:
    return Finding(what, "failure", sentence, advice, fix)
