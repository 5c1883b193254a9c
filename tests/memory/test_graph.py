"""Walking the graph: what is reached, how far away it is, and that a walk keeps its bounds and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.behind import all_rows
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.memory.book import Book, limited
from commonplace.memory.conversations import Conversation, Said, keep, messages_after
from commonplace.memory.forget import forget
from commonplace.memory.graph import EXPANSIONS, HOP, LINKS_EACH, WEAKEST, Direction, Reached, link_some, walk
from commonplace.memory.remember import Note, remember_all
from commonplace.store.links import WEIGHTS, Edge


def talk(book: Book, key: str, *texts: str, project: str = "acme", **meta: object) -> list[int]:
    """A conversation, linked; the passages of its messages in their order."""
    said = [Said("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
    kept = keep(book, Conversation(key, said, key=key, project=project, meta=meta))
    link_all(book)
    messages, _more = messages_after(book, kept.session.id, len(texts))
    passages = book.store.passages_of([message.id for message in messages])
    return [passages[message.id][0] for message in messages]


def link_all(book: Book) -> None:
    while link_some(book):
        pass


def texts(reached: list[Reached]) -> list[str]:
    return [one.text for one in reached]


def test_a_walk_tells_what_is_near_with_its_way(book: Book) -> None:
    a, b, _c, _d = talk(book, "s", "alpha", "beta", "gamma", "delta")
    reached = walk(book, {b: 0.8})
    assert [(one.text, one.relation, one.hops, one.rel) for one in reached] == [
        ("alpha", "backward", 1, "adjacent"),
        ("gamma", "forward", 1, "adjacent"),
        ("delta", "forward", 2, "adjacent"),
    ]
    step = WEIGHTS["adjacent"] * HOP
    assert [one.weight for one in reached] == pytest.approx([0.8 * step, 0.8 * step, 0.8 * step**2])
    assert reached[0].passage_id == a
    assert (reached[0].item.body, reached[0].item.project) == ("alpha", "acme")


def test_a_walk_may_go_one_way_only(book: Book) -> None:
    _a, b, _c, _d = talk(book, "s", "alpha", "beta", "gamma", "delta")
    assert texts(walk(book, {b: 1.0}, direction="forward")) == ["gamma", "delta"]
    assert texts(walk(book, {b: 1.0}, direction="backward")) == ["alpha"]


def test_a_strong_way_comes_before_a_near_one(book: Book) -> None:
    a, *_rest = talk(book, "s", "see src/auth.ts", "yes", "no", "changed src/auth.ts")
    reached = walk(book, {a: 1.0})
    assert texts(reached) == ["changed src/auth.ts", "yes", "no"]
    assert [one.hops for one in reached] == [1, 1, 2]


def test_hops_are_the_fewest_even_if_the_best_way_is_longer(book: Book) -> None:
    # From the first to the second: next to each other, and by way of the third, which shares a file with each.
    a, b, _c = talk(book, "s", "src/one.ts", "src/two.ts", "src/one.ts src/two.ts")
    reached = {one.passage_id: one for one in walk(book, {a: 1.0})}
    assert reached[b].weight == pytest.approx((WEIGHTS["file"] * HOP) ** 2)
    assert (reached[b].hops, reached[b].rel) == (1, "file")


def test_a_walk_begins_at_several_and_each_counts_by_its_score(book: Book) -> None:
    one = talk(book, "one", "alpha", "beta")
    two = talk(book, "two", "gamma", "delta")
    reached = walk(book, {one[0]: 0.3, two[0]: 0.9})
    assert texts(reached) == ["delta", "beta"]
    assert texts(walk(book, {one[0]: 0.3, one[1]: 0.9, two[0]: 0.1})) == ["delta"], "a beginning is never told"
    assert walk(book, {}) == []
    assert walk(book, {10**9: 1.0}) == []


def test_a_walk_leads_from_session_to_session(book: Book) -> None:
    old = talk(book, "old", "the beginning", "the decision: tabs")
    new = talk(book, "new", "go ahead", "done", continued_from="old")
    reached = walk(book, {new[0]: 1.0}, direction="backward")
    assert set(texts(reached)) == {"the beginning", "the decision: tabs"}
    assert {one.rel for one in reached} == {"continued", "backref"}
    assert {one.item.session for one in reached} == {"old"}
    assert texts(walk(book, {old[1]: 1.0}, direction="forward"))[0] == "go ahead"


def test_what_is_forgotten_is_neither_told_nor_walked_over(book: Book) -> None:
    _a, b, c, _d = talk(book, "s", "alpha", "beta", "gamma", "delta")
    item = book.store.passage_texts([c])[c].item_id
    forget(book, [item])
    assert texts(walk(book, {b: 1.0})) == ["alpha"]
    book.store.restore([item], book.clock())
    assert texts(walk(book, {b: 1.0})) == ["alpha", "gamma", "delta"]


def test_a_walk_can_be_kept_within_a_project(book: Book) -> None:
    error = "RuntimeError: the pool is closed"
    (mine, _more) = talk(book, "mine", error, "hm", project="mine")
    talk(book, "yours", f"here too: {error}", "ha", project="yours")
    assert texts(walk(book, {mine: 1.0})) == [f"here too: {error}", "hm", "ha"]
    assert texts(walk(book, {mine: 1.0}, project="mine")) == ["hm"]
    assert texts(walk(limited(book, "mine"), {mine: 1.0})) == ["hm"]
    assert walk(limited(book, "yours"), {mine: 1.0}) == []


def test_a_walk_fades_by_hops_and_not_by_time(book: Book, clock: Clock) -> None:
    first = talk(book, "s", "alpha")
    clock.forward(days=400)
    keep(book, Conversation("s", [Said("user", "alpha"), Said("user", "beta")], key="s", project="acme"))
    link_all(book)
    (reached,) = walk(book, {first[0]: 1.0})
    assert reached.weight == pytest.approx(WEIGHTS["adjacent"] * HOP)


def test_depth_and_weakness_bound_a_walk(book: Book) -> None:
    passages = talk(book, "s", *(f"turn {n}" for n in range(30)))
    assert texts(walk(book, {passages[0]: 1.0}, depth=2)) == ["turn 1", "turn 2"]
    assert walk(book, {passages[0]: 1.0}, depth=0) == []
    far = walk(book, {passages[0]: 1.0}, most=100)
    assert len(far) == 5, "half of nine tenths, five times, is nearly nothing"
    assert all(one.weight >= WEAKEST for one in far)
    assert texts(walk(book, {passages[0]: 1.0}, most=1)) == ["turn 1"]


def test_a_walk_looks_at_a_bounded_number_of_passages(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shares a file with the one above it and with the two below it.
    notes = [f"src/leaf{n}.ts is below src/leaf{n // 2}.ts" for n in range(1, 700)]
    remember_all(book, [Note(kind="memory", type="note", content=text) for text in notes])
    link_all(book)
    asked: list[int] = []
    neighbours = book.store.neighbours

    def counted(passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        asked.extend(passage_ids)
        return neighbours(passage_ids, most_each, project)

    monkeypatch.setattr(book.store, "neighbours", counted)
    reached = walk(book, {1: 1.0}, most=1000)
    assert len(asked) == len(set(asked)) == EXPANSIONS < len(reached)


def test_reading_changes_no_row(book: Book, settings: Settings) -> None:
    passages = talk(book, "s", *(f"turn {n} of src/part{n % 3}.ts" for n in range(20)))
    before = all_rows(settings)
    assert walk(book, dict.fromkeys(passages[:3], 1.0))
    walk(book, {passages[0]: 0.5}, direction="forward", depth=3)
    book.store.neighbours(passages, LINKS_EACH)
    assert all_rows(settings) == before


@pytest.fixture
def woven(book: Book) -> Book:
    """Sixty notes in three sessions that share files at several distances."""
    notes = [
        Note(
            kind="observation",
            type="file-write",
            content=f"note {n} about src/part{n % 7}.ts and src/deep{n % 11}.ts",
            session=f"s{n % 3}",
            created_ms=1_742_049_000_000 + n * 13 % 60,
        )
        for n in range(60)
    ]
    remember_all(book, notes)
    link_all(book)
    return book


@given(
    seeds=st.dictionaries(st.integers(1, 60), st.floats(0.05, 1.0), min_size=1, max_size=5),
    depth=st.integers(1, 6),
    most=st.integers(1, 40),
    direction=st.sampled_from(["both", "forward", "backward"]),
)
def test_any_walk_keeps_its_bounds(
    woven: Book, seeds: dict[int, float], depth: int, most: int, direction: Direction
) -> None:
    reached = walk(woven, seeds, depth=depth, most=most, direction=direction)
    assert len(reached) <= most
    assert not {one.passage_id for one in reached} & seeds.keys()
    assert len({one.passage_id for one in reached}) == len(reached)
    weights = [one.weight for one in reached]
    assert weights == sorted(weights, reverse=True)
    every = [one.weight for one in walk(woven, seeds, depth=depth, most=1000, direction=direction)]
    assert weights == pytest.approx(every[:most]), "stopping early misses nothing better"
    nearest = hops_from(woven, seeds, direction)
    for one in reached:
        assert nearest[one.passage_id] <= one.hops <= depth
        assert 0 < one.weight <= max(seeds.values()) * HOP
        assert direction in ("both", one.relation)
    if len(reached) < most:
        # Nothing was cut off: whatever is within one hop and strong enough was told.
        assert {id_ for id_, hops in nearest.items() if hops == 1} <= {one.passage_id for one in reached}


def hops_from(book: Book, seeds: Mapping[int, float], direction: Direction) -> dict[int, int]:
    """By a plain search, breadth first, over the links that a walk may use."""
    links: dict[int, set[int]] = {}
    for passage in range(1, 61):
        for edge in book.store.neighbours([passage], LINKS_EACH):
            if edge.src == passage and direction != "forward":
                links.setdefault(passage, set()).add(edge.dst)
            if edge.dst == passage and direction != "backward":
                links.setdefault(passage, set()).add(edge.src)
    hops = dict.fromkeys(seeds, 0)
    border = set(seeds)
    while border:
        border = {to for passage in border for to in links.get(passage, ())} - hops.keys()
        hops |= dict.fromkeys(border, max(hops.values()) + 1)
    return {passage: n for passage, n in hops.items() if n}
