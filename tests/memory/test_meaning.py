"""The semantic half: the built-in model, the worker behind the scenes, and what happens when it cannot work."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from numpy import float32
from numpy.typing import NDArray
from tests.waiting import until

from commonplace.config import Settings
from commonplace.memory import meaning
from commonplace.memory.book import Book, Clock, open_book
from commonplace.memory.context import context
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget, restore
from commonplace.memory.meaning import POLL_SECONDS
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.status import status
from commonplace.model import Scope

BOUND = 60.0


NOTES = (
    Note("Customers are charged on the first of each month with Stripe.", title="Billing day"),
    Note("The login form rejects passwords shorter than twelve letters.", title="Login"),
    Note("Photos are resized in the background before they are uploaded.", title="Images"),
)


def test_the_built_in_model_finds_by_meaning_without_a_shared_word(wise_book: Book) -> None:
    ids = [stored.id for stored in remember_all(wise_book, NOTES)]
    assert wise_book.meaning.catch_up() == 3
    for question, expected in (
        ("when do clients pay their invoices?", 0),
        ("authentication credentials minimum length", 1),
        ("shrinking pictures", 2),
    ):
        answer = recall(wise_book, question, Scope())
        assert answer.by_meaning
        assert answer.hits and answer.hits[0].item.id == ids[expected], question


def test_a_question_about_something_else_finds_nothing(wise_book: Book) -> None:
    remember_all(wise_book, NOTES)
    wise_book.meaning.catch_up()
    for question in ("how do volcanoes erupt", "the best recipe for sourdough bread", "zzzz qqqq"):
        assert recall(wise_book, question, Scope()).hits == (), question


def test_a_question_without_a_letter_finds_nothing(wise_book: Book) -> None:
    remember(wise_book, Note("Rule in a small memory", type="rule"))
    wise_book.meaning.catch_up()
    for question in ("*", "?", '"', "- -"):
        assert recall(wise_book, question, Scope()).hits == ()


def test_operators_filter_even_what_is_near(wise_book: Book) -> None:
    ids = [stored.id for stored in remember_all(wise_book, NOTES)]
    wise_book.meaning.catch_up()
    assert recall(wise_book, "invoices AND clients", Scope()).hits == ()
    (hit,) = recall(wise_book, "passwords NOT stripe", Scope()).hits
    assert hit.item.id == ids[1] and hit.semantic > 0.0


def test_what_was_just_written_is_found_by_its_words_before_it_has_a_vector(wise_book: Book) -> None:
    (first, *_rest) = remember_all(wise_book, NOTES)
    wise_book.meaning.catch_up()
    fresh = remember(wise_book, Note("Stripe webhooks are verified by signature."))
    assert wise_book.store.pending() == 1
    found = [hit.item.id for hit in recall(wise_book, "stripe", Scope()).hits]
    assert {first.id, fresh.id} <= set(found)


def test_the_worker_embeds_what_is_written_changed_and_restored(wise_book: Book) -> None:
    store = wise_book.store
    wise_book.meaning.start()
    wise_book.meaning.start()
    ids = [stored.id for stored in remember_all(wise_book, NOTES)]
    until(lambda: store.pending() == 0 and store.counts().vectors == 3)
    edit(wise_book, ids[0], Changes(content="Volcanoes form where plates of the earth's crust meet."))
    forget(wise_book, [ids[1]])
    until(lambda: store.pending() == 0)
    assert store.counts().vectors == 2
    assert [hit.item.id for hit in recall(wise_book, "how are lava mountains born?", Scope()).hits] == [ids[0]]
    restore(wise_book, [ids[1]])
    until(lambda: store.counts().vectors == 3)
    assert wise_book.meaning.state == "ready"
    assert status(wise_book)["search"] == "keywords and meaning"


def test_the_worker_embeds_what_another_process_wrote(wise_book: Book, open_again: Callable[[], Book]) -> None:
    wise_book.meaning.start()
    other = open_again()
    remember(other, NOTES[0])
    other.close()
    until(lambda: wise_book.store.counts().vectors == 1)


def test_the_worker_gets_on_however_often_someone_asks(wise_book: Book) -> None:
    remember_all(wise_book, [Note(f"Note number {number} about the harbour") for number in range(10)])
    wise_book.meaning.start()

    def asked_and_done() -> bool:
        wise_book.meaning.of_question("where are the ships?")
        return not wise_book.store.pending()

    until(asked_and_done)


def test_context_uses_meaning(wise_book: Book) -> None:
    remember_all(wise_book, [replace(note, kind="observation", project="p") for note in NOTES])
    wise_book.meaning.catch_up()
    found = context(wise_book, "p", "when do clients pay?", 2000, lambda _entry: 10)
    assert found.items[0].item.title == "Billing day"
    assert found.items[0].signals.semantic > 0.2


def test_nothing_is_loaded_before_it_is_needed(wise_book: Book) -> None:
    assert wise_book.meaning.state == "not loaded"
    remember_all(wise_book, NOTES)
    assert wise_book.meaning.state == "not loaded"
    assert status(wise_book)["pending"] == 3


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
        endpoint_timeout=5.0,
    )


def test_an_endpoint_that_is_down_leaves_the_words_and_is_told(settings: Settings, clock: Clock) -> None:
    book = open_book(with_endpoint(settings, closed_port()), clock)
    try:
        stored = remember(book, NOTES[0])
        answer = recall(book, "stripe", Scope())
        assert [hit.item.id for hit in answer.hits] == [stored.id]
        assert not answer.by_meaning
        assert book.meaning.state.startswith("failed: ")
        told = status(book)
        assert told["search"] == "keywords only" and told["pending"] == 1
        news = book.meaning.news()
        assert news is not None and news.startswith("failed")
        assert book.meaning.news() is None, "told once"
        for _ in range(20):
            assert book.meaning.catch_up() == 0
        assert book.store.pending() == 1, "no failure of the embedder costs a job"
    finally:
        book.close()


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
    book = open_book(with_endpoint(settings, endpoint), clock)
    try:
        remember_all(book, [Note(f"wholesome {n}") for n in range(20)])
        remember(book, Note("poison"))
        remember_all(book, [Note(f"also wholesome {n}") for n in range(5)])
        assert book.meaning.catch_up() == 25
        assert book.store.counts().vectors == 25
        assert book.store.pending() == 1
        for _ in range(10):
            clock.forward(minutes=2)  # type: ignore[attr-defined]
            assert book.meaning.catch_up() == 0
        assert book.store.pending() == 0, "given up, so that nobody waits for it"
    finally:
        book.close()


def test_another_model_takes_over_and_the_one_before_says_so(settings: Settings, clock: Clock, endpoint: int) -> None:
    first = open_book(with_endpoint(settings, endpoint, "first"), clock)
    second = open_book(with_endpoint(settings, endpoint, "second"), clock)
    try:
        remember_all(first, NOTES)
        assert first.meaning.catch_up() == 3
        remember(second, Note("a fourth"))
        assert second.meaning.catch_up() == 4
        assert (second.store.counts().vectors, second.store.pending()) == (4, 0)
        remember(first, Note("a fifth"))
        assert first.meaning.catch_up() == 0
        assert "different model" in first.meaning.state
        assert recall(first, "fourth", Scope()).hits, "words go on"
        assert "different model" in first.meaning.state
        assert second.meaning.catch_up() == 1
        assert second.meaning.state == "ready"
    finally:
        first.close()
        second.close()


def test_one_call_is_enough_to_make_the_vectors_of_another_model_anew(
    settings: Settings, clock: Clock, endpoint: int
) -> None:
    with closing(open_book(with_endpoint(settings, endpoint, "first"), clock)) as book:
        remember_all(book, NOTES)
        assert book.meaning.catch_up() == 3
    with closing(open_book(with_endpoint(settings, endpoint, "second"), clock)) as book:
        assert book.meaning.catch_up() == 3
        assert book.meaning.catch_up() == 0


def test_a_later_process_is_told_why_the_one_before_could_not_embed(settings: Settings, clock: Clock) -> None:
    unreachable = with_endpoint(settings, closed_port())
    with closing(open_book(unreachable, clock)) as book:
        remember_all(book, NOTES)
        book.meaning.catch_up()
    with closing(open_book(unreachable, clock)) as book:
        assert "not usable" in str(status(book)["model"]["last_error"])  # type: ignore[index]


def test_a_book_without_a_model_is_off_and_says_so(book: Book) -> None:
    book.meaning.start()
    remember(book, NOTES[0])
    assert book.meaning.catch_up() == 0
    assert book.meaning.of_question("anything") is None
    assert (book.meaning.state, book.meaning.model, book.meaning.news()) == ("off", None, None)


def test_what_another_process_wrote_is_looked_for_often_enough_to_follow_within_a_second() -> None:
    assert POLL_SECONDS <= 0.5


class Slow:
    """An embedder that takes its time."""

    name, dim, at_hand = "slow", 8, False

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        self.asked.set()
        assert self.go_on.wait(BOUND)
        return np.ones((len(texts), self.dim), np.float32)

    def state(self) -> str:
        return "ready"


def test_what_a_process_was_embedding_when_it_ended_is_left_to_others_at_once(
    book: Book, open_again: Callable[[], Book], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "STOP_SECONDS", 0.05)
    remember(book, Note("Still being embedded when the end comes"))
    slow = Slow()
    worker = meaning.Meaning(book.store, slow, clock)
    with closing(open_again()) as other:
        worker.start()
        assert slow.asked.wait(BOUND)
        assert other.store.claim_jobs("other", 9, clock(), meaning.LEASE_MS) == []
        worker.stop()
        assert len(other.store.claim_jobs("other", 9, clock(), meaning.LEASE_MS)) == 1
        slow.go_on.set()
        until(lambda: not worker._worker or not worker._worker.is_alive())
        assert worker.embedded == 0 and worker.lag() > 0, "what it made after all was not its own any more"
