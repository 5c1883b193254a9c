"""Supersede: one item takes the place of another, visibly in history and undone by restoring."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, NotFound
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope


def made(memory: LocalMemory, *bodies: str, project: str | None = None) -> list[int]:
    return [remember(memory, NewItem(body, type="rule", project=project)).id for body in bodies]


def live(memory: LocalMemory) -> set[int]:
    found = {hit.item.id for hit in recall(memory, "zebra", Scope()).hits}
    assert found == {item.id for item in memory.store.newest(Scope(), 100)}
    assert sum(memory.store.counts().items.values()) == len(found)
    return found


def test_the_old_one_leaves_and_can_be_looked_up(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    replaced, replacing = mark_superseded(memory, old, by=new)
    assert (replaced.id, replacing.id) == (old, new)
    assert live(memory) == {new}
    assert get_item(memory, old).superseded_by == new
    assert [change.op for change in item_history(memory, old)] == ["supersede"]


def test_superseding_twice_by_the_same_changes_nothing(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    mark_superseded(memory, old, by=new)
    mark_superseded(memory, old, by=new)
    assert get_item(memory, old).rev == 2


def test_a_chain_is_fine_and_a_circle_is_not(memory: LocalMemory) -> None:
    first, second, third = made(memory, "zebra one", "zebra two", "zebra three")
    mark_superseded(memory, first, by=second)
    mark_superseded(memory, second, by=third)
    assert live(memory) == {third}
    for old, new in ((third, first), (second, first), (first, first)):
        with pytest.raises(Conflict, match="replace each other"):
            mark_superseded(memory, old, by=new)
    assert live(memory) == {third}


def test_restoring_undoes_it(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    mark_superseded(memory, old, by=new)
    restore_items(memory, [old])
    assert live(memory) == {old, new}
    assert get_item(memory, old).superseded_by is None


def test_it_can_be_superseded_by_another_later(memory: LocalMemory) -> None:
    old, new, newest = made(memory, "zebra one", "zebra two", "zebra three")
    mark_superseded(memory, old, by=new)
    mark_superseded(memory, old, by=newest)
    assert get_item(memory, old).superseded_by == newest
    assert live(memory) == {new, newest}


def test_the_forgotten_takes_no_part(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    forget_items(memory, [new])
    with pytest.raises(NotFound):
        mark_superseded(memory, old, by=new)
    with pytest.raises(NotFound):
        mark_superseded(memory, new, by=old)
    assert live(memory) == {old}


def test_a_superseded_item_edited_stays_out_until_restored(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    mark_superseded(memory, old, by=new)
    edit_item(memory, old, Changes(content="zebra grass"))
    assert live(memory) == {new}
    restore_items(memory, [old])
    assert live(memory) == {old, new}


def test_one_project_does_not_replace_what_others_follow(memory: LocalMemory) -> None:
    (everywhere,) = made(memory, "zebra hay")
    (ours,) = made(memory, "zebra oats", project="p")
    (theirs,) = made(memory, "zebra grass", project="q")
    for old in (everywhere, theirs):
        with pytest.raises(Conflict, match="only in p"):
            mark_superseded(memory, old, by=ours)
    mark_superseded(memory, ours, by=everywhere)
    assert live(memory) == {everywhere, theirs}


def test_any_spelling_of_an_id_will_do(memory: LocalMemory) -> None:
    old, new = made(memory, "zebra hay", "zebra oats")
    mark_superseded(memory, get_item(memory, old).short_id, by=get_item(memory, new).uid)
    assert live(memory) == {new}
