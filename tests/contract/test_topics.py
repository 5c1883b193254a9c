"""Topics in the store: built by one at a time, extended by anyone, and only of passages that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.contract.conftest import LEASE, THEN, Embed, Opener, Pointing, make_draft

from commonplace.store.protocol import Store
from commonplace.store.types import BuiltTopics, StaleTopics, TopicCentre, TopicMember

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

GLOBAL = 0


@pytest.fixture
def written(store: Store, embed: Embed, pointing: Pointing) -> list[int]:
    """Passages of four items without a project, with vectors."""
    return add(store, embed, pointing, "abcd")


def add(store: Store, embed: Embed, pointing: Pointing, names: str, project: str | None = None) -> list[int]:
    items = [stored.id for stored in store.put([make_draft(name, project=project) for name in names], THEN)]
    embed(store, lambda passage: pointing(1, len(passage.text)))
    return [passage for group in store.passages_of(items).values() for passage in group]


def row(*values: float) -> NDArray[float32]:
    return np.array([*values, *[0] * (8 - len(values))], np.float32)


def build(
    store: Store, members: Sequence[TopicMember], *names: str | tuple[int, str], place: int = GLOBAL, now: int = THEN
) -> list[int]:
    """Replace the topics of a place, and tell the ids in the order of the names."""
    points = store.topic_points(place, 0, 1000)
    named = [(None, name) if isinstance(name, str) else name for name in names]
    centres = [TopicCentre(id_, name, row(1)) for id_, name in named]
    assert store.claim_topics(place, "w", now, LEASE)
    built = BuiltTopics(centres, row(), points.last, points.model)
    assert store.replace_topics(place, "w", built, members, len(points.passages), now)
    known = store.built_topics(place)
    assert known is not None
    ids = {centre.name: centre.id for centre in known.centres}
    return [id_ for _old, name in named if (id_ := ids[name]) is not None]


def test_a_space_without_vectors_has_no_topics(store: Store) -> None:
    store.put([make_draft("a")], THEN)
    assert store.topics() == [] and store.stale_topics() == [] and store.topic_passages(1, 10) == []
    assert store.topics_of([1]) == {} == store.topic_members(GLOBAL)
    assert store.built_topics(GLOBAL) is None
    assert len(store.topic_points(GLOBAL, 0, 10).passages) == 0


def test_points_come_in_pages_in_the_order_of_their_vectors(store: Store, written: list[int]) -> None:
    whole = store.topic_points(GLOBAL, 0, 10)
    assert sorted(whole.passages.tolist()) == sorted(written) and whole.rows.shape == (4, 8)
    first = store.topic_points(GLOBAL, 0, 3)
    rest = store.topic_points(GLOBAL, first.last, 3)
    assert [*first.passages, *rest.passages] == whole.passages.tolist() and rest.last == whole.last
    assert len(store.topic_points(GLOBAL, whole.last, 3).passages) == 0


def test_what_was_built_is_told_to_all(store: Store, neighbour: Store, written: list[int]) -> None:
    a, b, c, d = written
    one, two = build(store, [(0, a, 0.5), (0, b, 0.9), (0, c, 0.7), (1, d, 1.0)], "One", "Two")
    assert [(t.id, t.name, t.size, t.project, t.built_ms) for t in neighbour.topics()] == [
        (one, "One", 3, None, THEN),
        (two, "Two", 1, None, THEN),
    ]
    assert {passage: topic.name for passage, topic in neighbour.topics_of([d, a, 999]).items()} == {a: "One", d: "Two"}
    assert neighbour.topic_passages(one, 2) == [(b, 0.9), (c, 0.7)]
    assert neighbour.topic_members(GLOBAL) == {a: one, b: one, c: one, d: two}


def test_a_rebuild_keeps_ids_and_moves_members(store: Store, written: list[int]) -> None:
    a, b, c, d = written
    one, two = build(store, [(0, a, 0.5), (0, b, 0.9), (1, c, 0.7)], "One", "Two")
    one_again, three = build(store, [(0, b, 0.8), (1, a, 0.6), (1, d, 0.6)], (one, "First"), "Three", now=THEN + 5)
    assert one_again == one and three not in (one, two)
    assert store.topic_members(GLOBAL) == {b: one, a: three, d: three}
    assert [(t.id, t.name, t.size, t.built_ms) for t in store.topics()] == [
        (three, "Three", 2, THEN + 5),
        (one, "First", 1, THEN + 5),
    ]
    assert store.topic_passages(one, 5) == [(b, 0.8)]


def test_forgotten_passages_leave_and_restored_ones_wait_to_be_looked_at(
    store: Store, embed: Embed, pointing: Pointing, written: list[int]
) -> None:
    a, b, _c, d = written
    build(store, [(0, a, 0.5), (0, b, 0.9), (1, d, 0.7)], "One", "Two")
    (item,) = (text.item_id for text in store.passage_texts([d]).values())
    store.forget([item], THEN)
    assert [topic.name for topic in store.topics()] == ["One"]
    assert store.topics_of([d]) == {}
    assert store.stale_topics() == [StaleTopics(GLOBAL, 4, 0, 1, 0)]
    store.restore([item], THEN)
    embed(store, lambda _passage: pointing(1))
    assert store.stale_topics() == [StaleTopics(GLOBAL, 4, 1, 1, 1)]
    assert store.topics_of([d]) == {}


def test_an_edited_item_leaves_its_topic(store: Store, written: list[int]) -> None:
    (one,) = build(store, [(0, passage, 0.5) for passage in written], "One")
    (item,) = (text.item_id for text in store.passage_texts(written[:1]).values())
    store.rewrite(item, make_draft("other"), THEN)
    assert [topic.size for topic in store.topics()] == [3]
    assert written[0] not in dict(store.topic_passages(one, 9))


def test_new_passages_are_told_and_extend_a_topic_once(
    store: Store, neighbour: Store, embed: Embed, pointing: Pointing, written: list[int]
) -> None:
    (one,) = build(store, [(0, passage, 0.5) for passage in written], "One")
    assert store.stale_topics() == []
    e, f = add(store, embed, pointing, "ef")
    assert store.stale_topics() == [StaleTopics(GLOBAL, 4, 2, 0, 2)]
    known, theirs = store.built_topics(GLOBAL), neighbour.built_topics(GLOBAL)
    assert known is not None and theirs is not None
    points = store.topic_points(GLOBAL, known.seen, 100)
    assert store.extend_topics(GLOBAL, known, [(0, e, 0.4)], points.last)
    assert not neighbour.extend_topics(GLOBAL, theirs, [(0, e, 0.4), (0, f, 0.4)], points.last)
    assert store.topic_members(GLOBAL) == dict.fromkeys([*written, e], one)
    assert [topic.size for topic in store.topics()] == [5]
    assert store.stale_topics() == [StaleTopics(GLOBAL, 4, 2, 0, 0)]


def test_what_vanished_while_it_was_grouped_is_left_out(store: Store, written: list[int]) -> None:
    points = store.topic_points(GLOBAL, 0, 100)
    (item,) = (text.item_id for text in store.passage_texts(written[:1]).values())
    store.forget([item], THEN)
    assert store.claim_topics(GLOBAL, "w", THEN, LEASE)
    built = BuiltTopics([TopicCentre(None, "One", row(1))], row(), points.last, points.model)
    assert store.replace_topics(GLOBAL, "w", built, [(0, p, 0.5) for p in written], 4, THEN)
    assert sorted(store.topic_members(GLOBAL)) == written[1:]


def test_one_builds_at_a_time(store: Store, neighbour: Store, written: list[int]) -> None:
    assert store.claim_topics(GLOBAL, "one", THEN, LEASE)
    assert not neighbour.claim_topics(GLOBAL, "two", THEN + LEASE - 1, LEASE)
    assert neighbour.claim_topics(GLOBAL, "two", THEN + LEASE, LEASE)
    points = store.topic_points(GLOBAL, 0, 100)
    built = BuiltTopics([TopicCentre(None, "Late", row(1))], row(), points.last, points.model)
    assert not store.replace_topics(GLOBAL, "one", built, [(0, written[0], 0.5)], 4, THEN)
    assert store.topics() == []
    assert neighbour.replace_topics(GLOBAL, "two", built, [(0, written[0], 0.5)], 4, THEN)
    assert store.claim_topics(GLOBAL, "one", THEN, LEASE)


def test_each_project_has_its_own(store: Store, embed: Embed, pointing: Pointing, written: list[int]) -> None:
    ours = add(store, embed, pointing, "xyz", project="github.com/acme/my-api")
    places = [grown.place for grown in store.stale_topics()]
    assert places[0] == GLOBAL and len(places) == 2
    build(store, [(0, written[0], 0.5)], "One")
    build(store, [(0, passage, 0.5) for passage in ours], "One", place=places[1])
    assert [(topic.name, topic.project) for topic in store.topics()] == [
        ("One", "github.com/acme/my-api"),
        ("One", None),
    ]
    assert [topic.size for topic in store.topics("my-api")] == [3]
    assert store.topics("nobody") == []


def test_spaces_know_nothing_of_each_other(
    open_store: Opener, store: Store, embed: Embed, pointing: Pointing, written: list[int]
) -> None:
    (one,) = build(store, [(0, passage, 0.5) for passage in written], "One")
    other = open_store("other")
    add(other, embed, pointing, "abcd")
    assert other.topics() == [] and other.topic_passages(one, 9) == []
    assert other.topics_of(written) == {} == other.topic_members(GLOBAL)
    assert other.built_topics(GLOBAL) is None
    build(other, [], "Nothing")
    assert [topic.size for topic in store.topics()] == [4]


def test_another_model_makes_topics_anew(store: Store, embed: Embed, pointing: Pointing, written: list[int]) -> None:
    build(store, [(0, passage, 0.5) for passage in written], "One")
    old = store.topic_points(GLOBAL, 0, 100)
    embed(store, lambda _passage: pointing(1, dim=4), model="tinier", dim=4)
    assert store.topics() == []
    assert store.stale_topics() == [StaleTopics(GLOBAL, None, 4, 0, 0)]
    assert store.claim_topics(GLOBAL, "w", THEN, LEASE)
    stale = BuiltTopics([TopicCentre(None, "One", row(1))], row(), old.last, old.model)
    assert not store.replace_topics(GLOBAL, "w", stale, [(0, written[0], 0.5)], 4, THEN)
