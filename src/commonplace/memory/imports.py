"""Imports as a whole: what each one brought in, and taking it back.

What an import stored is noted in the store, by ranges of ids. Taking it back forgets just that, and nothing that was
there before; what was taken back can be brought back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.memory.conversations import StoredConversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import (
    check_forgettable,
    is_person,
    must_propose,
    must_propose_restoring,
    require_person,
)
from commonplace.model import Item
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact

# Under which name an import is noted among the sources that were read.
_NOTED = "import:"
_MOST_NAMES, _LONGEST_NAME = 10, 200
_DO_IT_YOURSELF = "Do it yourself: `commonplace import --undo ID` or `--redo ID`."


@dataclass(slots=True)
class Brought:
    """What an import brought in: conversations as a whole, and single items, also messages of older conversations."""

    names: list[str] = field(default_factory=list)
    sessions: set[int] = field(default_factory=set)
    items: set[int] = field(default_factory=set)
    messages: int = 0

    def add_conversation(self, stored: StoredConversation) -> None:
        self.messages += stored.added
        if stored.known:
            self.items.update(stored.new_ids)
        elif stored.added:
            self.sessions.add(stored.session.id)

    def name(self, name: str) -> None:
        if len(self.names) < _MOST_NAMES and name not in self.names:
            self.names.append(redact(name)[:_LONGEST_NAME])

    def __bool__(self) -> bool:
        return bool(self.sessions or self.items)


@dataclass(frozen=True, slots=True)
class PastImport:
    """An import: its id, when it was, the files, and how much it brought in; `undone` if that was taken back."""

    id: str
    at_ms: int
    names: tuple[str, ...]
    conversations: int
    messages: int
    items: int
    undone: bool


def note_import(memory: LocalMemory, brought: Brought, id_: str = "") -> str:
    """Note what an import brought in so far; its id, with which more of the same is noted."""
    now = memory.clock()
    id_ = id_ or _new_id(now)
    mark = {
        "at_ms": now,
        "names": brought.names,
        "sessions": _ranges(brought.sessions),
        "items": _ranges(brought.items),
        "messages": brought.messages,
        "undone": False,
    }
    memory.maintenance.save_source_mark(_NOTED + id_, mark, now)
    return id_


def list_imports(memory: LocalMemory) -> list[PastImport]:
    """All imports that brought something in, the newest first."""
    noted = memory.maintenance.source_marks(_NOTED)
    found = [_past(name.removeprefix(_NOTED), mark) for name, mark in noted.items()]
    return sorted(found, key=lambda one: (one.at_ms, one.id), reverse=True)


def undo_import(memory: LocalMemory, id_: str) -> PastImport:
    """Forget what an import brought in."""
    mark = _mark(memory, id_)
    if mark["undone"]:
        raise Conflict(f"Import {id_} was taken back already.", f"`commonplace import --redo {id_}` brings it back.")
    items, now = _known(memory, mark), memory.clock()
    sessions = [one for one in memory.store.get_sessions(_ids(mark["sessions"])).values() if one.forgotten_ms is None]
    if any(item.forgotten_ms is None and must_propose(memory, item) for item in items):
        require_person(memory, "take back an import with what people decided", _DO_IT_YOURSELF)
    for session in sessions:
        check_forgettable(memory, session.id)
    for session in sessions:
        memory.store.forget_session(session.id, now, by=memory.writer)
    memory.store.forget([item.id for item in items], now, memory.writer)
    return _save(memory, id_, {**mark, "undone": True}, now)


def redo_import(memory: LocalMemory, id_: str) -> PastImport:
    """Bring back what was taken back of an import."""
    mark = _mark(memory, id_)
    if not mark["undone"]:
        raise Conflict(f"Import {id_} was not taken back.", "`commonplace import --list` shows all imports.")
    items, now = _known(memory, mark), memory.clock()
    if any(item.forgotten_ms is not None and must_propose_restoring(memory, item) for item in items):
        require_person(memory, "bring back an import with what people decided", _DO_IT_YOURSELF)
    for session in memory.store.get_sessions(_ids(mark["sessions"])).values():
        memory.store.restore_session(session.id, now, memory.writer, with_memories=is_person(memory))
    memory.store.restore([item.id for item in items], now, memory.writer)
    memory.embeddings.wake()
    return _save(memory, id_, {**mark, "undone": False}, now)


def _new_id(now_ms: int) -> str:
    """The time of an import as its id: `20261118-221305-123`."""
    digits = "".join(letter for letter in iso_time(now_ms) if letter.isdigit())
    return f"{digits[:8]}-{digits[8:14]}-{digits[14:]}"


def _mark(memory: LocalMemory, id_: str) -> Mapping[str, Any]:
    found = memory.maintenance.source_mark(_NOTED + id_)
    if found is None:
        raise NotFound(f"There is no import {id_[:60]!r}.", "`commonplace import --list` shows all imports.")
    return found


def _known(memory: LocalMemory, mark: Mapping[str, Any]) -> list[Item]:
    """The single items of an import that are still there, in the order of their numbers."""
    return [item for _id, item in sorted(memory.store.get(_ids(mark["items"])).items())]


def _save(memory: LocalMemory, id_: str, mark: Mapping[str, Any], now_ms: int) -> PastImport:
    memory.maintenance.save_source_mark(_NOTED + id_, mark, now_ms)
    return _past(id_, mark)


def _past(id_: str, mark: Mapping[str, Any]) -> PastImport:
    conversations, items = len(_ids(mark["sessions"])), len(_ids(mark["items"]))
    undone = bool(mark["undone"])
    return PastImport(id_, mark["at_ms"], tuple(mark["names"]), conversations, mark["messages"], items, undone)


def _ranges(ids: Iterable[int]) -> list[list[int]]:
    """Ids as the first and last of each unbroken run: what is stored together has ids in a row."""
    runs: list[list[int]] = []
    for id_ in sorted(ids):
        if runs and runs[-1][1] == id_ - 1:
            runs[-1][1] = id_
        else:
            runs.append([id_, id_])
    return runs


def _ids(runs: Sequence[Sequence[int]]) -> list[int]:
    return [id_ for first, last in runs for id_ in range(first, last + 1)]
