"""Check: find rows that break an invariant, damaged pages and stale indexes. Nothing is changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

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
from commonplace.item_ids import ref
from commonplace.memory.local_memory import Clock, LocalMemory, for_space, open_memory, wall_clock
from commonplace.memory.remember import content_hashes
from commonplace.memory.status_and_stats import Fault, save_check_result
from commonplace.model import Item
from commonplace.store.damaged_values import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.maintenance import FileDamage, ReportProgress, RowKey
from commonplace.store.sql.integrity_and_scrubbing import AUTHORED

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
    """Whether its hash is that of its text. What others name, such as a message, has a hash of that name."""
    if len(item.content_hash) != hashlib.sha256().digest_size:
        return False
    if item.kind != "memory":
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
