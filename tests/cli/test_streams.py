"""`streams`: what agents are still sending, and dropping it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.memory import streamed_memories
from commonplace.memory.local_memory import open_memory

from .conftest import Run


@pytest.fixture
def sending(data_dir: Path) -> list[str]:
    """Two open streams, as agents in other processes made them."""
    memory = open_memory(config.load({"data_dir": str(data_dir), "embedder": "off"}))
    try:
        first = streamed_memories.start_stream(memory, "decision", ["v0"], "github.com/acme/my-app").id
        second = streamed_memories.start_stream(memory).id
        streamed_memories.append_to_stream(memory, first, "zebra ")
        streamed_memories.append_to_stream(memory, first, "stripes")
    finally:
        memory.close()
    return [first, second]


def test_open_streams_are_listed_with_what_they_hold(run: Run, sending: list[str]) -> None:
    rows = run("streams", "--json").data["streams"]
    assert {row["stream_id"] for row in rows} == set(sending)
    first = next(row for row in rows if row["stream_id"] == sending[0])
    assert (first["chunks"], first["characters"], first["type"]) == (2, 13, "decision")
    assert (first["project"], first["tags"], first["status"]) == ("github.com/acme/my-app", ["v0"], "open")
    assert first["touched_at"].endswith("Z")
    header, *lines = run("streams").out.splitlines()
    assert header.split("\t") == ["stream_id", "type", "project", "chunks", "characters", "when"]
    assert {line.split("\t")[0] for line in lines} == set(sending)


def test_a_stream_is_cancelled(run: Run, sending: list[str]) -> None:
    done = run("streams", "cancel", sending[0])
    assert (done.code, done.out) == (0, f"Cancelled {sending[0]}: 2 parts, 13 characters discarded\n")
    again = run("streams", "cancel", sending[0], "--json")
    assert (again.code, again.error["code"]) == (4, "CONFLICT")
    data = run("streams", "cancel", sending[1], "--json").data
    assert (data["stream_id"], data["status"]) == (sending[1], "cancelled")
    assert run("streams", "--json").data["streams"] == []


def test_no_stream_is_open(run: Run) -> None:
    done = run("streams")
    assert (done.code, done.out) == (0, "")
    assert "No stream is open" in done.err


def test_an_unknown_stream_is_told(run: Run) -> None:
    done = run("streams", "cancel", "stream_nobody", "--json")
    assert (done.code, done.error["code"]) == (3, "NOT_FOUND")


def test_the_subcommand_explains_itself(run: Run) -> None:
    assert "cancel" in run("streams", "--help").out
    output = run("streams", "cancel", "--help").out
    assert "Discard a stream and its parts" in output and "commonplace streams cancel stream_" in output
