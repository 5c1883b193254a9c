"""Token vectors: stored with the vectors, read for some passages, and gone with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.contract.conftest import LEASE, Opener

from commonplace.errors import InvalidInput
from commonplace.model import Draft, Scope
from commonplace.store.protocol import Store
from commonplace.store.types import Job

Make = Callable[..., Draft]
NOW = 1_742_049_000_000


def made_of(job: Job, model: str = "tiny") -> bytes:
    """Bytes of any value, so long that neither engine keeps them in one page."""
    return f"{model}: {job.passage.text}".encode() + bytes(range(256)) * 40


def finish(store: Store, jobs: Sequence[Job], tokens: Sequence[bytes], owner: str | None = "me") -> int:
    vectors = np.full((len(jobs), 8), 8**-0.5, np.float32)
    return store.finish_jobs(jobs, vectors, owner, None, tokens)


def embed(store: Store, model: str = "tiny") -> int:
    """Does every job that waits."""
    store.use_model(model, 8)
    jobs = store.claim_jobs("me", 100, NOW, LEASE)
    return finish(store, jobs, [made_of(job, model) for job in jobs])


def passages(store: Store, *item_ids: int) -> list[int]:
    return [passage for of_item in store.passages_of(item_ids).values() for passage in of_item]


def said(store: Store, *item_ids: int) -> list[str]:
    """Of which texts these items have token vectors, as they were stored."""
    found = store.token_vectors(passages(store, *item_ids))
    assert all(tokens.endswith(bytes(range(256)) * 40) for tokens in found.values())
    return sorted(tokens.partition(b"\0")[0].decode() for tokens in found.values())


def test_they_are_read_as_they_were_stored_by_every_handle(store: Store, neighbour: Store, draft: Make) -> None:
    one, two, late = (one.id for one in store.put([draft("one"), draft(parts=["two", "three"]), draft("late")], NOW))
    store.use_model("tiny", 8)
    jobs = [job for job in store.claim_jobs("me", 9, NOW, LEASE) if job.passage.item_id != late]
    assert store.token_vectors(passages(store, one, two)) == {}
    assert finish(store, jobs, [made_of(job) for job in jobs]) == 3
    assert said(store, one, two, late) == ["tiny: one", "tiny: three", "tiny: two"]
    assert neighbour.token_vectors(passages(store, one)) == {}, "it has no model yet"
    neighbour.use_model("tiny", 8)
    assert said(neighbour, two) == ["tiny: three", "tiny: two"]
    (passage,) = passages(store, one)
    assert [*store.token_vectors([passage, 10**9, passage])] == [passage] and store.token_vectors([]) == {}


def test_a_model_may_make_none_or_none_of_a_text(store: Store, draft: Make) -> None:
    ids = [one.id for one in store.put([draft("one"), draft("two")], NOW)]
    store.use_model("tiny", 8)
    jobs = store.claim_jobs("me", 9, NOW, LEASE)
    with pytest.raises(InvalidInput):
        finish(store, jobs, [b"only one"])
    assert (store.counts().vectors, store.pending()) == (0, 2)
    assert finish(store, jobs, [b"", made_of(jobs[1])]) == 2
    assert said(store, *ids) == [f"tiny: {jobs[1].passage.text}"]
    store.requeue_embeddings()
    again = store.claim_jobs("me", 9, NOW, LEASE)
    assert finish(store, again, ()) == 2
    assert said(store, *ids) == [], "those from before went with their vectors"


def test_storing_again_replaces_them(store: Store, draft: Make) -> None:
    (one,) = store.put([draft("one")], NOW)
    embed(store)
    store.requeue_embeddings()
    assert said(store, one.id) == ["tiny: one"], "they stay until there are others"
    (job,) = store.claim_jobs("me", 9, NOW, LEASE)
    finish(store, [job], [b"others"])
    assert [*store.token_vectors(passages(store, one.id)).values()] == [b"others"]


def test_who_lost_a_job_stores_none(store: Store, draft: Make) -> None:
    one, two = (one.id for one in store.put([draft("one"), draft("two")], NOW))
    store.use_model("tiny", 8)
    mine = store.claim_jobs("me", 9, NOW, LEASE)
    found = store.newest_pending_jobs(Scope(), 1)
    assert finish(store, found, [b"made before an answer"], None) == 1
    assert finish(store, mine, [made_of(job) for job in mine]) == 1
    assert said(store, one) == ["tiny: one"]
    assert [*store.token_vectors(passages(store, two)).values()] == [b"made before an answer"]


def test_they_are_of_the_model_that_the_store_uses(store: Store, neighbour: Store, draft: Make) -> None:
    ids = [one.id for one in store.put([draft("one"), draft("two")], NOW)]
    embed(store, "first")
    neighbour.use_model("second", 8)
    assert said(neighbour, *ids) == []
    jobs = neighbour.claim_jobs("me", 1, NOW, LEASE)
    assert finish(neighbour, jobs, [made_of(job, "second") for job in jobs]) == 1
    assert said(neighbour, *ids) == ["second: two"]
    assert said(store, *ids) == ["first: one"], "it has not been told"
    store.use_model("second", 8)
    assert said(store, *ids) == ["second: two"]
    neighbour.use_model("first", 8)
    assert neighbour.pending() == 2 and said(neighbour, *ids) == ["first: one"]


def test_they_go_with_the_vectors_of_what_is_forgotten_changed_or_cleaned(store: Store, draft: Make) -> None:
    kept, gone, old, changed, cleaned = (
        one.id for one in store.put([draft(name) for name in ("kept", "gone", "old", "changed", "cleaned")], NOW)
    )
    embed(store)
    before = passages(store, kept, gone, old, changed, cleaned)
    assert len(store.token_vectors(before)) == 5
    store.forget([gone], NOW)
    store.supersede(old, kept, NOW)
    store.rewrite(changed, draft("something else"), NOW)
    store.clean_items([(cleaned,)], lambda _item: draft("clean"))
    assert [*store.token_vectors(before)] == passages(store, kept)
    store.restore([gone], NOW)
    assert said(store, kept, gone, old, changed, cleaned) == ["tiny: kept"], "they are made anew"
    assert embed(store) == 3
    expected = ["tiny: clean", "tiny: gone", "tiny: kept", "tiny: something else"]
    assert said(store, kept, gone, old, changed, cleaned) == expected


def test_each_space_has_its_own(open_store: Opener, draft: Make) -> None:
    mine, theirs = open_store("mine"), open_store("theirs")
    (one,) = mine.put([draft("one")], NOW)
    (two,) = theirs.put([draft("two")], NOW)
    embed(mine)
    theirs.use_model("tiny", 8)
    assert theirs.token_vectors(passages(mine, one.id)) == {}
    embed(theirs)
    assert (said(mine, one.id), said(theirs, two.id)) == (["tiny: one"], ["tiny: two"])
    assert theirs.token_vectors(passages(mine, one.id)) == mine.token_vectors(passages(theirs, two.id)) == {}
