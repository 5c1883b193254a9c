"""Links between passages: why each is made, how strong it is, who sees it, and that linking again changes nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.errors import StoreBusy
from commonplace.model import Draft, SessionDraft
from commonplace.store.protocol import Store
from commonplace.store.types import (
    COMMON_MENTIONS,
    LINK_WEIGHTS,
    MAX_LINKS_PER_MENTION,
    MAX_MENTION_LINKS,
    Edge,
    link_weight,
)
from commonplace.text.references import references

Tie = tuple[str, str, str]


def link_all(store: Store, limit: int = 50) -> int:
    done = 0
    while step := store.link(limit, references, THEN):
        done += step
    return done


def say(store: Store, key: str, *texts: str, at: int = THEN, meta: Mapping[str, object] | None = None) -> list[int]:
    """Messages of a session, a second apart, the first by the user; the ids of the items."""
    session = SessionDraft(key, key, "/", "active", 5.0, at, project="acme", meta=meta or {})
    drafts = [
        make_draft(
            text,
            kind="message",
            type="message",
            session=key,
            project="acme",
            at=at + 1000 * n,
            details={"role": "assistant" if n % 2 else "user"},
        )
        for n, text in enumerate(texts)
    ]
    ((_session, stored),) = store.store_sessions([(session, drafts)], THEN)
    return [one.id for one in stored]


def edges(store: Store, item_ids: Iterable[int], rel: str = "", project: str | None = None) -> list[Edge]:
    passages = [passage for group in store.passages_of(list(item_ids)).values() for passage in group]
    return [edge for edge in store.edges_of(passages, 100, project) if rel in ("", edge.rel)]


def ties(store: Store, item_ids: Sequence[int], rel: str = "") -> set[Tie]:
    """The edges with what their passages say instead of their ids."""
    found = edges(store, item_ids, rel)
    texts = store.passage_texts([passage for edge in found for passage in (edge.src, edge.dst)])
    return {(texts[edge.src].text, edge.rel, texts[edge.dst].text) for edge in found}


def put(store: Store, *drafts: Draft) -> list[int]:
    return [stored.id for stored in store.put(drafts, THEN)]


def test_neighbouring_turns_and_parts_are_linked(store: Store) -> None:
    messages = say(store, "s", "one", "two", "three")
    (cut,) = put(store, make_draft(parts=["part one", "part two"], session="s", at=THEN + 9000))
    link_all(store)
    assert ties(store, [*messages, cut]) == {
        ("two", "adjacent", "one"),
        ("three", "adjacent", "two"),
        ("part one", "adjacent", "three"),
        ("part two", "adjacent", "part one"),
    }
    assert {edge.weight for edge in edges(store, messages)} == {LINK_WEIGHTS["adjacent"]}


def test_how_a_long_turn_began_and_how_it_ended_are_neighbours(store: Store) -> None:
    (turn,) = put(store, make_draft(parts=["begin", "middle", "later", "end"]))
    link_all(store)
    assert ties(store, [turn]) == {
        ("middle", "adjacent", "begin"),
        ("later", "adjacent", "middle"),
        ("end", "adjacent", "later"),
        ("end", "adjacent", "begin"),
    }


def test_turns_are_neighbours_by_time_and_not_by_when_they_were_written(store: Store) -> None:
    late, early, middle = put(
        store,
        *(make_draft(text, session="s", at=THEN + at) for text, at in (("late", 9), ("early", 1), ("middle", 5))),
    )
    link_all(store)
    assert {("middle", "adjacent", "early"), ("late", "adjacent", "middle")} <= ties(store, [late, early, middle])
    assert store.sort_by_time(store.passages_of([late])[late] + store.passages_of([early])[early]) == [
        *store.passages_of([early])[early],
        *store.passages_of([late])[late],
    ]


def test_many_turns_of_one_moment_are_linked_in_a_row(store: Store) -> None:
    ids = put(store, *(make_draft(f"turn {n}", session="s") for n in range(9)))
    link_all(store)
    assert ties(store, ids) == {(f"turn {n + 1}", "adjacent", f"turn {n}") for n in range(8)}


@pytest.mark.parametrize(
    ("rel", "once", "again"),
    [
        ("file", "look into src/auth.ts", "changed /home/me/api/src/auth.ts:12"),
        ("error", "TypeError: token 3 is not a string", "again TypeError: token 4 is not a string"),
        ("name", "wrote refreshToken", "who calls refreshToken() now"),
    ],
)
def test_what_mentions_the_same_is_linked(store: Store, rel: str, once: str, again: str) -> None:
    ids = put(store, make_draft(once, at=THEN), make_draft("nothing"), make_draft(again, at=THEN + 5))
    link_all(store)
    assert ties(store, ids) == {(again, rel, once)}
    assert [edge.weight for edge in edges(store, ids)] == [LINK_WEIGHTS[rel]]


def test_files_named_beside_the_text_are_mentioned_too(store: Store) -> None:
    ids = put(
        store,
        make_draft(
            "a change", kind="observation", type="file-write", details={"files_modified": "a/x.py, src/auth.ts"}
        ),
        make_draft("why is src/auth.ts slow", at=THEN + 1),
    )
    link_all(store)
    assert [edge.rel for edge in edges(store, ids)] == ["file"]


def test_a_file_or_a_name_is_of_its_project_and_an_error_of_everywhere(store: Store) -> None:
    text = "src/auth.ts has refreshToken: TypeError: token is not a string"
    ids = put(store, make_draft(text, project="one"), make_draft(f"{text} too", project="two", at=THEN + 1))
    more = put(store, make_draft("TypeError: token is not a string", project="two", at=THEN + 2))
    link_all(store)
    assert {edge.rel for edge in edges(store, ids[:1])} == {"error"}
    assert edges(store, more, project="two") == []
    assert edges(store, more, project="one") == [], "asked about a passage of another project"
    assert {edge.rel for edge in edges(store, more)} == {"error"}


def test_the_latest_few_are_linked_and_the_more_common_the_weaker(store: Store) -> None:
    ids = put(store, *(make_draft(f"number {n} of src/auth.ts", at=THEN + n) for n in range(10)))
    link_all(store)
    last = store.passages_of(ids)[ids[-1]][0]
    back = [edge for edge in store.edges_of([last], 100) if edge.src == last]
    assert {edge.dst for edge in back} == {
        store.passages_of(ids)[id_][0] for id_ in ids[-1 - MAX_LINKS_PER_MENTION : -1]
    }
    assert {edge.weight for edge in back} == {link_weight("file", 9)}
    assert link_weight("file", 1) == 1.0 > link_weight("file", 9) > link_weight("file", COMMON_MENTIONS - 1) >= 0.5


def test_what_everyone_mentions_links_no_more(store: Store) -> None:
    drafts = [make_draft(f"number {n} of src/auth.ts", at=THEN + n) for n in range(4 * COMMON_MENTIONS)]
    ids = put(store, *drafts)
    assert link_all(store, 2 * COMMON_MENTIONS) == len(ids)
    assert edges(store, ids[COMMON_MENTIONS - 1 : COMMON_MENTIONS]) != []
    assert edges(store, ids[-2 * COMMON_MENTIONS :]) == []
    (rare,) = put(store, make_draft("src/auth.ts and src/rare.ts"))
    (other,) = put(store, make_draft("src/rare.ts"))
    link_all(store)
    assert [edge.rel for edge in edges(store, [other])] == ["file"]
    assert len(edges(store, [rare])) == 1


def test_a_passage_has_a_bounded_number_of_links(store: Store) -> None:
    words = [f"callTheNumber{n}Now" for n in range(8)]
    put(store, *(make_draft(f"{word} {m}") for word in words for m in range(5)))
    (last,) = put(store, make_draft(" ".join(words), at=THEN + 1))
    link_all(store)
    assert len(edges(store, [last])) == MAX_MENTION_LINKS


def test_an_item_of_many_passages_links_a_thing_once(store: Store) -> None:
    (first,) = put(store, make_draft("about src/auth.ts"))
    (long,) = put(store, make_draft(parts=[f"part {n} of src/auth.ts" for n in range(6)], at=THEN + 1))
    link_all(store)
    assert ties(store, [first], "file") == {("part 0 of src/auth.ts", "file", "about src/auth.ts")}
    assert ties(store, [long], "file") == ties(store, [first], "file")


def test_a_back_reference_goes_to_what_is_meant(store: Store) -> None:
    before = say(store, "s1", "let us begin", "it is decided", at=THEN - 9_000_000)
    messages = say(
        store,
        "s2",
        "like last time, use tabs",
        "RuntimeError: it does not want to",
        "something else",
        "and more of it",
        "that error, where was it?",
        "as we discussed, says the agent",
        "as we discussed, do it",
    )
    link_all(store)
    assert ties(store, [*before, *messages], "backref") == {
        ("like last time, use tabs", "backref", "it is decided"),
        ("that error, where was it?", "backref", "RuntimeError: it does not want to"),
        ("as we discussed, do it", "backref", "as we discussed, says the agent"),
    }
    assert {edge.weight for edge in edges(store, messages, "backref")} == {LINK_WEIGHTS["backref"]}


@pytest.mark.parametrize("early", [True, False])
def test_a_continued_session_is_linked_to_the_end_of_the_one_before(store: Store, *, early: bool) -> None:
    def old() -> list[int]:
        return say(store, "old", "a", "b", "c", "d", at=THEN - 9_000_000)

    if early:
        old()
        link_all(store)
    messages = say(store, "new", "here we go", "yes", meta={"continued_from": "old"})
    link_all(store)
    if not early:
        old()
        link_all(store)
    assert ties(store, messages, "continued") == {("here we go", "continued", letter) for letter in "bcd"}
    assert {edge.weight for edge in edges(store, messages, "continued")} == {LINK_WEIGHTS["continued"]}


def test_what_a_session_continues_may_be_learnt_later(store: Store) -> None:
    say(store, "old", "a", at=THEN - 9_000_000)
    messages = say(store, "new", "here we go", "yes")
    link_all(store)
    session = store.sessions_of(messages)[messages[0]]
    store.change_session(session.id, {"meta": {"continued_from": "old"}}, THEN)
    more = put(store, make_draft("go on", kind="message", type="message", session="new", at=THEN + 99_000))
    put(store, make_draft("much later", kind="message", type="message", session="old", at=THEN + 999_000))
    link_all(store)
    assert ties(store, [*messages, *more], "continued") == {("here we go", "continued", "a")}


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_sub_agent_is_linked_out_and_back(store: Store, *, parent_first: bool) -> None:
    uid = "01959a12-0000-7000-8000-0123456789ab"

    def parent() -> None:
        put(store, make_draft(parts=["ask them", "they answered"], session="main", uid=uid, at=THEN - 5000))
        link_all(store)

    if parent_first:
        parent()
    meta = {"parent_session": "main", "parent_message": uid}
    messages = say(store, "sub", "find it", "looking", "found it", meta=meta)
    link_all(store)
    if not parent_first:
        parent()
    both = {("find it", "brief", "ask them"), ("found it", "debrief", "they answered")}
    assert ties(store, messages, "brief") | ties(store, messages, "debrief") == both
    more = put(store, make_draft("found more", kind="message", type="message", session="sub", at=THEN + 99_000))
    link_all(store)
    assert ties(store, [*messages, *more], "debrief") == {("found more", "debrief", "they answered")}


def test_what_is_hidden_is_not_shown_and_comes_back_with_its_links(store: Store) -> None:
    one, two, three = messages = say(store, "s", "see src/auth.ts", "two", "see src/auth.ts again")
    link_all(store)
    before = edges(store, messages)
    store.forget([two], THEN)
    assert [edge.rel for edge in edges(store, [one, three])] == ["file"]
    (new,) = put(store, make_draft("a new one"))
    store.supersede(three, new, THEN)
    assert edges(store, [one]) == []
    store.restore([two, three], THEN)
    link_all(store)
    assert edges(store, messages) == before


def test_what_was_forgotten_before_it_was_linked_is_linked_when_it_is_back(store: Store) -> None:
    one, two = say(store, "s", "one", "two")
    store.forget([two], THEN)
    link_all(store)
    assert edges(store, [one]) == []
    store.restore([two], THEN)
    assert ties(store, [one]) == {("two", "adjacent", "one")}


def test_a_rewritten_item_is_linked_anew_on_all_sides(store: Store) -> None:
    messages = say(store, "s", "see src/auth.ts", "see src/old.ts and src/auth.ts", "see src/old.ts", "more")
    link_all(store)
    assert ("see src/old.ts", "file", "see src/old.ts and src/auth.ts") in ties(store, messages)
    changed = make_draft("see src/auth.ts only", kind="message", type="message", session="s", project="acme")
    store.rewrite(messages[1], changed, THEN)
    assert all(edge.rel == "adjacent" for edge in edges(store, messages)), "of what it said before nothing is left"
    link_all(store)
    assert ties(store, messages) == {
        ("see src/auth.ts only", "adjacent", "see src/auth.ts"),
        ("see src/auth.ts only", "file", "see src/auth.ts"),
        ("see src/old.ts", "adjacent", "see src/auth.ts only"),
        ("more", "adjacent", "see src/old.ts"),
    }


def test_linking_goes_on_where_it_was_and_is_done_once(store: Store, neighbour: Store) -> None:
    ids = put(store, *(make_draft(f"n{n} src/auth.ts", session="s", at=THEN + n) for n in range(25)))
    assert (store.count_unlinked(), neighbour.count_unlinked()) == (25, 25)
    assert store.link(10, references, THEN) == 10
    assert neighbour.count_unlinked() == 15
    assert neighbour.link(10, references, THEN) == 10
    assert link_all(store) == 5
    assert (store.count_unlinked(), neighbour.link(10, references, THEN)) == (0, 0)
    at_once = edges(store, ids)
    store.put([make_draft("another")], THEN)
    assert link_all(neighbour) == 1
    assert edges(store, ids) == at_once


def test_steps_of_any_size_make_the_same_links(open_store: Opener) -> None:
    found = []
    for step in (1, 7, 1000):
        store = open_store(name=f"by-{step}")
        ids = put(
            store,
            *(make_draft(f"n{n} of src/part{n % 5}.ts", session=f"s{n % 3}", at=THEN + n * 7 % 31) for n in range(40)),
        )
        link_all(store, step)
        found.append(edges(store, ids))
    assert found[0] == found[1] == found[2] != []


def test_what_fails_while_it_is_read_changes_nothing(store: Store) -> None:
    ids = put(store, make_draft("src/auth.ts"), make_draft("src/auth.ts again"))

    def broken(_text: str) -> object:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.link(10, broken, THEN)  # type: ignore[arg-type]
    assert store.count_unlinked() == 2
    assert link_all(store) == 2
    assert len(edges(store, ids)) == 1


def test_an_item_that_is_cut_anew_while_it_is_read_is_left_to_the_next_step(store: Store, neighbour: Store) -> None:
    (one,) = put(store, make_draft("src/auth.ts"))

    def meanwhile(text: str) -> object:
        if neighbour.get([one])[one].rev == 1:
            neighbour.rewrite(one, make_draft("src/other.ts"), THEN)
        return references(text)

    assert store.link(10, meanwhile, THEN) == 0  # type: ignore[arg-type]
    assert store.count_unlinked() == 1
    (two,) = put(store, make_draft("src/auth.ts as well"))
    assert link_all(store) == 2
    assert edges(store, [one, two]) == []


def test_two_who_link_at_once_share_the_work(store: Store, neighbour: Store) -> None:
    ids = put(store, *(make_draft(f"n{n} src/auth.ts", session="s", at=THEN + n) for n in range(200)))
    done = {"one": 0, "two": 0}

    def work(name: str, handle: Store) -> None:
        while handle.count_unlinked():
            # Whoever links does not wait long for others who write, and comes back later.
            with contextlib.suppress(StoreBusy):
                done[name] += handle.link(7, references, THEN)

    threads = [threading.Thread(target=work, args=pair) for pair in (("one", store), ("two", neighbour))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done["one"] + done["two"] == 200
    assert len(edges(store, ids, "adjacent")) == 199


def test_spaces_are_linked_apart(open_store: Opener) -> None:
    mine, yours = open_store(), open_store("other")
    (first,) = put(mine, make_draft("src/auth.ts"))
    (other,) = put(yours, make_draft("src/auth.ts"))
    put(mine, make_draft("src/auth.ts again"))
    assert (mine.count_unlinked(), yours.count_unlinked()) == (2, 1)
    assert (link_all(mine, 1), link_all(yours, 1)) == (2, 1)
    assert len(edges(mine, [first])) == 1
    assert edges(yours, [other]) == []
    passages = mine.passages_of([first])[first]
    assert yours.edges_of(passages, 9) == [] == yours.sort_by_time(passages)


def test_the_strongest_neighbours_come_first_on_each_side(store: Store) -> None:
    messages = say(store, "s", "see src/auth.ts", "makeTheThing in src/auth.ts", "src/auth.ts and makeTheThing")
    link_all(store)
    middle = store.passages_of(messages)[messages[1]][0]
    few = store.edges_of([middle], 1)
    assert [(edge.rel, edge.src == middle) for edge in few] == [("file", True), ("file", False)]
    every = store.edges_of([middle], 100)
    assert [edge.weight for edge in every] == sorted((edge.weight for edge in every), reverse=True)
    assert store.edges_of([], 5) == store.edges_of([10**9], 5) == []


def test_items_are_linked_as_their_metadata_says(store: Store) -> None:
    to = "0190a000-0000-7000-8000-000000000001"
    links: Sequence[object] = (
        [{"to": to, "rel": "supports", "weight": 0.6}],
        [{"to": to, "weight": "much"}, "x", {"to": 7}, {"to": "nobody"}],
        *("text", {"to": to}, 7, None),
    )
    drafts = [
        replace(make_draft(f"Note {n}", at=THEN + n), meta={"links": expected}) for n, expected in enumerate(links, 1)
    ]
    ids = put(store, replace(make_draft("Use Redis"), uid=to), *drafts)
    link_all(store)
    found = edges(store, ids, "linked")
    assert sorted(edge.weight for edge in found) == [0.6, LINK_WEIGHTS["linked"]]
    assert ties(store, ids, "linked") == {("Note 1", "linked", "Use Redis"), ("Note 2", "linked", "Use Redis")}
