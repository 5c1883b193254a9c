"""How many messages were said on which day."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.model import Draft, SessionDraft, SessionScope, ref
from commonplace.store.protocol import Store

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
DAY = 86_400_000
TODAY = NOW // DAY
EVERYTHING = SessionScope()


@pytest.fixture
def say(draft: Make) -> Callable[..., int]:
    """Keeps a conversation with a message at each of these times."""

    def call(store: Store, key: str, *times: int, folder: str = "/", project: str | None = None) -> int:
        session = SessionDraft(key, key, folder, "active", 5.0, min(times), project=project)
        messages = [draft(f"{key} {n}", kind="message", type="user", at=at) for n, at in enumerate(times)]
        ((stored, _stored),) = store.store_sessions([(session, messages)], NOW)
        return stored.id

    return call


def test_messages_are_counted_by_the_day_they_were_said(store: Store, say: Callable[..., int]) -> None:
    midnight = TODAY * DAY
    say(store, "a", midnight - 1, midnight, midnight + DAY - 1)
    say(store, "b", midnight + 5)
    assert store.activity(EVERYTHING, 0) == {TODAY - 1: 1, TODAY: 3}
    assert store.activity(EVERYTHING, midnight) == {TODAY: 3}
    assert store.activity(EVERYTHING, midnight + DAY) == {}


def test_days_before_1970_are_days_too(store: Store, say: Callable[..., int]) -> None:
    say(store, "old", -1, 0, -DAY, -DAY - 1)
    assert store.activity(EVERYTHING, -10 * DAY) == {-2: 1, -1: 2, 0: 1}


def test_only_conversations_of_the_scope_count(store: Store, say: Callable[..., int]) -> None:
    say(store, "a", NOW, folder="/work/x")
    say(store, "b", NOW, NOW + 1, folder="/workshop")
    say(store, "c", NOW, folder="/home", project="my-api")
    assert store.activity(SessionScope(folder="/work"), 0) == {TODAY: 1}
    assert store.activity(SessionScope(project="my-api"), 0) == {TODAY: 1}
    assert store.activity(SessionScope(labels=("b",)), 0) == {TODAY: 2}


def test_what_was_forgotten_and_what_is_no_message_does_not_count(
    store: Store, say: Callable[..., int], draft: Make
) -> None:
    gone = say(store, "a", NOW, NOW)
    say(store, "b", NOW, NOW)
    store.put([draft("no message", session="b")], NOW)
    store.forget_session(gone, NOW)
    assert store.activity(EVERYTHING, 0) == {TODAY: 2}
    (one,) = store.messages_of(store.resolve_session(ref("b"), "b") or 0, limit=1)
    store.forget([one.id], NOW)
    assert store.activity(EVERYTHING, 0) == {TODAY: 1}
    store.restore_session(gone, NOW)
    assert store.activity(EVERYTHING, 0) == {TODAY: 3}


def test_another_space_counts_its_own(open_store: Callable[..., Store], say: Callable[..., int]) -> None:
    say(open_store(), "a", NOW)
    assert open_store("elsewhere").activity(EVERYTHING, 0) == {}
