"""Repair: make anew what is derived, and never touch what somebody said. Doing it again does nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.memory.backup import keep_copy
from commonplace.memory.book import Book, Clock, open_book, wall_clock
from commonplace.memory.check import (
    DISALLOWED,
    NOT_DAMAGE,
    UNCHECKED,
    books,
    check,
    miscounted,
    no_matter,
    open_or_broken,
)
from commonplace.memory.copies import place_for, prepare
from commonplace.memory.encryption import key_of
from commonplace.memory.health import Fault, note
from commonplace.memory.remember import cut
from commonplace.memory.upkeep import mend_words
from commonplace.store.invariants import Invariant
from commonplace.store.soundness import Advance

if TYPE_CHECKING:
    from commonplace.store.sqlite.recover import Recovered

# Rows in one transaction, so that others who write do not wait for long.
_STEP = 500


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was wrong, where the store as it was is kept, what was done, and what is wrong even so.

    `saved` tells of a file whose pages were damaged what could be read of it, and what could not.
    """

    found: tuple[Fault, ...]
    kept: Path | None
    saved: Recovered | None
    done: tuple[str, ...]
    left: tuple[Fault, ...]


def repair(
    settings: Settings, clock: Clock = wall_clock, *, dry_run: bool = False, advance: Advance = no_matter
) -> Repaired:
    """Keep a copy, put right what can be, and check again. A store that is well is left alone, as in a `dry_run`."""
    book, found = open_or_broken(settings, clock)
    try:
        if book is not None:
            found = check(book, advance=advance)
        pages = any(_is_lost(fault) for fault in found) and not settings.database_url
        if dry_run or not (pages or any(fault.derived for fault in found)):
            return Repaired(tuple(found), None, None, (), tuple(found))
        kept, saved, done = None, None, list[str]()
        if book is not None and not pages:
            try:
                kept = keep_copy(book, "repair")
                done = _mended_everywhere(book, advance, last_try=bool(settings.database_url))
            except NOT_DAMAGE:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged store makes of it
                # What is derived cannot be rebuilt in this file: its rows go into a new one.
                pages = True
        if pages:
            if book is not None:
                book.close()
            kept, saved = _recover(settings, clock())
            book = open_book(settings, clock)
            done = _mended_everywhere(book, advance, last_try=True)
        assert book is not None
        left = check(book, advance=advance)
        note(settings, "all", left, clock())
        return Repaired(tuple(found), kept, saved, tuple(done), tuple(left))
    finally:
        if book is not None:
            book.close()


def _is_lost(fault: Fault) -> bool:
    """Whether a fault is of the file itself, so that its rows have to be saved into a new one."""
    return not fault.derived and (fault.part == "file" or fault.says in (UNCHECKED, DISALLOWED))


def _recover(settings: Settings, now_ms: int) -> tuple[Path, Recovered]:
    """Save every row that can be read of a file whose pages are damaged, which is kept aside."""
    from commonplace.store.sqlite.recover import recover

    aside = place_for(settings, "damaged", now_ms)
    prepare(aside.parent)
    return aside, recover(settings.database, aside, key_of(settings), int(settings.busy_timeout * 1000))


def _mended_everywhere(book: Book, advance: Advance, *, last_try: bool) -> list[str]:
    """Rebuild what is derived, in every space, and say what was done. On the last try a step that fails is skipped."""
    every = books(book)
    done = [line for one in every for line in _mended(one, advance, last_try)]
    # An index that was made anew for one of them was emptied for all.
    for one in every:
        mend_words(one)
    return done


def _mended(book: Book, advance: Advance, last_try: bool) -> Iterator[str]:
    steps: list[Callable[[], Iterable[str]]] = [
        lambda: _rebuilt_indexes(book),
        lambda: _cut_anew(book),
        *(partial(_cured, book, kept) for kept in book.store.invariants() if kept.cure),
        lambda: _indexed_anew(book, advance),
        lambda: _counted_anew(book),
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


def _rebuilt_indexes(book: Book) -> Iterator[str]:
    for cure in {damage.cure for damage in book.store.damage(quick=False)}:
        if cure == "indexes":
            book.store.reindex()
            yield "The indexes of the tables were made anew."
        elif cure == "words":
            yield f"The words of {mend_words(book, anew=True):,} items were indexed anew."


def _indexed_anew(book: Book, advance: Advance) -> Iterator[str]:
    if mended := mend_words(book):
        yield f"{mended:,} rows of the index were written or taken away."
    try:
        wrong = book.store.misworded(advance)
    except NOT_DAMAGE:
        raise
    except Exception:  # noqa: BLE001 - whatever a damaged store makes of it
        # An index that cannot be read is written again from the items.
        yield f"The words of {mend_words(book, anew=True):,} items were indexed anew."
        return
    if wrong:
        _in_steps(wrong, book.store.reword)
        if book.store.misworded(advance):
            # Rows that the index does not list cannot be taken out of it.
            mend_words(book, anew=True)
        yield f"{len(wrong):,} items were indexed anew by the words that they say."


def _counted_anew(book: Book) -> Iterator[str]:
    if wrong := [id_ for some in miscounted(book) for id_ in some]:
        _in_steps(wrong, book.store.recount)
        yield f"{len(wrong):,} sessions were counted anew."


def _in_steps(ids: Sequence[int], step: Callable[[Sequence[int]], None]) -> None:
    for start in range(0, len(ids), _STEP):
        step(ids[start : start + _STEP])


def _cut_anew(book: Book) -> Iterator[str]:
    done = 0
    while items := book.store.uncut(_STEP):
        for item in items:
            passages = cut(item.kind, item.type, item.title, item.body, item.details, item.tags)
            book.store.recut(item.id, passages)
        done += len(items)
    if done:
        yield f"{done:,} items were cut into passages anew."


def _cured(book: Book, kept: Invariant) -> Iterator[str]:
    """Put rows right; what a cure does not change is not tried for ever."""
    cured = 0
    for _turn in range(-(-book.store.breaches(kept).count // _STEP)):
        cured += book.store.cure(kept, _STEP)
    if cured:
        yield f"Mended: {cured:,} {kept.says}."
