"""Revert: an item says again what it said before; that is a change like any other."""

from __future__ import annotations

import pytest
from tests.conftest import Clock

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items, revert_to_revision
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope


def found(memory: LocalMemory, question: str) -> list[int]:
    return [hit.item.id for hit in recall(memory, question, Scope()).hits]


def test_everything_an_edit_changed_comes_back(memory: LocalMemory, clock: Clock) -> None:
    first = get_item(
        memory,
        remember(
            memory,
            NewItem(
                "Use zebra", type="rule", project="p", tags=("a",), meta={"n": 1}, importance=5,
                details={"paths": "src/**", "category": "c"},
            ),
        ).id,
    )  # fmt: skip
    clock.forward(minutes=1)
    edit_item(
        memory,
        first.id,
        Changes("Use lion", type="fact", project="q", tags=(), importance=1, details={"paths": ""}, meta={}),
    )
    clock.forward(minutes=1)
    back = revert_to_revision(memory, first.id)
    for name in ("body", "title", "type", "project", "tags", "importance", "details", "meta", "content_hash", "uid"):
        assert getattr(back, name) == getattr(first, name), name
    assert (back.rev, back.created_ms, back.updated_ms) == (3, first.created_ms, clock.now)
    assert found(memory, "zebra") == [first.id] and found(memory, "lion") == []


def test_a_revert_can_be_reverted(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes("two"))
    assert [revert_to_revision(memory, id_).body for _ in range(4)] == ["one", "two", "one", "two"]
    assert [change.op for change in item_history(memory, id_)] == ["edit"] * 5


def test_any_earlier_revision_can_be_named(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes("two"))
    forget_items(memory, [id_])
    restore_items(memory, [id_])
    edit_item(memory, id_, Changes("three"))
    assert {change.rev: change.op for change in item_history(memory, id_)} == {
        1: "edit",
        2: "forget",
        3: "restore",
        4: "edit",
    }
    for rev, body in ((1, "one"), (2, "two"), (4, "two"), (3, "two"), (5, "three")):
        assert revert_to_revision(memory, id_, rev).body == body


def test_an_item_that_never_changed_has_nothing_to_go_back_to(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    with pytest.raises(InvalidInput, match="never changed"):
        revert_to_revision(memory, id_)
    forget_items(memory, [id_])
    restore_items(memory, [id_])
    with pytest.raises(InvalidInput, match="never changed"):
        revert_to_revision(memory, id_)


@pytest.mark.parametrize("rev", [0, -1, 2, 99])
def test_a_revision_that_is_not_there_is_told_with_those_that_are(memory: LocalMemory, rev: int) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes("two"))
    with pytest.raises(NotFound, match=f"no revision {rev} ") as refused:
        revert_to_revision(memory, id_, rev)
    assert refused.value.hint == "It is at 2; earlier ones: 1."
    assert get_item(memory, id_).body == "two"


def test_a_forgotten_item_is_restored_first(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes("two"))
    forget_items(memory, [id_])
    with pytest.raises(NotFound) as refused:
        revert_to_revision(memory, id_)
    assert f"commonplace restore {id_}" in refused.value.hint


def test_a_revert_does_not_make_a_second_one_of_the_same(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes("two"))
    other = remember(memory, NewItem("one")).id
    with pytest.raises(Conflict, match=f"Item {other} already says"):
        revert_to_revision(memory, id_)
    assert get_item(memory, id_).body == "two"


def test_a_reverted_event_is_still_the_same_event(memory: LocalMemory, clock: Clock) -> None:
    plain = NewItem("Ran the tests", kind="observation", session="s")
    dated = NewItem("Ran the tests", kind="observation", session="s", created_ms=clock.now - 1000)
    for note in (plain, dated):
        id_ = remember(memory, note).id
        edit_item(memory, id_, Changes("Ran the linter"))
        revert_to_revision(memory, id_)
        again = remember(memory, note)
        assert (again.id, again.duplicate) == (id_, True)
