"""Repair: make anew what is derived, and never touch what somebody said. Doing it again does nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.errors import StoreCorrupt
from commonplace.memory.backup import keep_copy
from commonplace.memory.book import Book, Clock, open_book, wall_clock
from commonplace.memory.check import books, broken, check, miscounted, no_matter
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
    found, book = _examined(settings, clock, advance)
    try:
        pages = any(fault.part == "file" and not fault.derived for fault in found) and not settings.database_url
        if dry_run or not (pages or any(fault.derived for fault in found)):
            return Repaired(tuple(found), None, None, (), tuple(found))
        kept, saved = None, None
        if pages:
            if book is not None:
                book.close()
            kept, saved = _recover(settings, clock())
            book = open_book(settings, clock)
        assert book is not None
        kept = kept or keep_copy(book, "repair")
        every = books(book)
        done = [line for one in every for line in _mended(one, advance)]
        # An index that was made anew for one of them was emptied for all.
        for one in every:
            mend_words(one)
        left = check(book, advance=advance)
        note(settings, "all", left, clock())
        return Repaired(tuple(found), kept, saved, tuple(done), tuple(left))
    finally:
        if book is not None:
            book.close()


def _examined(settings: Settings, clock: Clock, advance: Advance) -> tuple[list[Fault], Book | None]:
    """What is wrong, and the open memory, unless that is what cannot be opened."""
    try:
        book = open_book(settings, clock)
    except StoreCorrupt as error:
        return [broken(settings, error.message)], None
    return check(book, advance=advance), book


def _recover(settings: Settings, now_ms: int) -> tuple[Path, Recovered]:
    """Save every row that can be read of a file whose pages are damaged, which is kept aside."""
    from commonplace.store.sqlite.recover import recover

    aside = place_for(settings, "damaged", now_ms)
    prepare(aside.parent)
    return aside, recover(settings.database, aside, key_of(settings), int(settings.busy_timeout * 1000))


def _mended(book: Book, advance: Advance) -> Iterator[str]:
    for cure in {damage.cure for damage in book.store.damage(quick=False)}:
        if cure == "indexes":
            book.store.reindex()
            yield "The indexes of the tables were made anew."
        elif cure == "words":
            yield f"The words of {mend_words(book, anew=True):,} items were indexed anew."
    if cut_anew := _cut_anew(book):
        yield f"{cut_anew:,} items were cut into passages anew."
    for kept in book.store.invariants():
        if kept.cure and (cured := _cured(book, kept)):
            yield f"Mended: {cured:,} {kept.says}."
    if mended := mend_words(book):
        yield f"{mended:,} rows of the index were written or taken away."
    if wrong := book.store.misworded(advance):
        _in_steps(wrong, book.store.reword)
        if book.store.misworded(advance):
            # Rows that the index does not list cannot be taken out of it.
            mend_words(book, anew=True)
        yield f"{len(wrong):,} items were indexed anew by the words that they say."
    if wrong := [id_ for some in miscounted(book) for id_ in some]:
        _in_steps(wrong, book.store.recount)
        yield f"{len(wrong):,} sessions were counted anew."


def _in_steps(ids: Sequence[int], step: Callable[[Sequence[int]], None]) -> None:
    for start in range(0, len(ids), _STEP):
        step(ids[start : start + _STEP])


def _cut_anew(book: Book) -> int:
    done = 0
    while items := book.store.uncut(_STEP):
        for item in items:
            passages = cut(item.kind, item.type, item.title, item.body, item.details, item.tags)
            book.store.recut(item.id, passages)
        done += len(items)
    return done


def _cured(book: Book, kept: Invariant) -> int:
    """How many rows were put right; what a cure does not change is not tried for ever."""
    cured = 0
    for _turn in range(-(-book.store.breaches(kept).count // _STEP)):
        cured += book.store.cure(kept, _STEP)
    return cured
