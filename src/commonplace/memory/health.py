"""What the last check of a store found, kept beside it, so that whoever asks for its state is told."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from commonplace.config import Settings
from commonplace.errors import StoreCorrupt
from commonplace.memory.book import Clock, open_book, wall_clock
from commonplace.memory.check import Fault, broken, check, no_matter
from commonplace.store.soundness import Advance

FILE = "health.json"


@dataclass(frozen=True, slots=True)
class Health:
    """When a store was last checked, how (`start`, `unclean end`, `quick`, `all`), and what was wrong."""

    checked_ms: int
    how: str
    faults: tuple[Fault, ...]


def examine(
    settings: Settings, clock: Clock = wall_clock, *, quick: bool = False, advance: Advance = no_matter
) -> list[Fault]:
    """Check the store of these settings, also one that does not open, and keep what was found."""
    try:
        book = open_book(settings, clock)
    except StoreCorrupt as error:
        faults = [broken(settings, error.message)]
    else:
        try:
            faults = check(book, quick=quick, advance=advance)
        finally:
            book.close()
    note(settings, "quick" if quick else "all", faults, clock())
    return faults


def note(settings: Settings, how: str, faults: Sequence[Fault], now_ms: int) -> None:
    """Keep what a check found, in the place of what one found before. A folder that takes no file is told elsewhere."""
    path = settings.data_dir / FILE
    partial = path.with_name(f"{FILE}.{os.getpid()}")
    told = {"checked_ms": now_ms, "how": how, "faults": [asdict(fault) for fault in faults]}
    try:
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
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
