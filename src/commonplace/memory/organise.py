"""Organise: give a conversation another title, folder, importance or status; forget it and bring it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.conversations import (
    JUST_BELOW,
    PINNED,
    STATUSES,
    checked_folder,
    checked_label,
    checked_score,
    find,
)
from commonplace.memory.remember import checked_meta
from commonplace.model import Change, Session
from commonplace.text.names import normalise_project


@dataclass(frozen=True, slots=True)
class Arrangement:
    """New values; None leaves a field as it is. An empty project means none."""

    label: str | None = None
    folder: str | None = None
    importance: float | None = None
    status: str | None = None
    project: str | None = None
    meta: Mapping[str, object] | None = None


def arrange(book: Book, id_: int | str, wanted: Arrangement, expect_rev: int | None = None) -> Session:
    """Change what is said about a conversation; what was stays in its history."""
    if wanted == Arrangement():
        raise InvalidInput("Nothing to change.", "Give at least one of label, folder, importance_score and status.")
    session = find(book, id_)
    changed: dict[str, object] = {}
    if wanted.label is not None:
        changed["label"] = checked_label(wanted.label)
    if wanted.folder is not None:
        changed["folder"] = checked_folder(wanted.folder)
    if wanted.project is not None:
        changed["project"] = normalise_project(wanted.project) if wanted.project.strip() else None
    if wanted.meta is not None:
        changed["meta"] = checked_meta(wanted.meta)
    changed |= _standing(book, session, wanted)
    return book.store.change_session(session.id, changed, book.clock(), expect_rev)


def unarchive(book: Book, id_: int | str) -> Session:
    """Undo archiving: pinned if it was that, else active. One that is not archived stays what it is."""
    session = find(book, id_)
    if session.status != "archived":
        return session
    return arrange(book, id_, Arrangement(status=status_before_archiving(book, session)))


def status_before_archiving(book: Book, session: Session) -> str:
    """The status that an archived conversation goes back to: pinned, unless its importance was changed since."""
    archived_with: object = session.importance
    for change in reversed(book.store.session_history(session.id)):
        if change.before.get("status") in ("active", "pinned"):
            was_pinned = change.before["status"] == "pinned" and archived_with == session.importance
            return "pinned" if was_pinned or session.importance == PINNED else "active"
        archived_with = change.before.get("importance", archived_with)
    return "pinned" if session.importance == PINNED else "active"


def unpin(book: Book, id_: int | str) -> Session:
    """Undo pinning; it gets the importance it had. One that is not pinned stays what it is."""
    session = find(book, id_)
    return arrange(book, id_, Arrangement(status="active")) if session.status == "pinned" else session


def undo(book: Book, id_: int | str, rev: int) -> Session:
    """Take back the change that brought a conversation to this revision; Conflict if it changed since."""
    session = find(book, id_)
    made = next((one for one in history(book, session.uid) if one.rev == rev - 1 and one.op == "edit"), None)
    if made is None:
        raise InvalidInput(f"No change made revision {rev} of conversation {session.short_id}.")
    before = {name: made.before[name] for name in ("label", "folder", "status", "importance")}
    return book.store.change_session(session.id, before, book.clock(), rev)


def forget(book: Book, id_: int | str, expect_rev: int | None = None) -> Session:
    """Take a conversation and its messages out of every answer."""
    return book.store.forget_session(find(book, id_, forgotten=True).id, book.clock(), expect_rev)


def restore(book: Book, id_: int | str) -> Session:
    """Bring a forgotten conversation back with the messages it had."""
    session = book.store.restore_session(find(book, id_, forgotten=True).id, book.clock())
    book.meaning.wake()
    return session


def history(book: Book, id_: int | str) -> list[Change]:
    """What a conversation was before each change, oldest first."""
    return book.store.session_history(find(book, id_, forgotten=True).id)


def _standing(book: Book, session: Session, wanted: Arrangement) -> dict[str, object]:
    """Importance and status so that they agree: 10 is pinned, and pinned is 10. Archiving unpins."""
    importance = None if wanted.importance is None else checked_score(wanted.importance)
    status = wanted.status
    if status is not None and status not in STATUSES:
        raise InvalidInput(f"status is {status[:60]!r}.", f"Choose one of {', '.join(STATUSES)}.")
    if status == "pinned" and importance not in (None, PINNED):
        raise InvalidInput(f"A pinned conversation has importance 10, not {importance:g}.", "Give one of the two.")
    if status in ("active", "archived") and importance == PINNED:
        raise InvalidInput(f"Importance 10 is pinned, not {status}.", "Give one of the two.")
    if status is None and importance == PINNED:
        status = "pinned"
    if status is None and importance is not None and session.status != "archived":
        status = "active"
    if status == "pinned":
        importance = PINNED
    if status in ("active", "archived") and importance is None and session.importance == PINNED:
        importance = _before_it_was_pinned(book, session)
    standing = {"importance": importance, "status": status}
    return {name: value for name, value in standing.items() if value is not None}


def _before_it_was_pinned(book: Book, session: Session) -> float:
    earlier = [change.before.get("importance") for change in book.store.session_history(session.id)]
    known = [value for value in earlier if isinstance(value, (int, float)) and value < PINNED]
    return float(known[-1]) if known else JUST_BELOW
