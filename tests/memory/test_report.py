"""The report: what was captured in a stretch of time, and nothing else."""

from __future__ import annotations

import pytest
from tests.conftest import Clock

from commonplace.errors import InvalidInput
from commonplace.memory.authors import with_writer
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.project_overview import project_overview
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.report import FILES, Report, report
from commonplace.memory.review import accept
from commonplace.memory.topics import update_topics
from commonplace.model import PROPOSED, Author, Kind, Scope

MINUTE, DAY = 60_000, 86_400_000
PROJECT = "github.com/acme/shop"


def week(memory: LocalMemory, scope: Scope | None = None) -> Report:
    return report(memory, scope or Scope(project=PROJECT), memory.clock() - 7 * DAY, memory.clock() + 1)


def observe(
    memory: LocalMemory,
    title: str,
    type_: str = "file-write",
    *,
    session: str | None = "s1",
    kind: Kind = "observation",
    project: str | None = PROJECT,
    failed: bool = False,
    **details: str,
) -> int:
    """Something that was captured, at the time of the clock."""
    meta = {"error": "exit code 1"} if failed else {}
    note = NewItem("", kind, type_, title, details, meta, project, session, created_ms=memory.clock())
    return remember(memory, note).id


def store_session(memory: LocalMemory, *messages: NewMessage, key: str = "s1", project: str | None = PROJECT) -> None:
    store_conversation(
        memory,
        NewConversation(
            messages[0].content[:40], messages, project=project, source="codex", key=key, started_ms=messages[0].at_ms
        ),
    )


def test_an_empty_time_is_empty(memory: LocalMemory) -> None:
    found = week(memory)
    assert found.is_empty and found.complete
    assert (found.sessions, found.files, found.failures, found.open_ends, found.topics) == ((), (), (), (), ())


def test_a_time_that_ends_before_it_begins_is_refused(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput, match="ends before it begins"):
        report(memory, Scope(), 5, 5)


def test_sessions_with_their_time_and_what_they_were_for(memory: LocalMemory, clock: Clock) -> None:
    store_session(
        memory,
        NewMessage("user", "Why is login slow?", clock.now),
        NewMessage("assistant", "An index.", clock.now + 42 * MINUTE),
    )
    observe(memory, "Created a.py", session="s2", files_modified="a.py")
    observe(memory, "A summary", "summary", kind="summary", session="s3", request="Move to Redis")
    clock.forward(days=1)
    observe(memory, "Modified a.py", session="s2", files_modified="a.py")
    found = week(memory)
    assert [(one.request, one.session.source, one.happenings) for one in found.sessions] == [
        ("Created a.py", "", 2),
        ("Why is login slow?", "codex", 2),
        ("Move to Redis", "", 1),
    ]
    first = found.sessions[1].session
    assert (first.ended_ms - first.started_ms) // MINUTE == 42
    assert not found.is_empty and found.happenings == 5


def test_only_what_somebody_asked_is_a_request(memory: LocalMemory, clock: Clock) -> None:
    store_conversation(
        memory,
        NewConversation("Chat with Mira", [NewMessage("user", "Who closes the year?", clock.now)], project=PROJECT),
    )
    observe(memory, "Failed: make test", "command", session="s2")
    observe(memory, "Fix the tests", "summary", kind="summary", session="s3", request="Fix the tests\nNow the docs")
    asked = {one.request: one.requests for one in week(memory).sessions}
    assert asked == {
        "Chat with Mira": ("Who closes the year?",),
        "Failed: make test": (),
        "Fix the tests; Now the docs": ("Fix the tests", "Now the docs"),
    }
    told = " ".join(project_overview(memory, PROJECT).story)
    assert "The latest requests" in told and "make test" not in told and "Chat with Mira" not in told


def test_sub_agents_are_part_of_the_session_that_started_them(memory: LocalMemory, clock: Clock) -> None:
    messages = [NewMessage("user", "Look at the tests", clock.now)]
    store_conversation(
        memory, NewConversation("child", messages, project=PROJECT, key="c", meta={"parent_session": "s1"})
    )
    assert week(memory).sessions == ()
    assert week(memory).happenings == 1


def test_who_accepts_what_was_stated_in_a_session_did_not_work_in_it(memory: LocalMemory) -> None:
    hooks = with_writer(memory, Author("ada via claude-code", "captured"))
    observe(hooks, "Never squash", "prompt")
    stated = remember(hooks, NewItem("Never squash", type="rule", session="s1", project=PROJECT, review=PROPOSED))
    accept(with_writer(memory, Author("lead", "person")), [stated.id])
    (session,) = week(memory).sessions
    assert session.people == ("ada",)


def test_decisions_and_rules_but_no_notes(memory: LocalMemory, clock: Clock) -> None:
    for type_ in ("rule", "decision", "note", "fact", "rejected"):
        remember(memory, NewItem(f"About {type_}s", type=type_, project=PROJECT))
        clock.forward(minutes=1)
    remember(memory, NewItem("Elsewhere", type="decision", project="other"))
    assert [one.type for one in week(memory).decisions] == ["rejected", "decision", "rule"]
    forget_items(memory, [week(memory).decisions[0].id])
    assert [one.type for one in week(memory).decisions] == ["decision", "rule"]
    assert len(week(memory, Scope()).decisions) == 3
    assert week(memory, Scope(only_global=True)).is_empty
    clock.forward(days=8)
    assert week(memory).is_empty


def test_files_by_how_often_they_were_changed(memory: LocalMemory, clock: Clock) -> None:
    for title, changed, read in (("a", "a.py", ""), ("b", "a.py, b.py", "c.py"), ("c", "", "c.py, b.py")):
        observe(memory, title, files_modified=changed, files_read=read)
        clock.forward(minutes=1)
    store_session(memory, NewMessage("assistant", "Done.", clock.now, details={"files": "c.py"}), key="s2")
    found = [(one.path, one.changed, one.read) for one in week(memory).files]
    assert found == [("a.py", 2, 0), ("b.py", 1, 1), ("c.py", 0, 3)]


def test_what_is_more_is_counted(memory: LocalMemory) -> None:
    observe(memory, "many", files_modified=", ".join(f"f{n}.py" for n in range(FILES + 7)))
    found = week(memory)
    assert len(found.files) == FILES
    assert found.left_out == {"files": 7}


def test_commands_that_failed_and_were_mended_or_not(memory: LocalMemory, clock: Clock) -> None:
    for command, failed in (("pytest -q", True), ("npm test", True), ("pytest -q", True), ("pytest  -q", False)):
        observe(memory, command, "command", failed=failed, facts=command)
        clock.forward(minutes=1)
    found = {one.command: one for one in week(memory).failures}
    assert list(found) == ["pytest -q", "npm test"]
    assert found["pytest -q"].times == 2 and found["pytest -q"].fixed_ms == clock.now - MINUTE
    assert found["npm test"].fixed_ms is None
    assert found["npm test"].why == "exit code 1"


TURN = """I'll run the tests.

[Bash] pytest -q

```
[gw0] something in brackets
FAILED tests/test_a.py - AssertionError: 1 != 2
```

[Edit] src/a.py

{again}"""
AGAIN = "[Bash] pytest -q\n\n```\n3 passed\n```\n\nAll tests pass."
DETAILS = {"commands": "pytest -q", "errors": "FAILED tests/test_a.py - AssertionError: 1 != 2"}


