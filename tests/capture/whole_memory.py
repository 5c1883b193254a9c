"""A memory with something of everything in it, and archives of it as the files they are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conftest import Clock

from commonplace.memory import organise
from commonplace.memory.archive import MANIFEST, Archive
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, append, keep
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget, restore
from commonplace.memory.organise import Arrangement
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.supersede import supersede

Files = dict[str, bytes]


def fill(book: Book, clock: Clock) -> None:
    """Items of every kind, live, changed, forgotten, restored and superseded; conversations of every status."""
    one, two, three, four = (
        stored.id
        for stored in remember_all(
            book,
            [
                Note("Use JWT", type="decision", project="github.com/acme/api", tags=["b", "ä"], importance=7.5),
                Note("Nie \U0001f993 \u2028 \0 loggen", type="rule", meta={"z": [1, 2.5, None], "a": {"é": True}}),
                Note("Use sessions", details={"paths": "src/**", "category": "auth"}, project="github.com/other/api"),
                Note("x" * 1_000_000, title="A long one", project="api"),
            ],
        )
    )
    kinds: list[Note] = [
        Note("npm test", kind="observation", type="command", session="s 1", details={"narrative": "47 passed"}),
        Note(kind="summary", session="s 1", project="web", details={"request": "Add authentication"}),
        Note(kind="checkpoint", session="s 1", details={"task": "Rate limiting"}, created_ms=-5),
    ]
    remember_all(book, kinds)
    # A clock that goes back between two changes.
    for words, ms in (("Use JWT, signed", 50), ("Use JWT, encrypted", -20), ("Use JWT, both", 0)):
        clock.forward(ms=ms)
        edit(book, one, Changes(content=words, tags=["c"], project="web"))
    clock.forward(minutes=1)
    forget(book, [two, four])
    clock.forward(minutes=1)
    restore(book, [two])
    supersede(book, three, two)
    # What was superseded by something older than itself.
    late = remember(book, Note("Use cookies", project="github.com/acme/api")).id
    supersede(book, late, two)
    book.store.alias_project("github.com/acme/api", "zoo/backend")
    book.store.alias_project("web", "site")
    remember(book, Note("Another one", project="backend"))
    talk = keep(
        book, Conversation("Colours", [Said("user", "Which?"), Said("assistant", "Blue\n\tsky")], folder="/desk")
    )
    keep(book, Conversation("Old", [Said("user", "Gone?")], status="archived", project="web", source="chat"))
    gone = keep(book, Conversation("Forgotten", [Said("user", "Never mind")], importance=2, meta={"n": 1}))
    clock.forward(minutes=1)
    append(book, talk.session.uid, [Said("user", "And green?", meta={"model": "m"})])
    organise.arrange(book, talk.session.uid, Arrangement(label="Paints", status="pinned", project="web"))
    organise.forget(book, gone.session.uid)
    book.store.touch_session(talk.session.id, clock())


def archived(book: Book, **more: Any) -> Files:
    """The files of an archive by their names."""
    return {name: b"".join(pieces) for name, pieces in Archive(book, **more).files()}


def records(files: Mapping[str, bytes]) -> Files:
    return {name: data for name, data in files.items() if name != MANIFEST}


def lines(files: Mapping[str, bytes], name: str) -> list[Any]:
    return [json.loads(line) for line in files[name].splitlines()]


def written(files: Mapping[str, bytes], folder: Path) -> Path:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder
