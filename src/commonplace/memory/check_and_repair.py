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
from commonplace.store.maintenance import FileDamage, ReportProgress, RowKey
from commonplace.store.maintenance import IndexState as IndexState
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
    settings = memory.settings
    damage: list[FileDamage] = []
    faults = list(
        _guarded(settings, "file", lambda: map(partial(_damaged, settings), _engine_damage(memory, quick, damage)))
    )
    every = [memory]
    faults += _guarded(settings, "file", partial(_spaces, memory, every))
    words = not quick and all(one.repair != "words" for one in damage)
    for one in every:
        faults += _faults(one, quick, words, advance)
    # Several parts may meet the same damage of the file.
    return list(dict.fromkeys(faults))


def _spaces(memory: LocalMemory, every: list[LocalMemory]) -> Iterable[Fault]:
    every += all_spaces(memory)[1:]
    return ()


def _engine_damage(memory: LocalMemory, quick: bool, damage: list[FileDamage]) -> list[FileDamage]:
    """What the engine finds wrong with its own files; also added to `damage`."""
    damage += memory.maintenance.file_damage(quick=quick)
    return damage


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


def _faults(memory: LocalMemory, quick: bool, words: bool, advance: ReportProgress) -> Iterator[Fault]:
    settings = memory.settings
    for invariant in memory.maintenance.invariants():
        yield from _guarded(settings, invariant.part, partial(_breaches, memory, invariant))
    if quick:
        return
    yield from _guarded(settings, "rows", partial(_texts, memory, advance))
    yield from _guarded(settings, "rows", partial(_rows, memory))
    if words:
        yield from _guarded(settings, "words", partial(_words, memory, advance))
    yield from _guarded(settings, "counts", partial(_counts, memory))


def _breaches(memory: LocalMemory, invariant: Invariant, newest: int | None = None) -> Iterator[Fault]:
    found = memory.maintenance.violations(invariant, newest)
    if found.count:
        yield _fault(invariant.part, invariant.says, found.count, found.examples, invariant.derived)


def _words(memory: LocalMemory, advance: ReportProgress) -> Iterator[Fault]:
    if wrong := _named("item", memory.maintenance.stale_fts_items(advance)):
        yield _fault("words", "items are indexed under the wrong words", *wrong, derived=True)


def _counts(memory: LocalMemory) -> Iterator[Fault]:
    if wrong := _named("session", [id_ for some in miscounted_sessions(memory) for id_ in some]):
        yield _fault("counts", "sessions count their messages wrongly", *wrong, derived=True)


def _rows(memory: LocalMemory) -> Iterator[Fault]:
    """Rows other than items that cannot be read whole."""
    damaged: list[DamagedRow] = []
    for part in AUTHORED:
        after: RowKey | None = None
        while True:
            found, after = memory.maintenance.damaged_rows(part, after, _STEP)
            damaged += found
            if after is None:
                break
    yield from _of_damaged(damaged)


def _of_damaged(rows: Sequence[DamagedRow]) -> Iterator[Fault]:
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


def _texts(memory: LocalMemory, advance: ReportProgress) -> Iterator[Fault]:
    nameless, changed, after = [], [], 0
    damaged: list[DamagedRow] = []
    while some := memory.maintenance.items_by_id(after, _STEP):
        after = some[-1].id
        damaged += [DamagedRow(f"item {item.id}", tuple(item.damaged)) for item in some if item.damaged]
        nameless += [item.id for item in some if not _is_named(item)]
        # What was forgotten is in no answer, and needs nobody to look at it.
        changed += [item.id for item in some if not (item.forgotten_ms or item.damaged or _matches_hash(item))]
        advance(len(some))
    yield from _of_damaged(damaged)
    if wrong := _named("item", nameless):
        yield _fault("rows", "items have no valid UUID", *wrong, derived=False)
    if wrong := _named("item", sorted({*changed, *_altered(memory)}), MAX_DAMAGED_NAMED):
        yield _fault("rows", ALTERED, *wrong, derived=False)


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


def _named(kind: str, ids: Sequence[int], most: int = MAX_EXAMPLES) -> tuple[int, tuple[str, ...]] | None:
    return (len(ids), tuple(f"{kind} {id_}" for id_ in ids[:most])) if ids else None


def _damaged(settings: Settings, damage: FileDamage) -> Fault:
    if damage.repair == "rows":
        return Fault("rows", DISALLOWED, 1, (damage.sentence,), False, RECOVER)
    if damage.repair:
        return Fault("file", "indexes of the file are damaged", 1, (damage.sentence,), True, REBUILT_BY_REPAIR)
    return damaged_file_fault(settings, damage.sentence)


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