@pytest.mark.parametrize(("again", "mended"), [(AGAIN, True), ("I stop here.", False)])
def test_a_turn_that_was_told_whole_says_what_failed_and_what_was_mended(
    memory: LocalMemory, clock: Clock, again: str, mended: bool
) -> None:
    store_session(memory, NewMessage("assistant", TURN.format(again=again), clock.now, details=DETAILS))
    (failure,) = week(memory).failures
    assert (failure.command, failure.times) == ("pytest -q", 1)
    assert failure.why == "FAILED tests/test_a.py - AssertionError: 1 != 2"
    assert (failure.fixed_ms is not None) is mended
    assert [one.what for one in week(memory).open_ends] == ([] if mended else ["failing"])


def test_a_later_turn_may_mend_it(memory: LocalMemory, clock: Clock) -> None:
    store_session(
        memory,
        NewMessage("assistant", TURN.format(again=""), clock.now, details=DETAILS),
        NewMessage("assistant", "Better.", clock.now + MINUTE, details={"commands": "pytest -q"}),
    )
    mended = clock.now + MINUTE
    clock.forward(minutes=2)
    (failure,) = week(memory).failures
    assert failure.fixed_ms == mended


def test_open_ends_are_those_of_the_newest_summary_or_checkpoint(memory: LocalMemory, clock: Clock) -> None:
    observe(memory, "one", "summary", kind="summary", next_steps="Old steps", request="r")
    clock.forward(minutes=1)
    observe(
        memory, "two", "checkpoint", kind="checkpoint", next_steps="New steps", open_questions="Which port?", task="t"
    )
    observe(memory, "three", "summary", kind="summary", session="s2", request="r", next_steps="Other steps")
    observe(memory, "four", "summary", kind="summary", session=None, request="r", next_steps="Nobody's steps")
    found = [(one.what, one.text) for one in week(memory).open_ends]
    assert sorted(found) == [
        ("next step", "New steps"),
        ("next step", "Nobody's steps"),
        ("next step", "Other steps"),
        ("question", "Which port?"),
    ]


def test_each_next_step_is_an_open_end_of_its_own(memory: LocalMemory) -> None:
    observe(memory, "s", "summary", kind="summary", request="r", next_steps="Add a limit\nStill failing: make — boom")
    assert [one.text for one in week(memory).open_ends] == ["Add a limit", "Still failing: make — boom"]


def test_a_session_in_which_nothing_happened_is_counted_only(memory: LocalMemory, clock: Clock) -> None:
    forget_items(memory, [observe(memory, "gone", session="s2")])
    observe(memory, "Modified a.py", files_modified="a.py")
    found = week(memory)
    assert [one.request for one in found.sessions] == ["Modified a.py"] and found.quiet == 1


def test_a_session_that_ended_with_a_failure_is_an_open_end(memory: LocalMemory, clock: Clock) -> None:
    observe(memory, "make lint", "command", failed=True, facts="make lint")
    clock.forward(minutes=1)
    observe(memory, "make test", "command", failed=True, facts="make test")
    (end,) = week(memory).open_ends
    assert (end.what, end.text) == ("failing", "make test: exit code 1")
    clock.forward(minutes=1)
    observe(memory, "Modified a.py", files_modified="a.py")
    assert week(memory).open_ends == ()


def test_what_a_session_says_itself_is_not_told_twice(memory: LocalMemory, clock: Clock) -> None:
    observe(memory, "make test", "command", failed=True, facts="make test")
    observe(memory, "one", "summary", kind="summary", request="r", next_steps="Still failing: make test")
    assert [one.what for one in week(memory).open_ends] == ["next step"]


def test_topics_of_the_time(memory_with_model: LocalMemory, clock: Clock) -> None:
    for number in range(12):
        text = f"The rate limiter of the login service counts attempts in Redis, bucket {number}"
        remember(memory_with_model, NewItem(text, project=PROJECT))
    memory_with_model.embeddings.catch_up()
    while update_topics(memory_with_model):
        pass
    (topic,) = week(memory_with_model).topics
    assert topic[1] == 12
    clock.forward(days=30)
    assert week(memory_with_model).topics == ()
