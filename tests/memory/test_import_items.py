"""Taking in: known by uid, followed where nobody had a hand in it, and never at the cost of what was done here."""

from __future__ import annotations

from commonplace.memory.edit_and_forget import forget_items, mark_superseded
from commonplace.memory.import_items_and_records import ImportedItem, Replacement, import_items, import_replacement
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

ONE, TWO = "0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002"


def took(memory: LocalMemory, arrivals: list[ImportedItem]) -> bool:
    """Whether the one thing that arrives is new, or changes what is there."""
    (taken,) = import_items(memory, arrivals)
    return taken.is_new or taken.changed


def test_what_is_new_is_kept_under_its_uid_and_what_is_known_is_not_kept_again(memory: LocalMemory) -> None:
    arrival = ImportedItem(NewItem("Use pnpm", uid=ONE, created_ms=1))
    assert took(memory, [arrival]) is True
    assert took(memory, [arrival]) is False
    assert (get_item(memory, ONE).body, get_item(memory, ONE).created_ms) == ("Use pnpm", 1)


def test_what_is_remembered_here_already_is_not_kept_twice_nor_forgotten(memory: LocalMemory) -> None:
    known = remember(memory, NewItem("Use pnpm"))
    assert took(memory, [ImportedItem(NewItem("Use pnpm", uid=ONE), forgotten=True)]) is False
    assert get_item(memory, known.id).forgotten_ms is None


def test_one_that_is_forgotten_there_twice_over_is_so_here_once(memory: LocalMemory) -> None:
    gone = ImportedItem(NewItem("Use yarn", uid=ONE), forgotten=True)
    assert took(memory, [gone]) is True
    revision = get_item(memory, ONE, forgotten=True).rev
    assert took(memory, [gone]) is False
    assert get_item(memory, ONE, forgotten=True).rev == revision


def test_a_change_is_followed_again_and_again(memory: LocalMemory) -> None:
    for words in ("Use npm", "Use yarn", "Use pnpm"):
        assert took(memory, [ImportedItem(NewItem(words, uid=ONE))]) is True
    assert get_item(memory, ONE).body == "Use pnpm"


def test_what_was_forgotten_here_is_neither_changed_nor_brought_back(memory: LocalMemory) -> None:
    import_items(memory, [ImportedItem(NewItem("Use npm", uid=ONE))])
    forget_items(memory, [ONE])
    assert took(memory, [ImportedItem(NewItem("Use yarn", uid=ONE))]) is False
    stored = get_item(memory, ONE, forgotten=True)
    assert stored.forgotten_ms is not None and stored.body == "Use npm"


def test_one_takes_the_place_of_another_once(memory: LocalMemory) -> None:
    import_items(memory, [ImportedItem(NewItem("Use npm", uid=ONE)), ImportedItem(NewItem("Use pnpm", uid=TWO))])
    assert import_replacement(memory, Replacement(ONE, TWO)) == ""
    replaced = get_item(memory, ONE)
    assert replaced.superseded_by == get_item(memory, TWO).id
    assert import_replacement(memory, Replacement(ONE, TWO)) == "" and get_item(memory, ONE).rev == replaced.rev


def test_why_one_cannot_take_the_place_of_another_is_told(memory: LocalMemory) -> None:
    import_items(
        memory, [ImportedItem(NewItem("Everywhere", uid=ONE)), ImportedItem(NewItem("Here", uid=TWO, project="my-api"))]
    )
    assert "only in my-api" in import_replacement(memory, Replacement(ONE, TWO))
    assert "There is no item" in import_replacement(memory, Replacement(ONE, "0190a000-0000-7000-8000-000000000003"))
    mark_superseded(memory, TWO, ONE)
    assert import_replacement(memory, Replacement(TWO, ONE)) == ""
