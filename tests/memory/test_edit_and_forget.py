"""Edit, forget, restore and history: nothing is destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items
from commonplace.memory.items import get_item, get_items, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope

if TYPE_CHECKING:
    from tests.conftest import Clock


def found(memory: LocalMemory, question: str) -> list[int]:
    return [hit.item.id for hit in recall(memory, question, Scope()).hits]


def test_an_edit_changes_what_it_names_and_keeps_the_rest(memory: LocalMemory, clock: Clock) -> None:
    id_ = remember(
        memory,
        NewItem("Use Redis.", type="decision", title="Cache", project="p", tags=("a",), meta={"k": 1}, importance=5),
    ).id
    before = get_item(memory, id_)
    clock.forward(days=1)
    after = edit_item(memory, id_, Changes(content="Use Valkey."))
    assert (after.body, after.title, after.type, after.project) == ("Use Valkey.", "Cache", "decision", "p")
    assert (after.tags, dict(after.meta), after.importance) == (("a",), {"k": 1}, 5)
    assert (after.uid, after.created_ms, after.updated_ms, after.rev) == (before.uid, before.created_ms, clock.now, 2)
    assert found(memory, "valkey") == [id_]
    assert found(memory, "redis") == []


def test_every_spelling_of_an_id_can_be_edited(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("Use Redis."))
    spellings: list[int | str] = [stored.id, str(stored.id), stored.uid, stored.uid[-12:]]
    for n, spelling in enumerate(spellings):
        assert edit_item(memory, spelling, Changes(title=f"title {n}")).title == f"title {n}"


def test_a_title_that_came_from_the_content_follows_it(memory: LocalMemory) -> None:
    derived = remember(memory, NewItem("Use Redis."))
    assert edit_item(memory, derived.id, Changes(content="Use Valkey.")).title == "Use Valkey."
    chosen = remember(memory, NewItem("Use Postgres.", title="Database"))
    assert edit_item(memory, chosen.id, Changes(content="Use SQLite.")).title == "Database"


def test_details_are_merged_and_an_empty_one_goes(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("x", kind="observation", details={"facts": "f", "narrative": "n"})).id
    item = edit_item(memory, id_, Changes(details={"facts": "g", "concepts": "c"}))
    assert dict(item.details) == {"facts": "g", "narrative": "n", "concepts": "c"}
    assert dict(edit_item(memory, id_, Changes(details={"facts": ""})).details) == {"narrative": "n", "concepts": "c"}


def test_an_edit_is_checked_and_cleaned_like_anything_new(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("Use Redis.")).id
    for changes in (
        Changes(),
        Changes(content="  ", title=" "),
        Changes(type=";"),
        Changes(details={"colour": "red"}),
        Changes(importance=11),
    ):
        with pytest.raises(InvalidInput):
            edit_item(memory, id_, changes)
    assert get_item(memory, id_).rev == 1
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    assert secret not in edit_item(memory, id_, Changes(content=f"token {secret}")).body


def test_an_edit_on_what_someone_else_changed_is_refused(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("one")).id
    edit_item(memory, id_, Changes(content="two"), expect_rev=1)
    with pytest.raises(Conflict):
        edit_item(memory, id_, Changes(content="three"), expect_rev=1)
    assert get_item(memory, id_).body == "two"


def test_an_edit_into_what_is_said_already_is_refused_and_names_it(memory: LocalMemory) -> None:
    one, two = remember(memory, NewItem("one")), remember(memory, NewItem("two"))
    with pytest.raises(Conflict) as refused:
        edit_item(memory, two.id, Changes(content="one"))
    assert str(one.id) in refused.value.message


@pytest.mark.parametrize("created_ms", [None, 1_000_000])
def test_an_event_edited_there_and_back_is_the_same_event_again(memory: LocalMemory, created_ms: int | None) -> None:
    note = NewItem("ran the tests", kind="observation", session="s", created_ms=created_ms)
    id_ = remember(memory, note).id
    edit_item(memory, id_, Changes(content="ran all the tests"))
    edit_item(memory, id_, Changes(content="ran the tests"))
    again = remember(memory, note)
    assert (again.id, again.duplicate) == (id_, True)


def test_what_is_forgotten_is_gone_from_answers_and_comes_back_whole(memory: LocalMemory, clock: Clock) -> None:
    stored = remember(memory, NewItem("Use Redis.", project="p", tags=("a",)))
    before = get_item(memory, stored.id)
    assert [item.id for item in forget_items(memory, [stored.uid])] == [stored.id]
    assert found(memory, "redis") == []
    with pytest.raises(NotFound):
        get_item(memory, stored.id)
    with pytest.raises(NotFound):
        edit_item(memory, stored.id, Changes(title="no"))
    assert get_item(memory, stored.id, forgotten=True).forgotten_ms == clock.now
    assert [item.id for item in restore_items(memory, [stored.uid[-12:]])] == [stored.id]
    after = get_item(memory, stored.id)
    assert (after.body, after.tags, after.created_ms) == (before.body, before.tags, before.created_ms)
    assert found(memory, "redis") == [stored.id]


def test_forgetting_several_happens_whole_or_not_at_all(memory: LocalMemory) -> None:
    one, two = remember(memory, NewItem("one thing")), remember(memory, NewItem("two things"))
    with pytest.raises(NotFound):
        forget_items(memory, [one.id, 999])
    with pytest.raises(NotFound):
        forget_items(memory, [one.id, "what?"])
    assert len(get_items(memory, [one.id, two.id]).items) == 2
    forget_items(memory, [one.id, two.id, one.uid])
    assert get_items(memory, [one.id, two.id]).items == ()


def test_history_tells_every_change_even_of_what_is_forgotten(memory: LocalMemory, clock: Clock) -> None:
    stored = remember(memory, NewItem("one", title="t"))
    edit_item(memory, stored.id, Changes(content="two"))
    clock.forward(minutes=1)
    forget_items(memory, [stored.id])
    changes = item_history(memory, stored.uid)
    assert [(change.op, change.before["body"]) for change in changes] == [("edit", "one"), ("forget", "two")]
    assert changes[1].at_ms == clock.now
    with pytest.raises(NotFound):
        item_history(memory, 999)
