"""Status: counts, engine, model, what waits, and what the last check of the store found."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import commonplace
from commonplace.config import Settings, embedder_kind
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.dates import iso_time

HEALTH_FILE = "health.json"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong. What is derived can be rebuilt; about the rest a person decides."""

    part: str
    says: str
    count: int
    examples: tuple[str, ...]
    derived: bool
    advice: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """When a store was last checked, how (`start`, `unclean end`, `quick`, `all`), and what was wrong."""

    checked_ms: int
    how: str
    faults: tuple[Fault, ...]


def save_check_result(settings: Settings, how: str, faults: Sequence[Fault], now_ms: int) -> None:
    """Save what a check found instead of the last result. A folder that cannot be written is reported elsewhere."""
    path = settings.data_dir / HEALTH_FILE
    partial = path.with_name(f"{HEALTH_FILE}.{os.getpid()}")
    data = {"checked_ms": now_ms, "how": how, "faults": [asdict(fault) for fault in faults]}
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)


def last_check_result(settings: Settings) -> CheckResult | None:
    """What the last check found; None if there was none, or it cannot be read."""
    try:
        data = json.loads((settings.data_dir / HEALTH_FILE).read_text(encoding="utf-8"))
        faults = tuple(Fault(**{**fault, "examples": tuple(fault["examples"])}) for fault in data["faults"])
        return CheckResult(int(data["checked_ms"]), str(data["how"]), faults)
    except (OSError, ValueError, TypeError, KeyError):
        return None


# Of the store these are for whoever runs the server.
_PATHS = frozenset(("path", "connections", "replicas"))


def status(memory: LocalMemory, *, show_paths: bool = True) -> dict[str, object]:
    """Counts, engine, model and what waits, as plain data; with `whereabouts` also where the store is."""
    counts, store = memory.store.counts(), memory.store.describe()
    return {
        "version": commonplace.__version__,
        **({"data_dir": str(memory.settings.data_dir)} if show_paths else {}),
        "space": memory.settings.space,
        "store": {name: value for name, value in store.items() if show_paths or name not in _PATHS},
        "counts": {key: value for key, value in asdict(counts).items() if key != "pending"},
        "total": sum(counts.items.values()),
        "pending": counts.pending,
        "model": {
            "name": memory.embeddings.model,
            "state": memory.embeddings.state,
            "embedder": embedder_kind(memory.settings.embedder),
            "last_error": None if memory.embeddings.model is None else memory.store.pending_reason(),
        },
        "health": _health(memory),
        "search": "keywords and meaning" if _can_embed(memory) else "keywords only",
    }


def _health(memory: LocalMemory) -> dict[str, object] | None:
    """What the last check found."""
    found = last_check_result(memory.settings)
    if found is None:
        return None
    faults = [{"part": one.part, "count": one.count, "says": one.says, "advice": one.advice} for one in found.faults]
    return {"checked_at": iso_time(found.checked_ms), "how": found.how, "faults": faults}


def check_ready(memory: LocalMemory) -> str:
    """The version, if the store answers and its tables are those of this version; else its error."""
    memory.store.check_schema()
    return commonplace.__version__


def _can_embed(memory: LocalMemory) -> bool:
    return not memory.embeddings.state.startswith(("off", "failed"))
