"""Every target of fuzzing/ takes what hypothesis thinks of, and everything in the corpus, within steps and memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from fuzzing import queries
from fuzzing.limits import counted, watched
from fuzzing.oracle import hold, hold_counted, hold_in_memory
from fuzzing.target import CORPUS, Broken, Target
from fuzzing.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.postgres_server import PostgresServer

from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query

# Together with the corpus all of it takes a few seconds: what is found in hours is for `make fuzz`.
EXAMPLES = 15
LARGEST = 8_192


@st.composite
def inputs(draw: st.DrawFn, target: Target) -> bytes:
    """Kept inputs with words of the target in them, words alone, JSON made of the words, or any bytes."""
    words = st.sampled_from([word.encode() for word in target.words])
    stored = [path.read_bytes() for path in target.corpus()]
    way = draw(st.sampled_from(["changed", "words", "json", "bytes"]))
    if way == "changed" and stored:
        data = draw(st.sampled_from(stored))
        for _ in range(draw(st.integers(1, 4))):
            at, to = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
            data = data[:at] + draw(words | st.binary(max_size=6)) + data[min(to, at + 40) :]
        return data
    if way == "words":
        return b"".join(draw(st.lists(words | st.binary(max_size=3), max_size=20)))
    if way == "json":
        names = st.sampled_from([word.strip('"') for word in target.words])
        first = draw(st.sampled_from([b"", *(data.partition(b"\n")[0] + b"\n" for data in stored)]))
        return first + json.dumps(draw(_values(names))).encode()
    return draw(st.binary(max_size=200))


def _values(names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | names | st.text(max_size=5)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5), max_leaves=12
    )


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.CRITICAL, "mcp"):
        yield


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
@settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_input_is_taken(target: Target, data: st.DataObject) -> None:
    hold_counted(target, data.draw(inputs(target)))


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_the_corpus_is_taken(target: Target) -> None:
    stored = target.corpus()
    assert stored, "a target without a corpus starts from nothing"
    for path in stored:
        assert path.stat().st_size <= LARGEST, f"{path.name} is too large to be kept"
        hold_counted(target, path.read_bytes())
    # Once more, since by now everything is loaded.
    hold_in_memory(target, max((path.read_bytes() for path in stored), key=len))


def test_every_folder_of_the_corpus_has_its_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


def test_postgresql_takes_what_any_query_becomes(postgres: PostgresServer) -> None:
    texts = [path.read_bytes().decode("utf-8", "replace") for path in TARGETS["query"].corpus()]
    texts += [f"{one}{two}{three}" for one in queries.WORDS for two in queries.WORDS[:12] for three in ("a", '"b c"')]
    made = {query for text in texts for query in queries.tsqueries(parse_query(text, QUERY_COLUMNS))}
    with psycopg.connect(postgres.url) as connection:
        (count,) = (
            connection.execute("SELECT count(q::tsquery) FROM unnest(%s::text[]) q", (sorted(made),)).fetchone() or ()
        )
    assert count == len(made) > 100


def _runs_on(_data: bytes) -> None:
    while True:
        len("")


def _writes_elsewhere(_data: bytes) -> None:
    open("elsewhere", "w").close()  # noqa: PTH123


def _calls_somebody(_data: bytes) -> None:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))


def _fails_unheard(_data: bytes) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        logging.getLogger("commonplace.any").exception("it failed")


@pytest.mark.parametrize("harm", [_runs_on, _writes_elsewhere, _calls_somebody, _fails_unheard])
def test_harm_is_seen(harm: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/" if harm is not _writes_elsewhere else tmp_path)
    with pytest.raises(Broken):
        hold_counted(Target("harm", "", harm), b"")
    with watched(), counted(1_000):
        pass


def test_memory_is_counted() -> None:
    with pytest.raises(Broken, match="bytes of memory"):
        hold_in_memory(Target("harm", "", lambda _data: [bytearray(1 << 27)].clear()), b"")


def test_an_error_of_ours_is_an_answer_and_any_other_is_not() -> None:
    from commonplace.errors import CommonplaceError, NotFound

    def answers(_data: bytes) -> None:
        raise NotFound("It is not there.")

    def fails(_data: bytes) -> None:
        raise CommonplaceError("It failed.")

    hold(Target("answers", "", answers), b"")
    with pytest.raises(CommonplaceError):
        hold(Target("fails", "", fails), b"")
