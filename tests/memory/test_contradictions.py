"""Contradictions among what is remembered: found by words and by meaning, in the same scope, earliest not lost."""

from __future__ import annotations

import pytest
from tests.text.test_disagreement import DISAGREE, RELATED

from commonplace.memory.book import Book
from commonplace.memory.contradictions import MOST, contradictions
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.supersede import supersede

CROWD = [Note(f"Fact number{n} about topic{n} and place{n} of use", type="fact") for n in range(120)]


def added(book: Book, body: str, type_: str = "rule", project: str | None = None) -> int:
    return remember(book, Note(body, type=type_, project=project)).id


def against(book: Book, id_: int) -> list[tuple[int, str]]:
    found = contradictions(book, fetch_one(book, id_))
    return [(one.item.id, one.reason) for one in found]


@pytest.mark.parametrize(("earlier", "later", "how"), DISAGREE)
def test_an_earlier_statement_is_found_by_its_words(book: Book, earlier: str, later: str, how: str) -> None:
    remember_all(book, CROWD[:20])
    old = added(book, earlier)
    assert against(book, added(book, later)) == [(old, how)]


def test_all_of_the_table_at_once(wise_book: Book) -> None:
    """Each statement among all the others, as in a project with many rules."""
    told = dict.fromkeys([earlier for earlier, _later, _how in DISAGREE] + [earlier for earlier, _later in RELATED])
    ids = {text: added(wise_book, text) for text in told}
    texts = {id_: text for text, id_ in ids.items()}
    wise_book.meaning.catch_up()
    for earlier, later, how in DISAGREE:
        new = added(wise_book, later)
        assert (ids[earlier], how) in against(wise_book, new), (earlier, later)
        forget(wise_book, [new])
    wrong = set()
    for _earlier, later in RELATED:
        if later not in ids:
            new = added(wise_book, later)
            wrong |= {(later, texts[id_]) for id_, _how in against(wise_book, new)}
            forget(wise_book, [new])
    assert wrong == {
        # These two do disagree, though they are not a pair of the table.
        ("Use Redis for sessions", "Don't use Redis for sessions"),
    }


def test_operators_in_a_statement_are_words(book: Book) -> None:
    old = added(book, 'Use "tabs" AND NOT spaces for title:indentation')
    new = added(book, 'Use spaces NOT "tabs" for title:indentation')
    assert against(book, new) == [(old, "opposite")]


def test_it_is_found_in_a_crowd(book: Book) -> None:
    old = added(book, "API rate limit is 100 requests per minute", "fact")
    remember_all(book, CROWD)
    new = added(book, "API rate limit is 200 requests per minute", "fact")
    assert against(book, new) == [(old, "number")]
    assert against(book, old) == [(new, "number")]


def test_rules_decisions_facts_and_constraints_contradict_each_other_and_nothing_else_does(book: Book) -> None:
    old = {type_: added(book, "Use pnpm, not npm", type_) for type_ in ("rule", "decision", "fact", "constraint")}
    for type_ in ("note", "skill", "heuristic"):
        added(book, "Use pnpm, not npm", type_)
    remember(book, Note("Use pnpm, not npm", kind="observation", type="rule"))
    found = against(book, added(book, "Use npm, not pnpm"))
    assert len(found) == MOST
    assert {id_ for id_, _how in found} <= set(old.values())
    assert against(book, added(book, "Use npm, not pnpm", "note")) == []
    event = remember(book, Note("Use npm, not pnpm", kind="observation", type="rule")).id
    assert against(book, event) == []


def test_scopes_do_not_contradict_each_other(book: Book) -> None:
    added(book, "Use pnpm, not npm", project="p")
    assert against(book, added(book, "Use npm, not pnpm")) == []
    assert against(book, added(book, "Use npm, not pnpm", project="q")) == []
    assert len(against(book, added(book, "Use npm, not pnpm", project="p"))) == 1


def test_what_is_forgotten_or_superseded_is_not_contradicted(book: Book) -> None:
    gone, replaced = added(book, "Use pnpm, not npm"), added(book, "Use pnpm, not npm", "decision")
    new = added(book, "Use npm, not pnpm")
    assert len(against(book, new)) == 2
    forget(book, [gone])
    supersede(book, replaced, by=new)
    assert against(book, new) == []


def test_a_title_of_its_own_is_part_of_what_is_stated(book: Book) -> None:
    old = remember(book, Note("It is simple.", title="Use JWT for authentication", type="decision")).id
    new = remember(book, Note("They are simple.", title="Never use JWT for authentication", type="decision")).id
    assert against(book, new) == [(old, "opposite")]


def test_no_model_is_loaded_for_it(wise_book: Book) -> None:
    old = added(wise_book, "Use pnpm, not npm")
    assert against(wise_book, added(wise_book, "Use npm, not pnpm")) == [(old, "opposite")]
    assert wise_book.meaning.state == "not loaded"
