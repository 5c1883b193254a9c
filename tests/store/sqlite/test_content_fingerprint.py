"""The mark of what a file holds: the same for as long as nothing is changed, and another after every change."""

from __future__ import annotations

from commonplace.config import Settings
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import alias_project
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.scrub import wipe_deleted
from commonplace.store.sqlite.content_fingerprint import content_fingerprint


def keep(memory: LocalMemory, content: str) -> int:
    return remember(memory, NewItem(kind="memory", type="rule", content=content, project="my-api")).id


def test_whatever_changes_what_is_remembered_changes_the_mark(memory: LocalMemory, settings: Settings) -> None:
    def mark() -> str:
        found = content_fingerprint(str(settings.database))
        assert found is not None
        return found

    marks = [mark()]
    rule = keep(memory, "Amounts are integers of cents.")
    marks.append(mark())
    assert mark() == marks[-1], "looking changes nothing"
    edit_item(memory, rule, Changes(content="Amounts are decimals."))
    marks.append(mark())
    forget_items(memory, [rule])
    marks.append(mark())
    restore_items(memory, [rule])
    marks.append(mark())
    mark_superseded(memory, rule, keep(memory, "Amounts are in a type of their own."))
    marks.append(mark())
    alias_project(memory, "my-api", "the-api")
    marks.append(mark())
    wipe_deleted(memory)
    marks.append(mark())
    assert len(set(marks)) == len(marks)


def test_a_store_that_cannot_be_asked_has_no_mark(settings: Settings) -> None:
    assert content_fingerprint(str(settings.database)) is None
    settings.data_dir.mkdir()
    settings.database.write_bytes(b"no database" * 1000)
    assert content_fingerprint(str(settings.database)) is None
    assert [path.name for path in settings.data_dir.iterdir()] == [settings.database.name]
