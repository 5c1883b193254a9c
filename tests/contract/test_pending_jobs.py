"""Passages that wait for a vector: leases, owners, failures, a change of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from commonplace.errors import CommonplaceError
from commonplace.model import Draft, Scope, SessionDraft
from commonplace.store.protocol import Store
from commonplace.store.types import Job

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tests.contract.conftest import Embed, Pointing

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
LEASE = 60_000


def ones(jobs: list[Job], dim: int = 8) -> NDArray[float32]:
    return np.full((len(jobs), dim), dim**-0.5, np.float32)


def test_every_passage_of_what_was_written_waits(store: Store, draft: Make) -> None:
    store.put([draft("short"), draft(parts=["one", "two", "three"])], NOW)
    assert store.pending() == 4
    jobs = store.claim_jobs("me", 10, NOW, LEASE)
    assert sorted(job.passage.text for job in jobs) == ["one", "short", "three", "two"]
    assert store.pending() == 4, "claimed is not done"


def test_what_was_said_waits_with_its_speaker_and_a_few_words_with_what_was_said_before(
    store: Store, draft: Make
) -> None:
    texts = [("user", "Ann", ["Which agency?"]), ("assistant", "", ["The one downtown."])]
    texts += [("user", "Ann", ["Long. " * 50, "And longer."]), ("assistant", "", ["I see."])]
    messages = [
        draft(
            "" if len(parts) > 1 else parts[0],
            parts=parts,
            kind="message",
            type="message",
            session="s",
            at=NOW + n,
            details={"role": role, "speaker": who},
        )
        for n, (role, who, parts) in enumerate(texts)
    ]
    store.store_sessions([(SessionDraft("s", "s", "/", "active", 5.0, NOW), messages)], NOW)
    waiting = {job.passage.text: job.before for job in store.claim_jobs("me", 10, NOW, LEASE)}
    long = "\n\n".join(texts[2][2])
    assert waiting == {
        "Ann: Which agency?": "",
        "assistant: The one downtown.": "Ann: Which agency?",
        f"Ann: {texts[2][2][0]}": "",
        "Ann: And longer.": "",
        "assistant: I see.": f"Ann: {long[-300:]}",
    }


def test_what_was_forgotten_is_no_context(store: Store, draft: Make) -> None:
    messages = [
        draft(t, kind="message", type="message", session="s", at=NOW + n) for n, t in enumerate(("secret", "after"))
    ]
    ((_, (first, _second)),) = store.store_sessions([(SessionDraft("s", "s", "/", "active", 5.0, NOW), messages)], NOW)
    store.forget([first.id], NOW)
    assert [job.before for job in store.claim_jobs("me", 10, NOW, LEASE)] == [""]


def test_what_was_written_last_is_claimed_first(store: Store, draft: Make) -> None:
    store.put([draft(f"n{n}") for n in range(5)], NOW)
    assert {job.passage.text for job in store.claim_jobs("me", 2, NOW, LEASE)} == {"n4", "n3"}
    assert {job.passage.text for job in store.claim_jobs("me", 2, NOW, LEASE)} == {"n2", "n1"}


def test_two_owners_never_hold_the_same_job(store: Store, neighbour: Store, draft: Make) -> None:
    store.put([draft(f"n{n}") for n in range(6)], NOW)
    mine = store.claim_jobs("me", 4, NOW, LEASE)
    yours = neighbour.claim_jobs("you", 4, NOW + LEASE - 1, LEASE)
    assert len(mine) == 4 and len(yours) == 2
    assert not {job.id for job in mine} & {job.id for job in yours}
    assert store.claim_jobs("me", 4, NOW, LEASE) == []


def test_a_lease_that_ran_out_can_be_taken_by_another(store: Store, neighbour: Store, draft: Make) -> None:
    store.use_model("tiny", 8)
    neighbour.use_model("tiny", 8)
    store.put([draft("one")], NOW)
    mine = store.claim_jobs("me", 1, NOW, LEASE)
    assert neighbour.claim_jobs("you", 1, NOW + LEASE - 1, LEASE) == []
    yours = neighbour.claim_jobs("you", 1, NOW + LEASE, LEASE)
    assert [job.passage for job in yours] == [job.passage for job in mine]
    assert store.finish_jobs(mine, ones(mine), "me") == 0, "the lease was lost"
    assert store.counts().vectors == 0
    assert neighbour.finish_jobs(yours, ones(yours), "you") == 1
    assert (store.counts().vectors, store.pending()) == (1, 0)
    assert neighbour.finish_jobs(yours, ones(yours), "you") == 0, "done once is done"
    assert store.counts().vectors == 1


def test_a_lease_from_a_clock_that_went_back_does_not_last(store: Store, draft: Make) -> None:
    store.put([draft("one")], NOW)
    year = 365 * 86_400_000
    assert len(store.claim_jobs("crashed", 1, NOW + year, LEASE)) == 1
    assert len(store.claim_jobs("me", 1, NOW, LEASE)) == 1


def test_a_released_job_is_free_at_once(store: Store, draft: Make) -> None:
    store.put([draft("one")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    store.release_jobs(jobs, "you", "not yours to give")
    assert store.claim_jobs("you", 1, NOW, LEASE) == []
    store.release_jobs(jobs, "me", "endpoint down")
    assert [job.id for job in store.claim_jobs("you", 1, NOW, LEASE)] == [job.id for job in jobs]


def test_why_the_last_try_failed_is_known_while_something_waits(store: Store, draft: Make) -> None:
    store.use_model("tiny", 8)
    assert store.pending_reason() is None
    store.put([draft("one")], NOW)
    assert store.pending_reason() is None, "nobody has tried"
    store.release_jobs(store.claim_jobs("me", 1, NOW, LEASE), "me", "endpoint down")
    assert store.pending_reason() == "endpoint down"
    jobs = store.claim_jobs("you", 1, NOW, LEASE)
    store.finish_jobs(jobs, ones(jobs), "you")
    assert store.pending_reason() is None


def test_a_job_whose_workers_keep_dying_is_given_up_and_waits_no_longer(store: Store, draft: Make) -> None:
    store.put([draft("poison")], NOW)
    tries, now = 0, NOW
    while store.claim_jobs("me", 1, now, LEASE):
        tries, now = tries + 1, now + LEASE
        assert tries < 100
    assert tries >= 3
    assert store.pending() == 0
    store.put([draft("wholesome")], NOW)
    assert [job.passage.text for job in store.claim_jobs("me", 9, now, LEASE)] == ["wholesome"]


def test_an_embedder_that_was_down_for_long_costs_no_job(store: Store, draft: Make) -> None:
    store.put([draft(f"n{n}") for n in range(3)], NOW)
    for _ in range(50):
        jobs = store.claim_jobs("me", 2, NOW, LEASE)
        assert len(jobs) == 2
        store.release_jobs(jobs, "me", "connection refused")
    assert store.pending() == 3
    assert len(store.claim_jobs("me", 9, NOW, LEASE)) == 3


def test_what_was_rewritten_meanwhile_gets_the_vector_of_its_new_text(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    store.use_model("tiny", 8)
    (stored,) = store.put([draft("old")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    store.rewrite(stored.id, draft("new"), NOW)
    assert store.finish_jobs(jobs, ones(jobs), "me") == 0
    assert (store.counts().vectors, store.pending()) == (0, 1)
    vectors = {"new": pointing(1.0)}
    assert embed(store, lambda passage: vectors[passage.text]) == 1


@pytest.mark.parametrize("brought_back", [False, True])
def test_what_was_forgotten_meanwhile_gets_no_vector_from_the_old_lease(
    store: Store, draft: Make, brought_back: bool
) -> None:
    store.use_model("tiny", 8)
    (stored,) = store.put([draft("walrus")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    store.forget([stored.id], NOW)
    if brought_back:
        store.restore([stored.id], NOW)
    assert store.finish_jobs(jobs, ones(jobs), "me") == 0
    assert (store.counts().vectors, store.pending()) == (0, int(brought_back))


def test_another_model_embeds_everything_again(store: Store, draft: Make, embed: Embed, pointing: Pointing) -> None:
    store.put([draft("one"), draft(parts=["two", "three"])], NOW)
    assert embed(store, lambda _: pointing(1.0), model="first") == 3
    store.use_model("first", 8)
    assert store.pending() == 0
    store.use_model("second", 4)
    assert store.pending() == 3
    assert store.search_vectors(pointing(1.0, dim=4), Scope(), 5) == []
    assert embed(store, lambda _: pointing(0.0, 1.0, dim=4), model="second", dim=4) == 3
    assert (store.counts().vectors, store.pending()) == (3, 0)


def test_a_model_of_the_same_name_with_another_dimension_is_another_model(
    store: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    store.put([draft("one")], NOW)
    assert embed(store, lambda _: pointing(1.0), model="nomic", dim=8) == 1
    store.use_model("nomic", 4)
    assert store.pending() == 1
    assert embed(store, lambda _: pointing(1.0, dim=4), model="nomic", dim=4) == 1
    assert store.counts().vectors == 1


def test_vectors_of_the_wrong_dimension_are_refused(store: Store, draft: Make) -> None:
    store.use_model("tiny", 8)
    store.put([draft("one")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    with pytest.raises((CommonplaceError, ValueError)):
        store.finish_jobs(jobs, ones(jobs, dim=7), "me")
    assert (store.counts().vectors, store.pending()) == (0, 1)


def test_a_change_of_model_gives_hopeless_jobs_another_chance(store: Store, draft: Make) -> None:
    store.use_model("first", 8)
    store.put([draft("poison for the first model")], NOW)
    now = NOW
    while store.claim_jobs("me", 1, now, LEASE):
        now += LEASE
    assert store.pending() == 0
    store.use_model("second", 8)
    assert store.pending() == 1
    assert len(store.claim_jobs("me", 1, now, LEASE)) == 1


def test_a_worker_of_the_model_before_neither_claims_nor_stores(store: Store, neighbour: Store, draft: Make) -> None:
    store.use_model("old", 8)
    store.put([draft("one"), draft("two")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    neighbour.use_model("new", 8)
    assert store.finish_jobs(jobs, ones(jobs), "me") == 0
    assert store.claim_jobs("me", 9, NOW, LEASE) == []
    assert len(neighbour.claim_jobs("you", 9, NOW + LEASE, LEASE)) == 2


def test_every_handle_knows_which_model_the_space_uses(store: Store, neighbour: Store) -> None:
    assert not store.uses_model("first")
    store.use_model("first", 8)
    assert store.uses_model("first") and neighbour.uses_model("first")
    neighbour.use_model("second", 8)
    assert not store.uses_model("first") and store.uses_model("second")


def test_a_store_without_a_model_stores_no_vector(store: Store, draft: Make) -> None:
    store.put([draft("one")], NOW)
    jobs = store.claim_jobs("me", 1, NOW, LEASE)
    assert store.finish_jobs(jobs, ones(jobs), "me") == 0
    assert store.pending() == 1


def test_everything_can_be_made_to_wait_again(store: Store, draft: Make) -> None:
    store.use_model("tiny", 8)
    stored = store.put([draft("one"), draft(parts=["two", "three"]), draft("gone")], NOW)
    jobs = store.claim_jobs("me", 10, NOW, LEASE)
    store.finish_jobs(jobs, ones(jobs), "me")
    store.forget([stored[2].id], NOW)
    assert store.pending() == 0
    assert store.requeue_embeddings() == 3
    assert store.counts().vectors == 3, "what is known by meaning stays known meanwhile"
    again = store.claim_jobs("me", 10, NOW, LEASE)
    assert sorted(job.passage.text for job in again) == ["one", "three", "two"]
    assert store.finish_jobs(again, ones(again), "me") == 3
    assert (store.pending(), store.counts().vectors) == (0, 3)


def test_what_failed_too_often_waits_again_too(store: Store, draft: Make) -> None:
    store.put([draft("one")], NOW)
    for number in range(9):
        store.claim_jobs("me", 1, NOW + number * LEASE, LEASE)
    assert store.pending() == 0
    assert store.requeue_embeddings() == 1


def test_what_waits_is_found_by_its_passages_in_their_order_and_not_claimed(store: Store, draft: Make) -> None:
    stored = store.put([draft(f"n{n}") for n in range(4)], NOW)
    passages = [store.passages_of([one.id])[one.id][0] for one in stored]
    requested = [passages[2], passages[0], passages[2], 10**9]
    claimed = store.claim_jobs("me", 9, NOW, LEASE)
    assert [job.passage.text for job in store.pending_jobs(requested)] == ["n2", "n0"]
    assert [job.id for job in store.pending_jobs(passages)] == sorted(job.id for job in claimed)


def test_the_newest_that_wait_are_found_inside_a_scope(store: Store, draft: Make) -> None:
    store.put([draft("here 1", project="p"), draft("there", project="q"), draft("here 2", project="p")], NOW)
    inside = Scope(project="p")
    assert [job.passage.text for job in store.newest_pending_jobs(inside, 9)] == ["here 2", "here 1"]
    assert [job.passage.text for job in store.newest_pending_jobs(Scope(), 2)] == ["here 2", "there"]
    assert (store.pending(), store.pending(inside), store.pending(Scope(project="nowhere"))) == (3, 2, 0)
    assert store.newest_pending_jobs(Scope(project="nowhere"), 9) == []


def test_whoever_has_made_a_vector_first_has_done_the_job(store: Store, draft: Make) -> None:
    store.use_model("tiny", 8)
    store.put([draft("one"), draft("two")], NOW)
    claimed = store.claim_jobs("me", 9, NOW, LEASE)
    found = store.newest_pending_jobs(Scope(), 1)
    assert store.finish_jobs(found, ones(found), None) == 1
    assert store.finish_jobs(claimed, ones(claimed), "me") == 1, "the other one"
    assert (store.counts().vectors, store.pending()) == (2, 0)


@pytest.mark.parametrize("brought_back", [False, True])
def test_without_an_owner_too_what_was_forgotten_meanwhile_gets_no_vector(
    store: Store, draft: Make, brought_back: bool
) -> None:
    store.use_model("tiny", 8)
    (stored,) = store.put([draft("walrus")], NOW)
    found = store.newest_pending_jobs(Scope(), 1)
    store.forget([stored.id], NOW)
    if brought_back:
        store.restore([stored.id], NOW)
    assert store.finish_jobs(found, ones(found), None) == 0
    assert (store.counts().vectors, store.pending()) == (0, int(brought_back))
