"""Edit, forget, restore and history: nothing is destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch, fetch_one, history
from commonplace.memory.forget import forget, restore
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.model import Scope

if TYPE_CHECKING:
    from tests.conftest import Clock


def found(book: Book, question: str) -> list[int]:
    return [hit.item.id for hit in recall(book, question, Scope()).hits]


def test_an_edit_changes_what_it_names_and_keeps_the_rest(book: Book, clock: Clock) -> None:
    id_ = remember(
        book, Note("Use Redis.", type="decision", title="Cache", project="p", tags=("a",), meta={"k": 1}, importance=5)
    ).id
    before = fetch_one(book, id_)
    clock.forward(days=1)
    after = edit(book, id_, Changes(content="Use Valkey."))
    assert (after.body, after.title, after.type, after.project) == ("Use Valkey.", "Cache", "decision", "p")
    assert (after.tags, dict(after.meta), after.importance) == (("a",), {"k": 1}, 5)
    assert (after.uid, after.created_ms, after.updated_ms, after.rev) == (before.uid, before.created_ms, clock.now, 2)
    assert found(book, "valkey") == [id_]
    assert found(book, "redis") == []


def test_every_spelling_of_an_id_can_be_edited(book: Book) -> None:
    stored = remember(book, Note("Use Redis."))
    spellings: list[int | str] = [stored.id, str(stored.id), stored.uid, stored.uid[-12:]]
    for n, spelling in enumerate(spellings):
        assert edit(book, spelling, Changes(title=f"title {n}")).title == f"title {n}"


def test_a_title_that_came_from_the_content_follows_it(book: Book) -> None:
    derived = remember(book, Note("Use Redis."))
    assert edit(book, derived.id, Changes(content="Use Valkey.")).title == "Use Valkey."
    chosen = remember(book, Note("Use Postgres.", title="Database"))
    assert edit(book, chosen.id, Changes(content="Use SQLite.")).title == "Database"


def test_details_are_merged_and_an_empty_one_goes(book: Book) -> None:
    id_ = remember(book, Note("x", kind="observation", details={"facts": "f", "narrative": "n"})).id
    item = edit(book, id_, Changes(details={"facts": "g", "concepts": "c"}))
    assert dict(item.details) == {"facts": "g", "narrative": "n", "concepts": "c"}
    assert dict(edit(book, id_, Changes(details={"facts": ""})).details) == {"narrative": "n", "concepts": "c"}


def test_an_edit_is_checked_and_cleaned_like_anything_new(book: Book) -> None:
    id_ = remember(book, Note("Use Redis.")).id
    for changes in (
        Changes(),
        Changes(content="  ", title=" "),
        Changes(type=";"),
        Changes(details={"colour": "red"}),
        Changes(importance=11),
    ):
        with pytest.raises(InvalidInput):
            edit(book, id_, changes)
    assert fetch_one(book, id_).rev == 1
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    assert secret not in edit(book, id_, Changes(content=f"token {secret}")).body


def test_an_edit_on_what_someone_else_changed_is_refused(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes(content="two"), expect_rev=1)
    with pytest.raises(Conflict):
        edit(book, id_, Changes(content="three"), expect_rev=1)
    assert fetch_one(book, id_).body == "two"


def test_an_edit_into_what_is_said_already_is_refused_and_names_it(book: Book) -> None:
    one, two = remember(book, Note("one")), remember(book, Note("two"))
    with pytest.raises(Conflict) as refused:
        edit(book, two.id, Changes(content="one"))
    assert str(one.id) in refused.value.message


@pytest.mark.parametrize("created_ms", [None, 1_000_000])
def test_an_event_edited_there_and_back_is_the_same_event_again(book: Book, created_ms: int | None) -> None:
    note = Note("ran the tests", kind="observation", session="s", created_ms=created_ms)
    id_ = remember(book, note).id
    edit(book, id_, Changes(content="ran all the tests"))
    edit(book, id_, Changes(content="ran the tests"))
    again = remember(book, note)
    assert (again.id, again.duplicate) == (id_, True)


def test_what_is_forgotten_is_gone_from_answers_and_comes_back_whole(book: Book, clock: Clock) -> None:
    stored = remember(book, Note("Use Redis.", project="p", tags=("a",)))
    before = fetch_one(book, stored.id)
    assert [item.id for item in forget(book, [stored.uid])] == [stored.id]
    assert found(book, "redis") == []
    with pytest.raises(NotFound):
        fetch_one(book, stored.id)
    with pytest.raises(NotFound):
        edit(book, stored.id, Changes(title="no"))
    assert fetch_one(book, stored.id, forgotten=True).forgotten_ms == clock.now
    assert [item.id for item in restore(book, [stored.uid[-12:]])] == [stored.id]
    after = fetch_one(book, stored.id)
    assert (after.body, after.tags, after.created_ms) == (before.body, before.tags, before.created_ms)
    assert found(book, "redis") == [stored.id]


def test_forgetting_several_happens_whole_or_not_at_all(book: Book) -> None:
    one, two = remember(book, Note("one thing")), remember(book, Note("two things"))
    with pytest.raises(NotFound):
        forget(book, [one.id, 999])
    with pytest.raises(NotFound):
        forget(book, [one.id, "what?"])
    assert len(fetch(book, [one.id, two.id]).items) == 2
    forget(book, [one.id, two.id, one.uid])
    assert fetch(book, [one.id, two.id]).items == ()


def test_history_tells_every_change_even_of_what_is_forgotten(book: Book, clock: Clock) -> None:
    stored = remember(book, Note("one", title="t"))
    edit(book, stored.id, Changes(content="two"))
    clock.forward(minutes=1)
    forget(book, [stored.id])
    changes = history(book, stored.uid)
    assert [(change.op, change.before["body"]) for change in changes] == [("edit", "one"), ("forget", "two")]
    assert changes[1].at_ms == clock.now
    with pytest.raises(NotFound):
        history(book, 999)
