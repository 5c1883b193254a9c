"""Conversations: kept once under what their source calls them, appended to, found by any id, listed page by page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conftest import THEN, Clock

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory import organise
from commonplace.memory.book import Book, limited, open_book
from commonplace.memory.conversations import (
    Conversation,
    Said,
    append,
    find,
    keep,
    keep_all,
    latest,
    messages_after,
    opened,
)
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget, restore
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.revert import revert
from commonplace.model import SessionScope
from commonplace.text.words import count_words

EVERYTHING = SessionScope()


def talk(*contents: str, **more: object) -> Conversation:
    return replace(Conversation("Talk", [Said("user", content) for content in contents]), **more)  # type: ignore[arg-type]


def bodies(book: Book, id_: int | str) -> list[str]:
    return [item.body for item in opened(book, id_)[1]]


def test_a_key_gathers_what_a_source_says_over_time(book: Book, clock: Clock) -> None:
    first = keep(book, talk("one", "two", key="chat-7"))
    clock.forward(minutes=5)
    again = keep(book, talk("one", "two", "three", key="chat-7", label="Later"))
    assert (first.added, first.known, first.duplicate) == (2, 0, False)
    assert (again.added, again.known, again.duplicate) == (1, 2, False)
    assert again.session.id == first.session.id and again.session.label == "Talk"
    assert bodies(book, "chat-7") == ["one", "two", "three"]


def test_the_same_words_twice_in_one_conversation_are_two_messages(book: Book) -> None:
    kept = keep(book, talk("yes", "yes", "no", "yes"))
    assert (kept.added, kept.session.messages) == (4, 4)
    assert keep(book, talk("yes", "yes", "no", "yes")).added == 0


def test_messages_that_their_source_names_are_known_by_that(book: Book) -> None:
    said = [Said("user", "draft", identity="m1"), Said("user", "draft", identity="m2")]
    kept = keep(book, Conversation("Talk", said, key="k"))
    assert kept.added == 2
    changed = [replace(said[0], content="final"), said[1], Said("user", "more", identity="m3")]
    assert (keep(book, Conversation("Talk", changed, key="k")).added, bodies(book, "k")) == (
        1,
        ["draft", "draft", "more"],
    )


def test_the_same_said_in_several_projects_is_a_conversation_in_each(book: Book) -> None:
    everywhere, ours, theirs = (keep(book, talk("hello", project=place)) for place in (None, "ours", "theirs"))
    mine = limited(book, "mine")
    kept = [everywhere, ours, theirs, keep(mine, talk("hello"))]
    assert [(one.session.project, one.added) for one in kept] == [(None, 1), ("ours", 1), ("theirs", 1), ("mine", 1)]
    again = [keep(book, talk("hello", project=place)) for place in (None, "ours", "theirs", "mine")]
    assert [one.session.uid for one in again] == [one.session.uid for one in kept]
    assert all(one.duplicate for one in again) and keep(mine, talk("hello")).duplicate


def test_the_same_in_a_project_by_any_of_its_names_is_one_conversation(book: Book) -> None:
    kept = keep(book, talk("hello", project="github.com/acme/ours"))
    for here, name in ((book, "ours"), (book, "OURS"), (limited(book, "ours"), None)):
        assert keep(here, talk("hello", project=name)).session.uid == kept.session.uid


def test_several_are_kept_together_or_not_at_all(book: Book) -> None:
    with pytest.raises(InvalidInput):
        keep_all(book, [talk("fine"), talk("")])
    assert latest(book, EVERYTHING).sessions == ()
    assert len(keep_all(book, [talk("one"), talk("two")])) == 2


def test_a_conversation_keeps_its_place_its_project_and_its_times(book: Book) -> None:
    said = [Said("user", "b", THEN - 50), Said("assistant", "a", THEN - 90)]
    session = keep(book, Conversation("T", said, "work//x", project="My-App", source="chat", meta={"v": 1})).session
    assert (session.folder, session.project, session.source, dict(session.meta)) == (
        "/work/x",
        "My-App",
        "chat",
        {"v": 1},
    )
    assert (session.started_ms, session.ended_ms) == (THEN - 90, THEN - 50)
    assert {item.project for item in opened(book, session.id)[1]} == {"My-App"}


def test_appending_adds_at_the_end_even_what_was_said_before(book: Book) -> None:
    session = keep(book, talk("yes")).session
    kept = append(book, session.uid, [Said("assistant", "yes"), Said("user", "yes")])
    assert (kept.added, kept.session.rev) == (2, 2)
    assert append(book, session.uid, [Said("user", "yes")]).added == 1
    assert bodies(book, session.id) == ["yes"] * 4
    with pytest.raises(InvalidInput):
        append(book, session.uid, [Said("user", " ")])


@pytest.mark.promise("sekha:decided:racing")
def test_of_two_who_append_or_arrange_one_is_refused(book: Book, open_again: Callable[[], Book]) -> None:
    session = keep(book, talk("one")).session
    other = open_again()
    try:
        append(other, session.id, [Said("user", "two")], expect_rev=1)
        with pytest.raises(Conflict):
            append(book, session.id, [Said("user", "three")], expect_rev=1)
        arrange(book, session.id, Arrangement(label="Mine"), expect_rev=2)
        with pytest.raises(Conflict) as refused:
            arrange(other, session.id, Arrangement(label="Theirs"), expect_rev=2)
        assert "Read it again" in refused.value.hint
        with pytest.raises(Conflict):
            organise.forget(other, session.id, expect_rev=2)
        assert (find(other, session.id).label, bodies(other, session.id)) == ("Mine", ["one", "two"])
    finally:
        other.close()


def test_pages_of_messages_and_of_conversations(book: Book, clock: Clock) -> None:
    for n in range(5):
        clock.forward(minutes=1)
        keep(book, talk(*(f"{n}.{m}" for m in range(5)), label=f"{n}"))
    page = latest(book, EVERYTHING, 2)
    seen = [session.label for session in page.sessions]
    while page.next_cursor:
        page = latest(book, EVERYTHING, 2, page.next_cursor)
        seen += [session.label for session in page.sessions]
    assert seen == ["4", "3", "2", "1", "0"]
    id_ = page.sessions[0].id
    first, after = messages_after(book, id_, 3)
    assert after is not None
    rest, end = messages_after(book, id_, 3, after)
    assert [item.body for item in [*first, *rest]] == [f"0.{m}" for m in range(5)] and end is None
    with pytest.raises(InvalidInput):
        latest(book, EVERYTHING, 0)


def test_a_book_of_another_space_has_none_of_it(book: Book, clock: Clock) -> None:
    session = keep(book, talk("one")).session
    other = open_book(replace(book.settings, space="other"), clock)
    try:
        with pytest.raises(NotFound):
            find(other, session.uid)
        assert keep(other, talk("one")).added == 1
    finally:
        other.close()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (talk(), InvalidInput),
        (talk("x", key="k" * 201), TooLarge),
        (talk("x", status="gone"), InvalidInput),
        (talk("x", importance=10.5), InvalidInput),
        (talk("x", uid="not a uuid"), InvalidInput),
        (talk("x", started_ms=10**18), InvalidInput),
        (talk("x", folder="/.."), InvalidInput),
        (talk("x", meta={"a": float("nan")}), InvalidInput),
    ],
)
def test_what_cannot_be_kept_is_refused(book: Book, bad: Conversation, error: type[CommonplaceError]) -> None:
    with pytest.raises(error):
        keep(book, bad)
    assert book.store.counts().sessions == 0


def test_an_edit_and_its_undoing_are_counted_and_found(book: Book) -> None:
    session = keep(book, talk("two words", "two words")).session
    message = opened(book, session.id)[1][0]
    edit(book, message.id, Changes(content="now three words"), expect_rev=1)
    with pytest.raises(Conflict):
        edit(book, message.id, Changes(content="too late"), expect_rev=1)
    assert (find(book, session.id).words, bodies(book, session.id)) == (5, ["now three words", "two words"])
    # Two messages may come to say the same.
    edit(book, message.id, Changes(content="two words"))
    revert(book, message.id)
    assert (find(book, session.id).words, keep(book, talk("two words", "two words")).added) == (5, 0)
    assert fetch_one(book, message.id).details["role"] == "user"


words = st.sampled_from(("one", "two words", "数据 🦓", "a\n\nb c"))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.sampled_from(("A", "B")), st.lists(words, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(("append", "edit")), st.integers(0, 9), words),
        st.tuples(st.sampled_from(("forget", "restore", "rename", "lose", "find")), st.integers(0, 9)),
    ),
    max_size=14,
)


def do(book: Book, step: tuple[object, ...], known: dict[str, list[int]]) -> None:
    verb, what, *rest = step
    if verb == "store":
        kept = keep(book, talk(*rest[0], label=str(what)))  # type: ignore[misc]
        known["sessions"] = list(dict.fromkeys([*known["sessions"], kept.session.id]))
    elif known["sessions"]:
        assert isinstance(what, int)
        session = known["sessions"][what % len(known["sessions"])]
        gone = find(book, session, forgotten=True).forgotten_ms is not None
        items = known["items"]
        if verb == "append" and not gone:
            append(book, session, [Said("assistant", str(rest[0]))])
        elif verb == "rename" and not gone:
            arrange(book, session, Arrangement(label=f"Name {what}", folder=f"/f{what}", importance=what))
        elif verb in ("forget", "restore"):
            (organise.forget if verb == "forget" else organise.restore)(book, session)
        elif verb in ("lose", "find") and items:
            (forget if verb == "lose" else restore)(book, [items[what % len(items)]])
        elif (
            verb == "edit" and items and fetch_one(book, items[what % len(items)], forgotten=True).forgotten_ms is None
        ):
            edit(book, items[what % len(items)], Changes(content=str(rest[0])))
    for session in known["sessions"]:
        known["items"] = list(dict.fromkeys([*known["items"], *(m.id for m in book.store.messages_of(session))]))


@given(script=steps)
@hypothesis_settings(max_examples=60)
@pytest.mark.promise("sekha:decided:counts-true")
def test_whatever_is_done_the_counts_equal_a_recount(
    book: Book, clock: Clock, script: list[tuple[object, ...]]
) -> None:
    private = open_book(replace(book.settings, space=f"space {next(_spaces)}"), clock)
    try:
        known: dict[str, list[int]] = {"sessions": [], "items": []}
        for step in script:
            clock.forward(minutes=1)
            do(private, step, known)
        for id_ in known["sessions"]:
            session, messages = find(private, id_, forgotten=True), private.store.messages_of(id_)
            assert session.messages == len(messages)
            assert session.words == sum(count_words(message.body) for message in messages)
            assert session.bytes == sum(len(message.body.encode()) for message in messages)
            assert session.forgotten_ms is None or not messages
    finally:
        private.close()


_spaces = count()
