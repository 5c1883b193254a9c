"""Contradictions among what is remembered: found by words and by the model, in the same scope, earliest not lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.embed.contradiction_model import ContradictionModel
from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.authors import with_writer
from commonplace.memory.contradictions import MAX_CONTRADICTIONS, STATEMENT_TYPES, find_contradictions
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember, remember_all, remember_item
from commonplace.memory.settle_contradictions import reopen_contradiction, settle_contradiction
from commonplace.memory.statement_pairs import list_contradictions
from commonplace.model import Author, Scope

CROWD = [NewItem(f"Fact number{n} about topic{n} and place{n} of use", type="fact") for n in range(120)]


def added(memory: LocalMemory, body: str, type_: str = "rule", project: str | None = None) -> int:
    return remember(memory, NewItem(body, type=type_, project=project)).id


def against(memory: LocalMemory, id_: int) -> list[tuple[int, str]]:
    found = find_contradictions(memory, get_item(memory, id_))
    return [(one.item.id, one.reason) for one in found]


@pytest.mark.parametrize(
    ("earlier", "later", "how"),
    [
        ("Use pnpm, not npm", "Use npm, not pnpm", "opposite"),
        ("Squash commits before merging", "Never squash commits before merging", "opposite"),
        ("The launch is on 3 March", "The launch is on 17 March", "number"),
    ],
)
def test_an_earlier_statement_is_found_by_its_words(memory: LocalMemory, earlier: str, later: str, how: str) -> None:
    remember_all(memory, CROWD[:20])
    old = added(memory, earlier)
    assert against(memory, added(memory, later)) == [(old, how)]


def test_operators_in_a_statement_are_words(memory: LocalMemory) -> None:
    old = added(memory, 'Use "tabs" AND NOT spaces for title:indentation')
    new = added(memory, 'Use spaces NOT "tabs" for title:indentation')
    assert against(memory, new) == [(old, "opposite")]


def test_it_is_found_in_a_crowd(memory: LocalMemory) -> None:
    old = added(memory, "API rate limit is 100 requests per minute", "fact")
    remember_all(memory, CROWD)
    new = added(memory, "API rate limit is 200 requests per minute", "fact")
    assert against(memory, new) == [(old, "number")]
    assert against(memory, old) == [(new, "number")]


def test_statements_contradict_each_other_and_nothing_else_does(memory: LocalMemory) -> None:
    old = {type_: added(memory, "Use pnpm, not npm", type_) for type_ in STATEMENT_TYPES}
    for type_ in ("skill", "heuristic"):
        added(memory, "Use pnpm, not npm", type_)
    remember(memory, NewItem("Use pnpm, not npm", kind="observation", type="rule"))
    found = against(memory, added(memory, "Use npm, not pnpm"))
    assert len(found) == MAX_CONTRADICTIONS
    assert {id_ for id_, _how in found} <= set(old.values())
    assert against(memory, added(memory, "Use npm, not pnpm", "skill")) == []
    event = remember(memory, NewItem("Use npm, not pnpm", kind="observation", type="rule")).id
    assert against(memory, event) == []


def test_scopes_do_not_contradict_each_other(memory: LocalMemory) -> None:
    added(memory, "Use pnpm, not npm", project="p")
    assert against(memory, added(memory, "Use npm, not pnpm")) == []
    assert against(memory, added(memory, "Use npm, not pnpm", project="q")) == []
    assert len(against(memory, added(memory, "Use npm, not pnpm", project="p"))) == 1


def test_what_is_reported_is_not_replaced(memory: LocalMemory) -> None:
    old = added(memory, "The launch is on 3 March", "fact")
    new = remember_item(memory, NewItem("The launch is on 17 March", type="fact"))
    assert [one.item.id for one in new.contradictions] == [old]
    assert get_item(memory, old).superseded_by is None
    assert {item.id for item in memory.store.newest(Scope(), 10)} == {old, new.item.id}


def test_what_is_forgotten_or_superseded_is_not_contradicted(memory: LocalMemory) -> None:
    gone, replaced = added(memory, "Use pnpm, not npm"), added(memory, "Use pnpm, not npm", "decision")
    new = added(memory, "Use npm, not pnpm")
    assert len(against(memory, new)) == 2
    forget_items(memory, [gone])
    mark_superseded(memory, replaced, by=new)
    assert against(memory, new) == []


def test_a_title_of_its_own_is_part_of_what_is_stated(memory: LocalMemory) -> None:
    old = remember(memory, NewItem("It is simple.", title="Use JWT for authentication", type="decision")).id
    new = remember(memory, NewItem("It is simple.", title="Never use JWT for authentication", type="decision")).id
    assert against(memory, new) == [(old, "opposite")]


def test_no_model_is_loaded_for_it(memory_with_unused_model: LocalMemory) -> None:
    old = added(memory_with_unused_model, "Use pnpm, not npm")
    assert against(memory_with_unused_model, added(memory_with_unused_model, "Use npm, not pnpm")) == [
        (old, "opposite")
    ]
    assert memory_with_unused_model.embeddings.state == "not loaded"


# Found by those who tried it, and missed at first: the model reads them.
CHANGES = [
    ("The staging database runs on Hetzner", "The staging database moved to AWS"),
    ("We use Jest for unit tests", "We switched from Jest to Vitest"),
    ("Marta maintains the billing service", "Jonas took over the billing service"),
    ("The launch is on 3 March", "The launch was postponed to 17 March"),
    ("Keep access logs for 30 days", "Do not keep access logs"),
    ("The user prefers the dark theme", "The user prefers the light theme"),
    ("Passwords are hashed with bcrypt", "Passwords are hashed with argon2"),
    ("The default branch is master", "The default branch is main"),
]


@pytest.mark.parametrize(("earlier", "later"), CHANGES)
def test_changes_are_told_on_writing_and_propose_to_supersede(reading: LocalMemory, earlier: str, later: str) -> None:
    anna, ben = (with_writer(reading, Author(name, "person")) for name in ("anna", "ben"))
    old = remember_item(anna, NewItem(earlier, type="fact")).item
    reading.embeddings.catch_up()
    by_another = remember_item(ben, NewItem(later, type="decision"))
    assert [(one.item.id, one.supersede) for one in by_another.contradictions] == [(old.id, False)]
    forget_items(reading, [by_another.item.id])
    by_the_same = remember_item(anna, NewItem(later, type="rule"))
    assert [(one.item.id, one.supersede) for one in by_the_same.contradictions] == [(old.id, True)]


def test_what_holds_for_a_while_supersedes_nothing(memory: LocalMemory) -> None:
    added(memory, "The API listens on port 8080", "fact")
    note = NewItem("The API listens on port 9090", type="fact", valid_until_ms=memory.clock() + 86_400_000)
    while_moving = remember_item(memory, note)
    assert [one.supersede for one in while_moving.contradictions] == [False]


def open_pairs(memory: LocalMemory, project: str | None = None) -> list[tuple[int, int, str]]:
    return [(pair.older.id, pair.newer.id, pair.reason) for pair in list_contradictions(memory, project)]


def test_open_contradictions_are_listed_newest_first_within_their_project(memory: LocalMemory) -> None:
    remember_all(memory, CROWD[:30])
    things = ("upload", "download", "search", "export")
    old = [added(memory, f"The {thing} times out after 30 seconds", "fact", "p") for thing in things]
    new = [added(memory, f"The {thing} times out after 60 seconds", "fact", "p") for thing in things]
    added(memory, "The upload times out after 90 seconds", "fact", "q")
    found = open_pairs(memory)
    assert [(first, second) for first, second, _reason in found] == list(zip(old, new, strict=True))[::-1]
    assert open_pairs(memory, "p") == found
    assert open_pairs(memory, "q") == []
    with pytest.raises(NotFound):
        list_contradictions(memory, "nosuch")


@pytest.mark.parametrize("keep", ["new", "old"])
def test_what_is_kept_supersedes_the_other_and_can_be_undone(memory: LocalMemory, keep: Literal["new", "old"]) -> None:
    old, new = added(memory, "Use pnpm, not npm"), added(memory, "Use npm, not pnpm")
    settled = settle_contradiction(memory, new, old, keep)
    stored, gone = (new, old) if keep == "new" else (old, new)
    assert [item.id for item in settled.kept] == [stored]
    assert get_item(memory, gone, forgotten=True).superseded_by == stored
    assert open_pairs(memory) == []
    reopen_contradiction(memory, old, new)
    assert open_pairs(memory) == [(old, new, "opposite")]


def test_two_that_both_hold_are_never_shown_again_until_undone(memory: LocalMemory) -> None:
    old, new = added(memory, "Use pnpm, not npm"), added(memory, "Use npm, not pnpm")
    settle_contradiction(memory, old, new, "both")
    settle_contradiction(memory, old, new, "both")
    assert open_pairs(memory) == [] and against(memory, new) == [] and against(memory, old) == []
    assert remember_item(memory, NewItem("use npm, not pnpm", type="rule")).contradictions == ()
    reopen_contradiction(memory, new, old)
    assert open_pairs(memory) == [(old, new, "opposite")]
    assert get_item(memory, new).meta == {}


def test_settling_needs_two_items_and_a_decision(memory: LocalMemory) -> None:
    one = added(memory, "Use pnpm, not npm")
    with pytest.raises(InvalidInput):
        settle_contradiction(memory, one, one, "new")
    with pytest.raises(NotFound):
        settle_contradiction(memory, one, 999, "new")
    with pytest.raises(InvalidInput):
        settle_contradiction(memory, one, added(memory, "Use npm, not pnpm"), "none")  # type: ignore[arg-type]


def test_a_coming_change_is_listed_until_it_is_settled_and_after_it_is_reopened(memory: LocalMemory) -> None:
    day = 86_400_000
    now = remember_item(memory, NewItem("The request timeout is 30 seconds", type="fact")).item
    later = NewItem("The request timeout is 60 seconds", type="fact", valid_from_ms=memory.clock() + 20 * day)
    result = remember_item(memory, later)
    coming = result.item
    assert [(one.item.id, one.reason) for one in result.contradictions] == [(now.id, "number")]

    def listed() -> list[tuple[int, int, str]]:
        return [(pair.older.id, pair.newer.id, pair.reason) for pair in list_contradictions(memory)]

    for _time in range(2):
        assert listed() == [(now.id, coming.id, "number")]
        assert (against(memory, now.id), against(memory, coming.id)) == ([(coming.id, "number")], [(now.id, "number")])
        settle_contradiction(memory, now.id, coming.id, "new")
        # One ends when the other begins.
        assert listed() == []
        assert (against(memory, now.id), against(memory, coming.id)) == ([], [])
        reopen_contradiction(memory, now.id, coming.id)


def test_what_is_said_now_does_not_propose_to_replace_a_coming_change(memory: LocalMemory) -> None:
    anna = with_writer(memory, Author("anna", "person"))
    later = NewItem("The request timeout is 60 seconds", type="fact", valid_from_ms=memory.clock() + 86_400_000)
    coming = remember_item(anna, later).item
    result = remember_item(anna, NewItem("The request timeout is 30 seconds", type="fact"))
    assert [(one.item.id, one.supersede) for one in result.contradictions] == [(coming.id, False)]
    assert [(pair.older.id, pair.supersede) for pair in list_contradictions(memory)] == [(coming.id, False)]


def test_what_was_not_decided_cannot_be_undone(memory: LocalMemory) -> None:
    old, new = added(memory, "Use pnpm, not npm"), added(memory, "Use npm, not pnpm")
    other = added(memory, "The API listens on port 8080", "fact")
    for one in (new, other):
        with pytest.raises(Conflict, match=f"Nothing was decided about {old} and {one}"):
            reopen_contradiction(memory, old, one)
    settle_contradiction(memory, old, new, "new")
    forget_items(memory, [old])
    with pytest.raises(Conflict, match=f"Item {old} is forgotten"):
        reopen_contradiction(memory, old, new)
    assert get_item(memory, old, forgotten=True).forgotten_ms is not None


OLD, NEW = (
    "The mobile app is written in React Native.",
    "The Flutter rewrite shipped; the React Native code is archived.",
)


@pytest.fixture
def reading(settings: Settings, clock: Clock) -> Iterator[LocalMemory]:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    memory.embeddings.embed_query("load the model")
    yield memory
    memory.close()


def test_what_contradicts_by_its_meaning_is_reported_and_listed(reading: LocalMemory, clock: Clock) -> None:
    old = added(reading, OLD, "fact", "app")
    reading.embeddings.catch_up()
    clock.now += 1000
    new = remember_item(reading, NewItem(NEW, type="fact", project="app"))
    assert [(one.item.id, one.reason) for one in new.contradictions] == [(old, "meaning")]
    # Lists know it without the model.
    unread = replace(reading, contradiction_model=None)
    (pair,) = list_contradictions(unread, "app")
    assert (pair.older.id, pair.newer.id, pair.reason) == (old, new.item.id, "meaning")
    settle_contradiction(unread, old, new.item.id, "both")
    assert list_contradictions(unread, "app") == []
    reopen_contradiction(unread, old, new.item.id)
    clock.now += 1000
    edit_item(unread, old, Changes(content="The mobile app was written in React Native until March."))
    assert list_contradictions(unread, "app") == []


def test_without_the_model_only_words_decide(reading: LocalMemory) -> None:
    added(reading, OLD, "fact")
    reading.embeddings.catch_up()
    unread = replace(reading, contradiction_model=None)
    assert remember_item(unread, NewItem(NEW, type="fact")).contradictions == ()


def test_a_contradiction_model_that_cannot_be_loaded_costs_only_what_it_finds(
    reading: LocalMemory, tmp_path: Path
) -> None:
    added(reading, OLD, "fact")
    reading.embeddings.catch_up()
    broken = replace(reading, contradiction_model=ContradictionModel(folder=tmp_path))
    assert remember_item(broken, NewItem(NEW, type="fact")).contradictions == ()
    assert remember_item(broken, NewItem("The mobile app is not written in React Native.", type="fact")).contradictions


def test_what_has_nothing_to_do_with_earlier_notes_is_not_read(reading: LocalMemory) -> None:
    assert reading.contradiction_model is not None
    notes = ["The staging database runs on Hetzner", "Ines waters the ficus", "Invoices are numbered by year"]
    remember_all(reading, [NewItem(note, type="fact") for note in notes])
    reading.embeddings.catch_up()
    remember_item(reading, NewItem("The choir sings in Basel in May", type="fact"))
    assert not reading.contradiction_model.is_loaded
    assert remember_item(reading, NewItem("The staging database moved to AWS", type="fact")).contradictions
    assert reading.contradiction_model.is_loaded


def test_what_was_stored_a_moment_ago_is_read_too(reading: LocalMemory) -> None:
    old = added(reading, OLD, "fact")
    assert reading.store.pending()
    new = remember_item(reading, NewItem(NEW, type="fact"))
    assert [(one.item.id, one.reason) for one in new.contradictions] == [(old, "meaning")]


def test_a_list_reads_what_was_stored_without_the_model(reading: LocalMemory) -> None:
    old, new = added(reading, OLD, "fact"), added(reading, NEW, "fact")
    assert list_contradictions(reading) == []
    (pair,) = list_contradictions(reading, read=10)
    assert (pair.older.id, pair.newer.id, pair.reason) == (old, new, "meaning")
    assert list_contradictions(replace(reading, contradiction_model=None), read=10) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never squash commits before merging", "Never squash commits before merging, keep them all"),
        ("Keep functions short", "Keep functions short; split long ones."),
        ("Delete merged branches.", "delete merged branches, remove them at once"),
    ],
)
def test_a_rule_that_adds_to_another_is_not_against_it(reading: LocalMemory, one: str, other: str) -> None:
    # Whichever comes first; that they say the same is no contradiction either.
    for project, (first, second) in {"a": (one, other), "b": (other, one)}.items():
        added(reading, first, project=project)
        reading.embeddings.catch_up()
        assert remember_item(reading, NewItem(second, type="rule", project=project)).contradictions == ()
    added(reading, one, project="c")
    added(replace(reading, contradiction_model=None), other, project="c")
    assert list_contradictions(reading, read=50) == []


def test_a_rule_that_goes_on_against_another_is_found_by_its_words(reading: LocalMemory) -> None:
    old = added(reading, "Squash before merging")
    new = remember_item(reading, NewItem("Squash before merging, never after a review", type="rule"))
    assert new.contradictions == ()
    opposite = remember_item(reading, NewItem("Squash before merging is forbidden", type="rule"))
    assert old in [one.item.id for one in opposite.contradictions]


def test_a_decision_against_a_rule_is_listed_and_does_not_replace_it(reading: LocalMemory) -> None:
    rule = remember_item(reading, NewItem("Never deploy on Fridays.", type="rule"))
    text = "We decided to deploy the hotfix this Friday evening, it cannot wait."
    decision = remember_item(reading, NewItem(text, type="decision"))
    assert [(one.item.uid, one.supersede) for one in decision.contradictions] == [(rule.item.uid, False)]
    (pair,) = list_contradictions(reading)
    assert (pair.older.uid, pair.newer.uid, pair.supersede) == (rule.item.uid, decision.item.uid, False)


def test_the_model_finds_it_among_many_with_its_words(reading: LocalMemory) -> None:
    old = added(reading, "Our tracker is Jira", "fact")
    crowd = [NewItem(f"Linear algebra number{n} replaces our earlier course{n}", type="fact") for n in range(40)]
    remember_all(reading, crowd)
    reading.embeddings.catch_up()
    new = remember_item(reading, NewItem("Linear replaces Jira as our tracker", type="fact"))
    assert [one.item.id for one in new.contradictions] == [old]


def test_a_command_of_its_own_reads_what_shares_words_and_loads_nothing_else(settings: Settings, clock: Clock) -> None:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    assert memory.contradiction_model is not None
    added(memory, "Ines waters the ficus", "fact")
    old = added(memory, "The launch is on 3 March", "fact")
    assert not memory.contradiction_model.is_loaded
    new = remember_item(memory, NewItem("The launch was postponed to 17 March", type="fact"))
    assert [one.item.id for one in new.contradictions] == [old]
    assert memory.embeddings.state == "not loaded"
    memory.close()
