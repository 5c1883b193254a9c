"""edit_memory and forget_memory: what changes, what stays in history, and what a new memory contradicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Memories, calling

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.memory.edit_and_forget import restore_items, revert_to_revision
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory

APP = "github.com/acme/my-app"


@pytest.mark.parametrize(
    ("change", "stored"),
    [
        ({"content": "Use spaces"}, {"content": "Use spaces", "title": "Use spaces"}),
        ({"type": "fact"}, {"type": "fact"}),
        ({"tags": ["new", "newer"]}, {"tags": ["new", "newer"]}),
        ({"tags": []}, {"tags": []}),
        ({"paths": ["./lib/**"]}, {"paths": ["lib/**"]}),
        ({"paths": []}, {"paths": []}),
        ({"category": "layout"}, {"category": "layout"}),
        ({"category": ""}, {"category": None}),
        ({"metadata": {"n": 2}}, {"metadata": {"n": 2}}),
        ({"metadata": {}}, {"metadata": {}}),
    ],
    ids=str,
)
@pytest.mark.promise(
    "memories:edit_memory:content",
    "memories:edit_memory:type",
    "memories:edit_memory:tags",
    "memories:edit_memory:paths",
    "memories:edit_memory:category",
    "memories:edit_memory:metadata",
    "memories:decided:history",
)
def test_what_is_named_changes_and_the_rest_stays(
    memories: Memories, clock: Clock, change: dict[str, object], stored: dict[str, object]
) -> None:
    added = memories(
        "add_memory",
        content="Use tabs",
        type="rule",
        tags=["old"],
        paths=["src/**"],
        category="style",
        metadata={"n": 1},
        project_id=APP,
    ).data
    del added["duplicate"], added["contradicts"]
    clock.forward(minutes=5)
    reply = memories("edit_memory", id=added["id"], **change)
    assert reply.data == {**added, "updated_at": "2025-03-15T14:35:00.000Z", **stored}
    assert reply.text.startswith("Updated ") and added["id"] in reply.text
    (before,) = item_history(memories.memory, added["id"])
    assert (before.op, before.before["body"], before.before["type"]) == ("edit", "Use tabs", "rule")
    assert before.before["details"] == {"category": "style", "paths": "src/**"}


@pytest.mark.promise("memories:edit_memory:id-required")
def test_the_id_that_search_and_list_tell_is_the_one_to_edit(memories: Memories) -> None:
    memories.add("zebra")
    for reply in (memories("search_memories", query="zebra"), memories("list_memories")):
        (memory,) = reply.data["memories"]
        assert memory["id"] in reply.text
        for id_ in (memory["id"], memory["uid"], str(memory["number"]), memory["id"].upper()):
            assert memories("edit_memory", id=id_, tags=["t"]).data["id"] == memory["id"]
    with pytest.raises(InvalidInput, match="'id'"):
        memories("edit_memory", content="x")


def test_what_was_edited_is_found_by_its_new_words_only(memories: Memories) -> None:
    id_ = memories.add("The zebra sleeps")
    memories("edit_memory", id=id_, content="  The lion sleeps\n")
    assert memories.contents("search_memories", query="zebra") == []
    assert memories.contents("search_memories", query="lion") == ["The lion sleeps"]


@pytest.mark.promise("memories:edit_memory:one-field")
def test_an_edit_without_a_field_is_an_error(memories: Memories) -> None:
    id_ = memories.add("Use tabs")
    with pytest.raises(InvalidInput, match="Nothing to change") as refused:
        memories("edit_memory", id=id_)
    assert "at least one field" in refused.value.hint
    assert get_item(memories.memory, id_).rev == 1


@pytest.mark.parametrize("tool", ["edit_memory", "forget_memory"])
@pytest.mark.parametrize(
    ("id_", "error"),
    [("99", NotFound), ("0123456789ab", NotFound), ("abc123", NotFound), ("", InvalidInput), ("-1", NotFound)],
)
@pytest.mark.promise("memories:bad-input:unknown-id")
def test_an_unknown_id_is_an_error(memories: Memories, tool: str, id_: str, error: type[CommonplaceError]) -> None:
    memories.add("Use tabs")
    with pytest.raises(error) as refused:
        memories(tool, id=id_, **({"content": "x"} if tool == "edit_memory" else {}))
    assert refused.value.hint
    assert memories.contents("list_memories") == ["Use tabs"]


def test_two_memories_cannot_become_the_same(memories: Memories) -> None:
    memories.add("Use tabs")
    other = memories.add("Use spaces")
    with pytest.raises(Conflict, match="already says exactly this"):
        memories("edit_memory", id=other, content="Use tabs")
    assert set(memories.contents("list_memories")) == {"Use tabs", "Use spaces"}


@pytest.mark.promise(
    "memories:forget_memory:soft", "memories:forget_memory:recoverable", "memories:forget_memory:id-required"
)
def test_what_is_forgotten_is_in_no_answer_until_it_is_restored(memories: Memories) -> None:
    id_ = memories.add("The zebra rule", "rule")
    number = get_item(memories.memory, id_).id
    reply = memories("forget_memory", id=id_)
    assert reply.text == f"Forgot 📌 RULE (G) {id_}: The zebra rule\nTo undo: commonplace restore {number}"
    assert reply.data == {"id": id_, "forgotten": True, "restore": f"commonplace restore {number}"}
    for tool, arguments in (
        ("search_memories", {"query": "zebra"}),
        ("list_memories", {}),
        ("get_rules", {}),
        ("get_context", {"query": "zebra"}),
    ):
        assert "zebra" not in memories(tool, **arguments).text
    with pytest.raises(NotFound) as refused:
        memories("edit_memory", id=id_, content="x")
    assert f"commonplace restore {number}" in refused.value.hint
    assert memories("forget_memory", id=id_).text.startswith("Already forgotten ")
    restore_items(memories.memory, [id_])
    assert "The zebra rule" in memories("get_rules").text
    assert memories.contents("search_memories", query="zebra") == ["The zebra rule"]
    assert [change.op for change in item_history(memories.memory, id_)] == ["forget", "restore"]
    with pytest.raises(InvalidInput, match="'id'"):
        memories("forget_memory")


@pytest.mark.parametrize(
    ("type_", "earlier", "later", "how"),
    [
        ("rule", "Use pnpm, not npm", "Use npm, not pnpm", "the opposite of"),
        (
            "fact",
            "API rate limit is 100 requests per minute",
            "API rate limit is 50 requests per minute",
            "a different number from",
        ),
    ],
)
@pytest.mark.promise("memories:decided:contradictions")
def test_a_contradiction_is_named_with_how_to_supersede_it(
    memories: Memories, type_: str, earlier: str, later: str, how: str
) -> None:
    old = memories.add(earlier, type_, project_id=APP)
    memories.add("Something else entirely", type_, project_id=APP)
    reply = memories("add_memory", content=later, type=type_, project_id=APP)
    new = reply.data["id"]
    assert [(one["id"], one["content"]) for one in reply.data["contradicts"]] == [(old, earlier)]
    assert f"- it says {how} " in reply.text and f"{old}: {earlier}" in reply.text
    assert reply.text.endswith(f'If it replaces it: edit_memory({{ id: "{new}", supersedes: "{old}" }})')
    assert set(memories.contents("list_memories", project_id=APP)) == {earlier, later, "Something else entirely"}
    memories("edit_memory", id=new, supersedes=old)
    assert memories("add_memory", content=later, type=type_, project_id=APP).data["contradicts"] == []


def test_only_statements_that_apply_together_contradict(memories: Memories) -> None:
    everywhere = memories.add("Use pnpm, not npm", "rule")
    memories.add("Use pnpm, not npm", "rule", project_id="shop")
    memories.add("Use pnpm, not npm", "skill", project_id=APP)
    reply = memories("add_memory", content="Use npm, not pnpm", type="rule", project_id=APP)
    assert [one["id"] for one in reply.data["contradicts"]] == [everywhere]
    reply = memories("add_memory", content="Use npm, not pnpm", type="skill", project_id="")
    assert reply.data["contradicts"] == []
    assert "contradict" not in reply.text


def everywhere(memories: Memories) -> dict[str, bool]:
    """In which answers the word zebra stands."""
    reads: dict[str, Callable[[], str]] = {
        "search_memories": lambda: memories("search_memories", query="zebra", project_id=APP).text,
        "list_memories": lambda: memories("list_memories", project_id=APP).text,
        "get_rules": lambda: memories("get_rules", project_id=APP).text,
        "get_context": lambda: memories("get_context", query="zebra", project_id=APP).text,
        "search": lambda: str(calling(memories.memory)("search", query="zebra")),
        "kiro's get_context": lambda: str(calling(memories.memory)("get_context", project=APP)),
    }
    return {name: "zebra" in read() for name, read in reads.items()}


@pytest.mark.promise("memories:decided:supersedes")
def test_what_is_superseded_leaves_every_answer_but_history(memories: Memories) -> None:
    old = memories.add("Feed the zebra hay", "rule", project_id=APP)
    new = memories.add("Feed the horse hay", "rule", project_id=APP)
    assert all(everywhere(memories).values())
    reply = memories("edit_memory", id=new, supersedes=old)
    number = get_item(memories.memory, old).id
    assert reply.data["supersedes"] == old
    assert reply.text.split("\n")[1:] == [
        f"It supersedes 📌 RULE (P) {old}: Feed the zebra hay",
        f"To undo: commonplace restore {number}",
    ]
    assert not any(everywhere(memories).values())
    assert [change.op for change in item_history(memories.memory, old)] == ["supersede"]
    assert item_history(memories.memory, new) == []
    restore_items(memories.memory, [old])
    assert all(everywhere(memories).values())


@pytest.mark.promise("memories:decided:supersede-whole")
def test_a_change_that_cannot_supersede_changes_nothing(memories: Memories) -> None:
    old = memories.add("one", "rule")
    new = memories.add("two", "rule")
    memories("edit_memory", id=new, supersedes=old)
    restored = memories.add("three", "rule")
    for id_, supersedes, error in (
        (new, "99", NotFound),
        (new, "nonsense", NotFound),
        (new, new, Conflict),
        (old, new, Conflict),
        ("99", restored, NotFound),
    ):
        with pytest.raises(error):
            memories("edit_memory", id=id_, content="changed", supersedes=supersedes)
        with pytest.raises(error):
            memories("edit_memory", id=id_, supersedes=supersedes)
    assert memories.contents("list_memories") == ["three", "two"]
    assert get_item(memories.memory, new).rev == 1


@pytest.mark.promise("memories:decided:supersede-whole")
def test_a_superseding_that_cannot_change_supersedes_nothing(memories: Memories) -> None:
    memories.add("taken")
    old, new = memories.add("one"), memories.add("two")
    with pytest.raises(Conflict, match="already says exactly this"):
        memories("edit_memory", id=new, content="taken", supersedes=old)
    with pytest.raises(InvalidInput):
        memories("edit_memory", id=new, paths=["/etc"], supersedes=old)
    assert set(memories.contents("list_memories")) == {"taken", "one", "two"}
    memories("edit_memory", id=new, content="three", supersedes=old)
    assert set(memories.contents("list_memories")) == {"taken", "three"}


@pytest.mark.promise("memories:decided:supersede-wider")
def test_only_what_holds_as_widely_can_supersede(memories: Memories, memory: LocalMemory) -> None:
    everywhere_ = memories.add("global", "rule")
    ours = memories.add("ours", "rule", project_id=APP)
    theirs = memories.add("theirs", "rule", project_id="shop")
    for new, old, where in ((ours, everywhere_, "everywhere"), (ours, theirs, "in shop")):
        with pytest.raises(Conflict, match=f"applies {where}, but"):
            memories("edit_memory", id=new, supersedes=old)
    assert memories("edit_memory", id=everywhere_, supersedes=ours).data["supersedes"] == ours
    assert set(memories.contents("list_memories", project_id=APP)) == {"global"}


def test_an_edit_can_be_reverted(memories: Memories) -> None:
    id_ = memories.add("Use tabs", "rule", tags=["style"], paths=["src/**"])
    memories("edit_memory", id=id_, content="Use spaces", tags=[], paths=[])
    revert_to_revision(memories.memory, id_)
    (rule,) = memories("get_rules").data["global_rules"]
    assert (rule["content"], rule["tags"], rule["paths"]) == ("Use tabs", ["style"], ["src/**"])
