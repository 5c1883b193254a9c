"""What is private is in no answer and in no file, whichever way it came."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.config import Settings
from commonplace.errors import NothingToRemember
from commonplace.memory import streamed_memories
from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

HIDDEN = "<Private>Mein Geburtstag</private>"


def in_files(settings: Settings, what: str) -> list[str]:
    return [path.name for path in settings.data_dir.rglob("*") if path.is_file() and what.encode() in path.read_bytes()]


def test_it_is_left_out_of_every_field(memory: LocalMemory, settings: Settings) -> None:
    note = NewItem(
        f"We meet {HIDDEN} at noon",
        type="note",
        title=f"Meeting {HIDDEN}",
        details={"category": "dates"},
        meta={f"a {HIDDEN}": [f"b {HIDDEN}"]},
        session=f"s {HIDDEN}",
        tags=[f"c {HIDDEN}"],
        project=f"p {HIDDEN}",
    )
    stored = get_item(memory, remember(memory, note).id)
    assert (stored.body, stored.title, stored.tags) == (
        "We meet [private] at noon",
        "Meeting [private]",
        ("c [private]",),
    )
    assert stored.meta == {"a [private]": ["b [private]"]}
    edited = edit_item(memory, stored.id, Changes(content=f"We do not meet {HIDDEN}"))
    assert edited.body == "We do not meet [private]"
    assert not in_files(settings, "Geburtstag")


def test_what_is_all_private_is_nothing_to_remember(memory: LocalMemory) -> None:
    with pytest.raises(NothingToRemember, match="all of it is private"):
        remember(memory, NewItem(HIDDEN))
    with pytest.raises(NothingToRemember):
        remember(memory, NewItem(f" {HIDDEN} <private>and more"))


def test_a_turn_that_was_private_stays_a_turn(memory: LocalMemory, settings: Settings) -> None:
    talk = NewConversation(f"About {HIDDEN}", [NewMessage("user", HIDDEN), NewMessage("assistant", "I see.")])
    session, messages = open_conversation(memory, store_conversation(memory, talk).session.uid)
    assert session.label == "About [private]"
    assert [message.body for message in messages] == ["[private]", "I see."]
    assert not in_files(settings, "Geburtstag")


def test_the_same_with_something_else_private_is_the_same(memory: LocalMemory) -> None:
    first = remember(memory, NewItem("The key is <private>one</private>."))
    again = remember(memory, NewItem("The key is <private>two</private>."))
    assert again.duplicate and again.id == first.id


@pytest.mark.parametrize("size", [1, 3, 7, 11, 200])
def test_a_stream_keeps_nothing_private_however_it_is_cut(
    memory: LocalMemory, settings: Settings, open_again: Callable[[], LocalMemory], size: int
) -> None:
    text = "We meet <private>Mein Geburtstag <private>x</private> Mein Geburtstag</private> at noon <b>"
    id_ = streamed_memories.start_stream(memory).id
    for start in range(0, len(text), size):
        streamed_memories.append_to_stream(memory, id_, text[start : start + size])
        assert not in_files(settings, "Geburts")
    again = open_again()
    try:
        assert streamed_memories.finalize_stream(again, id_)[1].item.body == "We meet [private] at noon <b>"
    finally:
        again.close()
    assert not in_files(settings, "Geburts")


def test_a_stream_whose_tag_is_never_closed_ends_there(memory: LocalMemory) -> None:
    id_ = streamed_memories.start_stream(memory).id
    for chunk in ("We meet <pri", "vate>Mein ", "Geburtstag </pri", "son"):
        streamed_memories.append_to_stream(memory, id_, chunk)
    assert streamed_memories.finalize_stream(memory, id_)[1].item.body == "We meet [private]"
