"""A memory with something of everything in it, and archives of it as the files they are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conftest import Clock

from commonplace.memory import conversations
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    append_messages,
    store_conversation,
)
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.sync_and_archive import MANIFEST, Archive

Files = dict[str, bytes]


def fill(memory: LocalMemory, clock: Clock) -> None:
    """Items of every kind, live, changed, forgotten, restored and superseded; conversations of every status."""
    one, two, three, four = (
        stored.id
        for stored in remember_all(
            memory,
            [
                NewItem("Use JWT", type="decision", project="github.com/acme/api", tags=["b", "ä"], importance=7.5),
                NewItem("Nie \U0001f993 \u2028 \0 loggen", type="rule", meta={"z": [1, 2.5, None], "a": {"é": True}}),
                NewItem(
                    "Use sessions", details={"paths": "src/**", "category": "auth"}, project="github.com/other/api"
                ),
                NewItem("x" * 1_000_000, title="A long one", project="api"),
            ],
        )
    )
    kinds: list[NewItem] = [
        NewItem("npm test", kind="observation", type="command", session="s 1", details={"narrative": "47 passed"}),
        NewItem(kind="summary", session="s 1", project="web", details={"request": "Add authentication"}),
        NewItem(kind="checkpoint", session="s 1", details={"task": "Rate limiting"}, created_ms=-5),
    ]
    remember_all(memory, kinds)
    # A clock that goes back between two changes.
    for words, ms in (("Use JWT, signed", 50), ("Use JWT, encrypted", -20), ("Use JWT, both", 0)):
        clock.forward(ms=ms)
        edit_item(memory, one, Changes(content=words, tags=["c"], project="web"))
    clock.forward(minutes=1)
    forget_items(memory, [two, four])
    clock.forward(minutes=1)
    restore_items(memory, [two])
    mark_superseded(memory, three, two)
    # What was superseded by something older than itself.
    late = remember(memory, NewItem("Use cookies", project="github.com/acme/api")).id
    mark_superseded(memory, late, two)
    memory.maintenance.alias_project("github.com/acme/api", "zoo/backend")
    memory.maintenance.alias_project("web", "site")
    remember(memory, NewItem("Another one", project="backend"))
    talk = store_conversation(
        memory,
        NewConversation(
            "Colours", [NewMessage("user", "Which?"), NewMessage("assistant", "Blue\n\tsky")], folder="/desk"
        ),
    )
    store_conversation(
        memory, NewConversation("Old", [NewMessage("user", "Gone?")], status="archived", project="web", source="chat")
    )
    gone = store_conversation(
        memory, NewConversation("Forgotten", [NewMessage("user", "Never mind")], importance=2, meta={"n": 1})
    )
    clock.forward(minutes=1)
    append_messages(memory, talk.session.uid, [NewMessage("user", "And green?", meta={"model": "m"})])
    conversations.update_conversation(
        memory, talk.session.uid, ConversationChanges(label="Paints", status="pinned", project="web")
    )
    conversations.forget_session(memory, gone.session.uid)
    memory.store.touch_session(talk.session.id, clock())


def archived(memory: LocalMemory, **more: Any) -> Files:
    """The files of an archive by their names."""
    return {name: b"".join(pieces) for name, pieces in Archive(memory, **more).files()}


def records(files: Mapping[str, bytes]) -> Files:
    return {name: data for name, data in files.items() if name != MANIFEST}


def lines(files: Mapping[str, bytes], name: str) -> list[Any]:
    return [json.loads(line) for line in files[name].splitlines()]


def written(files: Mapping[str, bytes], folder: Path) -> Path:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder
