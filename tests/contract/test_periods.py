"""Stretches of time: what happened in one, and the sessions that fall into it, bounded on both sides."""

from __future__ import annotations

from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.model import Scope, SessionDraft, SessionScope
from commonplace.store.protocol import Store

DAY = 86_400_000


def keep(store: Store, key: str, first: int, last: int, project: str | None = None) -> int:
    """A session with a message at each end, in days from THEN."""
    at = [THEN + first * DAY, THEN + last * DAY]
    drafts = [
        make_draft(f"{key} {n}", kind="message", type="message", session=key, project=project, at=ms)
        for n, ms in enumerate(at)
    ]
    ((session, _stored),) = store.store_sessions(
        [(SessionDraft(key, key, "/", "active", 5.0, at[0], project=project), drafts)], THEN
    )
    return session.id


def titles(store: Store, scope: Scope, first: int, last: int, limit: int = 50) -> list[str]:
    return [one.title for one in store.item_headers(scope, THEN + first * DAY, THEN + last * DAY, limit)]


def during(store: Store, scope: Scope, first: int, last: int, limit: int = 50) -> list[str]:
    return [one.key for one in store.sessions_during(scope, THEN + first * DAY, THEN + last * DAY, limit)]


def test_what_happened_is_bounded_on_both_sides_and_newest_first(store: Store) -> None:
    store.put([make_draft(f"body {day}", title=f"day {day}", at=THEN + day * DAY) for day in range(-2, 3)], THEN)
    assert titles(store, Scope(), -1, 1) == ["day 0", "day -1"]
    assert titles(store, Scope(), -1, 1, limit=1) == ["day 0"]
    assert titles(store, Scope(), 5, 9) == []
    assert titles(store, Scope(), 1, -1) == []


def test_what_happened_tells_everything_but_the_text(store: Store) -> None:
    draft = make_draft(
        "ls",
        kind="observation",
        type="command",
        title="Listed",
        project="acme",
        session="s1",
        details={"facts": "ls"},
        meta={"failed": True},
    )
    (stored,) = store.put([draft], THEN)
    (one,) = store.item_headers(Scope(), THEN, THEN + 1, 9)
    assert (one.item_id, one.kind, one.type, one.title, one.project) == (
        stored.id,
        "observation",
        "command",
        "Listed",
        "acme",
    )
    assert (one.details, one.meta, one.at_ms) == ({"facts": "ls"}, {"failed": True}, THEN)
    assert one.session_id == store.sessions_of([stored.id])[stored.id].id


def test_forgotten_and_other_places_are_left_out(store: Store) -> None:
    ids = [
        stored.id
        for stored in store.put(
            [
                make_draft("one", title="one", project="acme"),
                make_draft("two", title="two", project="acme", kind="observation", type="command"),
                make_draft("three", title="three"),
                make_draft("four", title="four", project="other"),
            ],
            THEN,
        )
    ]
    assert titles(store, Scope(project="acme"), 0, 1) == ["two", "one"]
    assert titles(store, Scope(project="acme", kinds=("observation",)), 0, 1) == ["two"]
    assert titles(store, Scope(only_global=True), 0, 1) == ["three"]
    assert titles(store, Scope(project="nobody"), 0, 1) == []
    store.forget([ids[0]], THEN)
    assert titles(store, Scope(project="acme"), 0, 1) == ["two"]


def test_sessions_fall_into_a_period_if_they_overlap_it(store: Store) -> None:
    keep(store, "before", -9, -5)
    keep(store, "into", -5, 0)
    keep(store, "inside", 0, 1)
    keep(store, "over", -9, 9)
    keep(store, "after", 2, 9)
    assert during(store, Scope(), -1, 2) == ["over", "inside", "into"]
    assert during(store, Scope(), -1, 2, limit=1) == ["over"]


def test_sessions_of_a_project_and_of_none(store: Store) -> None:
    ours = keep(store, "ours", 0, 1, "acme")
    keep(store, "theirs", 0, 1, "other")
    keep(store, "nobodys", 0, 1)
    assert during(store, Scope(project="acme"), 0, 1) == ["ours"]
    assert during(store, Scope(only_global=True), 0, 1) == ["nobodys"]
    assert during(store, Scope(project="nowhere"), 0, 1) == []
    assert during(store, Scope(), 0, 1) == ["nobodys", "theirs", "ours"]
    store.forget_session(ours, THEN)
    assert during(store, Scope(project="acme"), 0, 1) == []


