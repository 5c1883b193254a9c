"""The semantic half: the built-in model, the worker behind the scenes, and what happens when it cannot work."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

import numpy as np
import pytest
from numpy import float32
from numpy.typing import NDArray
from tests.polling import until

from commonplace.config import Settings
from commonplace.memory import embedding_worker
from commonplace.memory.context import build_context
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items
from commonplace.memory.embedding_worker import POLL_SECONDS
from commonplace.memory.local_memory import Clock, LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.search_candidates import parse_question
from commonplace.memory.status_and_stats import status
from commonplace.model import Scope
from commonplace.store.protocol import Store

BOUND = 60.0


NOTES = (
    NewItem("Customers are charged on the first of each month with Stripe.", title="Billing day"),
    NewItem("The login form rejects passwords shorter than twelve letters.", title="Login"),
    NewItem("Photos are resized in the background before they are uploaded.", title="Images"),
)


def test_the_built_in_model_finds_by_meaning_without_a_shared_word(memory_with_model: LocalMemory) -> None:
    ids = [stored.id for stored in remember_all(memory_with_model, NOTES)]
    assert memory_with_model.embeddings.catch_up() == 3
    for question, expected in (
        ("when do clients pay their invoices?", 0),
        ("authentication credentials minimum length", 1),
        ("shrinking pictures", 2),
    ):
        answer = recall(memory_with_model, question, Scope())
        assert answer.by_meaning
        assert answer.hits and answer.hits[0].item.id == ids[expected], question


def test_a_question_about_something_else_finds_nothing(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, NOTES)
    memory_with_model.embeddings.catch_up()
    for question in ("how do volcanoes erupt", "the best recipe for sourdough bread", "zzzz qqqq"):
        assert recall(memory_with_model, question, Scope()).hits == (), question


def test_a_question_without_a_letter_finds_nothing(memory_with_model: LocalMemory) -> None:
    remember(memory_with_model, NewItem("Rule in a small memory", type="rule"))
    memory_with_model.embeddings.catch_up()
    for question in ("*", "?", '"', "- -"):
        assert recall(memory_with_model, question, Scope()).hits == ()


def test_operators_filter_even_what_is_near(memory_with_model: LocalMemory) -> None:
    ids = [stored.id for stored in remember_all(memory_with_model, NOTES)]
    memory_with_model.embeddings.catch_up()
    assert recall(memory_with_model, "invoices AND clients", Scope()).hits == ()
    (hit,) = recall(memory_with_model, "passwords NOT stripe", Scope()).hits
    assert hit.item.id == ids[1] and hit.semantic > 0.0


def test_what_was_just_written_is_found_by_its_words_before_it_has_a_vector(memory_with_model: LocalMemory) -> None:
    (first, *_rest) = remember_all(memory_with_model, NOTES)
    memory_with_model.embeddings.catch_up()
    fresh = remember(memory_with_model, NewItem("Stripe webhooks are verified by signature."))
    assert memory_with_model.store.pending() == 1
    found = [hit.item.id for hit in recall(memory_with_model, "stripe", Scope()).hits]
    assert {first.id, fresh.id} <= set(found)


def test_the_worker_embeds_what_is_written_changed_and_restored(memory_with_model: LocalMemory) -> None:
    store = memory_with_model.store
    memory_with_model.embeddings.start()
    memory_with_model.embeddings.start()
    ids = [stored.id for stored in remember_all(memory_with_model, NOTES)]
    until(lambda: store.pending() == 0 and store.counts().vectors == 3)
    edit_item(memory_with_model, ids[0], Changes(content="Volcanoes form where plates of the earth's crust meet."))
    forget_items(memory_with_model, [ids[1]])
    until(lambda: store.pending() == 0)
    assert store.counts().vectors == 2
    assert [hit.item.id for hit in recall(memory_with_model, "how are lava mountains born?", Scope()).hits] == [ids[0]]
    restore_items(memory_with_model, [ids[1]])
    until(lambda: store.counts().vectors == 3)
    assert memory_with_model.embeddings.state == "ready"
    assert status(memory_with_model)["search"] == "keywords and meaning"


def test_the_worker_embeds_what_another_process_wrote(
    memory_with_model: LocalMemory, open_again: Callable[[], LocalMemory]
) -> None:
    memory_with_model.embeddings.start()
    other = open_again()
    remember(other, NOTES[0])
    other.close()
    until(lambda: memory_with_model.store.counts().vectors == 1)


def test_the_worker_gets_on_however_often_someone_asks(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, [NewItem(f"Note number {number} about the harbour") for number in range(10)])
    memory_with_model.embeddings.start()

    def embed_and_wait() -> bool:
        memory_with_model.embeddings.embed_query("where are the ships?")
        return not memory_with_model.store.pending()

    until(embed_and_wait)


def test_context_uses_meaning(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, [replace(note, kind="observation", project="p") for note in NOTES])
    memory_with_model.embeddings.catch_up()
    found = build_context(memory_with_model, "p", "when do clients pay?", 2000, lambda _entry: 10)
    assert found.items[0].item.title == "Billing day"
    assert found.items[0].signals.semantic > 0.2


def test_nothing_is_loaded_before_it_is_needed(memory_with_unused_model: LocalMemory) -> None:
    assert memory_with_unused_model.embeddings.state == "not loaded"
    remember_all(memory_with_unused_model, NOTES)
    assert memory_with_unused_model.embeddings.state == "not loaded"
    assert status(memory_with_unused_model)["pending"] == 3


# An endpoint that cannot be reached, or answers in its own way.


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def with_endpoint(settings: Settings, port: int, model: str = "some-model") -> Settings:
    return replace(
        settings,
        embedder="endpoint",
        endpoint_url=f"http://127.0.0.1:{port}",
        endpoint_model=model,
        endpoint_timeout=60.0,
    )


def test_an_endpoint_that_is_down_leaves_the_words_and_is_told(settings: Settings, clock: Clock) -> None:
    memory = open_memory(with_endpoint(settings, closed_port()), clock)
    try:
        stored = remember(memory, NOTES[0])
        answer = recall(memory, "stripe", Scope())
        assert [hit.item.id for hit in answer.hits] == [stored.id]
        assert not answer.by_meaning
        assert memory.embeddings.state.startswith("failed: ")
        report = status(memory)
        assert report["search"] == "keywords only" and report["pending"] == 1
        news = memory.embeddings.new_failure()
        assert news is not None and news.startswith("failed")
        assert memory.embeddings.new_failure() is None, "told once"
        for _ in range(20):
            assert memory.embeddings.catch_up() == 0
        assert memory.store.pending() == 1, "no failure of the embedder costs a job"
    finally:
        memory.close()


class Endpoint(BaseHTTPRequestHandler):
    """Speaks the embeddings call; refuses texts with the word poison as servers refuse what is too long."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        if any("poison" in text for text in texts):
            self.answer(400, {"error": {"message": "input too long"}})
            return
        rows = [[1.0, float(len(text)), 0.0, 1.0] for text in texts]
        self.answer(200, {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]})

    def answer(self, code: int, body: object) -> None:
        payload = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    thread.join(BOUND)
    server.server_close()


