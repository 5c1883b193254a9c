"""A question right after writing: what has no vector yet gets one first, and the rest is ordered on the same scale."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from benchmarks.asked_at_once import facts
from tests.conftest import Clock
from tests.dialects.conftest import calling

from commonplace.memory import embedding_worker
from commonplace.memory.context import build_context
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.search_candidates import embed_waiting, parse_question
from commonplace.model import Scope

NOTES = (
    "After logging in, people get a signed JWT that is refreshed silently for 30 days",
    "The office coffee machine is cleaned on Fridays",
    "Images are resized by a background worker",
)
PARAPHRASE = "how do users stay authenticated"
# More than are embedded before a question is answered.
MANY = embedding_worker.EMBED_FIRST_PASSAGES + 40
BOUND_SECONDS = 60.0


def write(memory: LocalMemory, texts: Sequence[str], project: str | None = None) -> None:
    remember_all(memory, [NewItem(content=text, type="fact", project=project) for text in texts])


def test_what_was_just_written_is_found_by_meaning(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, NOTES)
    found = recall(memory_with_model, PARAPHRASE, Scope())
    assert found.hits[0].item.body == NOTES[0] and found.hits[0].lexical == 0.0
    assert (found.by_meaning, found.waiting) == (True, 0)
    assert memory_with_model.store.pending() == 0, "a vector that was made is kept"
    assert memory_with_model.store.counts().vectors == len(NOTES)


def test_the_vectors_are_those_that_the_background_would_have_made(
    memory_with_model: LocalMemory, clock: Clock
) -> None:
    write(memory_with_model, NOTES)
    at_once = recall(memory_with_model, PARAPHRASE, Scope()).hits[0]
    memory_with_model.maintenance.requeue_embeddings()
    memory_with_model.embeddings.catch_up()
    assert recall(memory_with_model, PARAPHRASE, Scope()).hits[0] == at_once


def test_the_right_one_of_many_alike_comes_first_before_all_have_vectors(memory_with_model: LocalMemory) -> None:
    pairs = facts(600)
    write(memory_with_model, [fact for fact, _question in pairs])
    chosen = pairs[::120]
    for fact, question in chosen:
        found = recall(memory_with_model, question, Scope())
        assert found.hits[0].item.body == fact
        assert found.waiting == memory_with_model.store.pending() > 0


def test_the_right_one_comes_first_however_little_time_there_is_to_embed(memory_with_model: LocalMemory) -> None:
    pairs = facts(200)
    write(memory_with_model, [fact for fact, _question in pairs])
    for number, (fact, question) in enumerate(pairs[::10], 1):
        parsed = embed_waiting(memory_with_model, parse_question(memory_with_model, question), [Scope()], seconds=0.0)
        found = recall(memory_with_model, parsed, Scope(), 10)
        assert found.waiting == 200 - number * embedding_worker.EMBED_FIRST_BATCH
        assert found.hits[0].item.body == fact


def test_what_has_no_vector_is_ordered_beside_what_has_one(
    memory_with_model: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = facts(60)
    write(memory_with_model, [fact for fact, _question in pairs[:40]])
    memory_with_model.embeddings.catch_up()
    write(memory_with_model, [fact for fact, _question in pairs[40:]])
    # As if the time were over before anything was embedded.
    monkeypatch.setattr(type(memory_with_model.embeddings), "embed_now", lambda *_: 0)
    for fact, question in (*pairs[:40:10], *pairs[40::5]):
        found = recall(memory_with_model, question, Scope())
        assert found.waiting == 20
        assert found.hits[0].item.body == fact


def test_no_more_is_embedded_than_a_question_may_wait_for(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, [f"Remark number {n}" for n in range(30)])
    parsed = embed_waiting(
        memory_with_model, parse_question(memory_with_model, "remark 7"), [Scope()], 10, BOUND_SECONDS
    )
    assert memory_with_model.store.pending() == parsed.waiting == 20
    late = embed_waiting(memory_with_model, parse_question(memory_with_model, "remark 7"), [Scope()], seconds=0.0)
    assert late.waiting == 20 - embedding_worker.EMBED_FIRST_BATCH, "one batch at least"


def test_what_holds_the_words_is_embedded_before_what_is_newer(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, ["The walrus migrates in April", *(f"Remark number {n}" for n in range(30))])
    embed_waiting(
        memory_with_model, parse_question(memory_with_model, "when does the walrus migrate"), [Scope()], most=1
    )
    vector = memory_with_model.embeddings.embed_query("walrus")
    assert vector is not None
    (near,) = memory_with_model.store.search_vectors(vector, Scope(), 9)
    assert near.item_id == 1


def test_the_newest_of_the_scope_is_embedded_before_the_newest_of_all(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, [NOTES[0]], "shop")
    write(memory_with_model, [f"Remark number {n}" for n in range(MANY)], "other")
    found = recall(memory_with_model, PARAPHRASE, Scope(project="shop"))
    assert [hit.item.body for hit in found.hits] == [NOTES[0]] and found.waiting == 0
    assert memory_with_model.store.pending() == MANY


def test_a_key_for_one_project_has_its_own_embedded_and_counted_only(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, [NOTES[0]], "shop")
    write(memory_with_model, NOTES[1:], "other")
    found = recall(for_project(memory_with_model, "shop"), PARAPHRASE, Scope())
    assert [hit.item.body for hit in found.hits] == [NOTES[0]] and found.waiting == 0
    assert memory_with_model.store.pending() == 2


def test_a_context_with_a_query_knows_what_was_just_written(memory_with_model: LocalMemory) -> None:
    write(memory_with_model, NOTES, "shop")
    found = build_context(memory_with_model, "shop", PARAPHRASE, 2_000, lambda _entry: 10)
    assert found.items[0].item.body == NOTES[0] and found.items[0].signals.semantic > 0.2
    assert found.answers[0] == found.items[0].item.id and found.waiting == 0


def test_questions_at_once_embed_nothing_twice(memory_with_model: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    write(memory_with_model, [f"Remark number {n}" for n in range(20)])
    recall(memory_with_model, "warm up", Scope(project="nowhere"))
    embedded: list[str] = []
    embedder = memory_with_model.embeddings._embedder
    assert embedder is not None
    embed = embedder.embed

    def counted(texts: Sequence[str], before: Sequence[str] = ()) -> object:
        embedded.extend(texts)
        return embed(texts, before)

    monkeypatch.setattr(embedder, "embed", counted)
    parsed = [parse_question(memory_with_model, f"remark {n}") for n in range(4)]
    threads = [
        threading.Thread(target=embed_waiting, args=(memory_with_model, one, [Scope()], 64, BOUND_SECONDS))
        for one in parsed
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remarks = [text for text in embedded if text.startswith("Remark")]
    assert sorted(remarks) == sorted(set(remarks))
    assert memory_with_model.store.pending() == 0


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "remark 7"}),
        ("search_memories", {"query": "remark 7", "project_id": "p"}),
        ("recall", {"query": "remark 7", "minScore": 0}),
        ("memory_search", {"query": "remark 7"}),
        ("get_context", {"query": "remark 7", "project": "p"}),
    ],
)
def test_every_tool_says_when_meaning_is_incomplete(
    memory_with_model: LocalMemory, tool: str, arguments: dict[str, object]
) -> None:
    call = calling(memory_with_model)
    write(memory_with_model, [f"Remark number {n}" for n in range(3)], "p")
    assert "notice" not in call(tool, **arguments)
    write(memory_with_model, [f"Remark number {n}" for n in range(3, MANY)], "p")
    reply = call(tool, **arguments)["notice"]
    assert reply.startswith("Search by meaning is incomplete: ") and "new passages have no vector yet" in reply
    memory_with_model.embeddings.catch_up()
    assert "notice" not in call(tool, **arguments)