def test_items_are_counted_by_day_and_kind(store: Store) -> None:
    midnight = THEN // DAY * DAY
    ids = [
        stored.id
        for stored in store.put(
            [
                make_draft("a", project="acme", at=midnight),
                make_draft("b", project="acme", at=midnight + DAY - 1),
                make_draft("c", project="acme", at=midnight - 1, kind="summary", type="summary"),
                make_draft("d", at=midnight + 400 * DAY, kind="observation", type="command"),
                make_draft("e", at=-1),
                make_draft("f", at=-DAY),
                make_draft("g", at=-DAY - 1),
            ],
            THEN,
        )
    ]
    today = midnight // DAY
    acme = {today: {"memory": 2}, today - 1: {"summary": 1}}
    ever = (-9 * DAY, THEN + 500 * DAY)
    assert store.items_per_day(Scope(), *ever) == {
        -2: {"memory": 1},
        -1: {"memory": 2},
        today + 400: {"observation": 1},
        **acme,
    }
    assert store.items_per_day(Scope(project="acme"), *ever) == acme
    assert store.items_per_day(Scope(project="acme", kinds=("summary",)), *ever) == {today - 1: {"summary": 1}}
    assert store.items_per_day(Scope(types=("command",)), *ever) == {today + 400: {"observation": 1}}
    assert store.items_per_day(Scope(only_global=True), 0, ever[1]) == {today + 400: {"observation": 1}}
    # What happened outside any project does not apply to this one; what was stated for every project does.
    assert store.items_per_day(Scope(project="acme", with_global=True), -DAY, ever[1]) == {-1: {"memory": 2}, **acme}
    assert store.items_per_day(Scope(), midnight + 1, midnight + DAY - 1) == {}
    assert store.items_per_day(Scope(), midnight + 1, midnight + DAY) == {today: {"memory": 1}}
    assert store.items_per_day(Scope(project="nobody"), *ever) == {}
    store.forget(ids[:1], THEN)
    assert store.items_per_day(Scope(project="acme"), midnight, ever[1]) == {today: {"memory": 1}}


def between(store: Store, scope: Scope, *, limit: int = 50, oldest_first: bool = False) -> list[list[str]]:
    """What happened from the day before THEN up to the day after, page by page."""
    pages: list[list[str]] = []
    beyond = None
    while found := store.items_between(scope, THEN - DAY, THEN + DAY, limit, beyond, oldest_first=oldest_first):
        pages.append([item.body for item in found])
        beyond = (found[-1].created_ms, found[-1].id)
    return pages


def test_a_stretch_of_time_is_read_page_by_page_either_way(store: Store) -> None:
    days = {"too early": -DAY - 1, "a": -DAY, "b": 0, "c": 0, "d": DAY - 1, "too late": DAY}
    store.put([make_draft(body, project="acme", at=THEN + at) for body, at in days.items()], THEN)
    store.put([make_draft("e", kind="summary", type="summary", at=THEN)], THEN)
    assert between(store, Scope(), limit=2) == [["d", "e"], ["c", "b"], ["a"]]
    assert between(store, Scope(), limit=3, oldest_first=True) == [["a", "b", "c"], ["e", "d"]]
    assert between(store, Scope(project="acme"), oldest_first=True) == [["a", "b", "c", "d"]]
    assert between(store, Scope(kinds=("summary",))) == [["e"]]
    assert between(store, Scope(project="nobody")) == []


def test_a_session_is_read_in_order_with_everything_in_it(store: Store) -> None:
    ours = keep(store, "ours", 0, 0, "acme")
    keep(store, "theirs", 0, 0, "acme")
    did = make_draft("did", kind="observation", type="command", session="ours", project="acme", at=THEN - 5)
    store.put([did, make_draft("elsewhere", project="acme", at=THEN - 9)], THEN)
    alone = Scope(sessions=SessionScope(ids=(ours,), empty=True))
    assert between(store, alone, limit=2, oldest_first=True) == [["did", "ours 0"], ["ours 1"]]
    assert between(store, alone) == [["ours 1", "ours 0", "did"]]
    assert between(store, Scope(sessions=SessionScope(ids=()))) == []
    assert store.kinds_per_session([ours, ours + 999]) == {ours: {"message": 2, "observation": 1}}
    store.forget_session(ours, THEN)
    assert store.kinds_per_session([ours]) == {}


def test_sessions_that_come_from_another_are_found(store: Store) -> None:
    def stored_session(key: str, at: int, **meta: str) -> int:
        draft = SessionDraft(key, key, "/", "active", 5.0, THEN + at, meta=meta)
        message = make_draft(key, kind="message", type="message", session=key, at=THEN + at)
        ((session, _stored),) = store.store_sessions([(draft, [message])], THEN)
        return session.id

    first = stored_session("first", 0)
    stored_session("agent", 1, parent_session="first")
    gone = stored_session("gone", 1, parent_session="first")
    stored_session("next", 2, continued_from="first")
    stored_session("other", 3, continued_from="next")
    store.forget_session(gone, THEN)
    assert [one.key for one in store.follow_up_sessions(first)] == ["agent", "next"]
    assert store.follow_up_sessions(first + 999) == []


def test_sessions_are_found_by_a_part_of_what_they_are_called(store: Store) -> None:
    keep(store, "Größe der Straße", 0, 1)
    keep(store, "other", 0, 1)
    store.put([make_draft("x", session="key-of-agent")], THEN)

    def named(part: str) -> list[str]:
        return [one.key for one in store.latest_sessions(SessionScope(named=part, empty=True), 9)]

    assert named("GRÖSSE") == ["Größe der Straße"]
    assert named("OF-agent") == ["key-of-agent"]
    assert named("nothing") == []
    assert store.session_counts(SessionScope(empty=True), 0).sources == {}


def test_spaces_are_apart(open_store: Opener) -> None:
    ours, theirs = open_store("ours"), open_store("theirs")
    keep(theirs, "theirs", 0, 1)
    assert during(ours, Scope(), 0, 1) == titles(ours, Scope(), 0, 1) == []
    assert ours.items_per_day(Scope(), 0, 2 * THEN) == {}
