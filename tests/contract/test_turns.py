"""Turns: who speaks is known by any part of the name, and what came next by the order in which it was said."""

from __future__ import annotations

from collections.abc import Sequence

from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.model import SessionDraft
from commonplace.store.protocol import Store
from commonplace.text.query import plain_words


def say(store: Store, key: str, *messages: tuple[str, str, int], project: str | None = None) -> list[int]:
    """Messages of a session as (speaker, words, seconds); the ids of the items."""
    session = SessionDraft(key, key, "/", "active", 5.0, THEN, project=project)
    drafts = [
        make_draft(
            text,
            kind="message",
            type="message",
            session=key,
            project=project,
            at=THEN + 1000 * seconds,
            details={"role": "user", "speaker": speaker},
        )
        for speaker, text, seconds in messages
    ]
    ((_session, stored),) = store.store_sessions([(session, drafts)], THEN)
    return [one.id for one in stored]


def speakers(store: Store, question: str, project: str | None = None) -> list[str]:
    return [word.surface for word in store.speakers(plain_words(question), project)]


def following(store: Store, item_ids: Sequence[int]) -> list[int | None]:
    turns = store.turns(item_ids)
    return [turns[id_].next_id for id_ in item_ids]


def test_those_who_speak_are_known_by_any_part_of_their_name(store: Store) -> None:
    say(store, "a", ("Ann Mary O'Neill", "hello Bob", 0), ("", "nobody says this", 1))
    assert speakers(store, "What did ann and Mary's friend Bob tell Carol?") == ["ann", "Mary"]
    assert speakers(store, "what did they say") == []
    assert store.speakers((), None) == []


def test_a_project_knows_its_own_speakers_only(store: Store) -> None:
    say(store, "a", ("Ann", "hello", 0), project="acme")
    say(store, "b", ("Bob", "hello there", 0), project="other")
    assert speakers(store, "Ann Bob", "acme") == ["Ann"]
    assert speakers(store, "Ann Bob", "other") == ["Bob"]
    assert speakers(store, "Ann Bob", "nowhere") == []
    assert speakers(store, "Ann Bob") == ["Ann", "Bob"]


def test_a_space_knows_its_own_speakers_only(open_store: Opener) -> None:
    ours, theirs = open_store("ours"), open_store("theirs")
    ids = say(ours, "a", ("Ann", "hello", 0))
    say(theirs, "a", ("Bob", "hello", 0))
    assert (speakers(ours, "Ann Bob"), speakers(theirs, "Ann Bob")) == (["Ann"], ["Bob"])
    assert ours.turns(ids) and theirs.turns(ids) == {}


def test_what_came_next_is_told_by_time_and_then_by_order(store: Store) -> None:
    first = say(store, "a", ("Ann", "one", 0), ("Bob", "two", 0), ("Ann", "four", 9), ("Bob", "three", 5))
    other = say(store, "b", ("Ann", "between", 1))
    assert following(store, first) == [first[1], first[3], None, first[2]]
    assert following(store, other) == [None]
    turns = store.turns([*first, *other])
    assert [turns[id_].speaker for id_ in first] == ["Ann", "Bob", "Ann", "Bob"]
    assert len({turns[id_].session_id for id_ in first}) == 1 != turns[other[0]].session_id


def test_what_was_said_and_what_happened_share_a_session(store: Store) -> None:
    messages = say(store, "a", ("Ann", "Gr\u00fc\u00dfe", 0))
    (happened,) = store.put([make_draft("it rained", kind="observation", session="a")], THEN)
    turns = store.turns([*messages, happened.id])
    assert turns[messages[0]].session_id == turns[happened.id].session_id


def test_what_is_part_of_no_session_has_no_turn(store: Store) -> None:
    (stored,) = store.put([make_draft("a note")], THEN)
    assert store.turns([stored.id, 12_345]) == {}
    assert store.turns([]) == {}


def test_a_turn_tells_who_said_it_in_which_role(store: Store) -> None:
    (message,) = say(store, "one", ("Ann", "hello", 0))
    turn = store.turns([message])[message]
    assert (turn.speaker, turn.role) == ("Ann", "user")