def test_a_text_that_the_endpoint_refuses_does_not_hold_up_the_others(
    settings: Settings, clock: Clock, endpoint: int
) -> None:
    memory = open_memory(with_endpoint(settings, endpoint), clock)
    try:
        remember_all(memory, [NewItem(f"wholesome {n}") for n in range(20)])
        remember(memory, NewItem("poison"))
        remember_all(memory, [NewItem(f"also wholesome {n}") for n in range(5)])
        assert memory.embeddings.catch_up() == 25
        assert memory.store.counts().vectors == 25
        assert memory.store.pending() == 1
        for _ in range(10):
            clock.forward(minutes=2)  # type: ignore[attr-defined]
            assert memory.embeddings.catch_up() == 0
        assert memory.store.pending() == 0, "given up, so that nobody waits for it"
    finally:
        memory.close()


def test_another_model_takes_over_and_the_one_before_says_so(settings: Settings, clock: Clock, endpoint: int) -> None:
    first = open_memory(with_endpoint(settings, endpoint, "first"), clock)
    second = open_memory(with_endpoint(settings, endpoint, "second"), clock)
    try:
        remember_all(first, NOTES)
        assert first.embeddings.catch_up() == 3
        remember(second, NewItem("a fourth"))
        assert second.embeddings.catch_up() == 4
        assert (second.store.counts().vectors, second.store.pending()) == (4, 0)
        remember(first, NewItem("a fifth"))
        assert first.embeddings.catch_up() == 0
        assert "different model" in first.embeddings.state
        assert recall(first, "fourth", Scope()).hits, "words go on"
        assert "different model" in first.embeddings.state
        assert second.embeddings.catch_up() == 1
        assert second.embeddings.state == "ready"
    finally:
        first.close()
        second.close()


def test_one_call_is_enough_to_make_the_vectors_of_another_model_anew(
    settings: Settings, clock: Clock, endpoint: int
) -> None:
    with closing(open_memory(with_endpoint(settings, endpoint, "first"), clock)) as memory:
        remember_all(memory, NOTES)
        assert memory.embeddings.catch_up() == 3
    with closing(open_memory(with_endpoint(settings, endpoint, "second"), clock)) as memory:
        assert memory.embeddings.catch_up() == 3
        assert memory.embeddings.catch_up() == 0


