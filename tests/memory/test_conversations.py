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
from commonplace.memory import conversations
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    append_messages,
    find_session,
    latest_conversations,
    messages_after,
    open_conversation,
    store_conversation,
    store_conversations,
    update_conversation,
)
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items, revert_to_revision
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, for_project, open_memory
from commonplace.model import SessionScope
from commonplace.text.tokens import count_words

EVERYTHING = SessionScope()


def talk(*contents: str, **more: object) -> NewConversation:
    return replace(NewConversation("Talk", [NewMessage("user", content) for content in contents]), **more)  # type: ignore[arg-type]


def bodies(memory: LocalMemory, id_: int | str) -> list[str]:
    return [item.body for item in open_conversation(memory, id_)[1]]


def test_a_key_gathers_what_a_source_says_over_time(memory: LocalMemory, clock: Clock) -> None:
    first = store_conversation(memory, talk("one", "two", key="chat-7"))
    clock.forward(minutes=5)
    again = store_conversation(memory, talk("one", "two", "three", key="chat-7", label="Later"))
    assert (first.added, first.known, first.duplicate) == (2, 0, False)
    assert (again.added, again.known, again.duplicate) == (1, 2, False)
    assert again.session.id == first.session.id and again.session.label == "Talk"
    assert bodies(memory, "chat-7") == ["one", "two", "three"]


def test_the_same_words_twice_in_one_conversation_are_two_messages(memory: LocalMemory) -> None:
    conversation = store_conversation(memory, talk("yes", "yes", "no", "yes"))
    assert (conversation.added, conversation.session.messages) == (4, 4)
    assert store_conversation(memory, talk("yes", "yes", "no", "yes")).added == 0


def test_messages_that_their_source_names_are_known_by_that(memory: LocalMemory) -> None:
    messages = [NewMessage("user", "draft", identity="m1"), NewMessage("user", "draft", identity="m2")]
    conversation = store_conversation(memory, NewConversation("Talk", messages, key="k"))
    assert conversation.added == 2
    changed = [replace(messages[0], content="final"), messages[1], NewMessage("user", "more", identity="m3")]
    assert (store_conversation(memory, NewConversation("Talk", changed, key="k")).added, bodies(memory, "k")) == (
        1,
        ["draft", "draft", "more"],
    )


def test_the_same_said_in_several_projects_is_a_conversation_in_each(memory: LocalMemory) -> None:
    everywhere, ours, theirs = (
        store_conversation(memory, talk("hello", project=place)) for place in (None, "ours", "theirs")
    )
    mine = for_project(memory, "mine")
    conversation = [everywhere, ours, theirs, store_conversation(mine, talk("hello"))]
    assert [(one.session.project, one.added) for one in conversation] == [
        (None, 1),
        ("ours", 1),
        ("theirs", 1),
        ("mine", 1),
    ]
    again = [store_conversation(memory, talk("hello", project=place)) for place in (None, "ours", "theirs", "mine")]
    assert [one.session.uid for one in again] == [one.session.uid for one in conversation]
    assert all(one.duplicate for one in again) and store_conversation(mine, talk("hello")).duplicate


def test_the_same_in_a_project_by_any_of_its_names_is_one_conversation(memory: LocalMemory) -> None:
    conversation = store_conversation(memory, talk("hello", project="github.com/acme/ours"))
    for here, name in ((memory, "ours"), (memory, "OURS"), (for_project(memory, "ours"), None)):
        assert store_conversation(here, talk("hello", project=name)).session.uid == conversation.session.uid


def test_several_are_kept_together_or_not_at_all(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput):
        store_conversations(memory, [talk("fine"), talk("")])
    assert latest_conversations(memory, EVERYTHING).sessions == ()
    assert len(store_conversations(memory, [talk("one"), talk("two")])) == 2


def test_a_conversation_keeps_its_place_its_project_and_its_times(memory: LocalMemory) -> None:
    messages = [NewMessage("user", "b", THEN - 50), NewMessage("assistant", "a", THEN - 90)]
    session = store_conversation(
        memory, NewConversation("T", messages, "work//x", project="My-App", source="chat", meta={"v": 1})
    ).session
    assert (session.folder, session.project, session.source, dict(session.meta)) == (
        "/work/x",
        "My-App",
        "chat",
        {"v": 1},
    )
    assert (session.started_ms, session.ended_ms) == (THEN - 90, THEN - 50)
    assert {item.project for item in open_conversation(memory, session.id)[1]} == {"My-App"}


def test_appending_adds_at_the_end_even_what_was_said_before(memory: LocalMemory) -> None:
    session = store_conversation(memory, talk("yes")).session
    stored = append_messages(memory, session.uid, [NewMessage("assistant", "yes"), NewMessage("user", "yes")])
    assert (stored.added, stored.session.rev) == (2, 2)
    assert append_messages(memory, session.uid, [NewMessage("user", "yes")]).added == 1
    assert bodies(memory, session.id) == ["yes"] * 4
    with pytest.raises(InvalidInput):
        append_messages(memory, session.uid, [NewMessage("user", " ")])


@pytest.mark.promise("sekha:decided:racing")
def test_of_two_who_append_or_arrange_one_is_refused(
    memory: LocalMemory, open_again: Callable[[], LocalMemory]
) -> None:
    session = store_conversation(memory, talk("one")).session
    other = open_again()
    try:
        append_messages(other, session.id, [NewMessage("user", "two")], expect_rev=1)
        with pytest.raises(Conflict):
            append_messages(memory, session.id, [NewMessage("user", "three")], expect_rev=1)
        update_conversation(memory, session.id, ConversationChanges(label="Mine"), expect_rev=2)
        with pytest.raises(Conflict) as refused:
            update_conversation(other, session.id, ConversationChanges(label="Theirs"), expect_rev=2)
        assert "Read it again" in refused.value.hint
        with pytest.raises(Conflict):
            conversations.forget_session(other, session.id, expect_rev=2)
        assert (find_session(other, session.id).label, bodies(other, session.id)) == ("Mine", ["one", "two"])
    finally:
        other.close()


