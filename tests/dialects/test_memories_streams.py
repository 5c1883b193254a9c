"""The four stream tools, as the reference's workflow uses them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Memories

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.streamed_memories import MAX_CHUNK


@pytest.mark.promise(
    "memories:streams:workflow",
    "memories:streams:stream-id",
    "memories:streams:counts",
    "memories:streams:created",
    "memories:streams:tags",
)
def test_the_workflow_of_the_reference(memories: Memories) -> None:
    started = memories("start_memory_stream", type="note", tags=["v0"])
    stream = started.text
    assert re.fullmatch(r"stream_[0-9a-z]{6,}", stream)
    assert started.data == {"stream_id": stream, "status": "open", "chunks": 0, "characters": 0}
    first = memories("append_memory_chunk", stream_id=stream, chunk="First part...")
    assert first.text == "1 chunk, 13 chars"
    second = memories("append_memory_chunk", stream_id=stream, chunk="Second part...")
    assert second.text == "2 chunks, 27 chars"
    assert second.data == {"stream_id": stream, "status": "open", "chunks": 2, "characters": 27}
    assert memories.contents("list_memories") == []
    done = memories("finalize_memory_stream", stream_id=stream)
    memory = done.data["memory"]
    assert done.text == f"Created 📝 NOTE {memory['id']} from 2 chunks (27 chars)"
    assert (done.data["status"], done.data["chunks"], done.data["characters"]) == ("finalized", 2, 27)
    assert (memory["content"], memory["tags"]) == ("First part...Second part...", ["v0"])
    assert memories.contents("search_memories", query="second") == ["First part...Second part..."]


@pytest.mark.parametrize(
    ("type_", "label"),
    [("rule", "📌 RULE"), ("decision", "💡 DECISION"), ("fact", "📋 FACT"), ("note", "📝 NOTE"), ("skill", "🔧 SKILL")],
)
def test_a_stream_becomes_a_memory_of_its_type(memories: Memories, type_: str, label: str) -> None:
    stream = memories("start_memory_stream", type=type_).text
    memories("append_memory_chunk", stream_id=stream, chunk="zebra")
    assert memories("finalize_memory_stream", stream_id=stream).text.startswith(f"Created {label} ")
    assert memories.contents("list_memories", type=type_) == ["zebra"]


@pytest.mark.promise("memories:streams:type-default", "memories:streams:global-default")
def test_a_stream_is_a_note_in_the_servers_project_unless_told_otherwise(settings: Settings, clock: Clock) -> None:
    for project, everywhere, owner in (("", False, None), ("my-app", False, "my-app"), ("my-app", True, None)):
        opened = open_memory(replace(settings, project=project), clock)
        try:
            memories = Memories(opened)
            stream = memories("start_memory_stream", **({"global": True} if everywhere else {})).text
            memories("append_memory_chunk", stream_id=stream, chunk=f"{project} {everywhere}")
            memory = memories("finalize_memory_stream", stream_id=stream).data["memory"]
            assert (memory["type"], memory["project_id"]) == ("note", owner)
        finally:
            opened.close()


@pytest.mark.promise("memories:streams:embedding")
def test_a_finalized_stream_is_found_by_meaning(memory_with_model: LocalMemory) -> None:
    memories = Memories(memory_with_model)
    stream = memories("start_memory_stream").text
    for chunk in ("Sessions are kept in Redis ", "and expire after thirty days"):
        memories("append_memory_chunk", stream_id=stream, chunk=chunk)
    memories("finalize_memory_stream", stream_id=stream)
    assert memory_with_model.store.pending() == 1
    memory_with_model.embeddings.catch_up()
    found = memories.contents("search_memories", query="how long does a login last")
    assert found == ["Sessions are kept in Redis and expire after thirty days"]


@pytest.mark.promise("memories:streams:cancel")
def test_a_cancelled_stream_leaves_nothing(memories: Memories) -> None:
    stream = memories("start_memory_stream").text
    memories("append_memory_chunk", stream_id=stream, chunk="zebra")
    reply = memories("cancel_memory_stream", stream_id=stream)
    assert reply.text == f"Cancelled {stream}: 1 chunk dropped"
    assert reply.data == {"stream_id": stream, "status": "cancelled", "chunks": 1, "characters": 5}
    assert memories.contents("list_memories") == []
    assert memories.contents("search_memories", query="zebra") == []


@pytest.mark.parametrize("end", ["finalize_memory_stream", "cancel_memory_stream"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [("append_memory_chunk", {"chunk": "x"}), ("finalize_memory_stream", {}), ("cancel_memory_stream", {})],
)
@pytest.mark.promise("memories:decided:stream-once")
def test_a_stream_ends_once(memories: Memories, end: str, tool: str, more: dict[str, str]) -> None:
    stream = memories("start_memory_stream").text
    memories("append_memory_chunk", stream_id=stream, chunk="zebra")
    memories(end, stream_id=stream)
    stored = memories.contents("list_memories")
    with pytest.raises(Conflict, match=f"{stream} is (finalized|cancelled) already") as refused:
        memories(tool, stream_id=stream, **more)
    assert refused.value.code == "CONFLICT"
    assert memories.contents("list_memories") == stored


@pytest.mark.parametrize("stream", ["stream_0000000000000000", "", "nonsense", "stream_' OR 1 --", "x" * 10_000, "\0"])
@pytest.mark.promise("memories:bad-input:unknown-stream")
def test_an_unknown_stream_is_an_error(memories: Memories, stream: str) -> None:
    for tool, more in (
        ("append_memory_chunk", {"chunk": "x"}),
        ("finalize_memory_stream", {}),
        ("cancel_memory_stream", {}),
    ):
        with pytest.raises(NotFound) as refused:
            memories(tool, stream_id=stream, **more)
        assert len(refused.value.message) < 120
        assert "start_memory_stream" in refused.value.hint


@pytest.mark.promise("memories:bad-input:empty-stream")
def test_a_stream_without_text_cannot_be_finalized_but_continued(memories: Memories) -> None:
    stream = memories("start_memory_stream").text
    with pytest.raises(InvalidInput, match="has no text"):
        memories("finalize_memory_stream", stream_id=stream)
    memories("append_memory_chunk", stream_id=stream, chunk=" \n")
    with pytest.raises(InvalidInput, match="has no text"):
        memories("finalize_memory_stream", stream_id=stream)
    memories("append_memory_chunk", stream_id=stream, chunk="zebra")
    assert memories("finalize_memory_stream", stream_id=stream).data["memory"]["content"] == "zebra"


@pytest.mark.parametrize(
    ("chunk", "error"),
    [("", InvalidInput), ("x" * (MAX_CHUNK + 1), TooLarge), ("x" * 10_000_000, TooLarge)],
    ids=["empty", "a little too long", "10 MB"],
)
@pytest.mark.promise("memories:bad-input:huge")
def test_a_chunk_that_cannot_be_one_leaves_the_stream_as_it_was(
    memories: Memories, chunk: str, error: type[CommonplaceError]
) -> None:
    stream = memories("start_memory_stream").text
    memories("append_memory_chunk", stream_id=stream, chunk="a")
    with pytest.raises(error):
        memories("append_memory_chunk", stream_id=stream, chunk=chunk)
    assert memories("append_memory_chunk", stream_id=stream, chunk="b").text == "2 chunks, 2 chars"


def test_a_secret_cut_in_two_by_chunks_is_redacted_when_it_is_whole(memories: Memories) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    stream = memories("start_memory_stream").text
    for chunk in (f"The token is {secret[:20]}", f"{secret[20:]}, keep it"):
        memories("append_memory_chunk", stream_id=stream, chunk=chunk)
    memory = memories("finalize_memory_stream", stream_id=stream).data["memory"]
    assert memory["content"] == "The token is [REDACTED:github-token], keep it"


def test_a_finalized_statement_names_what_it_contradicts(memories: Memories) -> None:
    old = memories.add("Use pnpm, not npm", "rule")
    stream = memories("start_memory_stream", type="rule").text
    for chunk in ("Use npm, ", "not pnpm"):
        memories("append_memory_chunk", stream_id=stream, chunk=chunk)
    reply = memories("finalize_memory_stream", stream_id=stream)
    assert [one["id"] for one in reply.data["memory"]["contradicts"]] == [old]
    assert f'supersedes: "{old}"' in reply.text


@pytest.mark.promise("memories:decided:same-again")
def test_a_stream_of_something_known_finds_it(memories: Memories) -> None:
    id_ = memories.add("Use tabs", tags=["a"])
    stream = memories("start_memory_stream", tags=["b"]).text
    memories("append_memory_chunk", stream_id=stream, chunk="Use tabs")
    reply = memories("finalize_memory_stream", stream_id=stream)
    assert reply.text == f"Already stored 📝 NOTE {id_} from 1 chunk (8 chars)"
    assert (reply.data["memory"]["duplicate"], reply.data["memory"]["tags"]) == (True, ["a", "b"])
