"""An OpenAI-compatible server, good and bad: a real one on this machine, not a stand-in for our own code."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from commonplace.embed import Embedder
from commonplace.embed.openai_compatible import EndpointEmbedder, parse_address
from commonplace.errors import EmbedderUnavailable, InvalidInput

Reply = tuple[int, bytes, dict[str, str]]
Answer = Callable[[list[str]], Reply]


def vector(text: str) -> list[float]:
    """Not a unit vector, so that normalising shows."""
    return [float(len(text)), 3.0, 4.0]


def good(texts: list[str]) -> Reply:
    return data([{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)])


def data(entries: Any) -> Reply:
    return 200, json.dumps({"object": "list", "data": entries}).encode(), {}


class Server(ThreadingHTTPServer):
    """Answers every call with `answer`, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Answer = good
        self.calls: list[dict[str, Any]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append({"path": self.path, "key": self.headers["Authorization"], **sent})
        status, body, headers = self.server.answer(sent["input"])
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests are quiet."""


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


def test_a_good_server(server: Server) -> None:
    embedder: Embedder = EndpointEmbedder(server.url, "nomic", api_key="secret")
    assert embedder.state() == "not loaded"
    vectors = embedder.embed(["", "abc"])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [np.array(vector(text)) / np.linalg.norm(vector(text)) for text in (" ", "abc")])
    assert (embedder.dim, embedder.state()) == (3, "ready")
    assert embedder.name == f"nomic@127.0.0.1:{server.server_port}"
    (call,) = server.calls
    assert (call["path"], call["key"], call["model"]) == ("/v1/embeddings", "Bearer secret", "nomic")


def test_many_texts_go_in_batches_and_come_back_in_order(server: Server) -> None:
    texts = ["x" * n for n in range(1, 8)]
    rows = EndpointEmbedder(server.url, "m", batch=3).embed(texts)
    assert [len(call["input"]) for call in server.calls] == [3, 3, 1]
    assert np.allclose(rows[:, 0] / rows[:, 1] * 3, range(1, 8), atol=1e-4)


def test_replies_are_ordered_by_index(server: Server) -> None:
    def backwards(texts: list[str]) -> Reply:
        return data([{"index": n, "embedding": vector(texts[n])} for n in reversed(range(len(texts)))])

    server.answer = backwards
    rows = EndpointEmbedder(server.url, "m").embed(["a", "bb", "ccc"])
    assert np.allclose(rows[:, 0] / rows[:, 1] * 3, [1, 2, 3], atol=1e-4)


def test_the_dimension_is_asked_for_when_unknown(server: Server) -> None:
    embedder = EndpointEmbedder(server.url, "m")
    assert embedder.dim == 3
    assert embedder.embed([]).shape == (0, 3)
    assert len(server.calls) == 1


def test_odd_texts_reach_the_server_as_valid_json(server: Server) -> None:
    EndpointEmbedder(server.url, "m").embed(["\ud800", "\x00", "🎉", "x" * 100_000])
    assert server.calls[0]["input"][:3] == ["\ufffd", "\x00", "🎉"]
    assert len(server.calls[0]["input"][3]) == 16_000


def one(embedding: object) -> Answer:
    return lambda texts: data([{"index": 0, "embedding": embedding}])


BAD: dict[str, tuple[Answer, str]] = {
    "error": (lambda texts: (500, b'{"error": {"message": "no\\nmemory"}}', {}), r"HTTP 500 \(no memory\)"),
    "redirect": (lambda texts: (307, b"", {"Location": "http://127.0.0.1:9/v1/embeddings"}), "redirect, which is not"),
    "garbage": (lambda texts: (200, b"<html>hello</html>", {}), "makes no sense"),
    "deep": (lambda texts: (200, b"[" * 200_000, {}), "nested too deeply"),
    "deep refusal": (lambda texts: (500, b"[" * 200_000, {}), "answered HTTP 500"),
    "many values": (lambda texts: (200, b"[" + b"[]," * 400_000 + b"[]]", {}), "more than 21,000 values"),
    "long": (lambda texts: (200, b'{"data": "' + b"a" * 3_000_000 + b'"}', {}), "larger than 1,572,864 bytes"),
    "list": (lambda texts: (200, b"[]", {}), "makes no sense"),
    "empty": (lambda texts: (200, b"{}", {}), "'data' is missing"),
    "too few": (lambda texts: data([]), "1 vectors were requested"),
    "wrong index": (lambda texts: data([{"index": 5, "embedding": [1.0]}]), "indexes are not"),
    "wrong dimension": (one([1.0, 2.0]), r"different lengths \[2, 3\]"),
    "not a number": (one([1.0, float("nan"), 2.0]), "not a finite number"),
    "infinite": (one([1.0, float("inf"), 2.0]), "not a finite number"),
    "zero": (one([0.0, 0.0, 0.0]), "without direction"),
    "words": (one(["a", "b", "c"]), "makes no sense"),
    "base64": (one("AAAA"), "different lengths"),
    "short body": (lambda texts: (200, b'{"da', {"Content-Length": "900"}), "makes no sense"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_reply_is_an_embedder_failure_that_says_why(server: Server, kind: str) -> None:
    server.answer, why = BAD[kind]
    embedder = EndpointEmbedder(server.url, "m", dim=3)
    with pytest.raises(EmbedderUnavailable, match=why):
        embedder.embed(["text"])
    assert embedder.state().startswith("failed: ")


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_size_does_not_matter(server: Server, size: float) -> None:
    server.answer = one([0.0, 3 * size, 4 * size])
    assert np.allclose(EndpointEmbedder(server.url, "m").embed(["x"]), [[0, 0.6, 0.8]])


def test_a_slow_server_is_given_up(server: Server) -> None:
    def never(texts: list[str]) -> Reply:
        server.released.wait(30)
        return 200, b"", {}

    server.answer = never
    with pytest.raises(EmbedderUnavailable, match="timed out"):
        EndpointEmbedder(server.url, "m", timeout=0.1).embed(["x"])
    server.released.set()


def test_nobody_listening(server: Server) -> None:
    with Server() as other:
        url = other.url
    with pytest.raises(EmbedderUnavailable, match="no usable reply"):
        EndpointEmbedder(url, "m").embed(["x"])


def test_a_failed_server_is_left_alone_longer_each_time(server: Server) -> None:
    clock = Clock()
    embedder = EndpointEmbedder(server.url, "m", clock=clock)
    server.answer = BAD["error"][0]
    for attempt, pause in enumerate([30, 60, 120, 240, 480, 600, 600], start=1):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed(["x"])
        assert len(server.calls) == attempt
        clock.now += pause - 1
        with pytest.raises(EmbedderUnavailable, match="next try in 1 s"):
            embedder.embed(["x"])
        assert len(server.calls) == attempt
        clock.now += 1
    server.answer = good
    assert embedder.embed(["x"]).shape == (1, 3)
    assert embedder.state() == "ready"
    server.answer = BAD["error"][0]
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["x"])
    clock.now += 30
    server.answer = good
    assert embedder.embed(["x"]).shape == (1, 3)


def test_a_refused_text_does_not_silence_the_others(server: Server) -> None:
    embedder = EndpointEmbedder(server.url, "m", clock=Clock())
    server.answer = lambda texts: (400, b'{"error": "too long"}', {})
    with pytest.raises(EmbedderUnavailable, match=r"refused the text with HTTP 400 \(too long\)"):
        embedder.embed(["x"])
    server.answer = good
    assert embedder.embed(["y"]).shape == (1, 3)


def test_the_key_is_never_told(server: Server) -> None:
    server.answer = BAD["error"][0]
    embedder = EndpointEmbedder(server.url, "m", api_key="sk-very-secret")
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed(["x"])
    assert "sk-very-secret" not in f"{caught.value} {caught.value.hint} {embedder.state()} {embedder!r} {embedder.name}"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://localhost:11434", "/v1/embeddings"),
        ("http://localhost:11434/", "/v1/embeddings"),
        ("https://example.org/v1", "/v1/embeddings"),
        ("https://example.org/openai/v1beta/", "/openai/v1beta/embeddings"),
        ("https://example.org/v1/embeddings", "/v1/embeddings"),
        ("https://example.org/deploy/embeddings?api-version=1", "/deploy/embeddings?api-version=1"),
    ],
)
def test_an_address_may_be_short(url: str, path: str) -> None:
    assert parse_address(url).path == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "file:///etc/passwd",
        "ftp://h/v1",
        "http://",
        "http://u:p@h/v1",
        "http://h:x/",
        "http://h/a b",
    ],
)
def test_what_is_not_a_web_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        EndpointEmbedder(url, "m")


def test_a_key_that_would_break_the_header_is_refused() -> None:
    with pytest.raises(InvalidInput):
        EndpointEmbedder("http://localhost", "m", api_key="a\r\nHost: b")
