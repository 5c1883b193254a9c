"""Scrubbing: what should never have been kept is found everywhere, and leaves no trace in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.behind import all_rows, behind
from tests.capture.hooks.sessions import Telling, told

from commonplace.capture.hooks.remembering import remember_events
from commonplace.config import Settings
from commonplace.errors import InvalidInput
from commonplace.memory import streams
from commonplace.memory.book import Book, open_book
from commonplace.memory.conversations import Conversation, Said, keep, opened
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one, history
from commonplace.memory.forget import forget
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.memory.replies import Answered, once
from commonplace.memory.scrub import backups, scrub, still_holding, wipe
from commonplace.model import Scope

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
NAME = "Rumpelstilzchen"


@contextmanager
def careless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As it was before anyone knew this kind of secret."""
    with monkeypatch.context() as patched:
        for module in ("remember", "conversations", "streams"):
            patched.setattr(f"commonplace.memory.{module}.redact", lambda text: text)
        patched.setattr("commonplace.text.names.redact", lambda text: text)
        yield


def everywhere(book: Book, said: str) -> list[int]:
    """Write a text into everything that is kept; the ids of some items."""
    first = remember(
        book,
        Note(
            f"The deploy uses {said} today",
            title=f"Deploy with {said}",
            tags=[f"tag {said}"],
            meta={f"name {said}": [f"value {said}"]},
            session=f"session {said}",
            project=f"project {said}",
        ),
    ).id
    long = remember(book, Note("\n\n".join(f"Part {n} is about {said} and more. " * 20 for n in range(20)))).id
    edit(book, first, Changes(content=f"The deploy used {said} once"))
    edit(book, first, Changes(content="The deploy uses nothing"))
    gone = remember(book, Note(f"Forgotten: {said}")).id
    forget(book, [gone])
    talk = Conversation(
        f"About {said}", [Said("user", f"Use {said}", meta={"name": said}), Said("assistant", "Yes.")], f"/f/{said}"
    )
    session = keep(book, talk).session
    arrange(book, session.uid, Arrangement(label="Renamed", folder="/g"))
    streams.append(book, streams.start(book, tags=[f"t {said}"]).id, f"chunk {said}")
    answer = Answered(200, "{}", f'{{"content": "{said}"}}'.encode())
    once(book, "me", "first", b"x", lambda: answer)
    book.store.note_source(f"/home/{said}/x.jsonl", {"title": said}, 1)
    return [first, long, gone]


def in_files(settings: Settings, said: str) -> list[str]:
    """The files that hold a text, and the tables of a database that is elsewhere."""
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    forms = (said.encode(), said.lower().encode())
    found = [path.name for path in files if any(form in path.read_bytes() for form in forms)]
    tables = all_rows(settings) if settings.database_url else {}
    return found + [name for name, rows in tables.items() if any(form.decode() in "".join(rows) for form in forms)]


