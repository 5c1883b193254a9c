"""Rules: by project and path, oldest first, within what can be told."""

from __future__ import annotations

from tests.conftest import Clock

from commonplace.memory.book import Book
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.rules import MOST, paths_of, rules, within
from commonplace.model import Item


def told(items: tuple[Item, ...]) -> list[str]:
    return [item.body for item in items]


def test_rules_of_the_project_and_of_everywhere_are_apart(book: Book, clock: Clock) -> None:
    for body, project in (("g1", None), ("p1", "p"), ("g2", None), ("p2", "p"), ("q1", "q")):
        remember(book, Note(body, type="rule", project=project))
        clock.forward(minutes=1)
    remember(book, Note("no rule", type="decision", project="p"))
    found = rules(book, "p")
    assert (told(found.project), told(found.everywhere)) == (["p1", "p2"], ["g1", "g2"])
    assert told(rules(book, None).project) == []
    assert told(rules(book, None).everywhere) == ["g1", "g2"]
    assert told(rules(book, "unknown").everywhere) == ["g1", "g2"]


def test_a_forgotten_rule_holds_no_longer(book: Book) -> None:
    id_ = remember(book, Note("Use tabs", type="rule")).id
    forget(book, [id_])
    assert rules(book, None).everywhere == ()


def test_files_choose_among_path_rules(book: Book) -> None:
    remember(book, Note("always", type="rule"))
    remember(book, Note("api", type="rule", details={"paths": "src/api/**\nlib/api/**"}))
    remember(book, Note("docs", type="rule", details={"paths": "docs/**"}))
    everything = rules(book, None)
    assert (told(everything.everywhere), everything.elsewhere) == (["always", "api", "docs"], 0)
    assert paths_of(everything.everywhere[1]) == ("src/api/**", "lib/api/**")
    some = rules(book, None, ["lib/api/a.py", "README.md"])
    assert (told(some.everywhere), some.elsewhere) == (["always", "api"], 1)
    assert rules(book, None, ["x"]).elsewhere == 2


def test_of_too_many_rules_the_newest_are_read(book: Book, clock: Clock) -> None:
    notes = [Note(f"rule {n}", type="rule", created_ms=clock.now + n) for n in range(MOST + 5)]
    remember_all(book, notes)
    found = rules(book, None).everywhere
    assert (len(found), found[0].body, found[-1].body) == (MOST, "rule 5", f"rule {MOST + 4}")


def test_room_goes_to_the_project_first_and_then_to_the_newest(book: Book, clock: Clock) -> None:
    for n in range(4):
        remember(book, Note(f"global {n} " + "x" * 391, type="rule"))
        remember(book, Note(f"ours {n}", type="rule", project="p"))
        clock.forward(minutes=1)
    found = rules(book, "p")
    assert within(found, 10_000) == found
    some = within(found, 1_500)
    assert told(some.project) == [f"ours {n}" for n in range(4)]
    assert [body[:8] for body in told(some.everywhere)] == ["global 2", "global 3"]
    assert some.left_out == 2
    assert within(found, 0).left_out == 8


def test_one_huge_rule_does_not_push_out_the_others(book: Book) -> None:
    remember_all(book, [Note("x" * 900_000, type="rule"), Note("small", type="rule")])
    assert within(rules(book, None), 10_000).left_out == 0
