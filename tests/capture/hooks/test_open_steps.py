"""Next steps stay until something says that they are done: in the same session, in later ones, or a person."""

from __future__ import annotations

import pytest

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import open_steps
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.report import report
from commonplace.memory.session_context import session_context
from commonplace.model import Kind, Scope

from .hook_sessions import FOLDER, THEN, Telling, items, only_item

METRIC, TEAM = "Add a metric for lock waits", "Tell the mobile team"
ANSWER = f"The sweeper freed a reservation too early.\n\nNext steps:\n- {METRIC}\n- {TEAM}"
PROJECT = "my-api"


def first_session(memory: LocalMemory) -> Telling:
    telling = Telling()
    telling.asks("Fix the deadlock when two carts check out")
    telling.uses("Edit", file_path=f"{FOLDER}/orders.py", old_string="a", new_string="b")
    telling.stops(ANSWER)
    remember_events(memory, telling.events)
    return telling


def later(telling: Telling, session: str = "s1") -> Telling:
    return Telling(session=session, at_ms=telling.at_ms)


def left(memory: LocalMemory) -> list[str]:
    """What is open in the project, by the one who starts a session, and by the report."""
    steps = [step.text for step in open_steps(memory, PROJECT, 100)]
    found = report(memory, Scope(project=PROJECT), THEN - 1, THEN + 10**9)
    assert sorted(end.text for end in found.open_ends if end.what == "next step") == sorted(steps)
    assert all(step in session_context(memory, PROJECT, 5_000) for step in steps)
    return steps


def test_a_turn_that_says_nothing_of_them_leaves_them_open(memory: LocalMemory) -> None:
    more = later(first_session(memory))
    more.asks("no, keep 15 minutes.")
    more.stops("Understood, the reservation stays at 15 minutes.")
    remember_events(memory, more.events)
    assert left(memory) == [METRIC, TEAM]
    assert only_item(memory, "checkpoint").details["task"] == "Fix the deadlock when two carts check out"
    assert only_item(memory).details["request"] == "Fix the deadlock when two carts check out"


@pytest.mark.parametrize("session", ["s1", "s2"])
@pytest.mark.parametrize(
    ("question", "answered", "open_"),
    [
        ("What is left?", "I added the metric for lock waits.", [TEAM]),
        ("I told the mobile team. What else?", "Nothing comes to my mind here.", [METRIC]),
        ("Never mind the mobile team, look at the logs", "The logs look fine to me now.", [METRIC]),
        ("Please add the metric for lock waits", "Done. All 47 tests pass.", [TEAM]),
        ("What is left?", f"- [x] {METRIC}\n- [x] {TEAM}", []),
        ("What is left?", "The metric for lock waits is not added yet.", [METRIC, TEAM]),
    ],
)
def test_a_later_turn_or_session_closes_them(
    memory: LocalMemory, session: str, question: str, answered: str, open_: list[str]
) -> None:
    more = later(first_session(memory), session)
    more.asks(question)
    more.stops(answered)
    remember_events(memory, more.events)
    assert [step for step in left(memory) if step in (METRIC, TEAM)] == open_


