"""Status (counts, engine, model, what waits, the last check) and statistics of conversations and activity by day."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Literal

import commonplace
from commonplace.config import Settings, embedder_kind
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Kind, Scope, SessionScope
from commonplace.store.types import SessionCounts
from commonplace.text.dates import DAY_MS, EARLIEST_MS, LATEST_MS, clamp_time, day_start_ms, iso_time, utc_day
from commonplace.text.paths import ROOT_FOLDER, normalise_folder

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
        with contextlib.suppress(OSError):
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


def count_items(memory: LocalMemory) -> int:
    """How many items there are, of all kinds."""
    return sum(memory.store.counts().items.values())


def passages_waiting(memory: LocalMemory) -> int:
    """How many passages have no vector yet."""
    return memory.store.pending()


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


# More labels than anybody reads: an import gives each conversation one of its own.
MOST_LABELS = 100
WEEKS, MONTHS = 26, 24


@dataclass(frozen=True, slots=True)
class ConversationStats:
    """Sums over a folder's tree; `bytes` is the whole store for everything, and text with metadata for a folder."""

    counts: SessionCounts
    bytes: int


@dataclass(frozen=True, slots=True)
class MessageActivity:
    """Messages per week or month (UTC), by its first day, oldest first, and how many there were before."""

    unit: Literal["week", "month"]
    messages: Mapping[date, int]
    earlier: int


def conversation_stats(memory: LocalMemory, folder: str | None = None, labels: Sequence[str] = ()) -> ConversationStats:
    """Statistics of a folder and all below it, of what has one of some labels, or of everything."""
    return stats_for_scope(
        memory, SessionScope(folder=normalise_folder(folder) if folder is not None else "", labels=tuple(labels))
    )


def stats_for_scope(memory: LocalMemory, scope: SessionScope) -> ConversationStats:
    """Statistics of the conversations of a scope."""
    counts = memory.store.session_counts(scope, MOST_LABELS)
    whole = scope in (SessionScope(), SessionScope(folder=ROOT_FOLDER))
    return ConversationStats(counts, memory.store.size() if whole else counts.bytes)


def session_totals(memory: LocalMemory, scope: SessionScope) -> SessionCounts:
    """Sums over the sessions of a scope, by folder, status and source; labels are only counted."""
    return memory.store.session_counts(scope, 0)


def message_activity(memory: LocalMemory, folder: str | None = None) -> MessageActivity:
    """Messages of the last weeks; if some are older, of the months up to the newest."""
    scope = SessionScope(folder=normalise_folder(folder) if folder is not None else "")
    counts = memory.store.session_counts(scope, 0)
    today = utc_day(memory.clock())
    oldest, newest = (today if ms is None else utc_day(clamp_time(ms)) for ms in (counts.oldest_ms, counts.newest_ms))
    weeks = [_monday(today) - timedelta(weeks=back) for back in reversed(range(WEEKS))]
    weekly = weeks[0] <= oldest and newest <= today
    starts = weeks if weekly else _months_to(newest)
    messages = dict.fromkeys(starts, 0)
    for day, count in memory.store.activity(scope, day_start_ms(starts[0])).items():
        day_of_message = utc_day(clamp_time(int(day) * DAY_MS))
        start = _monday(day_of_message) if weekly else day_of_message.replace(day=1)
        messages[start] = messages.get(start, 0) + count
    return MessageActivity("week" if weekly else "month", messages, counts.messages - sum(messages.values()))


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _months_to(last: date) -> list[date]:
    """The first days of the months up to this one; the calendar begins with the year 1."""
    number = last.year * 12 + last.month - 1
    return [date(n // 12, n % 12 + 1, 1) for n in range(max(12, number - MONTHS + 1), number + 1)]


ItemsPerDay = Mapping[date, Mapping[Kind, int]]


def items_per_day(
    memory: LocalMemory, scope: Scope, from_ms: int = EARLIEST_MS, to_ms: int = LATEST_MS + 1
) -> ItemsPerDay:
    """Live items by day, UTC, and kind, in order; a day without any is absent."""
    days = memory.store.items_per_day(scope, max(from_ms, EARLIEST_MS), min(to_ms, LATEST_MS + 1))
    return {utc_day(day * DAY_MS): days[day] for day in sorted(days)}
