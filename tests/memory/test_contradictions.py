"""Contradictions among what is remembered: found by words and by meaning, in the same scope, earliest not lost."""

from __future__ import annotations

import pytest
from tests.text.test_contradiction import DISAGREE, RELATED

from commonplace.memory.edit_and_forget import forget_items, mark_superseded
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import MAX_CONTRADICTIONS, NewItem, find_contradictions, remember, remember_all

CROWD = [NewItem(f"Fact number{n} about topic{n} and place{n} of use", type="fact") for n in range(120)]


def added(memory: LocalMemory, body: str, type_: str = "rule", project: str | None = None) -> int:
    return remember(memory, NewItem(body, type=type_, project=project)).id


def against(memory: LocalMemory, id_: int) -> list[tuple[int, str]]:
    found = find_contradictions(memory, get_item(memory, id_))
    return [(one.item.id, one.reason) for one in found]


@pytest.mark.parametrize(("earlier", "later", "how"), DISAGREE)
def test_an_earlier_statement_is_found_by_its_words(memory: LocalMemory, earlier: str, later: str, how: str) -> None:
    remember_all(memory, CROWD[:20])
    old = added(memory, earlier)
    assert against(memory, added(memory, later)) == [(old, how)]


def test_all_of_the_table_at_once(memory_with_model: LocalMemory) -> None:
    """Each statement among all the others, as in a project with many rules."""
    told = dict.fromkeys([earlier for earlier, _later, _how in DISAGREE] + [earlier for earlier, _later in RELATED])
    ids = {text: added(memory_with_model, text) for text in told}
    texts = {id_: text for text, id_ in ids.items()}
    memory_with_model.embeddings.catch_up()
    for earlier, later, how in DISAGREE:
        new = added(memory_with_model, later)
        assert (ids[earlier], how) in against(memory_with_model, new), (earlier, later)
        forget_items(memory_with_model, [new])
    wrong = set()
    for _earlier, later in RELATED:
        if later not in ids:
            new = added(memory_with_model, later)
            wrong |= {(later, texts[id_]) for id_, _how in against(memory_with_model, new)}
            forget_items(memory_with_model, [new])
    assert wrong == {
        # These two do disagree, though they are not a pair of the table.
        ("Use Redis for sessions", "Don't use Redis for sessions"),
    }


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


def test_rules_decisions_facts_and_constraints_contradict_each_other_and_nothing_else_does(memory: LocalMemory) -> None:
    old = {type_: added(memory, "Use pnpm, not npm", type_) for type_ in ("rule", "decision", "fact", "constraint")}
    for type_ in ("note", "skill", "heuristic"):
        added(memory, "Use pnpm, not npm", type_)
    remember(memory, NewItem("Use pnpm, not npm", kind="observation", type="rule"))
    found = against(memory, added(memory, "Use npm, not pnpm"))
    assert len(found) == MAX_CONTRADICTIONS
    assert {id_ for id_, _how in found} <= set(old.values())
    assert against(memory, added(memory, "Use npm, not pnpm", "note")) == []
    event = remember(memory, NewItem("Use npm, not pnpm", kind="observation", type="rule")).id
    assert against(memory, event) == []


def test_scopes_do_not_contradict_each_other(memory: LocalMemory) -> None:
    added(memory, "Use pnpm, not npm", project="p")
    assert against(memory, added(memory, "Use npm, not pnpm")) == []
    assert against(memory, added(memory, "Use npm, not pnpm", project="q")) == []
    assert len(against(memory, added(memory, "Use npm, not pnpm", project="p"))) == 1


def test_what_is_forgotten_or_superseded_is_not_contradicted(memory: LocalMemory) -> None:
    gone, replaced = added(memory, "Use pnpm, not npm"), added(memory, "Use pnpm, not npm", "decision")
    new = added(memory, "Use npm, not pnpm")
    assert len(against(memory, new)) == 2
    forget_items(memory, [gone])
    mark_superseded(memory, replaced, by=new)
    assert against(memory, new) == []


def test_a_title_of_its_own_is_part_of_what_is_stated(memory: LocalMemory) -> None:
    old = remember(memory, NewItem("It is simple.", title="Use JWT for authentication", type="decision")).id
    new = remember(memory, NewItem("They are simple.", title="Never use JWT for authentication", type="decision")).id
    assert against(memory, new) == [(old, "opposite")]


def test_no_model_is_loaded_for_it(memory_with_model: LocalMemory) -> None:
    old = added(memory_with_model, "Use pnpm, not npm")
    assert against(memory_with_model, added(memory_with_model, "Use npm, not pnpm")) == [(old, "opposite")]
    assert memory_with_model.embeddings.state == "not loaded"
