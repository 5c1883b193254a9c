"""What a store keeps of conversations: written whole, counted truly, changed with a history, forgotten and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from commonplace.errors import Conflict, NotFound
from commonplace.model import Draft, Scope, Session, SessionDraft, SessionScope, ref
from commonplace.store.protocol import Store
from commonplace.text.near_duplicates import sketch_similarity
from commonplace.text.tokens import count_words

if TYPE_CHECKING:
    from tests.contract.conftest import Opener, Words

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
DAY = 86_400_000
EVERYTHING = SessionScope()


def session(
    key: str, *, label: str = "Talk", folder: str = "/", importance: float = 5.0, **more: object
) -> SessionDraft:
    made = SessionDraft(key, label, folder, "active", importance, NOW)
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def message_draft(draft: Make) -> Make:
    """A message, told apart by the session it is for."""

    def make(body: str, key: str, **more: object) -> Draft:
        made = draft(body, kind="message", type="message", details={"role": "user"}, **more)
        return replace(made, content_hash=draft(f"{key}: {body}").content_hash)

    return make


def keep(store: Store, make_message: Make, key: str, *bodies: str, **more: object) -> Session:
    return store.store_sessions([(session(key, **more), [make_message(body, key) for body in bodies])], NOW)[0][0]  # type: ignore[arg-type]


def bodies_of(store: Store, session_id: int) -> list[str]:
    return [item.body for item in store.messages_of(session_id)]


def labels(sessions: Sequence[Session]) -> list[str]:
    return [session.label for session in sessions]


def test_a_conversation_comes_back_as_it_was_kept(store: Store, message_draft: Make) -> None:
    given_ = session(
        "k-1", label="Retries", folder="/work/api", importance=7.5, source="chat", project="my-api",
        meta={"a": [1, None, "ä"]}, accessed_ms=NOW - 5, started_ms=NOW - 10,
    )  # fmt: skip
    messages = [
        message_draft("How often?", "k-1", at=NOW - 10),
        message_draft("Five times.", "k-1", at=NOW - 4, meta={"n": 1}),
    ]
    ((saved, stored),) = store.store_sessions([(given_, messages)], NOW)
    assert store.get_sessions([saved.id]) == {saved.id: saved}
    assert (saved.key, saved.label, saved.folder, saved.status, saved.importance) == (
        "k-1", "Retries", "/work/api", "active", 7.5,
    )  # fmt: skip
    assert (saved.source, saved.project, dict(saved.meta)) == ("chat", "my-api", {"a": [1, None, "ä"]})
    assert (saved.started_ms, saved.ended_ms, saved.updated_ms, saved.accessed_ms) == (NOW - 10, NOW - 4, NOW, NOW - 5)
    assert (saved.messages, saved.words, saved.rev, saved.forgotten_ms) == (2, 4, 1, None)
    assert saved.bytes == len("How often?Five times.") + len('{"n":1}')
    assert [s.duplicate for s in stored] == [False, False]
    read = store.messages_of(saved.id)
    assert [(item.body, item.created_ms, dict(item.meta)) for item in read] == [
        ("How often?", NOW - 10, {}), ("Five times.", NOW - 4, {"n": 1}),
    ]  # fmt: skip
    assert {item.project for item in read} == {"my-api"} and {item.session for item in read} == {"k-1"}


def test_bytes_are_bytes_and_not_letters(store: Store, draft: Make, message_draft: Make) -> None:
    ((stored, _),) = store.store_sessions([(session("k"), [message_draft("🦓", "k", meta={"é": "ü"})])], NOW)
    assert stored.bytes == len("🦓".encode()) + len('{"é":"ü"}'.encode())


def test_messages_are_read_in_the_order_they_were_given_page_by_page(store: Store, message_draft: Make) -> None:
    messages = [message_draft(f"line {n}", "k", at=NOW - n) for n in range(7)]
    ((saved, stored),) = store.store_sessions([(session("k"), messages)], NOW)
    assert bodies_of(store, saved.id) == [f"line {n}" for n in range(7)]
    page = store.messages_of(saved.id, 3)
    rest = store.messages_of(saved.id, 10, page[-1].id)
    assert [item.id for item in [*page, *rest]] == [s.id for s in stored]


def test_the_same_key_again_adds_what_is_new(store: Store, message_draft: Make) -> None:
    first = keep(store, message_draft, "k", "one", "two", label="Before")
    again, stored = store.store_sessions(
        [
            (
                session("k", label="After"),
                [message_draft("one", "k"), message_draft("two", "k"), message_draft("three", "k")],
            )
        ],
        NOW + 1,
    )[0]
    assert (again.id, again.uid, again.label, again.messages) == (first.id, first.uid, "Before", 3)
    assert [s.duplicate for s in stored] == [True, True, False]
    assert bodies_of(store, first.id) == ["one", "two", "three"]
    assert store.count_sessions(EVERYTHING) == 1


def test_one_bad_conversation_in_a_batch_leaves_nothing(store: Store, message_draft: Make) -> None:
    bad = replace(message_draft("walrus", "b"), body="lone \ud800 surrogate")
    with pytest.raises((Exception,)):
        store.store_sessions([(session("a"), [message_draft("walrus", "a")]), (session("b"), [bad])], NOW)
    assert store.count_sessions(SessionScope(empty=True)) == 0
    assert store.newest(Scope(), 10) == []


def test_any_spelling_of_an_id_and_the_key_find_a_session(store: Store, message_draft: Make) -> None:
    stored = keep(store, message_draft, "agents-own-name", "hello")
    for spelled in (stored.uid, stored.uid.upper(), stored.short_id, str(stored.id), "agents-own-name"):
        assert store.resolve_session(ref(spelled), spelled) == stored.id
    assert store.resolve_session(ref("nobody"), "nobody") is None


def test_the_name_that_an_agent_gives_a_session_finds_it_while_only_one_has_it(
    store: Store, message_draft: Make
) -> None:
    stored = keep(store, message_draft, "claude-code:50%_done", "hello")
    assert store.resolve_session(ref("50%_done"), "50%_done") == stored.id
    for other in ("50%xdone", "%_done", "done"):
        assert store.resolve_session(ref(other), other) is None
    keep(store, message_draft, "codex:50%_done", "hello")
    assert store.resolve_session(ref("50%_done"), "50%_done") is None


def test_appending_counts_bumps_the_revision_and_refuses_the_slower(
    store: Store, neighbour: Store, message_draft: Make
) -> None:
    saved = keep(store, message_draft, "k", "one")
    grown, stored = neighbour.append_messages(
        saved.id, [message_draft("two words", "k", at=NOW + 9)], NOW + 9, expect_rev=1
    )
    assert (grown.messages, grown.words, grown.rev, grown.ended_ms, len(stored)) == (2, 3, 2, NOW + 9, 1)
    with pytest.raises(Conflict, match="revision 2, not 1"):
        store.append_messages(saved.id, [message_draft("three", "k")], NOW + 9, expect_rev=1)
    assert bodies_of(store, saved.id) == ["one", "two words"]
    with pytest.raises(NotFound):
        store.append_messages(999, [message_draft("x", "k")], NOW)


def test_changes_keep_what_was_and_the_slower_of_two_is_refused(
    store: Store, neighbour: Store, message_draft: Make
) -> None:
    stored = keep(store, message_draft, "k", "one", label="First", folder="/a", importance=3.0)
    changed = store.change_session(stored.id, {"label": "Second", "importance": 8.0}, NOW + 1, expect_rev=1)
    assert (changed.label, changed.folder, changed.importance, changed.rev) == ("Second", "/a", 8.0, 2)
    assert (changed.updated_ms, changed.started_ms, changed.ended_ms) == (NOW + 1, stored.started_ms, stored.ended_ms)
    with pytest.raises(Conflict):
        neighbour.change_session(stored.id, {"label": "Third"}, NOW + 2, expect_rev=1)
    (was,) = neighbour.session_history(stored.id)
    assert (was.rev, was.op, was.at_ms) == (1, "edit", NOW + 1)
    assert (was.before["label"], was.before["importance"]) == ("First", 3.0)


def test_messages_move_with_their_conversation_to_another_project(
    store: Store, message_draft: Make, by_words: Words
) -> None:
    saved = keep(store, message_draft, "k", "the walrus", project="old")
    (item,) = store.messages_of(saved.id)
    assert store.change_session(saved.id, {"project": "new"}, NOW).project == "new"
    assert by_words(store, "walrus", Scope(project="new")) == [item.id]
    assert by_words(store, "walrus", Scope(project="old")) == []
    assert {p.name: p.items for p in store.projects()} == {"old": 0, "new": 1}
    again, stored = store.store_sessions([(session("k"), [message_draft("the walrus", "k")])], NOW)[0]
    assert ([s.duplicate for s in stored], again.messages) == ([True], 1)
    assert store.change_session(saved.id, {"project": None}, NOW).project is None
    assert by_words(store, "walrus", Scope(only_global=True)) == [item.id]


def test_forgetting_hides_all_and_restoring_brings_back_what_it_had(
    store: Store, message_draft: Make, by_words: Words
) -> None:
    stored = keep(store, message_draft, "k", "walrus one", "walrus two", "walrus three")
    two = store.messages_of(stored.id)[1]
    store.forget([two.id], NOW + 1)
    gone = store.forget_session(stored.id, NOW + 2)
    assert (gone.forgotten_ms, gone.messages, gone.words) == (NOW + 2, 0, 0)
    assert by_words(store, "walrus") == [] and store.latest_sessions(EVERYTHING, 9) == []
    assert store.count_sessions(SessionScope(empty=True)) == 0
    assert store.get_sessions([stored.id])[stored.id].forgotten_ms == NOW + 2
    assert store.forget_session(stored.id, NOW + 3).forgotten_ms == NOW + 2
    back = store.restore_session(stored.id, NOW + 4)
    assert (back.forgotten_ms, back.messages, back.words) == (None, 2, 4)
    assert bodies_of(store, stored.id) == ["walrus one", "walrus three"]
    assert len(by_words(store, "walrus")) == 2
    assert [change.op for change in store.session_history(stored.id)] == ["forget", "restore"]


def test_keeping_again_what_was_forgotten_brings_it_back(store: Store, message_draft: Make) -> None:
    stored = keep(store, message_draft, "k", "one", "two")
    store.forget_session(stored.id, NOW + 1)
    again = keep(store, message_draft, "k", "one", "two")
    assert (again.id, again.forgotten_ms, again.messages) == (stored.id, None, 2)
    assert bodies_of(store, stored.id) == ["one", "two"]


def test_a_message_that_comes_back_alone_is_not_without_its_conversation(store: Store, message_draft: Make) -> None:
    stored = keep(store, message_draft, "k", "one", "two")
    _one, two = store.messages_of(stored.id)
    store.forget_session(stored.id, NOW + 1)
    store.restore([two.id], NOW + 2)
    alone = store.get_sessions([stored.id])[stored.id]
    assert (alone.forgotten_ms, alone.messages) == (None, 1)
    assert labels(store.latest_sessions(EVERYTHING, 9)) == ["Talk"]
    assert store.restore_session(stored.id, NOW + 3).messages == 2


def test_reading_notes_the_visit_and_nothing_else(store: Store, message_draft: Make) -> None:
    stored = keep(store, message_draft, "k", "one")
    before = store.messages_of(stored.id)
    store.touch_session(stored.id, NOW + 50)
    store.touch_session(stored.id, NOW + 20)
    assert store.get_sessions([stored.id])[stored.id] == replace(stored, accessed_ms=NOW + 50)
    assert store.messages_of(stored.id) == before


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (EVERYTHING, {"A", "B", "Deep/End", "D", "E"}),
        (SessionScope(folder="/"), {"A", "B", "Deep/End", "D", "E"}),
        (SessionScope(folder="/work"), {"A", "B", "Deep/End"}),
        (SessionScope(folder="/work/engineering"), {"B", "Deep/End"}),
        (SessionScope(folder="/workshop"), {"D"}),
        (SessionScope(folder="/wor"), set()),
        (SessionScope(folder="/働く"), {"E"}),
        (SessionScope(labels=("a",)), {"A"}),
        (SessionScope(labels=("ENGINEERING",)), {"B", "Deep/End"}),
        (SessionScope(labels=("end", "d")), {"Deep/End", "D"}),
        (SessionScope(labels=("dee",)), set()),
        (SessionScope(statuses=("archived",)), {"B"}),
        (SessionScope(statuses=("active", "pinned"), folder="/work"), {"A", "Deep/End"}),
        (SessionScope(project="zoo"), {"D"}),
        (SessionScope(project="nowhere"), set()),
        (SessionScope(source="chat"), {"A"}),
        (SessionScope(folders=("/work/engineering", "/workshop")), {"B", "Deep/End", "D"}),
        (SessionScope(folder="/work", folders=("/work/engineering", "/働く")), {"B", "Deep/End"}),
        (SessionScope(folders=("/workshop", "/")), {"A", "B", "Deep/End", "D", "E"}),
        (SessionScope(since_ms=NOW), {"A", "B", "Deep/End", "D", "E"}),
        (SessionScope(since_ms=NOW + 1_000_000), set()),
        (SessionScope(until_ms=NOW - 1_000_000), set()),
        (SessionScope(until_ms=NOW + 1_000_000, folder="/workshop"), {"D"}),
    ],
)
@pytest.mark.promise("sekha:decided:folder-tree")
def test_a_scope_means_a_tree_of_folders_any_label_and_so_on(
    store: Store, message_draft: Make, scope: SessionScope, expected: set[str]
) -> None:
    keep(store, message_draft, "a", "one", label="A", folder="/work", source="chat")
    keep(store, message_draft, "b", "one", label="B", folder="/work/engineering", status="archived")
    keep(
        store,
        message_draft,
        "c",
        "one",
        label="Deep/End",
        folder="/work/engineering/db",
        status="pinned",
        importance=10.0,
    )
    keep(store, message_draft, "d", "one", label="D", folder="/workshop", project="zoo")
    keep(store, message_draft, "e", "one", label="E", folder="/働く/設計")
    assert set(labels(store.latest_sessions(scope, 99))) == expected
    assert store.count_sessions(scope) == len(expected)
    assert store.session_counts(scope, 10).sessions == len(expected)


def test_the_list_goes_on_where_a_page_ended(store: Store, message_draft: Make) -> None:
    for n in range(5):
        store.store_sessions(
            [(session(f"k{n}", label=f"{n}", started_ms=NOW), [message_draft(f"m{n}", f"k{n}", at=NOW + n // 2)])], NOW
        )
    walked: list[str] = []
    before = None
    while page := store.latest_sessions(EVERYTHING, 2, before):
        walked += labels(page)
        before = (page[-1].ended_ms, page[-1].id)
    assert walked == ["4", "3", "2", "1", "0"]
    assert [labels(store.latest_sessions(EVERYTHING, 2, skip=n)) for n in (0, 2, 4, 6)] == [
        walked[:2],
        walked[2:4],
        ["0"],
        [],
    ]


def test_sums_are_of_what_is_in_the_scope(store: Store, message_draft: Make) -> None:
    keep(store, message_draft, "a", "one two", label="X", folder="/w", importance=4.0)
    keep(store, message_draft, "b", "three", "four", label="X", folder="/w/e", importance=7.0, status="archived")
    keep(store, message_draft, "c", "elsewhere", label="Y", folder="/z")
    store.forget_session(keep(store, message_draft, "d", "gone", label="Z", folder="/w").id, NOW)
    counts = store.session_counts(SessionScope(folder="/w"), 10)
    assert (counts.sessions, counts.messages, counts.words, counts.importance) == (2, 3, 4, 5.5)
    assert counts.bytes == len("one twothreefour")
    assert (dict(counts.folders), dict(counts.labels)) == ({"/w": 1, "/w/e": 1}, {"X": 2})
    assert dict(counts.statuses) == {"active": 1, "archived": 1}
    everything = store.session_counts(EVERYTHING, 1)
    assert (dict(everything.labels), everything.all_labels) == ({"X": 2}, 2)
    nothing = store.session_counts(SessionScope(folder="/none"), 10)
    assert (nothing.sessions, nothing.importance, nothing.oldest_ms, nothing.newest_ms) == (0, 0.0, None, None)


def test_a_question_may_be_about_some_conversations(store: Store, message_draft: Make, by_words: Words) -> None:
    one = keep(store, message_draft, "a", "walrus kelp", folder="/work")
    keep(store, message_draft, "b", "walrus there", folder="/home")
    found = by_words(store, "walrus", Scope(sessions=SessionScope(folder="/work")))
    assert found == [item.id for item in store.messages_of(one.id)]
    assert by_words(store, "walrus AND kelp", Scope(sessions=SessionScope(folder="/home"))) == []
    assert by_words(store, "walrus", Scope(sessions=SessionScope(folder="/none"))) == []
    assert store.sessions_of(found) == {found[0]: one}


def test_idle_is_active_old_and_of_low_importance(store: Store, message_draft: Make) -> None:
    def old(key: str, days: int, **more: object) -> None:
        made = session(key, label=key, started_ms=NOW - days * DAY, **more)  # type: ignore[arg-type]
        store.store_sessions([(made, [message_draft("x", key, at=NOW - days * DAY)])], NOW)

    old("old", 40, importance=2.0)
    old("border", 30, importance=4.9)
    old("young", 29, importance=2.0)
    old("dear", 40, importance=5.0)
    old("pinned", 40, importance=10.0, status="pinned")
    old("archived", 40, importance=1.0, status="archived")
    assert labels(store.idle_sessions(NOW - 30 * DAY, 5.0)) == ["old", "border"]
    assert labels(store.idle_sessions(NOW - 30 * DAY, 10.0)) == ["old", "border", "dear"]


def test_sketches_follow_what_is_said(store: Store, message_draft: Make) -> None:
    one = keep(store, message_draft, "a", "alpha", "beta", "gamma")
    two = keep(store, message_draft, "b", "alpha", "beta", "delta")

    def alike() -> float:
        made = store.sketches()
        return sketch_similarity(made[one.id], made[two.id])

    assert alike() == pytest.approx(0.5)
    last = store.messages_of(two.id)[-1]
    store.forget([last.id], NOW)
    assert alike() == pytest.approx(2 / 3)
    store.restore([last.id], NOW)
    assert alike() == pytest.approx(0.5)
    store.rewrite(last.id, message_draft("gamma", "b"), NOW)
    assert alike() == 1.0
    store.append_messages(two.id, [message_draft("epsilon", "b")], NOW)
    assert alike() == pytest.approx(3 / 4)
    store.forget_session(two.id, NOW)
    assert two.id not in store.sketches()
    store.restore_session(two.id, NOW)
    assert alike() == pytest.approx(3 / 4)


texts = st.sampled_from(("one", "two words", "🦓", "数据 库", "a\nb", "three little words"))
which = st.integers(0, 9)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("abc"), st.lists(texts, min_size=1, max_size=4)),
        st.tuples(st.just("put"), st.sampled_from("abc"), texts),
        st.tuples(st.just("append"), which, texts),
        st.tuples(st.sampled_from(("forget_session", "restore_session", "change")), which),
        st.tuples(st.sampled_from(("forget", "restore", "supersede")), which),
        st.tuples(st.just("rewrite"), which, texts),
    ),
    max_size=20,
)


def do(store: Store, make_message: Make, step: tuple[object, ...], ticks: Iterator[int]) -> None:
    now = NOW + next(ticks)
    verb, what, *rest = step
    if verb == "keep":
        keep(store, make_message, str(what), *rest[0], folder=f"/{what}")  # type: ignore[misc]
        return
    if verb == "put":
        store.put([replace(make_message(str(rest[0]), f"{what}{now}"), session=str(what))], now)
        return
    assert isinstance(what, int)
    sessions = [one for n in range(1, 4) for one in store.get_sessions([n]).values()]
    items = sorted(store.get(range(1, 60)))
    if verb in ("append", "forget_session", "restore_session", "change") and sessions:
        chosen = sessions[what % len(sessions)].id
        if verb == "append":
            store.append_messages(chosen, [make_message(str(rest[0]), f"{chosen}@{now}")], now)
        elif verb == "change":
            store.change_session(chosen, {"label": f"{now}", "project": "p" if what % 2 else None}, now)
        else:
            (store.forget_session if verb == "forget_session" else store.restore_session)(chosen, now)
    elif items:
        item = items[what % len(items)]
        if verb == "forget":
            store.forget([item], now)
        elif verb == "restore":
            store.restore([item], now)
        elif verb == "rewrite":
            stored = store.get([item])[item]
            store.rewrite(item, replace(make_message(str(rest[0]), f"{item}@{now}"), project=stored.project), now)
        elif verb == "supersede" and len(items) > 1 and items[what % len(items) - 1] < item:
            store.supersede(items[what % len(items) - 1], item, now)


@given(script=steps)
@hypothesis_settings(max_examples=40)
@pytest.mark.promise("sekha:decided:counts-true")
def test_whatever_happens_the_counts_equal_a_recount(
    open_store: Opener, message_draft: Make, script: list[tuple[object, ...]]
) -> None:
    store = open_store(name=f"talk {next(_runs)}")
    ticks = count(1)
    for step in script:
        do(store, message_draft, step, ticks)
    visible = {one.id for one in store.latest_sessions(EVERYTHING, 99)}
    for stored in [one for n in range(1, 4) for one in store.get_sessions([n]).values()]:
        messages = store.messages_of(stored.id)
        assert stored.messages == len(messages)
        assert stored.words == sum(count_words(item.body) for item in messages)
        assert stored.bytes == sum(len(item.body.encode()) for item in messages)
        assert (stored.id in visible) == bool(messages)
        assert stored.forgotten_ms is None or not messages
    counts = store.session_counts(EVERYTHING, 99)
    assert counts.messages == sum(len(store.messages_of(id_)) for id_ in visible)


_runs = count()


def test_conversations_are_found_by_their_titles(store: Store, message_draft: Make) -> None:
    rollout = keep(store, message_draft, "k1", "first", "second", label="Deploy the Gateway")
    keep(store, message_draft, "k2", "third", label="Holiday plans")
    keep(store, message_draft, "k3", "fourth", label="Gateway time-outs", started_ms=NOW + DAY)
    foreign = keep(store, message_draft, "k4", "fifth", label="Überblick")
    store.forget_session(keep(store, message_draft, "k5", "sixth", label="Deploy the gateway again").id, NOW)
    keep(store, message_draft, "k6", label="Deploy a gateway without a message")

    def titles(patterns: Sequence[str], least: int, limit: int = 9, **scope: str) -> set[str]:
        return set(store.conversations_by_title(patterns, least, Scope(**scope), limit).values())  # type: ignore[arg-type]

    # Whatever the case of ASCII letters. Titles with others are left to the caller, who folds them itself.
    assert titles(["%GATEWAY%"], 1) == {"Deploy the Gateway", "Gateway time-outs", "Überblick"}
    assert titles(["%gateway%", "%deploy%"], 2) == {"Deploy the Gateway", "Überblick"}
    assert titles(["%gate_ay%"], 1) == titles(["%gateway%"], 1)
    assert titles([], 0) == titles(["%gateway%"], 1, limit=0) == titles(["%gateway%"], 1, project="nowhere") == set()
    # The first message that is in the scope stands for the conversation.
    first, second = store.messages_of(rollout.id)
    found = store.conversations_by_title(["%deploy%"], 1, Scope(), 9)
    assert found == {first.id: "Deploy the Gateway", store.messages_of(foreign.id)[0].id: "Überblick"}
    store.forget([first.id], NOW)
    assert second.id in store.conversations_by_title(["%deploy%"], 1, Scope(), 9)
    assert store.conversations_by_title(["%deploy%"], 1, Scope(kinds=("memory",)), 9) == {}
