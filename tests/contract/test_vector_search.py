"""Vector search with hand-made vectors: order, scope, and keeping up with what changes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from commonplace.model import Draft, PassageText, Scope
from commonplace.store.protocol import Store
from commonplace.store.sqlite import search

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tests.contract.conftest import Embed, Opener, Pointing

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
EVERYWHERE = Scope()
# Int8 rounding of a unit vector.
CLOSE = 0.01


def toward(passage: PassageText, dim: int = 8) -> NDArray[float32]:
    """Texts such as "30 degrees" point that far away from the first axis."""
    angle = np.deg2rad(float(passage.text.split()[0]))
    vector = np.zeros(dim, np.float32)
    vector[:2] = np.cos(angle), np.sin(angle)
    return vector


def scattered(text: str, dim: int) -> NDArray[float32]:
    """A unit vector of its own for each text."""
    seed = zlib.crc32(text.encode())
    vector = np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def near(store: Store, query: NDArray[float32], scope: Scope = EVERYWHERE, k: int = 50) -> list[int]:
    return [hit.item_id for hit in store.search_vectors(query, scope, k)]


def test_the_nearest_comes_first_with_its_cosine(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    angles = [80, 10, 120, 45, 0, 170]
    stored = store.put([draft(f"{angle} degrees") for angle in angles], NOW)
    assert embed(store, toward) == 6
    hits = store.search_vectors(pointing(1.0), Scope(), 4)
    by_angle = sorted(zip(angles, stored, strict=True), key=lambda pair: pair[0])
    assert [hit.item_id for hit in hits] == [s.id for _, s in by_angle[:4]]
    for hit, (angle, _) in zip(hits, by_angle, strict=False):
        assert hit.cosine == pytest.approx(np.cos(np.deg2rad(angle)), abs=CLOSE)
        assert hit.passage_id in store.passages_of([hit.item_id])[hit.item_id]


@pytest.mark.parametrize("dim", [8, 64, 100, 384])
def test_the_nearest_is_found_in_any_dimension(store: Store, draft: Make, embed: Embed, dim: int) -> None:
    texts = [f"text number {n}" for n in range(40)]
    stored = dict(zip(texts, store.put([draft(text) for text in texts], NOW), strict=True))
    embed(store, lambda passage: scattered(passage.text, dim), dim=dim)
    for text in texts[::9]:
        query = scattered(text, dim)
        exact = {other: float(scattered(other, dim) @ query) for other in texts}
        hits = store.search_vectors(query, Scope(), 10)
        assert hits[0].item_id == stored[text].id
        assert [hit.item_id for hit in hits[:1]] == [stored[max(exact, key=lambda t: exact[t])].id]
        for hit in hits:
            text_of = store.get([hit.item_id])[hit.item_id].body
            assert hit.cosine == pytest.approx(exact[text_of], abs=0.03)


def test_every_passage_of_a_long_item_has_its_own_place(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    (stored,) = store.put([draft(parts=["10 first", "60 second", "30 third"])], NOW)
    embed(store, toward)
    first, second, third = store.passages_of([stored.id])[stored.id]
    hits = store.search_vectors(pointing(1.0), Scope(), 5)
    assert [hit.passage_id for hit in hits] == [first, third, second]


def test_cosines_of_given_passages(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    one, two, late = store.put([draft("0 degrees"), draft("90 degrees"), draft("45 degrees")], NOW)
    passage = {i: p[0] for i, p in store.passages_of([one.id, two.id, late.id]).items()}
    assert store.cosines(pointing(1.0), list(passage.values())) == {}
    embed(store, toward)
    store.forget([late.id], NOW)
    cosines = store.cosines(pointing(1.0), [*passage.values(), passage[one.id], 777])
    assert cosines == {passage[one.id]: pytest.approx(1.0, abs=CLOSE), passage[two.id]: pytest.approx(0.0, abs=CLOSE)}
    assert store.cosines(pointing(1.0), []) == {}
    assert all(-1.0 <= value <= 1.0 for value in cosines.values())


def test_vector_search_keeps_to_its_scope(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    drafts = [draft(f"{n} degrees big", project="github.com/x/big", type=("rule", "note")[n % 2]) for n in range(6)]
    drafts += [draft(f"{n} degrees small", project="small", kind="message", type="chat") for n in range(3)]
    drafts += [draft("7 degrees global", type="rule"), draft("8 degrees seen", kind="observation", type="fix")]
    drafts = [replace(one, created_ms=NOW + n, tags=(("ocean", "tusks")[n % 2],)) for n, one in enumerate(drafts)]
    store.put(drafts, NOW)
    embed(store, toward)
    scopes = [
        Scope(),
        Scope(project="big"),
        Scope(project="small", with_global=True),
        Scope(only_global=True),
        Scope(kinds=("message", "observation")),
        Scope(types=("rule",)),
        Scope(types=("rule", "chat"), kinds=("memory",), project="big", with_global=True),
        Scope(project="nowhere"),
        Scope(kinds=("summary",)),
        Scope(tag="cean"),
        Scope(since_ms=NOW + 4),
        Scope(until_ms=NOW + 4, project="big"),
        Scope(since_ms=NOW + 2, until_ms=NOW + 9, tag="tusks", types=("rule", "note")),
    ]
    for scope in scopes:
        assert set(near(store, pointing(1.0), scope)) == {i.id for i in store.newest(scope, 100)}, scope


def test_what_is_forgotten_or_superseded_is_near_to_nothing_until_it_returns(
    store: Store, neighbour: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    a, b, c = store.put([draft("0 degrees"), draft("20 degrees"), draft("40 degrees")], NOW)
    embed(store, toward)
    neighbour.use_model("tiny", 8)
    assert near(store, pointing(1.0)) == near(neighbour, pointing(1.0)) == [a.id, b.id, c.id]
    neighbour.forget([a.id], NOW)
    neighbour.supersede(b.id, c.id, NOW)
    assert near(store, pointing(1.0)) == near(neighbour, pointing(1.0)) == [c.id]
    assert store.counts().vectors == 1
    store.restore([a.id, b.id], NOW)
    assert near(store, pointing(1.0)) == [c.id], "their vectors are made anew"
    assert embed(neighbour, toward) == 2
    assert near(store, pointing(1.0)) == near(neighbour, pointing(1.0)) == [a.id, b.id, c.id]


def test_scanning_ahead_hides_nothing_that_is_written_after_it(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    store.scan_ahead(pointing(1.0))  # nothing is there yet, not even a model
    (far,) = store.put([draft("80 degrees")], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0)) == [far.id]
    store.scan_ahead(pointing(1.0))
    store.scan_ahead(np.ones(3, np.float32))  # of a model that is no longer the store's
    (near_one,) = store.put([draft("10 degrees")], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0)) == [near_one.id, far.id]
    summaries = Scope(kinds=("summary",))
    assert near(store, pointing(1.0), summaries) == []
    (summary,) = store.put([draft("20 degrees", kind="summary")], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0), summaries) == [summary.id]
    assert near(store, pointing(1.0), Scope(kinds=("memory",))) == [near_one.id, far.id]


def test_forgetting_many_near_ones_uncovers_the_others_at_once(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    crowd = store.put([draft(f"{n / 100} degrees") for n in range(700)], NOW)
    (far,) = store.put([draft("100 degrees")], NOW)
    embed(store, toward)
    assert len(near(store, pointing(1.0), k=5)) == 5
    store.forget([s.id for s in crowd], NOW)
    assert near(store, pointing(1.0), k=5) == [far.id]


def test_vectors_that_are_too_many_to_keep_in_memory_are_read(
    store: Store, draft: Make, embed: Embed, pointing: Pointing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_CACHED", 3)
    ids = []
    for angle in (50, 40, 30, 20, 10):
        ids.append(store.put([draft(f"{angle} degrees")], NOW)[0].id)
        embed(store, toward)
        assert near(store, pointing(1.0)) == list(reversed(ids))
    passages = [group[0] for group in store.passages_of(ids).values()]
    assert store.cosines(pointing(1.0), passages[:1]) == {passages[0]: pytest.approx(np.cos(np.deg2rad(50)), abs=CLOSE)}
    store.forget(ids[3:], NOW)
    assert near(store, pointing(1.0)) == [ids[2], ids[1], ids[0]]


@pytest.mark.parametrize("most_cached", [1, 50_000])
def test_the_vector_that_was_made_last_counts(
    store: Store, draft: Make, embed: Embed, pointing: Pointing, monkeypatch: pytest.MonkeyPatch, most_cached: int
) -> None:
    monkeypatch.setattr(search, "MOST_CACHED", most_cached)
    first, second = (item.id for item in store.put([draft("10 degrees"), draft("20 degrees")], NOW))
    embed(store, toward)
    assert near(store, pointing(1.0)) == [first, second]
    store.requeue_embeddings()
    # Now the first one points the other way.
    turned = {"10 degrees": "150 degrees"}
    embed(store, lambda passage: toward(replace(passage, text=turned.get(passage.text, passage.text))))
    assert near(store, pointing(1.0)) == [second, first]
    passages = {passage[0]: item_id for item_id, passage in store.passages_of([first, second]).items()}
    cosines = {passages[id_]: cosine for id_, cosine in store.cosines(pointing(1.0), list(passages)).items()}
    assert cosines[first] == pytest.approx(np.cos(np.deg2rad(150)), abs=CLOSE)


def test_a_crowd_at_one_distance_does_not_hide_what_is_nearer(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    (best,) = store.put([draft("0 degrees")], NOW)
    store.put([draft(f"100 degrees {n}") for n in range(700)], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0, 0.001), k=3)[0] == best.id


def test_the_same_question_sees_what_replaced_what_was_forgotten(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    old = store.put([draft(f"{n} degrees old") for n in range(8)], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0), k=1) == [old[0].id]
    store.forget([s.id for s in old], NOW)
    assert near(store, pointing(1.0), k=1) == []
    new = store.put([draft(f"{170 - n * 20} degrees new") for n in range(8)], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0)) == [s.id for s in reversed(new)]


def test_a_rewritten_item_is_near_to_its_new_text_in_its_new_project(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    moved, fixed = store.put([draft("0 degrees", project="a"), draft("50 degrees", project="a")], NOW)
    embed(store, toward)
    assert near(store, pointing(1.0), Scope(project="a")) == [moved.id, fixed.id]
    store.rewrite(moved.id, draft("90 degrees", project="b"), NOW)
    embed(store, toward)
    assert near(store, pointing(1.0), Scope(project="a")) == [fixed.id]
    assert near(store, pointing(0.0, 1.0), Scope(project="b")) == [moved.id]
    assert near(store, pointing(1.0)) == [fixed.id, moved.id]


def test_a_handle_catches_up_with_what_others_embedded(
    open_store: Opener, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    writer, reader = open_store(), open_store()
    reader.use_model("tiny", 8)
    assert near(reader, pointing(1.0)) == []
    ids = []
    for angle in (50, 30, 10):
        ids.append(writer.put([draft(f"{angle} degrees")], NOW)[0].id)
        embed(writer, toward)
        assert near(reader, pointing(1.0)) == list(reversed(ids))


def test_vectors_of_the_model_before_are_not_compared(
    store: Store, neighbour: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    one, two = store.put([draft("0 degrees"), draft("90 degrees")], NOW)
    embed(store, toward, model="first")
    assert near(store, pointing(1.0)) == [one.id, two.id]
    assert embed(neighbour, lambda passage: -toward(passage, 4), model="second", dim=4) == 2
    assert near(store, pointing(1.0)) == [], "this handle still speaks the first model"
    assert near(neighbour, pointing(1.0, dim=4)) == [two.id, one.id]
    store.use_model("second", 4)
    assert near(store, pointing(1.0, dim=4)) == [two.id, one.id]


def test_going_back_to_the_model_before_works(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    (one,) = store.put([draft("0 degrees")], NOW)
    embed(store, toward, model="first")
    embed(store, toward, model="second")
    assert embed(store, toward, model="first") == 1
    assert near(store, pointing(1.0)) == [one.id]
    assert store.counts().vectors == 1


def test_without_a_model_nothing_is_near(store: Store, draft: Make, pointing: Pointing) -> None:
    store.put([draft("0 degrees")], NOW)
    assert near(store, pointing(1.0)) == []
    assert store.cosines(pointing(1.0), [1]) == {}


def test_a_vector_of_nothing_harms_nobody(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    empty, full = store.put([draft("empty"), draft("full")], NOW)
    embed(store, lambda p: pointing(0.0) if p.text == "empty" else pointing(1.0))
    assert near(store, pointing(1.0)) == [full.id, empty.id]
    assert store.search_vectors(pointing(0.0), Scope(), 5)[0].cosine == 0.0


def test_a_long_stretch_of_time_is_kept_to_wherever_the_nearest_are(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    many, near_ones = 2_300, 1_000
    # The newest are all nearer than the others.
    drafts = [draft(f"{0 if n >= many - near_ones else 9} degrees {n}", at=NOW + n) for n in range(many)]
    ids = [stored.id for stored in store.put(drafts, NOW)]
    embed(store, toward)
    for since, until in ((200, many), (0, 2_100), (200, 2_200)):
        found = near(store, pointing(1.0), Scope(since_ms=NOW + since, until_ms=NOW + until), k=20)
        assert len(found) == 20 and set(found) <= set(ids[many - near_ones : until])
    store.forget(ids[many - near_ones : 2_100], NOW)
    found = near(store, pointing(1.0), Scope(until_ms=NOW + 2_100), k=20)
    assert len(found) == 20 and set(found) <= set(ids[: many - near_ones])
