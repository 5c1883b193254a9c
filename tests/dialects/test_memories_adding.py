"""add_memory: what is stored, what is confirmed, and what happens to something said twice."""

from __future__ import annotations

import json

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Memories
from tests.promises.ledger import LEDGER

from commonplace.errors import InvalidInput
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory

LABELS = {"rule": "📌 RULE", "decision": "💡 DECISION", "fact": "📋 FACT", "note": "📝 NOTE", "skill": "🔧 SKILL"}


@pytest.mark.promise("memories:add_memory:example-call", "memories:add_memory:confirmation", "memories:tools:labels")
def test_the_example_of_the_reference(memories: Memories) -> None:
    reply = memories(
        "add_memory", content="API rate limit is 100 requests per minute", type="fact", tags=["api", "limits"]
    )
    first, second = reply.text.split("\n")
    assert first == "Stored fact (global): API rate limit is 100 requests per minute"
    assert second == f"id: {reply.data['id']} (📋 FACT)"
    assert (reply.data["type"], reply.data["tags"], reply.data["scope"]) == ("fact", ["api", "limits"], "global")


@pytest.mark.parametrize("type_", LABELS)
@pytest.mark.promise("memories:add_memory:types", "memories:tools:labels")
def test_every_type_is_stored_and_labelled(memories: Memories, type_: str) -> None:
    reply = memories("add_memory", content="Keep the pond clean", type=type_)
    assert reply.data["type"] == type_
    assert reply.text.startswith(f"Stored {type_} (global): Keep the pond clean\n")
    listed = memories("list_memories", type=type_).text
    assert listed == f"1 memory:\n\n{LABELS[type_]} (G) {reply.data['id']}: Keep the pond clean"


@pytest.mark.promise("memories:add_memory:type-default")
def test_a_memory_is_a_note_unless_it_says_otherwise(memories: Memories) -> None:
    assert memories("add_memory", content="Something").data["type"] == "note"


@pytest.mark.promise("memories:add_memory:project")
def test_a_project_is_its_scope(memories: Memories) -> None:
    reply = memories("add_memory", content="Use tabs", project_id="github.com/acme/my-app")
    assert reply.text.startswith("Stored note (@my-app): Use tabs\n")
    assert (reply.data["scope"], reply.data["project_id"]) == ("project", "github.com/acme/my-app")


@pytest.mark.parametrize("project", ["", "   ", "\n"])
@pytest.mark.promise("memories:decided:blank-project")
def test_a_blank_project_is_none(memories: Memories, project: str) -> None:
    memories.add("Use tabs", "rule", project_id=project)
    assert [rule["content"] for rule in memories("get_rules", project_id=project).data["global_rules"]] == ["Use tabs"]
    for tool in ("list_memories", "get_context"):
        assert "Use tabs" in memories(tool, project_id=project).text


@pytest.mark.promise(
    "memories:add_memory:tags",
    "memories:add_memory:paths",
    "memories:add_memory:category",
    "memories:add_memory:metadata",
)
def test_everything_it_is_given_is_kept(memories: Memories) -> None:
    metadata = {"steps": ["one", {"two": [2, 2.5, None, True]}], "": "empty key"}
    reply = memories(
        "add_memory",
        content="# Release\n\n1. Tag\n2. Push",
        type="skill",
        tags=["release", "git", "release"],
        paths=["src/api/**", "./docs/*.md"],
        category="release-flow",
        metadata=metadata,
    )
    assert reply.data["content"] == "# Release\n\n1. Tag\n2. Push"
    assert reply.data["tags"] == ["git", "release"]
    assert reply.data["paths"] == ["src/api/**", "docs/*.md"]
    assert reply.data["category"] == "release-flow"
    assert reply.data["metadata"] == metadata
    (line,) = memories("list_memories", type="skill").text.split("\n")[2:]
    assert line.endswith("1. Tag 2. Push [git, release] (paths: src/api/**, docs/*.md) {release-flow}")


@pytest.mark.promise(
    "memories:row.id", "memories:row.uid", "memories:row.number", "memories:row.type", "memories:row.title",
    "memories:row.content", "memories:row.scope", "memories:row.project_id", "memories:row.tags",
    "memories:row.paths", "memories:row.category", "memories:row.metadata", "memories:row.truncated",
    "memories:row.created_at", "memories:row.updated_at",
)  # fmt: skip
def test_a_row_has_every_field(memories: Memories, clock: Clock) -> None:
    id_ = memories.add("Use tabs")
    clock.forward(minutes=1)
    memories("edit_memory", id=id_, tags=["style"])
    (row,) = memories("list_memories").data["memories"]
    promised = {promise.partition(".")[2] for promise in LEDGER if promise.startswith("memories:row.")}
    assert set(row) == promised | {"author", "origin"}
    assert row["uid"].endswith(row["id"]) and len(row["id"]) == 12 and isinstance(row["number"], int)
    assert (row["title"], row["category"], row["metadata"], row["truncated"]) == ("Use tabs", None, {}, False)
    assert row["created_at"] == "2025-03-15T14:30:00.000Z"
    assert row["updated_at"] == "2025-03-15T14:31:00.000Z"


