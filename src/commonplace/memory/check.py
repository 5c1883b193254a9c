"""Check: hold everything that is kept against what always holds, and tell what does not. Nothing is changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from commonplace.config import Settings
from commonplace.errors import InvalidInput, StoreCorrupt
from commonplace.identity import ref
from commonplace.memory.book import Book, Clock, beside, open_book, wall_clock
from commonplace.memory.health import Fault, note
from commonplace.memory.remember import hashes_of
from commonplace.model import Item
from commonplace.store.soundness import Advance, Damage

EXAMPLES = 5
_STEP = 500
# So many of the last items are looked at when a server starts.
_LAST = 200
MADE_ANEW = "It is made anew by `commonplace repair`."
ONLY_TOLD = "It is left as it is. Compare with a backup (`commonplace backups`), and edit or forget what is wrong."
RECOVER = "Keep the file. `commonplace repair` copies all that can be read; `commonplace backups` lists what you have."
AT_THE_SERVER = "Whoever runs the database server mends this: see docs/team.md."


def no_matter(_items: int) -> None:
    """For those who do not watch."""


def books(book: Book) -> list[Book]:
    """This memory, and those of the other spaces of its store."""
    names = [entry.name for entry in book.store.spaces(book.clock())]
    return [book, *(beside(book, name) for name in names if name != book.settings.space)]


def check(book: Book, *, quick: bool = False, advance: Advance = no_matter) -> list[Fault]:
    """Everything that is wrong with the store, in all of its spaces; `quick` reads no texts."""
    damage: list[Damage] = []
    try:
        damage += book.store.damage(quick=quick)
        words = not quick and all(one.cure != "words" for one in damage)
        rows = [fault for one in books(book) for fault in _faults(one, quick, words, advance)]
        return [_damaged(book.settings, one) for one in damage] + rows
    except StoreCorrupt as error:
        # What was found first tells more.
        return [_damaged(book.settings, one) for one in damage] or [broken(book.settings, error.message)]


def examine(
    settings: Settings, clock: Clock = wall_clock, *, quick: bool = False, advance: Advance = no_matter
) -> list[Fault]:
    """Check the store of these settings, also one that does not open, and let those know who ask for its state."""
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


def glance(book: Book) -> list[Fault]:
    """What can be seen in a moment: whether the last things that were written are whole."""
    try:
        found = [(kept, book.store.breaches(kept, _LAST)) for kept in book.store.invariants() if kept.newest]
    except StoreCorrupt as error:
        return [broken(book.settings, error.message)]
    return [_fault(kept.part, kept.says, n.count, n.examples, kept.derived) for kept, n in found if n.count]


def _faults(book: Book, quick: bool, words: bool, advance: Advance) -> Iterator[Fault]:
    for kept in book.store.invariants():
        found = book.store.breaches(kept)
        if found.count:
            yield _fault(kept.part, kept.says, found.count, found.examples, kept.derived)
    if quick:
        return
    yield from _texts(book, advance)
    if words and (wrong := _named("item", book.store.misworded(advance))):
        yield _fault("words", "items are indexed by other words than they say", *wrong, derived=True)
    if wrong := _named("session", [id_ for some in miscounted(book) for id_ in some]):
        yield _fault("counts", "sessions count their messages wrongly", *wrong, derived=True)


def miscounted(book: Book) -> Iterator[list[int]]:
    """Sessions that count wrongly, a few at a time."""
    after: int | None = 0
    while after is not None:
        some, after = book.store.miscounted(after, _STEP)
        if some:
            yield some


def _texts(book: Book, advance: Advance) -> Iterator[Fault]:
    nameless, changed, after = [], [], 0
    while some := book.store.walk(after, _STEP):
        after = some[-1].id
        nameless += [item.id for item in some if not _is_named(item)]
        changed += [item.id for item in some if not _says_what_it_said(item)]
        advance(len(some))
    if wrong := _named("item", nameless):
        yield _fault("rows", "items have no valid UUID", *wrong, derived=False)
    if wrong := _named("item", changed):
        yield _fault("rows", "items do not say what they said when they were written", *wrong, derived=False)


def _is_named(item: Item) -> bool:
    try:
        return ref(item.uid).uid == item.uid
    except InvalidInput:
        return False


def _says_what_it_said(item: Item) -> bool:
    """Whether its hash is that of its text. What others name, such as a message, has a hash of that name."""
    if len(item.content_hash) != hashlib.sha256().digest_size:
        return False
    if item.kind != "memory":
        return True
    known = hashes_of(item)
    # One that was moved beside its like, or cleaned to be like another, is told apart by its uid.
    return item.content_hash in known or item.content_hash in {
        hashlib.sha256(one + item.uid.encode()).digest() for one in known
    }


def _fault(part: str, says: str, count: int, examples: tuple[str, ...], derived: bool) -> Fault:
    return Fault(part, says, count, examples, derived, MADE_ANEW if derived else ONLY_TOLD)


def _named(kind: str, ids: Sequence[int]) -> tuple[int, tuple[str, ...]] | None:
    return (len(ids), tuple(f"{kind} {id_}" for id_ in ids[:EXAMPLES])) if ids else None


def _damaged(settings: Settings, damage: Damage) -> Fault:
    if damage.cure:
        return Fault("file", "indexes of the file are damaged", 1, (damage.sentence,), True, MADE_ANEW)
    return broken(settings, damage.sentence)


def broken(settings: Settings, sentence: str) -> Fault:
    """A file, or a database on a server, whose pages cannot be read."""
    advice = AT_THE_SERVER if settings.database_url else RECOVER
    return Fault("file", "places of the file are damaged", 1, (sentence,), False, advice)