def test_sessions_that_are_drained_together_close_each_others_steps(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Fix the deadlock when two carts check out")
    telling.stops(ANSWER)
    more = later(telling, "s2")
    more.asks("Now the metric please")
    more.stops("I added the metric for lock waits.")
    remember_events(memory, [*telling.events, *more.events])
    assert left(memory) == [TEAM]


def test_a_list_that_is_told_again_is_the_list_as_it_stands(memory: LocalMemory) -> None:
    more = later(first_session(memory))
    more.asks("What is left?")
    more.stops(f"Next steps:\n- {TEAM}\n- Write the changelog")
    remember_events(memory, more.events)
    assert left(memory) == [TEAM, "Write the changelog"]


def test_a_step_that_a_later_session_takes_over_is_told_once(memory: LocalMemory) -> None:
    more = later(first_session(memory), "s2")
    more.asks("What is left in this project?")
    more.stops("Next steps:\n- Tell the mobile team\n- Write the changelog")
    remember_events(memory, more.events)
    assert sorted(left(memory)) == sorted([METRIC, TEAM, "Write the changelog"])
    assert sum(TEAM in item.details.get("next_steps", "") for item in items(memory, "summary")) == 1


def test_what_was_said_before_a_step_was_named_does_not_close_it(memory: LocalMemory) -> None:
    early = Telling(session="s2", at_ms=THEN - 10**7)
    early.asks("Please add the metric for lock waits")
    early.stops("I added the metric for lock waits.")
    first_session(memory)
    remember_events(memory, early.events)
    assert left(memory) == [METRIC, TEAM]


@pytest.mark.parametrize(
    ("step", "tool", "given", "closed"),
    [
        ("Run the tests", "Bash", {"command": "npm test"}, True),
        ("Run `make deploy`", "Bash", {"command": "cd x && make deploy"}, True),
        ("Run the tests", "Bash", {"command": "npm test -- login.test.ts"}, False),
        ("Commit the changes", "Bash", {"command": "git add -A && git commit -m 'Order locks'"}, True),
        ("Push the branch", "Bash", {"command": "git push origin main"}, True),
        ("Update README.md", "Edit", {"file_path": "README.md", "old_string": "a", "new_string": "b"}, True),
        ("Create docs/locks.md", "Write", {"file_path": "docs/locks.md", "content": "x"}, True),
        ("Delete src/old.py", "Edit", {"file_path": "src/old.py", "old_string": "a", "new_string": "b"}, False),
        (
            "Document the locks in README.md",
            "Edit",
            {"file_path": "README.md", "old_string": "a", "new_string": "b"},
            False,
        ),
    ],
)
def test_an_action_closes_what_is_plainly_it(
    memory: LocalMemory, step: str, tool: str, given: dict[str, str], closed: bool
) -> None:
    telling = Telling()
    telling.asks("Order the locks of the checkout")
    telling.stops(f"I ordered them by id.\n\nNext steps:\n- {step}")
    telling.uses(tool, "done", **given)
    telling.stops("That was it, I think.")
    remember_events(memory, telling.events)
    assert left(memory) == ([] if closed else [step])


@pytest.mark.parametrize("kind", ["summary", "checkpoint"])
def test_a_person_dismisses_a_step_by_editing_either_of_the_two(memory: LocalMemory, kind: Kind) -> None:
    telling = first_session(memory)
    edit_item(memory, only_item(memory, kind).id, Changes(details={"next_steps": TEAM}))
    assert left(memory) == [TEAM]
    more = later(telling)
    more.asks("Look at the logs of the sweeper")
    more.stops("The logs look fine because nothing failed.\n\nNext steps:\n- Rotate the logs")
    remember_events(memory, more.events)
    assert left(memory) == [TEAM, "Rotate the logs"]


def test_a_person_dismisses_all_of_a_session_by_forgetting(memory: LocalMemory) -> None:
    first_session(memory)
    forget_items(memory, [only_item(memory).id, only_item(memory, "checkpoint").id])
    assert left(memory) == []


def test_what_an_agent_wrote_loses_the_step_and_nothing_else(memory: LocalMemory) -> None:
    details = {"request": "Fix the carts", "next_steps": f"{METRIC}\n{TEAM}", "notes": "by hand"}
    remember(memory, NewItem(kind="summary", details=details, project=PROJECT, session="kiro:k1", created_ms=THEN))
    more = Telling(session="s2", at_ms=THEN)
    more.asks("Please add the metric for lock waits")
    more.stops("I added the metric for lock waits.")
    remember_events(memory, more.events)
    summary = next(item for item in items(memory, "summary") if item.session == "kiro:k1")
    assert summary.details == {**details, "next_steps": TEAM}
    assert left(memory) == [TEAM]


def test_a_session_that_goes_on_does_not_bring_a_closed_step_back(memory: LocalMemory) -> None:
    telling = first_session(memory)
    other = later(telling, "s2")
    other.asks("Please add the metric for lock waits")
    other.stops("I added the metric for lock waits.")
    remember_events(memory, other.events)
    again = later(other)
    again.asks("And the logs of the sweeper?")
    again.stops("They look fine because nothing failed.")
    remember_events(memory, again.events)
    assert left(memory) == [TEAM]
    assert len(items(memory, "summary")) == 2


def test_steps_of_another_project_stay(memory: LocalMemory) -> None:
    telling = first_session(memory)
    other = Telling(session="s2", cwd="/srv/code/other", at_ms=telling.at_ms)
    other.asks("Please add the metric for lock waits")
    other.stops("I added the metric for lock waits.")
    remember_events(memory, other.events)
    assert left(memory) == [METRIC, TEAM]


@pytest.mark.parametrize("passes", ["pytest -q", "cd api && python -m pytest", "uv run pytest -x"])
def test_a_command_that_failed_is_open_until_it_passes_in_any_session(memory: LocalMemory, passes: str) -> None:
    telling = Telling()
    telling.asks("Why do the tests fail?")
    telling.fails("Bash", "E   deadlock detected\n1 failed", command="pytest -q tests/test_carts.py")
    telling.stops()
    remember_events(memory, telling.events)
    assert [step.startswith("Still failing: pytest -q tests/test_carts.py") for step in left(memory)] == [True]
    other = later(telling, "s2")
    other.asks("Try to order the locks")
    other.uses("Bash", {"stdout": "12 passed in 3.2s", "stderr": ""}, command=passes)
    other.stops("The tests pass.")
    remember_events(memory, other.events)
    assert left(memory) == []
