"""What belongs to an item, and what became of it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import Clock

from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.graph import link_new_passages, related_items
from commonplace.memory.history import FieldChange, item_revisions
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import changed_file
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.search_candidates import query_tokens


def test_a_message_stands_between_those_of_its_session(memory: LocalMemory) -> None:
    conversation = store_conversation(
        memory, NewConversation("Nine", [NewMessage("user", f"message {n}") for n in range(9)])
    )
    ids = [item.id for item in open_conversation(memory, conversation.session.uid)[1]]
    found = related_items(memory, get_item(memory, ids[4]))
    assert found.session is not None and found.session.label == "Nine"
    assert ([item.id for item in found.before], [item.id for item in found.after]) == (ids[1:4], ids[5:8])
    first = related_items(memory, get_item(memory, ids[0]))
    assert first.before == () and [item.id for item in first.after] == ids[1:4]


def test_what_was_replaced_and_what_opposes_are_told(memory: LocalMemory) -> None:
    old, new, other = (
        remember(memory, NewItem(text, type="rule")).id
        for text in (
            "Always use tabs for indentation",
            "Always use spaces for indentation",
            "Never use spaces for indentation",
        )
    )
    mark_superseded(memory, old, new)
    here, there = related_items(memory, get_item(memory, new)), related_items(memory, get_item(memory, old))
    assert [item.id for item in here.replaced] == [old] and here.replaced_by is None
    assert there.replaced_by is not None and there.replaced_by.id == new and there.linked == ()
    assert [one.item.id for one in here.opposed] == [other]


def test_what_mentions_the_same_file_is_linked_with_its_reason(memory: LocalMemory, clock: Clock) -> None:
    first = remember(memory, NewItem("Split src/payments/ledger.py in two", type="decision")).id
    clock.forward(minutes=5)
    second = remember(memory, NewItem("src/payments/ledger.py rounds half up", type="fact")).id
    while link_new_passages(memory):
        pass
    (link,) = related_items(memory, get_item(memory, second)).linked
    assert (link.item.id, link.rel, link.relation) == (first, "file", "backward")


def test_each_revision_tells_what_it_changed(memory: LocalMemory, clock: Clock) -> None:
    id_ = remember(memory, NewItem("Tokens live 15 minutes", type="fact", tags=["auth"])).id
    clock.forward(minutes=1)
    edit_item(memory, id_, Changes(content="Tokens live 30 minutes", tags=["auth", "tokens"]))
    clock.forward(minutes=1)
    forget_items(memory, [id_])
    restore_items(memory, [id_])
    back, gone, changed = item_revisions(memory, id_)
    assert [one.op for one in (back, gone, changed)] == ["restore", "forget", "edit"]
    assert back.changed == gone.changed == ()
    assert set(changed.changed) >= {
        FieldChange("body", "Tokens live 15 minutes", "Tokens live 30 minutes"),
        FieldChange("tags", "auth", "auth, tokens"),
    }
    assert changed.rev == 1 and changed.at_ms == clock.now - 60_000


def test_the_file_that_changed_is_named(memory: LocalMemory, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x", encoding="utf-8")
    (tmp_path / "b.py").write_text("x", encoding="utf-8")
    then = memory.clock()
    os.utime(tmp_path / "a.py", (1, 1))
    note = NewItem("Seen", kind="observation", details={"files_modified": "a.py, b.py"}, meta={"root": str(tmp_path)})
    item = get_item(memory, remember(memory, note).id)
    assert changed_file(item) == "b.py"
    os.utime(tmp_path / "b.py", (then / 1000 - 60, then / 1000 - 60))
    assert changed_file(item) is None


def test_the_words_of_a_question_are_known_without_its_operators() -> None:
    assert query_tokens("redis AND sessions NOT oauth") == query_tokens("redis sessions")
    assert "auth*" in query_tokens("title:auth* AND x") and "titl" not in query_tokens("title:auth* AND x")
    assert query_tokens("") == query_tokens('"') == frozenset()