def test_a_later_process_is_told_why_the_one_before_could_not_embed(settings: Settings, clock: Clock) -> None:
    unreachable = with_endpoint(settings, closed_port())
    with closing(open_memory(unreachable, clock)) as memory:
        remember_all(memory, NOTES)
        memory.embeddings.catch_up()
    with closing(open_memory(unreachable, clock)) as memory:
        assert "not usable" in str(status(memory)["model"]["last_error"])  # type: ignore[index]


def test_a_book_without_a_model_is_off_and_says_so(memory: LocalMemory) -> None:
    memory.embeddings.start()
    remember(memory, NOTES[0])
    assert memory.embeddings.catch_up() == 0
    assert memory.embeddings.embed_query("anything") is None
    assert (memory.embeddings.state, memory.embeddings.model, memory.embeddings.new_failure()) == ("off", None, None)


def test_what_another_process_wrote_is_looked_for_often_enough_to_follow_within_a_second() -> None:
    assert POLL_SECONDS <= 0.5


class Slow:
    """An embedder that takes its time."""

    name, dim, is_local = "slow", 8, False

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        self.asked.set()
        assert self.go_on.wait(BOUND)
        return np.ones((len(texts), self.dim), np.float32)

    def state(self) -> str:
        return "ready"


def test_what_a_process_was_embedding_when_it_ended_is_left_to_others_at_once(
    memory: LocalMemory, open_again: Callable[[], LocalMemory], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_worker, "STOP_SECONDS", 0.05)
    remember(memory, NewItem("Still being embedded when the end comes"))
    slow = Slow()
    worker = embedding_worker.Embeddings(cast("Store", memory.store), slow, clock)
    with closing(open_again()) as other:
        worker.start()
        assert slow.asked.wait(BOUND)
        assert other.maintenance.claim_jobs("other", 9, clock(), embedding_worker.LEASE_MS) == []
        worker.stop()
        assert len(other.maintenance.claim_jobs("other", 9, clock(), embedding_worker.LEASE_MS)) == 1
        slow.go_on.set()
        until(lambda: not worker._worker or not worker._worker.is_alive())
        assert worker.embedded == 0 and worker.lag() > 0, "what it made after all was not its own any more"


def test_whoever_asks_does_other_things_until_the_vector_of_the_question_is_made(
    memory: LocalMemory, clock: Clock
) -> None:
    remember(memory, NewItem("Something to compare a question with"))
    slow = Slow()
    slow.is_local = True
    slow.go_on.set()
    embeddings = embedding_worker.Embeddings(cast("Store", memory.store), slow, clock)
    embeddings.catch_up()
    assert embeddings.is_ready
    slow.asked.clear()
    slow.go_on.clear()
    vector = embeddings.begin_query("what is there?")
    assert slow.asked.wait(BOUND), "it has begun"
    slow.go_on.set()
    assert vector() is not None and vector() is vector()


class Counting(Slow):
    """An embedder that remembers what it was asked, at once."""

    def __init__(self, *, is_local: bool) -> None:
        super().__init__()
        self.is_local, self.texts = is_local, list[str]()
        self.go_on.set()

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        self.texts += texts
        return super().embed(texts, before)


@pytest.mark.parametrize("question", ["Where does Ann live?", "where does ann live?"])
def test_a_service_is_asked_once_without_the_name_of_a_speaker(
    memory: LocalMemory, clock: Clock, question: str
) -> None:
    spoken = {"role": "user", "speaker": "Ann"}
    remember(memory, NewItem("I live in Zurich", kind="message", session="s", details=spoken))
    service = Counting(is_local=False)
    asked = replace(memory, embeddings=embedding_worker.Embeddings(cast("Store", memory.store), service, clock))
    assert parse_question(asked, question).vector is not None
    assert service.texts == [question.replace("Ann ", "").replace("ann ", "")]


def test_a_ready_model_reads_a_question_without_the_name_of_a_speaker_in_small_letters(
    memory: LocalMemory, clock: Clock
) -> None:
    spoken = {"role": "user", "speaker": "Ann"}
    remember(memory, NewItem("I live in Zurich", kind="message", session="s", details=spoken))
    model = Counting(is_local=True)
    asked = replace(memory, embeddings=embedding_worker.Embeddings(cast("Store", memory.store), model, clock))
    asked.embeddings.catch_up()
    parsed = parse_question(asked, "where does ann live?")
    assert parsed.vector is not None and parsed.text == "where does live?" and parsed.text in model.texts
