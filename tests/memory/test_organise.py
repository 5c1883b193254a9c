"""Organise: importance and status agree, what was is kept, and archiving and pinning can be undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.conversations import PINNED, STATUSES, Conversation, Said, find, keep, opened
from commonplace.memory.forget import restore as restore_items
from commonplace.memory.organise import Arrangement, arrange, forget, history, restore, unarchive, unpin
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.model import Scope, Session


@pytest.fixture
def session(book: Book) -> Session:
    return keep(book, Conversation("Talk", [Said("user", "the zebra")], importance=4)).session


def test_a_project_and_metadata_are_arranged_too(book: Book, session: Session) -> None:
    changed = arrange(book, session.id, Arrangement(project="My-App", meta={"a": 1}))
    assert (changed.project, dict(changed.meta)) == ("My-App", {"a": 1})
    assert len(recall(book, "zebra", Scope(project="my-app")).hits) == 1
    assert arrange(book, session.id, Arrangement(project=" ")).project is None
    assert recall(book, "zebra", Scope(project="my-app")).hits == ()
    assert [change.before["project"] for change in history(book, session.id)] == [None, "My-App"]


def test_what_is_said_in_the_other_project_too_does_not_keep_a_conversation_from_moving_there(book: Book) -> None:
    for project in ("here", "there"):
        remember(book, Note("the same words", kind="message", session="s", project=project))
    remember(book, Note("the same words", kind="message", project="elsewhere"))
    moved = arrange(book, "s", Arrangement(project="elsewhere"))
    assert (moved.project, moved.messages) == ("elsewhere", 2)
    assert [message.body for message in opened(book, "s")[1]] == ["the same words"] * 2
    assert [message.project for message in opened(book, "s")[1]] == ["elsewhere"] * 2
    assert arrange(book, "s", Arrangement(project="here")).messages == 2


def test_archiving_and_pinning_are_undone(book: Book, session: Session) -> None:
    assert unarchive(book, session.id).rev == unpin(book, session.id).rev == 1
    arrange(book, session.id, Arrangement(status="pinned"))
    arrange(book, session.id, Arrangement(status="archived"))
    back = unarchive(book, session.id)
    assert (back.status, back.importance) == ("pinned", PINNED)
    back = unpin(book, session.id)
    assert (back.status, back.importance) == ("active", 4.0)


def test_one_that_was_pinned_from_the_start_becomes_almost_that(book: Book) -> None:
    session = keep(book, Conversation("T", [Said("user", "x")], importance=10)).session
    assert (unpin(book, session.id).importance, find(book, session.id).status) == (9.0, "active")


def test_forgotten_and_restored(book: Book, session: Session, clock: Clock) -> None:
    clock.forward(days=1)
    assert forget(book, session.short_id).forgotten_ms == clock.now
    with pytest.raises(NotFound, match="no conversation"):
        arrange(book, session.id, Arrangement(label="x"))
    assert recall(book, "zebra", Scope()).hits == ()
    assert restore(book, session.short_id).messages == 1
    assert restore(book, session.short_id).rev == 3
    (hit,) = recall(book, "zebra", Scope()).hits
    forget(book, session.id)
    restore_items(book, [hit.item.id])
    assert find(book, session.id).messages == 1


steps = st.lists(
    st.tuples(st.sampled_from([None, *STATUSES]), st.sampled_from([None, 0, 3, 9.5, 10])), min_size=1, max_size=6
)


@given(script=steps)
def test_ten_and_pinned_always_agree(book: Book, script: list[tuple[str | None, float | None]]) -> None:
    session = keep(book, Conversation("T", [Said("user", "x")], key=repr(script))).session
    for status, importance in script:
        before = find(book, session.id)
        try:
            after = arrange(book, session.id, Arrangement(status=status, importance=importance))
        except InvalidInput:
            assert (status, importance) in {
                (None, None), *(("pinned", n) for n in (0, 3, 9.5)), ("active", 10), ("archived", 10),
            }  # fmt: skip
            assert find(book, session.id) == before
            continue
        assert (after.status == "pinned") == (after.importance == PINNED)
        assert status is None or after.status == status
        assert importance is None or after.importance == importance
