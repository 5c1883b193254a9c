"""Walking the graph: what is reached, how far away it is, and that a walk keeps its bounds and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock
from tests.raw_sql import all_rows

from commonplace.config import Settings
from commonplace.memory.conversations import NewConversation, NewMessage, messages_after, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.graph import (
    EXPANSIONS,
    HOP_FACTOR,
    LINKS_EACH,
    MIN_WEIGHT,
    Direction,
    LinkedPassage,
    link_new_passages,
    walk_links,
)
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember_all
from commonplace.store.types import LINK_WEIGHTS, Edge


def talk(memory: LocalMemory, key: str, *texts: str, project: str = "acme", **meta: object) -> list[int]:
    """A conversation, linked; the passages of its messages in their order."""
    turns = [NewMessage("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
    conversation = store_conversation(memory, NewConversation(key, turns, key=key, project=project, meta=meta))
    link_all(memory)
    messages, _more = messages_after(memory, conversation.session.id, len(texts))
    passages = memory.store.passages_of([message.id for message in messages])
    return [passages[message.id][0] for message in messages]


def link_all(memory: LocalMemory) -> None:
    while link_new_passages(memory):
        pass


def texts(reached: list[LinkedPassage]) -> list[str]:
    return [one.text for one in reached]


def test_a_walk_tells_what_is_near_with_its_way(memory: LocalMemory) -> None:
    a, b, _c, _d = talk(memory, "s", "alpha", "beta", "gamma", "delta")
    reached = walk_links(memory, {b: 0.8})
    assert [(one.text, one.relation, one.hops, one.rel) for one in reached] == [
        ("alpha", "backward", 1, "adjacent"),
        ("gamma", "forward", 1, "adjacent"),
        ("delta", "forward", 2, "adjacent"),
    ]
    step = LINK_WEIGHTS["adjacent"] * HOP_FACTOR
    assert [one.weight for one in reached] == pytest.approx([0.8 * step, 0.8 * step, 0.8 * step**2])
    assert reached[0].passage_id == a
    assert (reached[0].item.body, reached[0].item.project) == ("alpha", "acme")


def test_a_walk_may_go_one_way_only(memory: LocalMemory) -> None:
    _a, b, _c, _d = talk(memory, "s", "alpha", "beta", "gamma", "delta")
    assert texts(walk_links(memory, {b: 1.0}, direction="forward")) == ["gamma", "delta"]
    assert texts(walk_links(memory, {b: 1.0}, direction="backward")) == ["alpha"]


def test_a_strong_way_comes_before_a_near_one(memory: LocalMemory) -> None:
    a, *_rest = talk(memory, "s", "see src/auth.ts", "yes", "no", "changed src/auth.ts")
    reached = walk_links(memory, {a: 1.0})
    assert texts(reached) == ["changed src/auth.ts", "yes", "no"]
    assert [one.hops for one in reached] == [1, 1, 2]


def test_hops_are_the_fewest_even_if_the_best_way_is_longer(memory: LocalMemory) -> None:
    # From the first to the second: next to each other, and by way of the third, which shares a file with each.
    a, b, _c = talk(memory, "s", "src/one.ts", "src/two.ts", "src/one.ts src/two.ts")
    reached = {one.passage_id: one for one in walk_links(memory, {a: 1.0})}
    assert reached[b].weight == pytest.approx((LINK_WEIGHTS["file"] * HOP_FACTOR) ** 2)
    assert (reached[b].hops, reached[b].rel) == (1, "file")


def test_a_walk_begins_at_several_and_each_counts_by_its_score(memory: LocalMemory) -> None:
    one = talk(memory, "one", "alpha", "beta")
    two = talk(memory, "two", "gamma", "delta")
    reached = walk_links(memory, {one[0]: 0.3, two[0]: 0.9})
    assert texts(reached) == ["delta", "beta"]
    assert texts(walk_links(memory, {one[0]: 0.3, one[1]: 0.9, two[0]: 0.1})) == ["delta"], "a beginning is never told"
    assert walk_links(memory, {}) == []
    assert walk_links(memory, {10**9: 1.0}) == []


def test_a_walk_leads_from_session_to_session(memory: LocalMemory) -> None:
    old = talk(memory, "old", "the beginning", "the decision: tabs")
    new = talk(memory, "new", "go ahead", "done", continued_from="old")
    reached = walk_links(memory, {new[0]: 1.0}, direction="backward")
    assert set(texts(reached)) == {"the beginning", "the decision: tabs"}
    assert {one.rel for one in reached} == {"continued", "backref"}
    assert {one.item.session for one in reached} == {"old"}
    assert texts(walk_links(memory, {old[1]: 1.0}, direction="forward"))[0] == "go ahead"


def test_what_is_forgotten_is_neither_told_nor_walked_over(memory: LocalMemory) -> None:
    _a, b, c, _d = talk(memory, "s", "alpha", "beta", "gamma", "delta")
    item = memory.store.passage_texts([c])[c].item_id
    forget_items(memory, [item])
    assert texts(walk_links(memory, {b: 1.0})) == ["alpha"]
    memory.store.restore([item], memory.clock())
    assert texts(walk_links(memory, {b: 1.0})) == ["alpha", "gamma", "delta"]


def test_a_walk_can_be_kept_within_a_project(memory: LocalMemory) -> None:
    error = "RuntimeError: the pool is closed"
    (mine, _more) = talk(memory, "mine", error, "hm", project="mine")
    talk(memory, "yours", f"here too: {error}", "ha", project="yours")
    assert texts(walk_links(memory, {mine: 1.0})) == [f"here too: {error}", "hm", "ha"]
    assert texts(walk_links(memory, {mine: 1.0}, project="mine")) == ["hm"]
    assert texts(walk_links(for_project(memory, "mine"), {mine: 1.0})) == ["hm"]
    assert walk_links(for_project(memory, "yours"), {mine: 1.0}) == []


def test_a_walk_fades_by_hops_and_not_by_time(memory: LocalMemory, clock: Clock) -> None:
    first = talk(memory, "s", "alpha")
    clock.forward(days=400)
    store_conversation(
        memory, NewConversation("s", [NewMessage("user", "alpha"), NewMessage("user", "beta")], key="s", project="acme")
    )
    link_all(memory)
    (reached,) = walk_links(memory, {first[0]: 1.0})
    assert reached.weight == pytest.approx(LINK_WEIGHTS["adjacent"] * HOP_FACTOR)


def test_depth_and_weakness_bound_a_walk(memory: LocalMemory) -> None:
    passages = talk(memory, "s", *(f"turn {n}" for n in range(30)))
    assert texts(walk_links(memory, {passages[0]: 1.0}, depth=2)) == ["turn 1", "turn 2"]
    assert walk_links(memory, {passages[0]: 1.0}, depth=0) == []
    far = walk_links(memory, {passages[0]: 1.0}, most=100)
    assert len(far) == 5, "half of nine tenths, five times, is nearly nothing"
    assert all(one.weight >= MIN_WEIGHT for one in far)
    assert texts(walk_links(memory, {passages[0]: 1.0}, most=1)) == ["turn 1"]


def test_a_walk_looks_at_a_bounded_number_of_passages(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shares a file with the one above it and with the two below it.
    notes = [f"src/leaf{n}.ts is below src/leaf{n // 2}.ts" for n in range(1, 700)]
    remember_all(memory, [NewItem(kind="memory", type="note", content=text) for text in notes])
    link_all(memory)
    requested: list[int] = []
    neighbours = memory.store.edges_of

    def counted(passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        requested.extend(passage_ids)
        return neighbours(passage_ids, most_each, project)

    monkeypatch.setattr(memory.store, "edges_of", counted)
    reached = walk_links(memory, {1: 1.0}, most=1000)
    assert len(requested) == len(set(requested)) == EXPANSIONS < len(reached)


def test_reading_changes_no_row(memory: LocalMemory, settings: Settings) -> None:
    passages = talk(memory, "s", *(f"turn {n} of src/part{n % 3}.ts" for n in range(20)))
    before = all_rows(settings)
    assert walk_links(memory, dict.fromkeys(passages[:3], 1.0))
    walk_links(memory, {passages[0]: 0.5}, direction="forward", depth=3)
    memory.store.edges_of(passages, LINKS_EACH)
    assert all_rows(settings) == before


@pytest.fixture
def woven(memory: LocalMemory) -> LocalMemory:
    """Sixty notes in three sessions that share files at several distances."""
    notes = [
        NewItem(
            kind="observation",
            type="file-write",
            content=f"note {n} about src/part{n % 7}.ts and src/deep{n % 11}.ts",
            session=f"s{n % 3}",
            created_ms=1_742_049_000_000 + n * 13 % 60,
        )
        for n in range(60)
    ]
    remember_all(memory, notes)
    link_all(memory)
    return memory


@given(
    seeds=st.dictionaries(st.integers(1, 60), st.floats(0.05, 1.0), min_size=1, max_size=5),
    depth=st.integers(1, 6),
    most=st.integers(1, 40),
    direction=st.sampled_from(["both", "forward", "backward"]),
)
def test_any_walk_keeps_its_bounds(
    woven: LocalMemory, seeds: dict[int, float], depth: int, most: int, direction: Direction
) -> None:
    reached = walk_links(woven, seeds, depth=depth, most=most, direction=direction)
    assert len(reached) <= most
    assert not {one.passage_id for one in reached} & seeds.keys()
    assert len({one.passage_id for one in reached}) == len(reached)
    weights = [one.weight for one in reached]
    assert weights == sorted(weights, reverse=True)
    every = [one.weight for one in walk_links(woven, seeds, depth=depth, most=1000, direction=direction)]
    assert weights == pytest.approx(every[:most]), "stopping early misses nothing better"
    nearest = hops_from(woven, seeds, direction)
    for one in reached:
        assert nearest[one.passage_id] <= one.hops <= depth
        assert 0 < one.weight <= max(seeds.values()) * HOP_FACTOR
        assert direction in ("both", one.relation)
    if len(reached) < most:
        # Nothing was cut off: whatever is within one hop and strong enough was told.
        assert {id_ for id_, hops in nearest.items() if hops == 1} <= {one.passage_id for one in reached}


def hops_from(memory: LocalMemory, seeds: Mapping[int, float], direction: Direction) -> dict[int, int]:
    """By a plain search, breadth first, over the links that a walk may use."""
    links: dict[int, set[int]] = {}
    for passage in range(1, 61):
        for edge in memory.store.edges_of([passage], LINKS_EACH):
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