@pytest.mark.promise("memories:decided:same-again")
def test_the_same_again_is_one_memory_and_gets_what_is_new(memories: Memories, memory: LocalMemory) -> None:
    first = memories("add_memory", content="Use tabs", tags=["style"], metadata={"by": "ann", "n": 1})
    again = memories("add_memory", content="  Use tabs\n", tags=["go", " style "], metadata={"n": 2})
    assert again.data["id"] == first.data["id"]
    assert (first.data["duplicate"], again.data["duplicate"]) == (False, True)
    assert again.text.startswith("Already stored note (global): Use tabs\n")
    assert again.data["tags"] == ["go", "style"]
    assert again.data["metadata"] == {"by": "ann", "n": 2}
    assert [change.before["tags"] for change in item_history(memory, first.data["id"])] == [["style"]]
    assert memories.contents("list_memories") == ["Use tabs"]


def test_the_same_again_with_nothing_new_changes_nothing(memories: Memories, memory: LocalMemory) -> None:
    id_ = memories.add("Use tabs", tags=["style"], metadata={"n": 1})
    for more in ({}, {"tags": ["style"]}, {"tags": [], "metadata": {"n": 1}}):
        memories("add_memory", content="Use tabs", **more)
    assert get_item(memory, id_).rev == 1


def test_the_same_elsewhere_or_of_another_type_is_another_memory(memories: Memories) -> None:
    ids = {
        memories.add("Use tabs"),
        memories.add("Use tabs", project_id="a"),
        memories.add("Use tabs", project_id="b"),
        memories.add("Use tabs", "rule"),
        memories.add("Use tabs", "rule", paths=["*.go"]),
    }
    assert len(ids) == 5


def test_saying_again_what_was_forgotten_brings_it_back(memories: Memories) -> None:
    id_ = memories.add("Use tabs")
    memories("forget_memory", id=id_)
    assert memories.add("Use tabs") == id_
    assert memories.contents("list_memories") == ["Use tabs"]


@pytest.mark.parametrize("depth", [49, 50, 51, 500, 100_000])
@pytest.mark.promise("memories:bad-input:huge")
def test_metadata_may_be_fifty_levels_deep(memories: Memories, depth: int) -> None:
    nested: dict[str, object] = {}
    for _ in range(depth - 1):
        nested = {"in": nested}
    if depth <= 50:
        assert memories("add_memory", content="Deep", metadata=nested).data["metadata"] == nested
        assert memories("list_memories").data["memories"][0]["metadata"] == nested
    else:
        with pytest.raises(InvalidInput, match="deeper than 50"):
            memories("add_memory", content="Deep", metadata=nested)
        assert memories.contents("list_memories") == []


@pytest.mark.promise("memories:decided:secrets-stay")
def test_a_secret_is_neither_kept_nor_told(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    result = memories("add_memory", content=f"The token is {secret}", tags=[secret], metadata={secret: secret})
    assert secret not in result.text + json.dumps(result.data)
    # As if it had been written before its shape was known.
    monkeypatch.setattr("commonplace.memory.draft.redact", lambda text: text)
    memories("add_memory", content=f"Rule of {secret}", type="rule", tags=[secret], metadata={"k": secret})
    for tool, arguments in (
        ("list_memories", {}),
        ("get_rules", {}),
        ("get_context", {"query": "token rule"}),
        ("search_memories", {"query": "token rule"}),
    ):
        reply = memories(tool, **arguments)
        assert "[REDACTED:github-token]" in reply.text
        assert secret not in reply.text + json.dumps(reply.data)


def test_when_a_memory_holds_is_an_extra_that_no_call_needs(memories: Memories, clock: Clock) -> None:
    memories("add_memory", content="Walrus deploys are frozen", type="rule", valid_until="3d")
    assert "Walrus" in memories("get_rules").text
    clock.forward(days=3, minutes=1)
    assert "Walrus" not in memories("get_rules").text
    assert "Walrus" in memories("search_memories", query="walrus deploys", as_of="yesterday").text
    (row,) = memories("list_memories", as_of="yesterday").data["memories"]
    assert memories("list_memories", as_of="now").data["memories"] == []
    memories("edit_memory", id=row["id"], valid_until="none")
    assert "Walrus" in memories("get_rules").text
