"""Streams: bounded, continued by any process, ended once and as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory import streamed_memories
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope


def bodies(memory: LocalMemory) -> list[str]:
    return [item.body for item in browse_items(memory, Scope()).items]


@pytest.mark.promise("memories:decided:streams-survive")
def test_a_stream_survives_a_restart(memory: LocalMemory, open_again: Callable[[], LocalMemory]) -> None:
    id_ = streamed_memories.start_stream(memory, "decision", ["v0"], "github.com/acme/my-app").id
    streamed_memories.append_to_stream(memory, id_, "one ")
    memory.close()
    later = open_again()
    try:
        (waiting,) = streamed_memories.open_streams(later)
        assert (waiting.id, waiting.chunks, waiting.project) == (id_, 1, "github.com/acme/my-app")
        streamed_memories.append_to_stream(later, id_, "two")
        _stream, done = streamed_memories.finalize_stream(later, id_)
        assert (done.item.body, done.item.type, done.item.tags) == ("one two", "decision", ("v0",))
        assert done.item.project == "github.com/acme/my-app"
    finally:
        later.close()


APPEND = """
import sys
from commonplace import config
from commonplace.memory import streamed_memories
from commonplace.memory.local_memory import open_memory
memory = open_memory(config.load({"data_dir": sys.argv[1], "embedder": "off"}, env={}))
for n in range(int(sys.argv[4])):
    streamed_memories.append_to_stream(memory, sys.argv[2], f"<{sys.argv[3]}{n}>")
memory.close()
"""


@pytest.mark.promise("memories:decided:streams-survive")
def test_two_processes_append_at_once_and_lose_nothing(settings: Settings) -> None:
    from commonplace.memory.local_memory import open_memory

    # The real clock: the other processes have it too.
    memory = open_memory(settings)
    try:
        id_ = streamed_memories.start_stream(memory).id
        others = [
            subprocess.Popen(
                [sys.executable, "-c", APPEND, str(settings.data_dir), id_, name, "20"],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                stderr=subprocess.PIPE,
            )
            for name in "ab"
        ]
        for n in range(20):
            streamed_memories.append_to_stream(memory, id_, f"<c{n}>")
        for other in others:
            assert other.communicate(timeout=60)[1] == b""
        body = streamed_memories.finalize_stream(memory, id_)[1].item.body
        assert sorted(body.strip("<>").split("><")) == sorted(f"{name}{n}" for name in "abc" for n in range(20))
        for name in "abc":
            places = [body.index(f"<{name}{n}>") for n in range(20)]
            assert places == sorted(places)
    finally:
        memory.close()


@pytest.mark.promise("memories:decided:stream-whole")
def test_a_crash_while_finalizing_leaves_the_stream_as_it_was(
    memory: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = streamed_memories.start_stream(memory).id
    streamed_memories.append_to_stream(memory, id_, "zebra")
    with monkeypatch.context() as patch:
        patch.setattr("commonplace.memory.streamed_memories.make_draft", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            streamed_memories.finalize_stream(memory, id_)
    assert bodies(memory) == []
    assert [stream.chunks for stream in streamed_memories.open_streams(memory)] == [1]
    assert streamed_memories.finalize_stream(memory, id_)[1].item.body == "zebra"
    with pytest.raises(Conflict, match="finalized already"):
        streamed_memories.finalize_stream(memory, id_)


@pytest.mark.promise("memories:decided:stream-whole")
def test_a_killed_process_leaves_the_stream_as_it_was(
    memory: LocalMemory, settings: Settings, engine_name: str
) -> None:
    id_ = streamed_memories.start_stream(memory).id
    streamed_memories.append_to_stream(memory, id_, "zebra")
    script = """
import importlib, os, sys
from commonplace import config
from commonplace.memory import local_memory, streamed_memories
statements = importlib.import_module("commonplace.store.sql.item_writes")
# After the memory was written, before the stream is closed.
statements._close = lambda *_arguments: os._exit(9)
settings = config.load({"data_dir": sys.argv[1], "embedder": "off"}, env={})
opened = local_memory.open_memory(settings, lambda: int(sys.argv[3]))
streamed_memories.finalize_stream(opened, sys.argv[2])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(settings.data_dir), id_, str(memory.clock()), engine_name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 9
    assert bodies(memory) == []
    assert streamed_memories.finalize_stream(memory, id_)[1].item.body == "zebra"


