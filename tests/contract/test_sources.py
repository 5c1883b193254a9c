"""How far files were read, and how the sessions in them hang together, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from commonplace.model import Draft, SessionDraft, ref
from commonplace.store.protocol import Store

from .conftest import THEN, Opener

Drafting = Callable[..., Draft]


def session(key: str, **meta: str) -> SessionDraft:
    return SessionDraft(
        key=key, label=key, folder="/", status="active", importance=5.0, started_ms=THEN, meta=meta, follows=True
    )


def message_draft(draft: Drafting, text: str, **meta: object) -> Draft:
    return replace(draft(text, kind="message"), meta=meta)


def keep(store: Store, expected: SessionDraft, *messages: Draft) -> list[str]:
    ((_session, stored),) = store.store_sessions([(expected, messages)], THEN)
    return [one.uid for one in stored]


def metas(store: Store, key: str) -> list[dict[str, object]]:
    number = _number(store, key)
    return [dict(item.meta) for item in store.messages_of(number)]


def _number(store: Store, key: str) -> int:
    number = store.resolve_session(ref("x"), key)
    assert number is not None
    return number


def test_a_mark_is_kept_as_it_was_noted(store: Store) -> None:
    assert store.source_mark("/a/file") is None
    store.save_source_mark("/a/file", {"size": 3, "name": "naïve", "none": None}, THEN)
    store.save_source_mark("/a/other", {}, THEN)
    assert store.source_mark("/a/file") == {"size": 3, "name": "naïve", "none": None}
    assert store.source_marks("/a/f") == {"/a/file": {"size": 3, "name": "naïve", "none": None}}
    assert [*store.source_marks("/a/")] == ["/a/file", "/a/other"] and store.source_marks("import:") == {}
    store.save_source_mark("/a/file", {"size": 4}, THEN + 1)
    assert store.source_mark("/a/file") == {"size": 4} and store.source_mark("/a/other") == {}


def test_spaces_have_their_own_marks(open_store: Opener) -> None:
    one, two = open_store("one"), open_store("two")
    one.save_source_mark("/a/file", {"size": 3}, THEN)
    assert two.source_mark("/a/file") is None


def test_turns_are_told_in_order_with_what_they_follow(store: Store, draft: Drafting) -> None:
    keep(
        store,
        session("s"),
        message_draft(draft, "one", turn="t1"),
        message_draft(draft, "one, answered", turn="t1"),
        message_draft(draft, "aside", turn="x", sidechain=True),
        message_draft(draft, "two", turn="t2", follows="t1"),
        message_draft(draft, "two, answered", turn="t2"),
        message_draft(draft, "of a person"),
    )
    assert store.source_turns("s") == [("t1", None), ("t2", "t1")]
    assert store.source_turns("no such session") == []


def test_what_was_left_behind_is_marked_and_unmarked(store: Store, draft: Drafting) -> None:
    keep(store, session("s"), *(message_draft(draft, name, turn=name) for name in ("t1", "t2", "t3")))
    before = store.get_sessions([_number(store, "s")])
    store.mark_abandoned("s", {"t2", "t3"})
    assert metas(store, "s") == [{"turn": "t1"}, {"turn": "t2", "off_path": True}, {"turn": "t3", "off_path": True}]
    store.mark_abandoned("s", ("t2",))
    assert metas(store, "s") == [{"turn": "t1"}, {"turn": "t2", "off_path": True}, {"turn": "t3"}]
    store.mark_abandoned("s", ())
    assert store.get_sessions([_number(store, "s")]) == before


def test_a_sub_agent_learns_which_message_started_it(store: Store, draft: Drafting) -> None:
    keep(store, session("p/agent", parent_session="p"), message_draft(draft, "a brief"))
    keep(store, session("p/other", parent_session="p", started_by="call 2"), message_draft(draft, "another"))
    keep(store, session("q/agent", parent_session="q"), message_draft(draft, "of another session"))
    assert store.link_sub_agents("p") == 0
    _asked, one, two = keep(
        store,
        session("p"),
        message_draft(draft, "asked"),
        message_draft(draft, "started one", spawned=["agent", "call 1"]),
        message_draft(draft, "started two", spawned=["call 2"]),
    )
    assert store.link_sub_agents("p") == 2 and store.link_sub_agents("p") == 0
    for key, uid in (("p/agent", one), ("p/other", two), ("q/agent", None)):
        number = _number(store, key)
        stored = store.get_sessions([number])[number]
        assert stored.meta.get("parent_message") == uid and stored.rev == 1


def test_a_message_that_follows_its_source_grows_in_place(store: Store, draft: Drafting) -> None:
    first = replace(message_draft(draft, "It fails", turn="t1"), content_hash=b"1" * 32)
    (uid,) = keep(store, session("s"), first)
    store.mark_abandoned("s", ("t1",))
    grown = replace(message_draft(draft, "It fails no more", turn="t1", spawned=["a"]), content_hash=b"1" * 32)
    assert keep(store, session("s"), replace(grown, created_ms=THEN + 5)) == [uid]
    (item,) = store.messages_of(_number(store, "s"))
    assert (item.uid, item.body, item.created_ms) == (uid, "It fails no more", THEN + 5)
    assert item.meta == {"turn": "t1", "off_path": True, "spawned": ["a"]}
    number = _number(store, "s")
    assert store.get_sessions([number])[number].messages == 1
