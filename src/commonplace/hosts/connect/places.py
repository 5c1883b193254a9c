"""Places: where a person's and a project's files are, as a value, so that every system can be asked about on any."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

System = Literal["linux", "darwin", "win32"]


@dataclass(frozen=True, slots=True)
class Places:
    """A home on a system. With a project, its files are meant, and without one the person's own."""

    home: Path
    system: System
    env: Mapping[str, str] = field(default_factory=dict)
    project: Path | None = None

    @property
    def app_data(self) -> Path:
        """Where applications with windows keep their settings."""
        if self.system == "win32":
            return self.named("APPDATA") or self.home / "AppData" / "Roaming"
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self.config

    @property
    def config(self) -> Path:
        """`~/.config`, where tools of the command line keep theirs."""
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def top(self) -> Path:
        """What is never removed, however empty: the project, or the home."""
        return self.project or self.home

    def named(self, variable: str) -> Path | None:
        """The folder that a variable names; a relative one means nothing to an editor."""
        path = Path(self.env.get(variable) or "")
        return path if path.is_absolute() else None


def places_here(project: Path | None = None) -> Places:
    """The places of whoever runs this."""
    system: System = "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
    return Places(Path.home(), system, dict(os.environ), project)
