"""Repair: rebuild indexes and counts, and save the rows of a damaged file; stored content is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.memory.backup import backup_path, copy_before_change, make_private_folder
from commonplace.memory.check import (
    DISALLOWED,
    NOT_DAMAGE,
    UNCHECKED,
    all_spaces,
    check_store,
    ignore_progress,
    miscounted_sessions,
    open_or_fault,
)
from commonplace.memory.encryption import store_key
from commonplace.memory.local_memory import Clock, LocalMemory, open_memory, wall_clock
from commonplace.memory.remember import make_passages
from commonplace.memory.status_and_stats import Fault, save_check_result
from commonplace.store.invariants import Invariant
from commonplace.store.maintenance import IndexState, ReportProgress

if TYPE_CHECKING:
    from commonplace.store.sqlite.recover_damaged_file import Recovered


__all__ = ["IndexState", "file_errors", "index_missing_words", "index_state"]

# Items in one transaction, so that others who write do not wait for long.
_WORDS_STEP = 200


def file_errors(memory: LocalMemory, seconds: float) -> Sequence[str]:
    """What a check of the file finds wrong; empty if it is sound."""
    return memory.maintenance.file_problems(seconds)


def index_state(memory: LocalMemory, seconds: float) -> IndexState:
    return memory.maintenance.index_state(seconds)


def index_missing_words(memory: LocalMemory, *, rebuild: bool = False) -> int:
    """Index what cannot be found by words, with `rebuild` everything; how many rows were written or taken away."""
    if rebuild:
        memory.maintenance.clear_text_index()
    done = 0
    while step := memory.maintenance.repair_text_index(_WORDS_STEP):
        done += step
    return done


# Rows in one transaction, so that others who write do not wait for long.
_STEP = 500


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What was wrong, where the old store was copied to, what was done, and what is wrong even so.

    `saved` tells of a file whose pages were damaged what could be read of it, and what could not.
    """

    found: tuple[Fault, ...]
    old_copy: Path | None
    saved: Recovered | None
    done: tuple[str, ...]
    left: tuple[Fault, ...]


def repair_store(
    settings: Settings, clock: Clock = wall_clock, *, dry_run: bool = False, advance: ReportProgress = ignore_progress
) -> RepairResult:
    """Copy the store, repair what can be repaired, and check again. A sound store is left alone, as in a `dry_run`."""
    memory, found = open_or_fault(settings, clock)
    try:
        if memory is not None:
            found = check_store(memory, advance=advance)
        pages = any(_is_lost(fault) for fault in found) and not settings.database_url
        if dry_run or not (pages or any(fault.derived for fault in found)):
            return RepairResult(tuple(found), None, None, (), tuple(found))
        old_copy, saved, done = None, None, list[str]()
        if memory is not None and not pages:
            try:
                old_copy = copy_before_change(memory, "repair")
                done = _repair_all_spaces(memory, advance, last_try=bool(settings.database_url))
            except NOT_DAMAGE:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged store makes of it
                # What is derived cannot be rebuilt in this file: its rows go into a new one.
                pages = True
        if pages:
            if memory is not None:
                memory.close()
            old_copy, saved = _recover(settings, clock())
            memory = open_memory(settings, clock)
            done = _repair_all_spaces(memory, advance, last_try=True)
        assert memory is not None
        left = check_store(memory, advance=advance)
        save_check_result(settings, "all", left, clock())
        return RepairResult(tuple(found), old_copy, saved, tuple(done), tuple(left))
    finally:
        if memory is not None:
            memory.close()


def _is_lost(fault: Fault) -> bool:
    """Whether a fault is of the file itself, so that its rows have to be saved into a new one."""
    return not fault.derived and (fault.part == "file" or fault.says in (UNCHECKED, DISALLOWED))


def _recover(settings: Settings, now_ms: int) -> tuple[Path, Recovered]:
    """Copy a damaged file aside, and save every row of it that can be read."""
    from commonplace.store.sqlite.recover_damaged_file import recover

    aside = backup_path(settings, "damaged", now_ms)
    make_private_folder(aside.parent)
    return aside, recover(settings.database, aside, store_key(settings), int(settings.busy_timeout * 1000))


