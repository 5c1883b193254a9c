"""What is private is in no answer and in no file, whichever way it came."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.config import Settings
from commonplace.errors import NothingToRemember
from commonplace.memory import streams
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep, opened
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, remember

HIDDEN = "<Private>Mein Geburtstag</private>"


def in_files(settings: Settings, what: str) -> list[str]:
    return [path.name for path in settings.data_dir.rglob("*") if path.is_file() and what.encode() in path.read_bytes()]


def test_it_is_left_out_of_every_field(book: Book, settings: Settings) -> None:
    note = Note(
        f"We meet {HIDDEN} at noon",
        type="note",
        title=f"Meeting {HIDDEN}",
        details={"category": "dates"},
        meta={f"a {HIDDEN}": [f"b {HIDDEN}"]},
        session=f"s {HIDDEN}",
        tags=[f"c {HIDDEN}"],
        project=f"p {HIDDEN}",
    )
    kept = fetch_one(book, remember(book, note).id)
    assert (kept.body, kept.title, kept.tags) == ("We meet [private] at noon", "Meeting [private]", ("c [private]",))
    assert kept.meta == {"a [private]": ["b [private]"]}
    edited = edit(book, kept.id, Changes(content=f"We do not meet {HIDDEN}"))
    assert edited.body == "We do not meet [private]"
    assert not in_files(settings, "Geburtstag")


def test_what_is_all_private_is_nothing_to_remember(book: Book) -> None:
    with pytest.raises(NothingToRemember, match="all of it is private"):
        remember(book, Note(HIDDEN))
    with pytest.raises(NothingToRemember):
        remember(book, Note(f" {HIDDEN} <private>and more"))


def test_a_turn_that_was_private_stays_a_turn(book: Book, settings: Settings) -> None:
    talk = Conversation(f"About {HIDDEN}", [Said("user", HIDDEN), Said("assistant", "I see.")])
    session, messages = opened(book, keep(book, talk).session.uid)
    assert session.label == "About [private]"
    assert [message.body for message in messages] == ["[private]", "I see."]
    assert not in_files(settings, "Geburtstag")


def test_the_same_with_something_else_private_is_the_same(book: Book) -> None:
    first = remember(book, Note("The key is <private>one</private>."))
    again = remember(book, Note("The key is <private>two</private>."))
    assert again.duplicate and again.id == first.id


@pytest.mark.parametrize("size", [1, 3, 7, 11, 200])
def test_a_stream_keeps_nothing_private_however_it_is_cut(
    book: Book, settings: Settings, open_again: Callable[[], Book], size: int
) -> None:
    text = "We meet <private>Mein Geburtstag <private>x</private> Mein Geburtstag</private> at noon <b>"
    id_ = streams.start(book).id
    for start in range(0, len(text), size):
        streams.append(book, id_, text[start : start + size])
        assert not in_files(settings, "Geburts")
    again = open_again()
    try:
        assert streams.finalize(again, id_).item.body == "We meet [private] at noon <b>"
    finally:
        again.close()
    assert not in_files(settings, "Geburts")


def test_a_stream_whose_tag_is_never_closed_ends_there(book: Book) -> None:
    id_ = streams.start(book).id
    for chunk in ("We meet <pri", "vate>Mein ", "Geburtstag </pri", "son"):
        streams.append(book, id_, chunk)
    assert streams.finalize(book, id_).item.body == "We meet [private]"
