"""Events of hooks on every engine: each taken once, and one summary and checkpoint of a session kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from commonplace.model import Draft, Scope, Session, SessionDraft, SessionScope, ref
from commonplace.store.maintenance import HOOK_DIGEST, CapturedEvent
from commonplace.store.protocol import Store

from .conftest import THEN, Opener

Drafting = Callable[..., Draft]
DAY = 86_400_000


def session(key: str = "s", **more: object) -> SessionDraft:
    blank = SessionDraft(
        key=key, label="", folder="/sessions/kiro", status="active", importance=5.0, started_ms=THEN, source="kiro"
    )
    return replace(blank, **more)  # type: ignore[arg-type]


def event(name: str, draft: Draft | None = None, outcome: str = "kept") -> CapturedEvent:
    return CapturedEvent(name.encode(), outcome, draft)


def seen(draft: Drafting, text: str, at: int = THEN, key: str = "s", type_: str = "command") -> Draft:
    made: Draft = draft(text, kind="observation", type=type_, title=text, session=key, at=at)
    return made


def summary(draft: Drafting, text: str, at: int = THEN) -> Draft:
    made: Draft = draft("", kind="summary", type="summary", title=text, session="s", at=at)
    return replace(made, details={"request": text}, meta={HOOK_DIGEST: text})


def found(store: Store, key: str = "s") -> Session:
    number = store.resolve_session(ref("x"), key)
    assert number is not None
    return store.get_sessions([number])[number]


def test_an_event_is_taken_once(store: Store, neighbour: Store, draft: Drafting) -> None:
    one, two = event("1", seen(draft, "one")), event("2", outcome="dropped")
    assert store.capture_events([session()], [one, two], [], THEN) == [True, True]
    assert neighbour.capture_events([session()], [two, one], [], THEN) == [False, False]
    assert neighbour.capture_events([session()], [one, event("3", outcome="dropped")], [], THEN) == [False, True]
    assert store.capture_counts() == {"kept": 1, "dropped": 2}
    assert store.known_events([b"1", b"2", b"4"]) == {b"1", b"2"}
    assert [item.title for item in store.newest(Scope(), 9)] == ["one"]
    assert store.counts().items["observation"] == 1


def test_an_event_stays_known_for_a_month(store: Store) -> None:
    store.capture_events([], [event("1")], [], THEN)
    store.capture_events([], [event("2")], [], THEN + 29 * DAY)
    assert store.known_events([b"1", b"2"]) == {b"1", b"2"}
    store.capture_events([], [event("3")], [], THEN + 31 * DAY)
    assert store.known_events([b"1", b"2"]) == {b"2"} and store.capture_counts() == {"kept": 3}


def test_a_session_learns_only_what_it_did_not_know(store: Store, draft: Drafting) -> None:
    store.put([seen(draft, "before")], THEN)
    store.capture_events([session(label="first", project="my-api", meta={"folder": "/a"})], [], [], THEN)
    store.capture_events(
        [session(label="second", project="other", source="codex", meta={"folder": "/b"})], [], [], THEN
    )
    known = found(store)
    assert (known.label, known.source, known.folder, known.project) == ("first", "kiro", "/sessions/kiro", "my-api")
    assert known.meta == {"folder": "/a"} and known.rev == 1


def test_items_stand_in_their_session(store: Store, draft: Drafting) -> None:
    place = session(project="my-api")
    store.capture_events([place], [event(str(n), seen(draft, f"n{n}", THEN + n)) for n in range(5)], [], THEN)
    assert {item.project for item in store.newest(Scope(), 9)} == {"my-api"}
    assert found(store).ended_ms == THEN + 4 and found(store).messages == 0


def test_a_thread_tells_both_ends_of_a_session(store: Store, draft: Drafting) -> None:
    assert store.session_progress("s", 2, 3) is None
    prompts = [event(f"p{n}", seen(draft, f"ask {n}", THEN + 10 * n, type_="prompt")) for n in range(4)]
    deeds = [event(f"d{n}", seen(draft, f"do {n}", THEN + 10 * n + 5)) for n in range(4)]
    store.capture_events([session()], [*prompts, *deeds], [summary(draft, "so far")], THEN)
    other = event("x", seen(draft, "elsewhere", key="t"))
    store.capture_events([session("t")], [other], [], THEN)
    thread = store.session_progress("s", 2, 3)
    assert thread is not None and thread.session.key == "s"
    assert [item.title for item in thread.opening] == ["ask 0", "ask 1"]
    assert [item.title for item in thread.recent] == ["do 2", "ask 3", "do 3"]
    assert thread.counts == {"prompt": 4, "command": 4}
    assert thread.summary is not None and thread.summary.title == "so far" and thread.checkpoint is None


def test_what_was_forgotten_is_not_part_of_a_thread(store: Store, draft: Drafting) -> None:
    store.capture_events(
        [session()], [event("1", seen(draft, "one")), event("2", seen(draft, "two", THEN + 1))], [], THEN
    )
    store.forget([item.id for item in store.newest(Scope(), 9) if item.title == "two"], THEN)
    thread = store.session_progress("s", 2, 3)
    assert thread is not None and [item.title for item in thread.recent] == ["one"] and thread.counts == {"command": 1}


def test_a_summary_is_rewritten_in_place_with_its_history(store: Store, draft: Drafting) -> None:
    for number, text in enumerate(("first", "second", "second", "third")):
        store.capture_events([session()], [], [summary(draft, text, THEN + number)], THEN + number)
    (item,) = store.newest(Scope(kinds=("summary",)), 9)
    assert (item.title, item.details, item.rev, item.created_ms) == ("third", {"request": "third"}, 3, THEN + 3)
    assert [change.before["title"] for change in store.history(item.id)] == ["first", "second"]
    assert store.counts().items["summary"] == 1


def test_a_forgotten_summary_stays_forgotten(store: Store, draft: Drafting) -> None:
    store.capture_events([session()], [], [summary(draft, "first")], THEN)
    store.forget([item.id for item in store.newest(Scope(), 9)], THEN)
    store.capture_events([session()], [], [summary(draft, "second")], THEN)
    assert store.newest(Scope(), 9) == []


def test_a_summary_that_someone_else_wrote_is_left_alone(store: Store, draft: Drafting) -> None:
    theirs = replace(summary(draft, "theirs"), meta={}, content_hash=b"t" * 32)
    store.put([theirs], THEN)
    store.capture_events([session()], [], [summary(draft, "ours")], THEN)
    assert {item.title for item in store.newest(Scope(), 9)} == {"theirs", "ours"}


def test_spaces_take_the_same_event_each(open_store: Opener, draft: Drafting) -> None:
    for space in ("one", "two"):
        store = open_store(space)
        assert store.capture_events([session()], [event("1", seen(draft, "one"))], [], THEN) == [True]
        assert store.capture_counts() == {"kept": 1}


def test_a_session_without_anything_in_it_is_in_no_list(store: Store, draft: Drafting) -> None:
    everything = SessionScope(empty=True)
    store.capture_events([session("s"), session("empty")], [], [], THEN)
    assert store.latest_sessions(everything, 10) == [] and store.count_sessions(everything) == 0
    store.capture_events([session("s")], [event("1", seen(draft, "one"))], [], THEN)
    assert [one.key for one in store.latest_sessions(everything, 10)] == ["s"]
    assert store.count_sessions(everything) == 1 and store.count_sessions(SessionScope()) == 0
    (item,) = store.newest(Scope(), 10)
    store.forget([item.id], THEN)
    assert store.count_sessions(everything) == 0