def test_pages_of_messages_and_of_conversations(memory: LocalMemory, clock: Clock) -> None:
    for n in range(5):
        clock.forward(minutes=1)
        store_conversation(memory, talk(*(f"{n}.{m}" for m in range(5)), label=f"{n}"))
    page = latest_conversations(memory, EVERYTHING, 2)
    seen = [session.label for session in page.sessions]
    while page.next_cursor:
        page = latest_conversations(memory, EVERYTHING, 2, page.next_cursor)
        seen += [session.label for session in page.sessions]
    assert seen == ["4", "3", "2", "1", "0"]
    id_ = page.sessions[0].id
    first, after = messages_after(memory, id_, 3)
    assert after is not None
    rest, end = messages_after(memory, id_, 3, after)
    assert [item.body for item in [*first, *rest]] == [f"0.{m}" for m in range(5)] and end is None
    with pytest.raises(InvalidInput):
        latest_conversations(memory, EVERYTHING, 0)


def test_a_book_of_another_space_has_none_of_it(memory: LocalMemory, clock: Clock) -> None:
    session = store_conversation(memory, talk("one")).session
    other = open_memory(replace(memory.settings, space="other"), clock)
    try:
        with pytest.raises(NotFound):
            find_session(other, session.uid)
        assert store_conversation(other, talk("one")).added == 1
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
def test_what_cannot_be_kept_is_refused(
    memory: LocalMemory, bad: NewConversation, error: type[CommonplaceError]
) -> None:
    with pytest.raises(error):
        store_conversation(memory, bad)
    assert memory.store.counts().sessions == 0


def test_an_edit_and_its_undoing_are_counted_and_found(memory: LocalMemory) -> None:
    session = store_conversation(memory, talk("two words", "two words")).session
    message = open_conversation(memory, session.id)[1][0]
    edit_item(memory, message.id, Changes(content="now three words"), expect_rev=1)
    with pytest.raises(Conflict):
        edit_item(memory, message.id, Changes(content="too late"), expect_rev=1)
    assert (find_session(memory, session.id).words, bodies(memory, session.id)) == (5, ["now three words", "two words"])
    # Two messages may come to say the same.
    edit_item(memory, message.id, Changes(content="two words"))
    revert_to_revision(memory, message.id)
    assert (
        find_session(memory, session.id).words,
        store_conversation(memory, talk("two words", "two words")).added,
    ) == (5, 0)
    assert get_item(memory, message.id).details["role"] == "user"


words = st.sampled_from(("one", "two words", "数据 🦓", "a\n\nb c"))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.sampled_from(("A", "B")), st.lists(words, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(("append", "edit")), st.integers(0, 9), words),
        st.tuples(st.sampled_from(("forget", "restore", "rename", "lose", "find")), st.integers(0, 9)),
    ),
    max_size=14,
)


def do(memory: LocalMemory, step: tuple[object, ...], known: dict[str, list[int]]) -> None:
    verb, what, *rest = step
    if verb == "store":
        conversation = store_conversation(memory, talk(*rest[0], label=str(what)))  # type: ignore[misc]
        known["sessions"] = list(dict.fromkeys([*known["sessions"], conversation.session.id]))
    elif known["sessions"]:
        assert isinstance(what, int)
        session = known["sessions"][what % len(known["sessions"])]
        gone = find_session(memory, session, forgotten=True).forgotten_ms is not None
        items = known["items"]
        if verb == "append" and not gone:
            append_messages(memory, session, [NewMessage("assistant", str(rest[0]))])
        elif verb == "rename" and not gone:
            update_conversation(
                memory, session, ConversationChanges(label=f"Name {what}", folder=f"/f{what}", importance=what)
            )
        elif verb in ("forget", "restore"):
            (conversations.forget_session if verb == "forget" else conversations.restore_session)(memory, session)
        elif verb in ("lose", "find") and items:
            (forget_items if verb == "lose" else restore_items)(memory, [items[what % len(items)]])
        elif (
            verb == "edit" and items and get_item(memory, items[what % len(items)], forgotten=True).forgotten_ms is None
        ):
            edit_item(memory, items[what % len(items)], Changes(content=str(rest[0])))
    for session in known["sessions"]:
        known["items"] = list(dict.fromkeys([*known["items"], *(m.id for m in memory.store.messages_of(session))]))


@given(script=steps)
@hypothesis_settings(max_examples=60)
@pytest.mark.promise("sekha:decided:counts-true")
def test_whatever_is_done_the_counts_equal_a_recount(
    memory: LocalMemory, clock: Clock, script: list[tuple[object, ...]]
) -> None:
    private = open_memory(replace(memory.settings, space=f"space {next(_spaces)}"), clock)
    try:
        known: dict[str, list[int]] = {"sessions": [], "items": []}
        for step in script:
            clock.forward(minutes=1)
            do(private, step, known)
        for id_ in known["sessions"]:
            session, messages = find_session(private, id_, forgotten=True), private.store.messages_of(id_)
            assert session.messages == len(messages)
            assert session.words == sum(count_words(message.body) for message in messages)
            assert session.bytes == sum(len(message.body.encode()) for message in messages)
            assert session.forgotten_ms is None or not messages
    finally:
        private.close()


_spaces = count()