@pytest.mark.parametrize("said", [TOKEN, NAME])
def test_it_is_found_everywhere_and_leaves_no_trace(
    book: Book, settings: Settings, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    with careless(monkeypatch):
        ids = everywhere(book, said)
    other = remember(book, Note("Sessions are kept in Redis")).id
    assert in_files(settings, said)
    named = NAME if said == NAME else None
    looked = scrub(book, named, dry_run=True)
    assert in_files(settings, said)
    done = scrub(book, named)
    assert done.holders == looked.holders
    assert done.kinds == looked.kinds
    assert set(done.kinds) == ({"named"} if named else {"github-token"})
    assert {*book.store.parts()} - set(done.holders) <= {"topics", "jobs", "keys"}
    assert wipe(book)
    assert in_files(settings, said) == []
    assert still_holding(book, said) == []
    mark = "[REDACTED:named]" if named else "[REDACTED:github-token]"
    assert fetch_one(book, ids[0]).body == "The deploy uses nothing"
    assert mark in fetch_one(book, ids[0]).title
    assert [change.before["body"] for change in history(book, ids[0])] == [
        f"The deploy uses {mark} today",
        f"The deploy used {mark} once",
    ]
    assert mark in fetch_one(book, ids[1]).body
    assert fetch_one(book, ids[2], forgotten=True).forgotten_ms is not None
    assert fetch_one(book, other).rev == 1
    assert scrub(book, named).places == 0


def test_what_was_cleaned_is_still_found_by_its_other_words(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    with careless(monkeypatch):
        everywhere(book, TOKEN)
    scrub(book)
    assert [hit.item.id for hit in recall(book, "about more part", Scope()).hits][:1]
    assert not recall(book, f'"{TOKEN}"', Scope()).hits
    assert book.store.index_state(10).stray == book.store.index_state(10).wordless == 0


def test_two_that_differed_in_a_secret_stay_two(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    with careless(monkeypatch):
        ids = [remember(book, Note(f"The token is {TOKEN}{n}")).id for n in range(3)]
        keys = [remember(book, Note("x", kind="observation", session=f"{TOKEN}{n}")).id for n in range(2)]
    scrub(book)
    assert {fetch_one(book, id_).body for id_ in ids} == {"The token is [REDACTED:github-token]"}
    sessions = {fetch_one(book, id_).session for id_ in keys}
    assert len(sessions) == 2 and all(session and TOKEN not in session for session in sessions)


def test_a_conversation_that_was_cleaned_is_known_when_it_comes_again(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Conversation("Deploy", [Said("user", f"Use {TOKEN}", identity="m1")], key="conversation-1")
    with careless(monkeypatch):
        kept = keep(book, talk)
    scrub(book)
    again = keep(book, talk)
    assert again.duplicate
    assert [message.body for message in opened(book, kept.session.uid)[1]] == ["Use [REDACTED:github-token]"]


def test_a_title_that_was_cut_keeps_no_beginning_of_it(book: Book, settings: Settings) -> None:
    body = "We will meet at the house of the king where everything is made of straw, and then " + NAME * 3
    item = remember(book, Note(body)).id
    session = keep(book, Conversation("A label that ends in Rumpelstil…", [Said("user", "x")])).session
    scrub(book, NAME * 3)
    scrub(book, NAME)
    wipe(book)
    assert "Rumpel" not in fetch_one(book, item).title
    assert opened(book, session.uid)[0].label == "A label that ends in [REDACTED:named]"
    assert in_files(settings, "Rumpel") == []


def test_what_was_all_private_says_so(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    with careless(monkeypatch):
        id_ = remember(book, Note("<private>My birthday</private>", title="<private>a</private>")).id
    assert scrub(book).kinds == {"private": 2}
    assert fetch_one(book, id_).body == "All of this was private."


@pytest.mark.parametrize("named", ["", "abc", "x" * 10_001])
def test_a_text_to_remove_has_a_sensible_length(book: Book, named: str) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        scrub(book, named)


def test_backups_are_named_because_they_hold_what_was(book: Book, settings: Settings) -> None:
    folder = settings.data_dir / "backups"
    folder.mkdir()
    (folder / "commonplace-schema1-x.db").write_bytes(f"... {NAME} ...".encode())
    scrub(book, NAME)
    assert [path.name for path in backups(book)] == ["commonplace-schema1-x.db"]
    assert [path.name for path in still_holding(book, NAME)] == ["commonplace-schema1-x.db"]


def test_while_another_process_reads_the_file_is_not_called_wiped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = open_book(replace(settings, busy_timeout=0.1))
    try:
        with careless(monkeypatch):
            remember(book, Note(f"Use {TOKEN}"))
        with behind(settings, reading=True) as ask:
            ask("SELECT count(*) FROM items")
            scrub(book)
            assert not wipe(book)
        assert wipe(book)
        assert in_files(settings, TOKEN) == []
    finally:
        book.close()


def test_a_summary_that_was_cleaned_is_still_brought_up_to_date(book: Book) -> None:
    telling = Telling()
    telling.asks(f"Tell {NAME} about the login")
    telling.stops(f"{NAME} knows, because I wrote to him.")
    remember_events(book, telling.events)
    assert scrub(book, NAME).places
    more = Telling(at_ms=telling.at_ms)
    more.asks("Now mend the login")
    more.stops("The login works, because the clock is right.")
    remember_events(book, more.events)
    for kind in ("summary", "checkpoint"):
        said = repr(told(book, kind))
        assert "Now mend the login" in said and NAME not in said


def test_a_summary_that_a_person_edited_is_left_alone_after_cleaning(book: Book) -> None:
    telling = Telling()
    telling.asks(f"Tell {NAME} about the login")
    telling.uses("Write", file_path="login.py", content="x")
    telling.stops("It is done.")
    remember_events(book, telling.events)
    edit(book, told(book).id, Changes(content=f"What {NAME} was told"))
    scrub(book, NAME)
    more = Telling(at_ms=telling.at_ms)
    more.asks("Now mend the login")
    more.stops("The login works.")
    remember_events(book, more.events)
    assert told(book).body == "What [REDACTED:named] was told"
