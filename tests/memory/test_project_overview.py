"""Where a project stands: composed of what was captured and stated, within bounds, and of this project alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import Clock
from tests.whole_items import everything_in

from commonplace.errors import Conflict, NotFound
from commonplace.memory.authors import with_writer
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import mark_superseded
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.open_steps import close_step, open_steps, reopen_step
from commonplace.memory.project_overview import (
    DECISIONS,
    OPEN_ENDS,
    SESSIONS,
    ProjectOverview,
    project_briefs,
    project_overview,
)
from commonplace.memory.projects import list_projects, short_project_names
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import PROPOSED, UNKNOWN_AUTHOR, Author

DAY = 86_400_000
SHOP, BLOG = "github.com/acme/shop", "github.com/acme/blog"


def say(memory: LocalMemory, text: str, type_: str = "decision", project: str | None = SHOP, ago: float = 0) -> int:
    return remember(memory, NewItem(text, type=type_, project=project, created_ms=memory.clock() - int(ago * DAY))).id


def session(
    memory: LocalMemory, key: str, ago: float = 0, project: str | None = SHOP, source: str = "", **details: str
) -> None:
    """A session with its summary."""
    at = memory.clock() - int(ago * DAY)
    remember(memory, NewItem(kind="summary", session=key, project=project, details=details, created_ms=at))


def ran(memory: LocalMemory, command: str, ago: float, *, failed: bool, key: str = "s1") -> None:
    meta: dict[str, object] = {"error": "exit code 1"} if failed else {"went_well": True}
    note = NewItem(
        "", "observation", "command", command, {"facts": command}, meta, SHOP, key,
        created_ms=memory.clock() - int(ago * DAY),
    )  # fmt: skip
    remember(memory, note)


def shop(memory: LocalMemory) -> ProjectOverview:
    return project_overview(memory, "shop")


def test_an_unknown_project_is_not_found(memory: LocalMemory) -> None:
    with pytest.raises(NotFound):
        project_overview(memory, "nosuch")


def test_decisions_come_with_their_reasons_and_what_they_replaced(memory: LocalMemory) -> None:
    old = say(memory, "Sessions last 7 days.", ago=20)
    new = say(memory, "Sessions last 30 days because people complained.", ago=2)
    mark_superseded(memory, old, by=new)
    titled = NewItem("Two lock files broke the build.", type="constraint", title="Use pnpm only", project=SHOP)
    remember(memory, replace(titled, created_ms=memory.clock() - DAY))
    found = shop(memory).decisions
    assert [(one.statement, one.reason, one.replaced) for one in found] == [
        ("Use pnpm only", "Two lock files broke the build.", ""),
        ("Sessions last 30 days.", "People complained.", "Sessions last 7 days."),
    ]


def test_a_constraint_is_not_counted_as_a_decision(memory: LocalMemory) -> None:
    say(memory, "Sessions last 30 days.", ago=3)
    say(memory, "Prices are kept in cents.", ago=2)
    say(memory, "Customer data must never leave the EU.", "constraint", ago=1)
    story = " ".join(shop(memory).story)
    assert "Two decisions were made. The latest: " in story and "cents" in story and "the EU" not in story


def test_what_is_proposed_or_elsewhere_was_not_decided(memory: LocalMemory) -> None:
    remember(memory, NewItem("Use Rust", type="decision", project=SHOP, review=PROPOSED))
    say(memory, "Use Hugo for the blog", project=BLOG)
    say(memory, "Holidays are in July", project=None)
    found = shop(memory)
    assert found.decisions == () and found.proposals == 1


def test_sessions_tell_what_was_asked_found_changed_and_comes_next(memory: LocalMemory) -> None:
    session(
        memory,
        "s1",
        request="Make retries safe",
        learned="The worker acknowledged too early.",
        completed="Modified src/jobs.py, Created src/retry.py\nRan pytest — 3 passed (success)",
        next_steps="Write the runbook",
    )
    (card,) = shop(memory).sessions
    assert (card.request, card.found, card.changed) == ("Make retries safe", "The worker acknowledged too early.", "")
    assert card.files == ("src/jobs.py", "src/retry.py") and card.next_steps == ("Write the runbook",)


def test_a_conversation_without_a_summary_tells_its_last_answer(memory: LocalMemory) -> None:
    turns = [NewMessage("user", "Why is it slow?"), NewMessage("assistant", "The index was missing, so I added it.")]
    store_conversation(memory, NewConversation("Slow search", turns, project=SHOP, source="claude"))
    (card,) = shop(memory).sessions
    assert (card.request, card.found) == ("Slow search", "The index was missing, so I added it.")


def test_sessions_in_which_nothing_happened_are_not_shown(memory: LocalMemory) -> None:
    from commonplace.memory.edit_and_forget import forget_items

    session(memory, "s1", request="Something")
    forget_items(memory, [1])
    say(memory, "Use tabs")
    assert shop(memory).sessions == ()


def test_what_is_open_includes_what_still_fails_and_old_steps(memory: LocalMemory) -> None:
    session(memory, "old", ago=40, request="Tidy", next_steps="Write the docs")
    session(memory, "s1", request="Fix it", next_steps="Ship it\nStill failing: pytest -q — 1 failed (failed)")
    found = shop(memory)
    assert [(end.what, end.text.partition(" —")[0]) for end in found.open_ends] == [
        ("next step", "Ship it"),
        ("failing", "Still failing: pytest -q"),
        ("next step", "Write the docs"),
    ]
    assert set(found.session_ids) == {end.session_id for end in found.open_ends}


def test_a_step_is_done_in_every_note_that_names_it_and_can_be_opened_again(memory: LocalMemory) -> None:
    session(memory, "s1", request="Fix it", next_steps="Ship it\nTest it")
    stopped = {"task": "Fix it", "next_steps": "Ship it\nTest it", "open_questions": "Who is on call?"}
    remember(memory, NewItem(kind="checkpoint", session="s1", project=SHOP, details=stopped))
    notes = close_step(memory, "shop", "ship it")
    assert len(notes) == 2 and [step.text for step in open_steps(memory, SHOP, 9)] == ["Test it"]
    with pytest.raises(NotFound):
        close_step(memory, "shop", "Ship it")
    reopen_step(memory, [(note.short_id, note.rev) for note in notes])
    assert {end.text for end in shop(memory).open_ends} == {"Ship it", "Test it", "Who is on call?"}
    close_step(memory, "shop", "Who is on call?")
    assert {end.text for end in shop(memory).open_ends} == {"Ship it", "Test it"}


def test_a_step_is_not_opened_again_over_what_was_written_since(memory: LocalMemory) -> None:
    session(memory, "s1", request="Fix it", next_steps="Ship it\nTest it")
    (note,) = close_step(memory, "shop", "Ship it")
    close_step(memory, "shop", "Test it")
    with pytest.raises(Conflict):
        reopen_step(memory, [(note.short_id, note.rev)])


def test_people_are_those_who_wrote_lately_with_their_agents(memory: LocalMemory) -> None:
    for name, key, ago in (("anna via claude-code", "s1", 1), ("anna", "s2", 2), ("tom via cursor", "s3", 60)):
        session(with_writer(memory, Author(name, "captured")), key, ago, request=f"Work {key}")
    (anna,) = shop(memory).people
    assert (anna.name, anna.agents, anna.sessions, anna.last_work) == ("anna", ("claude-code",), 2, "Work s1")


def test_contradictions_of_the_project_are_found(memory: LocalMemory) -> None:
    say(memory, "Responses are cached for 60 seconds.", "rule")
    say(memory, "Responses are cached for 10 seconds.", "rule")
    (pair,) = shop(memory).contradictions
    assert pair.reason == "number"


def test_the_story_tells_the_week(memory: LocalMemory) -> None:
    writer = with_writer(memory, Author("anna via claude-code", "captured"))
    session(writer, "s1", 1, request="Make retries safe. Please.", next_steps="Write the runbook")
    ran(writer, "pytest -q", 2, failed=True)
    ran(writer, "pytest -q", 1.5, failed=True)
    ran(writer, "pytest -q", 1.2, failed=False)
    say(memory, "Jobs are deleted in their transaction: a crash loses none.", ago=1)
    story = shop(memory).story
    assert story[0] == "There was one session by anna in the last seven days."
    assert story[1] == "The latest request: “Make retries safe”."
    assert "“Jobs are deleted in their transaction: a crash loses none.”" in story[2]
    assert story[3].startswith("`pytest -q` failed 2 times and was fixed on ")
    assert story[4] == "One thing is still open: “Write the runbook.”"


def test_a_quiet_project_tells_its_last_week_of_work(memory: LocalMemory, clock: Clock) -> None:
    session(memory, "s1", request="Make retries safe")
    clock.forward(days=100)
    found = shop(memory)
    assert found.story[0].startswith("Nothing happened here in the last seven days; the last work was on ")
    assert "one session" in found.story[1] and "in the week before that" in found.story[1]
    assert found.to_ms < clock() - 90 * DAY


def test_everything_is_bounded(memory: LocalMemory) -> None:
    many = [
        NewItem(kind="summary", session=f"s{n}", project=SHOP, details={"request": f"Ask {n}", "next_steps": f"Do {n}"})
        for n in range(30)
    ]
    remember_all(memory, [*many, *(NewItem(f"Choose {n}.", type="decision", project=SHOP) for n in range(30))])
    found = shop(memory)
    sizes = (len(found.open_ends), len(found.decisions), len(found.sessions))
    assert sizes == (OPEN_ENDS, DECISIONS, SESSIONS) and found.left_out["open_ends"] == 30 - OPEN_ENDS
    assert "30 things are still open" in found.story[-1]


def test_all_projects_in_short_the_one_worked_on_last_first(memory: LocalMemory) -> None:
    session(memory, "s1", 3, request="Make retries safe", next_steps="\n".join(f"Step {n}" for n in range(5)))
    say(memory, "Use Hugo for posts: it is quick.", project=BLOG, ago=1)
    say(memory, "Tea is at four.", "fact", None, ago=2)
    blog, outside, shop_ = project_briefs(memory)
    assert (blog.name, outside.name, shop_.name) == ("blog", "", "shop")
    assert blog.decision is not None and blog.decision.reason == "It is quick." and blog.session is None
    assert outside.project is None and outside.items == 1
    assert shop_.open_count == 5 and shop_.open_steps == ("Step 0", "Step 1", "Step 2")
    assert shop_.session is not None and shop_.session.request == "Make retries safe"
    assert sum(shop_.activity.values()) == shop_.items == 1


def test_what_belongs_to_no_project_has_an_overview_too(memory: LocalMemory) -> None:
    say(memory, "Tea is at four.", "fact", None)
    say(memory, "Be kind.", "rule", None)
    say(memory, "Use Hugo", project=BLOG)
    found = project_overview(memory, None)
    assert (found.project, found.name, found.items, found.decisions) == (None, "", 2, ())
    assert [item.body for item in found.facts] == ["Tea is at four."]
    assert [item.body for item in found.rules.everywhere] == ["Be kind."]


def test_a_key_for_one_project_sees_only_that_one(memory: LocalMemory) -> None:
    session(memory, "s1", request="Make retries safe", next_steps="Ship it")
    session(memory, "s2", project=BLOG, request="Write a post", next_steps="Publish it")
    say(memory, "Tea is at four.", "fact", None)
    limited = for_project(memory, SHOP)
    assert [brief.project for brief in project_briefs(limited)] == [SHOP]
    assert "Publish" not in everything_in(project_overview(limited, SHOP))
    assert "Tea" not in everything_in(project_overview(limited, None))
    with pytest.raises(NotFound):
        project_overview(limited, BLOG)
    with pytest.raises(NotFound):
        close_step(limited, BLOG, "Publish it")


def test_short_names_lead_back_to_their_projects(memory: LocalMemory) -> None:
    for name in ("github.com/acme/web", "github.com/acme/shop", "gitlab.com/other/shop", "notes/2024"):
        say(memory, "Use tabs", project=name)
    names = short_project_names(list_projects(memory))
    assert sorted(names.values()) == ["2024", "acme/shop", "other/shop", "web"]
    assert {memory.store.find_project(short) for short in names.values()} == set(names)


def test_what_a_session_was_asked_is_quoted_request_by_request(memory: LocalMemory) -> None:
    session(memory, "s1", request="Deploy ledger-api 2.14 to production\nYou forgot the sealed secret")
    assert "The latest requests: “You forgot the sealed secret” and “Deploy ledger-api 2.14 to production”." in (
        shop(memory).story
    )


def test_the_story_names_everybody_whose_sessions_it_counts(memory: LocalMemory) -> None:
    for place, name in enumerate(("ada via claude-code", "bo via cursor", "chi")):
        person = with_writer(memory, Author(name, "captured"))
        ran(person, "make", 1 + place, failed=False, key=name)
    session(with_writer(memory, Author("dee via codex", "captured")), "dee", ago=0.5, request="Add a mailer")
    assert shop(memory).story[0].startswith("There were four sessions by dee, ada, bo and chi in the last seven days")
    ran(with_writer(memory, UNKNOWN_AUTHOR), "make", 1, failed=False, key="nobody known")
    assert "by dee, ada, bo, chi and others" in shop(memory).story[0]


def test_a_session_without_notes_is_the_last_one_and_somebodys(memory: LocalMemory) -> None:
    session(memory, "older", ago=3, request="Add a mailer")
    ran(with_writer(memory, Author("ada via claude-code", "captured")), "make test", 1, failed=False, key="newest")
    card = shop(memory).sessions[0]
    assert (card.session.key, card.author) == ("newest", "ada via claude-code")
    (brief,) = project_briefs(memory)
    assert brief.session is not None and brief.session.session.key == "newest"


def test_the_last_decision_is_a_decision(memory: LocalMemory) -> None:
    say(memory, "Sessions last 30 days", ago=2)
    say(memory, "I prefer small pull requests", "heuristic", ago=1)
    say(memory, "Kafka as the event bus", "rejected")
    (brief,) = project_briefs(memory)
    assert brief.decision is not None and brief.decision.statement == "Sessions last 30 days"