@pytest.mark.promise("memories:decided:streams-bounded")
def test_a_stream_that_nobody_touches_for_a_day_expires(memory: LocalMemory, clock: Clock) -> None:
    id_ = streamed_memories.start_stream(memory).id
    for _ in range(3):
        clock.forward(days=1)
        streamed_memories.append_to_stream(memory, id_, "x")
    clock.forward(days=1, ms=1)
    assert streamed_memories.open_streams(memory) == []
    for attempt in (
        lambda: streamed_memories.append_to_stream(memory, id_, "y"),
        lambda: streamed_memories.finalize_stream(memory, id_),
    ):
        with pytest.raises(Conflict, match="idle for more than 24 hours"):
            attempt()
    # Whoever starts another sweeps its chunks away; it still says why it cannot go on, and can be cancelled.
    streamed_memories.start_stream(memory)
    with pytest.raises(Conflict, match="idle for more than 24 hours"):
        streamed_memories.append_to_stream(memory, id_, "y")
    assert streamed_memories.cancel_stream(memory, id_).chunks == 0
    with pytest.raises(Conflict, match="cancelled already"):
        streamed_memories.append_to_stream(memory, id_, "y")


@pytest.mark.promise("memories:decided:streams-bounded")
def test_a_hundred_streams_may_be_open_and_idle_ones_make_room(memory: LocalMemory, clock: Clock) -> None:
    ids = [streamed_memories.start_stream(memory).id for _ in range(streamed_memories.MAX_OPEN)]
    assert len(set(ids)) == streamed_memories.MAX_OPEN
    with pytest.raises(Conflict, match="100 streams are open"):
        streamed_memories.start_stream(memory)
    streamed_memories.cancel_stream(memory, ids[0])
    streamed_memories.start_stream(memory)
    with pytest.raises(Conflict):
        streamed_memories.start_stream(memory)
    clock.forward(days=2)
    streamed_memories.start_stream(memory)
    assert len(streamed_memories.open_streams(memory)) == 1


@pytest.mark.promise("memories:decided:streams-bounded")
def test_a_stream_holds_no_more_than_a_memory_may(memory: LocalMemory) -> None:
    id_ = streamed_memories.start_stream(memory).id
    for _ in range(MAX_TEXT // streamed_memories.MAX_CHUNK):
        streamed_memories.append_to_stream(memory, id_, "word " * (streamed_memories.MAX_CHUNK // 5))
    with pytest.raises(TooLarge, match="more than 1000000 characters"):
        streamed_memories.append_to_stream(memory, id_, "x")
    assert len(streamed_memories.finalize_stream(memory, id_)[1].item.body) == MAX_TEXT


@pytest.mark.promise("memories:decided:streams-bounded")
def test_a_stream_holds_so_many_chunks(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed_memories, "MAX_CHUNKS", 3)
    id_ = streamed_memories.start_stream(memory).id
    for _ in range(3):
        streamed_memories.append_to_stream(memory, id_, "x")
    with pytest.raises(TooLarge, match="has 3 chunks"):
        streamed_memories.append_to_stream(memory, id_, "x")
    assert streamed_memories.finalize_stream(memory, id_)[1].item.body == "xxx"


def test_a_stream_is_checked_when_it_starts(memory: LocalMemory) -> None:
    with pytest.raises(TooLarge):
        streamed_memories.start_stream(memory, tags=["t"] * 51)
    with pytest.raises(InvalidInput):
        streamed_memories.start_stream(memory, project="..")
    with pytest.raises(InvalidInput):
        streamed_memories.start_stream(memory, "a\nb")
    assert streamed_memories.open_streams(memory) == []


def test_halves_of_characters_and_nul_do_not_reach_the_file(memory: LocalMemory) -> None:
    id_ = streamed_memories.start_stream(memory).id
    assert streamed_memories.append_to_stream(memory, id_, "a\0b\ud83dc").characters == 5
    assert streamed_memories.finalize_stream(memory, id_)[1].item.body == "a\ufffdb\ufffdc"


def test_an_unknown_stream_is_not_found(memory: LocalMemory) -> None:
    for attempt in (streamed_memories.finalize_stream, streamed_memories.cancel_stream):
        with pytest.raises(NotFound):
            attempt(memory, "stream_nobody")
