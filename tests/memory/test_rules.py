"""Rules: by project and path, oldest first, within what can be told."""

from __future__ import annotations

from tests.conftest import Clock

from commonplace.memory.authors import for_agent, with_writer
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.rules import MOST_RULES, active_rules, rule_paths, rules_within
from commonplace.model import Author, Item


def texts_of(items: tuple[Item, ...]) -> list[str]:
    return [item.body for item in items]


def test_rules_of_the_project_and_of_everywhere_are_apart(memory: LocalMemory, clock: Clock) -> None:
    for body, project in (("g1", None), ("p1", "p"), ("g2", None), ("p2", "p"), ("q1", "q")):
        remember(memory, NewItem(body, type="rule", project=project))
        clock.forward(minutes=1)
    remember(memory, NewItem("no rule", type="decision", project="p"))
    found = active_rules(memory, "p")
    assert (texts_of(found.project), texts_of(found.everywhere)) == (["p1", "p2"], ["g1", "g2"])
    assert texts_of(active_rules(memory, None).project) == []
    assert texts_of(active_rules(memory, None).everywhere) == ["g1", "g2"]
    assert texts_of(active_rules(memory, "unknown").everywhere) == ["g1", "g2"]


def test_a_forgotten_rule_holds_no_longer(memory: LocalMemory) -> None:
    id_ = remember(memory, NewItem("Use tabs", type="rule")).id
    forget_items(memory, [id_])
    assert active_rules(memory, None).everywhere == ()


def test_files_choose_among_path_rules(memory: LocalMemory) -> None:
    remember(memory, NewItem("always", type="rule"))
    remember(memory, NewItem("api", type="rule", details={"paths": "src/api/**\nlib/api/**"}))
    remember(memory, NewItem("docs", type="rule", details={"paths": "docs/**"}))
    everything = active_rules(memory, None)
    assert (texts_of(everything.everywhere), everything.elsewhere) == (["always", "api", "docs"], 0)
    assert rule_paths(everything.everywhere[1]) == ("src/api/**", "lib/api/**")
    some = active_rules(memory, None, ["lib/api/a.py", "README.md"])
    assert (texts_of(some.everywhere), some.elsewhere) == (["always", "api"], 1)
    assert active_rules(memory, None, ["x"]).elsewhere == 2


def test_of_too_many_rules_the_newest_are_read(memory: LocalMemory, clock: Clock) -> None:
    notes = [NewItem(f"rule {n}", type="rule", created_ms=clock.now + n) for n in range(MOST_RULES + 5)]
    remember_all(memory, notes)
    found = active_rules(memory, None).everywhere
    assert (len(found), found[0].body, found[-1].body) == (MOST_RULES, "rule 5", f"rule {MOST_RULES + 4}")


def test_room_goes_to_the_project_first_and_then_to_the_newest(memory: LocalMemory, clock: Clock) -> None:
    for n in range(4):
        remember(memory, NewItem(f"global {n} " + "x" * 391, type="rule"))
        remember(memory, NewItem(f"ours {n}", type="rule", project="p"))
        clock.forward(minutes=1)
    found = active_rules(memory, "p")
    assert rules_within(found, 10_000) == found
    some = rules_within(found, 1_500)
    assert texts_of(some.project) == [f"ours {n}" for n in range(4)]
    assert [body[:8] for body in texts_of(some.everywhere)] == ["global 2", "global 3"]
    assert some.left_out == 2
    assert rules_within(found, 0).left_out == 8


def test_one_huge_rule_does_not_push_out_the_others(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem("x" * 900_000, type="rule"), NewItem("small", type="rule")])
    assert rules_within(active_rules(memory, None), 10_000).left_out == 0


def test_what_agents_noted_does_not_push_out_what_people_stated(memory: LocalMemory, clock: Clock) -> None:
    remember(with_writer(memory, Author("anna", "person")), NewItem("stated", type="rule"))
    agent = for_agent(with_writer(memory, Author("anna", "person")), "cursor")
    for n in range(4):
        clock.forward(minutes=1)
        remember(agent, NewItem(f"noted {n} " + "x" * 400, type="rule", project="p"))
    some = rules_within(active_rules(memory, "p"), 1_200)
    assert texts_of(some.everywhere) == ["stated"]
    assert [body[:7] for body in texts_of(some.project)] == ["noted 2", "noted 3"][-len(some.project) :]
    assert 0 < len(some.project) < 4
