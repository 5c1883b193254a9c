"""Check: find rows that break an invariant, damaged pages and stale indexes. Repair: rebuild what is derived.

A check changes nothing. A repair rebuilds indexes and counts, and saves the rows of a damaged file; stored content is
unchanged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.errors import (
    CommonplaceError,
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    TimedOut,
)
from commonplace.memory.backup import backup_path, copy_before_change, make_private_folder
from commonplace.memory.draft import content_hashes, make_passages
from commonplace.memory.local_memory import Clock, LocalMemory, for_space, open_memory, wall_clock
from commonplace.memory.proposed_changes import is_change
from commonplace.memory.status_and_stats import Fault, save_check_result
from commonplace.memory.store_key import store_key
from commonplace.model import Item, ref
from commonplace.store.damaged_values import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.maintenance import IndexState as IndexState
from commonplace.store.maintenance import ReportProgress, RowKey
from commonplace.store.sql.integrity_and_scrubbing import AUTHORED

if TYPE_CHECKING:
    from commonplace.store.sqlite.recover_damaged_file import Recovered

MAX_EXAMPLES = 5
# Of what is damaged so many are named, since a person has to look at each.
MAX_DAMAGED_NAMED = 200
UNCHECKED = "could not be checked"
DISALLOWED = "values are not what their table allows"
ALTERED = "items have content that does not match its checksum"
# Parts that are made of others, so that they can be rebuilt even if they cannot be read.
DERIVED_PARTS = frozenset({"words", "passages", "vectors", "jobs", "links", "topics", "counts", "records", "tags"})
# What may pass by itself, or is nobody's damage.
NOT_DAMAGE = (StoreBusy, StoreFull, StoreLocked, StoreReadOnly, StoreTooNew, StoreUnavailable, TimedOut)
# Rows in one transaction, so that others who write do not wait for long.
_STEP = 500
# So many of the last items are looked at when a server starts.
_LAST = 200
REBUILT_BY_REPAIR = "`commonplace check --fix` rebuilds it."
COMPARE_WITH_BACKUP = (
    "It is left as it is. Compare with a backup (`commonplace backup list`), and edit or forget what is wrong."
)
RECOVER = (
    "Keep the file. `commonplace check --fix` saves all that can be read; `commonplace backup list` shows backups."
)
SEE_TEAM_DOCS = "Whoever runs the database server repairs this: see docs/reference/postgresql.md."


def ignore_progress(_items: int) -> None:
    """For those who do not watch."""


def all_spaces(memory: LocalMemory) -> list[LocalMemory]:
    """This memory, and those of the other spaces of its store."""
    names = [entry.name for entry in memory.maintenance.spaces(memory.clock())]
    return [memory, *(for_space(memory, name) for name in names if name != memory.settings.space)]


def check_store(memory: LocalMemory, *, quick: bool = False, advance: ReportProgress = ignore_progress) -> list[Fault]:
    """Everything that is wrong with the store, in all of its spaces; `quick` reads no texts."""
    spaces = [memory]
    faults = [*_guarded(memory.settings, "file", partial(_file_faults, memory, quick))]
    faults += _guarded(memory.settings, "file", partial(_add_other_spaces, memory, spaces))
    for space in spaces:
        for invariant in space.maintenance.invariants():
            faults += _guarded(space.settings, invariant.part, partial(_breaches, space, invariant))
        if not quick:
            faults += _guarded(space.settings, "rows", partial(_item_faults, space, advance))
            faults += _guarded(space.settings, "rows", partial(_other_row_faults, space))
            faults += _guarded(space.settings, "counts", partial(_count_faults, space))
    # Several parts may meet the same damage of the file.
    return list(dict.fromkeys(faults))


def _file_faults(memory: LocalMemory, quick: bool) -> Iterator[Fault]:
    """What the engine finds wrong with its own files."""
    for damage in memory.maintenance.file_damage(quick=quick):
        if damage.repair == "rows":
            yield Fault("rows", DISALLOWED, 1, (damage.sentence,), False, RECOVER)
        elif damage.repair:
            yield Fault("file", "indexes of the file are damaged", 1, (damage.sentence,), True, REBUILT_BY_REPAIR)
        else:
            yield damaged_file_fault(memory.settings, damage.sentence)


def _add_other_spaces(memory: LocalMemory, spaces: list[LocalMemory]) -> Iterable[Fault]:
    spaces += all_spaces(memory)[1:]
    return ()


def _guarded(settings: Settings, part: str, find: Callable[[], Iterable[Fault]]) -> Iterator[Fault]:
    """The faults of one part. If it cannot be checked, that is what is wrong with it, and the others go on."""
    try:
        yield from find()
    except NOT_DAMAGE:
        raise
    except StoreCorrupt as error:
        if part == "words":
            yield _fault(part, UNCHECKED, 1, (error.message,), derived=True)
        else:
            yield damaged_file_fault(settings, error.message)
    except Exception as error:  # noqa: BLE001 - whatever a damaged store makes of it
        derived = part in DERIVED_PARTS
        why = error.message if isinstance(error, CommonplaceError) else f"{type(error).__name__}: {error}"
        advice = REBUILT_BY_REPAIR if derived else SEE_TEAM_DOCS if settings.database_url else RECOVER
        yield Fault(part, UNCHECKED, 1, (why[:300],), derived, advice)


def check_and_record(
    settings: Settings, clock: Clock = wall_clock, *, quick: bool = False, advance: ReportProgress = ignore_progress
) -> list[Fault]:
    """Check the store of these settings, also one that does not open, and let those know who ask for its state."""
    memory, faults = open_or_fault(settings, clock)
    if memory is not None:
        try:
            faults = check_store(memory, quick=quick, advance=advance)
        finally:
            memory.close()
    save_check_result(settings, "quick" if quick else "all", faults, clock())
    return faults


def open_or_fault(settings: Settings, clock: Clock) -> tuple[LocalMemory | None, list[Fault]]:
    """The memory of these settings, or that its store is damaged so that it does not open."""
    try:
        return open_memory(settings, clock), []
    except StoreReadOnly as error:
        # A file that anybody may write, and SQLite not, has a damaged header.
        if settings.database_url or not (settings.database.is_file() and os.access(settings.database, os.W_OK)):
            raise
        if not os.access(settings.data_dir, os.W_OK) or settings.database.is_symlink():
            raise
        return None, [damaged_file_fault(settings, error.message)]
    except NOT_DAMAGE:
        raise
    except StoreError as error:
        if settings.database_url:
            raise
        return None, [damaged_file_fault(settings, error.message)]


def check_newest(memory: LocalMemory) -> list[Fault]:
    """What can be seen in a moment: whether the last things that were written are whole."""
    found: list[Fault] = []
    for invariant in memory.maintenance.invariants():
        if invariant.newest:
            found += _guarded(memory.settings, invariant.part, partial(_breaches, memory, invariant, _LAST))
    return list(dict.fromkeys(found))


def _breaches(memory: LocalMemory, invariant: Invariant, newest: int | None = None) -> Iterator[Fault]:
    found = memory.maintenance.violations(invariant, newest)
    if found.count:
        yield _fault(invariant.part, invariant.says, found.count, found.examples, invariant.derived)


def _count_faults(memory: LocalMemory) -> Iterator[Fault]:
    wrong = [id_ for some in miscounted_sessions(memory) for id_ in some]
    if wrong:
        names = tuple(f"session {id_}" for id_ in wrong[:MAX_EXAMPLES])
        yield _fault("counts", "sessions count their messages wrongly", len(wrong), names, derived=True)


def _other_row_faults(memory: LocalMemory) -> Iterator[Fault]:
    """Rows other than items that cannot be read whole."""
    damaged: list[DamagedRow] = []
    for part in AUTHORED:
        after: RowKey | None = None
        while True:
            found, after = memory.maintenance.damaged_rows(part, after, _STEP)
            damaged += found
            if after is None:
                break
    yield from _damaged_rows(damaged)


def _damaged_rows(rows: Sequence[DamagedRow]) -> Iterator[Fault]:
    if rows:
        names = tuple(f"{row.name} ({', '.join(row.fields)})" for row in rows[:MAX_DAMAGED_NAMED])
        yield _fault("rows", "rows are damaged and only partly readable", len(rows), names, derived=False)


def miscounted_sessions(memory: LocalMemory) -> Iterator[list[int]]:
    """Sessions that count wrongly, a few at a time."""
    after: int | None = 0
    while after is not None:
        some, after = memory.maintenance.miscounted_sessions(after, _STEP)
        if some:
            yield some


def _item_faults(memory: LocalMemory, advance: ReportProgress) -> Iterator[Fault]:
    damaged: list[DamagedRow] = []
    nameless: list[int] = []
    altered = {*_altered(memory)}
    after = 0
    while items := memory.maintenance.items_by_id(after, _STEP):
        after = items[-1].id
        for item in items:
            if item.damaged:
                damaged.append(DamagedRow(f"item {item.id}", tuple(item.damaged)))
            elif not item.forgotten_ms and not _matches_hash(item):
                # What was forgotten is in no answer, and needs nobody to look at it.
                altered.add(item.id)
            if not _is_named(item):
                nameless.append(item.id)
        advance(len(items))
    yield from _damaged_rows(damaged)
    if nameless:
        names = tuple(f"item {id_}" for id_ in nameless[:MAX_EXAMPLES])
        yield _fault("rows", "items have no valid UUID", len(nameless), names, derived=False)
    if altered:
        names = tuple(f"item {id_}" for id_ in sorted(altered)[:MAX_DAMAGED_NAMED])
        yield _fault("rows", ALTERED, len(altered), names, derived=False)


def _altered(memory: LocalMemory) -> Iterator[int]:
    """Items whose content is not the bytes that were written."""
    after: int | None = 0
    while after is not None:
        wrong, after = memory.maintenance.altered_items(after, _STEP)
        yield from wrong


def _is_named(item: Item) -> bool:
    try:
        return ref(item.uid).uid == item.uid
    except InvalidInput:
        return False


def _matches_hash(item: Item) -> bool:
    """Whether its hash is that of its text.

    What others name, such as a message, has a hash of that name, and a proposed change has one of what it does.
    """
    if len(item.content_hash) != hashlib.sha256().digest_size:
        return False
    if item.kind != "memory" or is_change(item):
        return True
    known = content_hashes(item)
    # One that was moved beside its like, or cleaned to be like another, is told apart by its uid.
    return item.content_hash in known or item.content_hash in {
        hashlib.sha256(one + item.uid.encode()).digest() for one in known
    }


def _fault(part: str, says: str, count: int, examples: tuple[str, ...], derived: bool) -> Fault:
    return Fault(part, says, count, examples, derived, REBUILT_BY_REPAIR if derived else COMPARE_WITH_BACKUP)


def damaged_file_fault(settings: Settings, sentence: str) -> Fault:
    """A file, or a database on a server, whose pages cannot be read."""
    advice = SEE_TEAM_DOCS if settings.database_url else RECOVER
    return Fault("file", "places of the file are damaged", 1, (sentence,), False, advice)


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
        is_damaged = any(_is_lost(fault) for fault in found) and not settings.database_url
        if dry_run or not (is_damaged or any(fault.derived for fault in found)):
            if found and not dry_run:
                save_check_result(settings, "all", found, clock())
            return RepairResult(tuple(found), None, None, (), tuple(found))
        old_copy, saved, done = None, None, list[str]()
        if memory is not None and not is_damaged:
            try:
                old_copy = copy_before_change(memory, "repair")
                done = _rebuild_all_spaces(memory, found)
            except NOT_DAMAGE:
                raise
            except Exception:
                if settings.database_url:
                    raise
                # What is derived cannot be rebuilt in this file: its rows go into a new one.
                is_damaged = True
        if is_damaged:
            if memory is not None:
                memory.close()
            old_copy, saved = _recover(settings, clock())
            memory = open_memory(settings, clock)
            done = _rebuild_all_spaces(memory, None)
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


def _rebuild_all_spaces(memory: LocalMemory, found: Sequence[Fault] | None) -> list[str]:
    """Rebuild what is derived, in every space, and say what was done. `found`: only the parts that have faults."""
    parts = None if found is None else {fault.part for fault in found}
    spaces, done = all_spaces(memory), list[str]()
    if parts is None or "file" in parts:
        memory.maintenance.reindex()
        done.append("The indexes of the tables were rebuilt.")
    for space in spaces:
        done += _resplit_items(space)
        for invariant in space.maintenance.invariants():
            if invariant.repair:
                done += _repair_invariant(space, invariant)
        done += _recount_sessions(space)
    if parts is None or parts & {"file", "words", "passages"}:
        # All spaces share one index, and it is emptied for all of them.
        for space in spaces:
            space.maintenance.clear_text_index()
        words = sum(index_missing_words(space) for space in spaces)
        done.append(f"The words of {words:,} items were indexed again.")
    return done


def _recount_sessions(memory: LocalMemory) -> Iterator[str]:
    wrong = [id_ for some in miscounted_sessions(memory) for id_ in some]
    for start in range(0, len(wrong), _STEP):
        memory.maintenance.recount_sessions(wrong[start : start + _STEP])
    if wrong:
        yield f"{len(wrong):,} sessions were counted again."


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
