"""The store: whether it opens, its file is whole, its write-ahead log small, and the disk has room.

One on a server is looked after there: what that server tells of itself is told here.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.errors import CommonplaceError, StoreCorrupt, TimedOut
from commonplace.memory.book import Book
from commonplace.memory.health import known
from commonplace.memory.status import status
from commonplace.memory.upkeep import complaints, mend_words

AREA = "store"
CHECK_SECONDS = 30.0
LARGE_LOG = 512 * 1024**2
LITTLE_ROOM, NO_ROOM = 1024**3, 50 * 1024**2
# What SQLite says of a damaged full-text index, which can be made anew from the rows.
WORDS = "passages_fts"


def examine(patient: Patient) -> Iterator[Finding]:
    database = patient.settings.database
    yield from _room(patient.settings.data_dir)
    if patient.settings.database_url:
        yield from _on_a_server(patient)
        return
    if not database.exists():
        yield remark(AREA, "file", f"There is no store at {database} yet.", "It is made when something is remembered.")
        return
    try:
        book = patient.book()
    except CommonplaceError as error:
        yield failure(AREA, "file", error.message, error.hint)
        return
    yield _opened(book, database)
    yield _whole(patient, book)
    yield from _checked(patient)
    yield _log(database)


def _on_a_server(patient: Patient) -> Iterator[Finding]:
    try:
        book = patient.book()
        described, about = _described(book)
    except CommonplaceError as error:
        yield failure(AREA, "server", error.message, error.hint)
        return
    yield well(AREA, "server", f"{described['path']} answers: PostgreSQL {about}.")
    if not described["row_security"]:
        told = "The user of the database may not take the role commonplace_member: only our own statements part spaces."
        yield remark(AREA, "spaces", told, "Let it create roles, or create the role and grant it; see docs/team.md.")
    replicas = described.get("replicas")
    for place, state in replicas.items() if isinstance(replicas, dict) else ():
        if state != "in use":
            yield remark(AREA, "replica", f"The replica {place} is {state}.", "The primary answers in its place.")
    found = complaints(book, CHECK_SECONDS)
    if found:
        yield failure(AREA, "integrity", f"The server tells of damage: {'; '.join(found)}.", "See docs/team.md.")
    else:
        yield well(AREA, "integrity", "The server knows of no damage.")


def _described(book: Book) -> tuple[Mapping[str, object], str]:
    data = status(book)
    described, total = data["store"], data["total"]
    assert isinstance(described, dict)
    return described, f"{described['version']}, schema {described['schema']}, {total:,} items"


def _opened(book: Book, database: Path) -> Finding:
    # Asked of the mode as well: a superuser may write anything.
    if not database.stat().st_mode & stat.S_IWUSR or not os.access(database, os.W_OK):
        return failure(AREA, "file", f"{database} is read-only.", "Make it writable for its owner.")
    return well(AREA, "file", f"{database} opens: SQLite {_described(book)[1]}.")


def _whole(patient: Patient, book: Book) -> Finding:
    try:
        found = complaints(book, CHECK_SECONDS)
    except StoreCorrupt as error:
        found = [error.message.removesuffix(".")]
    except TimedOut:
        return remark(AREA, "integrity", f"The check of the file was given up after {CHECK_SECONDS:.0f} seconds.")
    if not found:
        return well(AREA, "integrity", "The file is whole.")
    told = f"The file is damaged: {found[0]}" + (f", and {len(found) - 1} more." if len(found) > 1 else ".")
    if all(WORDS in line for line in found):
        return failure(AREA, "integrity", told, "The full-text index can be made anew: use --fix.", _anew(patient))
    backups = patient.settings.backups
    kept = f"one of {backups}" if _any(backups) else "a copy of your own"
    save = "`commonplace repair` saves all that can be read"
    return failure(
        AREA, "integrity", told, f"Stop what uses it. {save}; `commonplace backups restore` puts {kept} back."
    )


def _checked(patient: Patient) -> Iterator[Finding]:
    """What the last check found that somebody made, or a server by itself."""
    health = known(patient.settings)
    if health is None or not health.faults:
        return
    told = "; ".join(f"{fault.count:,} {fault.says}" for fault in health.faults)
    yield remark(AREA, "check", f"The last check found: {told}.", "Run `commonplace check`, then `commonplace repair`.")


def _anew(patient: Patient) -> Callable[[], str]:
    return lambda: f"The words of {mend_words(patient.book(), anew=True):,} items were indexed anew."


def _log(database: Path) -> Finding:
    log = database.with_name(f"{database.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LARGE_LOG:
        stop = "End programs that keep the store open for long without using it; the last one folds it in."
        return remark(AREA, "log", f"The write-ahead log has {size / 1e6:,.0f} MB.", stop)
    return well(AREA, "log", f"The write-ahead log has {size / 1e6:.1f} MB.")


def _room(folder: Path) -> Iterator[Finding]:
    there: Sequence[Path] = [place for place in (folder, *folder.parents) if place.exists()]
    free = shutil.disk_usage(there[0]).free
    told = f"{free / 1e9:,.1f} GB are free on the disk of {folder}."
    if free < NO_ROOM:
        yield failure(AREA, "disk", told, "Make room on it.")
    elif free < LITTLE_ROOM:
        yield remark(AREA, "disk", told, "Make room on it soon.")
    else:
        yield well(AREA, "disk", told)


def _any(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
