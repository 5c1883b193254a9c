"""How a store is read: by id, by time, around something; what it counts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.model import KINDS, Draft, Item, Scope, ref
from commonplace.store.protocol import Store

if TYPE_CHECKING:
    from tests.contract.conftest import Opener

Make = Callable[..., Draft]
NOW = 1_742_049_000_000


def newest(store: Store, limit: int = 100, before: tuple[int, int] | None = None, **scope: object) -> list[str]:
    return [item.body for item in store.newest(Scope(**scope), limit, before)]  # type: ignore[arg-type]


def test_every_spelling_of_an_id_resolves(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("one")], NOW)
    uid = stored.uid
    spellings: list[int | str] = [
        stored.id,
        str(stored.id),
        f"#{stored.id}",
        uid,
        uid.upper(),
        uid.replace("-", ""),
        uid[-12:],
        uid[-12:].upper(),
    ]
    assert store.resolve([ref(spelling) for spelling in spellings]) == [stored.id] * len(spellings)


def test_an_id_that_nothing_has_resolves_to_nothing(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("one")], NOW)
    unknown: list[int | str] = [0, -1, stored.id + 1, 10**17, 2**63 - 1, 2**64, "0" * 12, "0" * 32]
    assert store.resolve([ref(value) for value in unknown]) == [None] * len(unknown)
    assert store.resolve([]) == []


def test_a_forgotten_item_still_resolves(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("one")], NOW)
    store.forget([stored.id], NOW)
    assert store.resolve([ref(stored.id), ref(stored.uid), ref(stored.uid[-12:])]) == [stored.id] * 3


def test_a_short_id_that_two_items_share_means_neither(store: Store, draft: Make) -> None:
    tail = "00000000000b"
    uids = [f"01959a12-000{n}-7000-8000-{tail}" for n in range(2)]
    stored = store.put([draft(f"twin {uid}", uid=uid) for uid in uids], NOW)
    assert store.resolve([ref(tail), ref(uids[0]), ref(uids[1])]) == [None, stored[0].id, stored[1].id]


def test_twelve_digits_are_a_short_id_before_they_are_a_number(store: Store, draft: Make) -> None:
    digits = "000000000001"
    first, second = store.put([draft("number one"), draft("short", uid=f"01959a12-0000-7000-8000-{digits}")], NOW)
    assert store.resolve([ref(digits), ref(1)]) == [second.id, first.id]


def test_get_answers_whatever_the_order_and_leaves_out_what_is_not_there(store: Store, draft: Make) -> None:
    ids = [s.id for s in store.put([draft(f"n{n}") for n in range(4)], NOW)]
    requested = [ids[2], 999, ids[0], ids[2], -5, 2**70, ids[3]]
    assert store.get(requested) == store.get(reversed(requested))
    assert set(store.get(requested)) == {ids[0], ids[2], ids[3]}
    assert store.get([]) == {}


def test_newest_first_and_equals_by_falling_id(store: Store, draft: Make) -> None:
    times = {"b": 5, "a": 9, "c": 5, "d": -3, "e": 5}
    store.put([draft(body, at=at) for body, at in times.items()], NOW)
    assert newest(store) == ["a", "e", "c", "b", "d"]
    assert newest(store, 2) == ["a", "e"]
    assert newest(store, 0) == []


@given(times=st.lists(st.integers(0, 3), max_size=12), page=st.integers(1, 5))
@hypothesis_settings(max_examples=15)
def test_pages_have_no_gap_and_no_repetition(open_store: Opener, draft: Make, times: list[int], page: int) -> None:
    store = open_store("pages of " + "-".join(map(str, times)) + f" by {page}")
    store.put([draft(f"item {n}", at=at, project="p" if n % 3 else None) for n, at in enumerate(times)], NOW)
    scope = Scope(project="p", with_global=True)
    everything = [item.id for item in store.newest(scope, 1000)]
    assert len(everything) == len(times)
    walked: list[Item] = []
    before: tuple[int, int] | None = None
    while found := store.newest(scope, page, before):
        walked += found
        before = (found[-1].created_ms, found[-1].id)
    assert [item.id for item in walked] == everything


def test_newest_keeps_to_its_scope(store: Store, draft: Make) -> None:
    store.put(
        [
            draft("global rule", type="rule", at=1),
            draft("global note", at=2),
            draft("p observation", kind="observation", type="fix", project="github.com/acme/p", at=3),
            draft("p rule", type="rule", project="github.com/acme/p", at=4),
            draft("q rule", type="rule", project="q", at=5),
            draft("q message", kind="message", type="message", project="q", at=6),
        ],
        NOW,
    )
    for name in ("github.com/acme/p", "p", "P", "https://github.com/acme/p.git", "git@github.com:acme/p.git"):
        assert newest(store, project=name) == ["p rule", "p observation"], name
    assert newest(store, project="p", with_global=True) == ["p rule", "p observation", "global note", "global rule"]
    assert newest(store, only_global=True) == ["global note", "global rule"]
    assert newest(store, types=("rule",)) == ["q rule", "p rule", "global rule"]
    assert newest(store, types=("rule", "fix"), project="p", with_global=True) == [
        "p rule",
        "p observation",
        "global rule",
    ]
    assert newest(store, kinds=("message", "observation")) == ["q message", "p observation"]
    assert newest(store, kinds=KINDS, project="q") == ["q message", "q rule"]
    assert newest(store, kinds=("summary",)) == []
    assert newest(store, since_ms=3, until_ms=5) == ["p rule", "p observation"]
    assert newest(store, since_ms=5, project="q") == ["q message", "q rule"]
    assert newest(store, until_ms=4, types=("rule",)) == ["global rule"]
    assert newest(store, project="nowhere") == []
    assert newest(store, project="nowhere", with_global=True) == ["global note", "global rule"]
    with pytest.raises(InvalidInput):
        newest(store, project=" ")


def test_neighbours_in_time_come_from_the_scope(store: Store, draft: Make) -> None:
    stored = store.put(
        [draft(f"{project} {at}", project=project, at=at) for at in range(6) for project in ("p", "q", None)], NOW
    )
    items = store.get(s.id for s in stored)
    anchor = next(item for item in items.values() if item.body == "p 3")
    inside = Scope(project="p")
    assert [i.body for i in store.around(anchor, 2, 5, inside)] == ["p 1", "p 2", "p 3", "p 4", "p 5"]
    assert [i.body for i in store.around(anchor, 0, 1, inside)] == ["p 3", "p 4"]
    assert [i.body for i in store.around(anchor, 0, 0, inside)] == ["p 3"]
    loose = next(item for item in items.values() if item.body == "None 0")
    assert [i.body for i in store.around(loose, 3, 2, Scope(only_global=True))] == ["None 0", "None 1", "None 2"]
    assert [i.body for i in store.around(anchor, 2, 2, Scope())] == ["q 2", "None 2", "p 3", "q 3", "None 3"]
    assert [i.body for i in store.around(anchor, 1, 1, Scope(project="q"))] == ["q 2", "p 3", "q 3"]
    assert [i.body for i in store.around(anchor, 5, 5, Scope(project="nowhere"))] == ["p 3"]


def test_neighbours_at_the_same_moment_stand_by_their_ids(store: Store, draft: Make) -> None:
    ids = [s.id for s in store.put([draft(f"n{n}", at=7) for n in range(5)], NOW)]
    anchor = store.get([ids[2]])[ids[2]]
    assert [item.id for item in store.around(anchor, 5, 5, Scope())] == ids
    assert [item.id for item in store.around(anchor, 1, 1, Scope())] == ids[1:4]


def test_neighbours_are_of_the_kinds_asked_for(store: Store, draft: Make) -> None:
    stored = store.put([draft(kind, kind=kind, at=n) for n, kind in enumerate(KINDS)], NOW)
    anchor = store.get([stored[2].id])[stored[2].id]
    found = store.around(anchor, 5, 5, Scope(kinds=("observation", "summary")))
    assert [item.kind for item in found] == ["observation", "message", "summary"]


def test_passages_of_items_in_their_order(store: Store, draft: Make) -> None:
    whole, cut = store.put([draft("short"), draft(parts=["first part", "second part", "third part"])], NOW)
    passages = store.passages_of([cut.id, whole.id, cut.id, 999])
    assert set(passages) == {whole.id, cut.id}
    assert (len(passages[whole.id]), len(passages[cut.id])) == (1, 3)
    texts = store.passage_texts([*passages[cut.id], *passages[whole.id], 12345])
    assert [texts[p].text for p in passages[cut.id]] == ["first part", "second part", "third part"]
    assert {text.item_id for text in texts.values()} == {whole.id, cut.id}
    assert store.passages_of([]) == {} and store.passage_texts([]) == {}


def test_passages_are_read_with_who_spoke_and_what_was_said_before(store: Store, draft: Make) -> None:
    texts = [("Ann", "Which adoption agency?"), ("Bo", "The one downtown")]
    drafts = [
        draft(text, kind="message", session="talk", at=n, details={"role": "user", "speaker": who})
        for n, (who, text) in enumerate(texts)
    ]
    first, second, note = [stored.id for stored in store.put([*drafts, draft("a note", at=9)], NOW)]
    passages = {item_id: one for item_id, (one,) in store.passages_of([first, second, note]).items()}
    read = store.passages_in_context([*passages.values(), 12345])
    assert {item_id: (read[one][0].text, read[one][1]) for item_id, one in passages.items()} == {
        first: ("Ann: Which adoption agency?", ""),
        second: ("Bo: The one downtown", "Ann: Which adoption agency?"),
        note: ("a note", ""),
    }
    assert store.passages_in_context([]) == {}


def test_a_long_message_is_read_without_who_spoke_unless_that_is_a_name(store: Store, draft: Make) -> None:
    long = " ".join(["We keep the sessions in Redis, and they last for thirty days."] * 5)
    spoken = [("", "short"), ("Ann", long), ("", long), ("user", long)]
    drafts = [
        draft(text, kind="message", session="talk", at=n, details={"role": "user"} | ({"speaker": who} if who else {}))
        for n, (who, text) in enumerate(spoken)
    ]
    ids = [stored.id for stored in store.put(drafts, NOW)]
    passages = [store.passages_of([id_])[id_][0] for id_ in ids]
    read = store.passages_in_context(passages)
    assert [read[one][0].text for one in passages] == ["user: short", f"Ann: {long}", long, long]


def test_the_text_that_stands_for_a_whole_item_holds_what_it_says(store: Store, draft: Make) -> None:
    (stored,) = store.put(
        [draft("the body", title="The Title", kind="observation", details={"narrative": "the story", "facts": "f"})],
        NOW,
    )
    ((passage,),) = store.passages_of([stored.id]).values()
    text = store.passage_texts([passage])[passage].text
    assert all(part in text for part in ("The Title", "the body", "the story"))


def test_counts_tell_what_is_there(store: Store, draft: Make) -> None:
    empty = store.counts()
    assert (dict(empty.items), empty.projects, empty.sessions, empty.passages, empty.pending) == ({}, 0, 0, 0, 0)
    stored = store.put(
        [
            draft("a", project="p", session="s"),
            draft("b", kind="message", project="p", session="s"),
            draft("c", kind="message", session="t"),
            draft(parts=["d1", "d2"], kind="summary", project="q"),
        ],
        NOW,
    )
    counts = store.counts()
    assert dict(counts.items) == {"memory": 1, "message": 2, "summary": 1}
    assert (counts.projects, counts.sessions, counts.passages) == (2, 2, 5)
    assert (counts.vectors, counts.pending, counts.forgotten) == (0, 5, 0)
    assert counts.bytes > 0
    store.forget([stored[1].id, stored[3].id], NOW)
    counts = store.counts()
    assert {kind: n for kind, n in counts.items.items() if n} == {"memory": 1, "message": 1}
    assert (counts.pending, counts.forgotten) == (2, 2) == (store.pending(), 2)


def test_what_one_handle_writes_another_reads_at_once(store: Store, neighbour: Store, draft: Make) -> None:
    (stored,) = store.put([draft("walrus", project="p")], NOW)
    assert neighbour.get([stored.id])[stored.id].body == "walrus"
    neighbour.rewrite(stored.id, draft("penguin", project="p"), NOW)
    assert store.get([stored.id])[stored.id].body == "penguin"
    ids = [s.id for n in range(6) for s in (store, neighbour)[n % 2].put([draft(f"turn {n}")], NOW)]
    assert all(a < b for a, b in pairwise(ids))


def test_a_closed_store_keeps_what_it_had(open_store: Opener, draft: Make) -> None:
    first = open_store()
    (stored,) = first.put([draft("walrus")], NOW)
    first.close()
    first.close()
    assert open_store().get([stored.id])[stored.id].body == "walrus"


def test_a_store_says_what_it_is(store: Store) -> None:
    described = store.describe()
    assert described["engine"] and described["version"]
    assert store.check_schema() == described["schema"]


def test_what_is_read_at_one_moment_belongs_together(store: Store, open_store: Opener, draft: Make) -> None:
    """Another writer in the midst of it is not seen by half."""
    store.put([draft("first")], 1)
    other = open_store()
    (first,) = [item.body for item in store.newest(Scope(), 9)]

    def read() -> tuple[list[str], list[str]]:
        before = [item.body for item in store.newest(Scope(), 9)]
        other.put([draft("second")], 2)
        return before, [item.body for item in store.newest(Scope(), 9)]

    before, after = store.snapshot(read)
    assert before == after == [first]
    assert len(store.newest(Scope(), 9)) == 2


def test_what_fails_at_one_moment_leaves_nothing_open(store: Store, draft: Make) -> None:
    with pytest.raises(ZeroDivisionError):
        store.snapshot(lambda: 1 // 0)
    store.put([draft("later")], 3)
    assert len(store.newest(Scope(), 9)) == 1
