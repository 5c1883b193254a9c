"""What the last check of a store found, kept beside it, so that whoever asks for its state is told."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from commonplace.config import Settings

FILE = "health.json"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it should be. What is derived can be made anew; of the rest a person decides."""

    part: str
    says: str
    count: int
    examples: tuple[str, ...]
    derived: bool
    advice: str


@dataclass(frozen=True, slots=True)
class Health:
    """When a store was last checked, how (`start`, `unclean end`, `quick`, `all`), and what was wrong."""

    checked_ms: int
    how: str
    faults: tuple[Fault, ...]


def note(settings: Settings, how: str, faults: Sequence[Fault], now_ms: int) -> None:
    """Keep what a check found, in the place of what one found before. A folder that takes no file is told elsewhere."""
    path = settings.data_dir / FILE
    partial = path.with_name(f"{FILE}.{os.getpid()}")
    told = {"checked_ms": now_ms, "how": how, "faults": [asdict(fault) for fault in faults]}
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            json.dump(told, file, ensure_ascii=False)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)


def known(settings: Settings) -> Health | None:
    """What the last check found; None if there was none, or nobody can tell."""
    try:
        told = json.loads((settings.data_dir / FILE).read_text(encoding="utf-8"))
        faults = tuple(Fault(**{**fault, "examples": tuple(fault["examples"])}) for fault in told["faults"])
        return Health(int(told["checked_ms"]), str(told["how"]), faults)
    except (OSError, ValueError, TypeError, KeyError):
        return None