def _repair_all_spaces(memory: LocalMemory, advance: ReportProgress, *, last_try: bool) -> list[str]:
    """Rebuild what is derived, in every space, and say what was done. On the last try a step that fails is skipped."""
    every = all_spaces(memory)
    done = [line for one in every for line in _repair_space(one, advance, last_try)]
    # An index that was made anew for one of them was emptied for all.
    for one in every:
        index_missing_words(one)
    return done


def _repair_space(memory: LocalMemory, advance: ReportProgress, last_try: bool) -> Iterator[str]:
    steps: list[Callable[[], Iterable[str]]] = [
        lambda: _rebuilt_indexes(memory),
        lambda: _resplit_items(memory),
        *(partial(_repair_invariant, memory, one) for one in memory.maintenance.invariants() if one.repair),
        lambda: _reindex_words(memory, advance),
        lambda: _recount_sessions(memory),
    ]
    for step in steps:
        try:
            yield from step()
        except NOT_DAMAGE:
            raise
        except Exception as error:
            if not last_try:
                raise
            yield f"A step failed: {type(error).__name__}: {error}."


def _rebuilt_indexes(memory: LocalMemory) -> Iterator[str]:
    for repair in {damage.repair for damage in memory.maintenance.file_damage(quick=False)}:
        if repair == "indexes":
            memory.maintenance.reindex()
            yield "The indexes of the tables were rebuilt."
        elif repair == "words":
            yield f"The words of {index_missing_words(memory, rebuild=True):,} items were indexed again."


def _reindex_words(memory: LocalMemory, advance: ReportProgress) -> Iterator[str]:
    if done := index_missing_words(memory):
        yield f"{done:,} rows of the index were added or removed."
    try:
        wrong = memory.maintenance.stale_fts_items(advance)
    except NOT_DAMAGE:
        raise
    except Exception:  # noqa: BLE001 - whatever a damaged store makes of it
        # An index that cannot be read is written again from the items.
        yield f"The words of {index_missing_words(memory, rebuild=True):,} items were indexed again."
        return
    if wrong:
        _in_steps(wrong, memory.maintenance.reindex_items)
        if memory.maintenance.stale_fts_items(advance):
            # Rows that the index does not list cannot be taken out of it.
            index_missing_words(memory, rebuild=True)
        yield f"{len(wrong):,} items were indexed again under their own words."


def _recount_sessions(memory: LocalMemory) -> Iterator[str]:
    if wrong := [id_ for some in miscounted_sessions(memory) for id_ in some]:
        _in_steps(wrong, memory.maintenance.recount_sessions)
        yield f"{len(wrong):,} sessions were counted again."


def _in_steps(ids: Sequence[int], step: Callable[[Sequence[int]], None]) -> None:
    for start in range(0, len(ids), _STEP):
        step(ids[start : start + _STEP])


def _resplit_items(memory: LocalMemory) -> Iterator[str]:
    done = 0
    while items := memory.maintenance.unsplit_items(_STEP):
        for item in items:
            passages = make_passages(item.kind, item.type, item.title, item.body, item.details, item.tags)
            memory.maintenance.resplit(item.id, passages)
        done += len(items)
    if done:
        yield f"{done:,} items were split into passages again."


def _repair_invariant(memory: LocalMemory, invariant: Invariant) -> Iterator[str]:
    """Repair rows; what stays wrong is not tried for ever."""
    repaired = 0
    for _turn in range(-(-memory.maintenance.violations(invariant).count // _STEP)):
        repaired += memory.maintenance.repair(invariant, _STEP)
    if repaired:
        yield f"Repaired: {repaired:,} {invariant.says}."


def queue_all_embeddings(memory: LocalMemory) -> int:
    """Queue everything that is searched; returns how many passages wait."""
    waiting = memory.maintenance.requeue_embeddings()
    memory.embeddings.wake()
    return waiting
