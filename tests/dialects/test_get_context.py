"""`get_context`: what the package holds, in which order, and what it says about what it left out."""

from __future__ import annotations

import pytest
from tests.conftest import THEN, Clock
from tests.dialects.conftest import TOOLS, Call
from tests.dialects.test_search import SUMMARY_FIELDS

from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all

YEAR = 365 * 86_400_000


def recent(count: int, project: str | None = "my-api", words: int = 5) -> list[NewItem]:
    return [
        NewItem(
            kind="observation",
            title=f"Step {n}",
            content=f"alpha{n} beta{n} " * words,
            project=project,
            created_ms=THEN - n * 60_000,
        )
        for n in range(count)
    ]


@pytest.mark.promise(
    "kiro:get_context:example-call", "kiro:get_context:example-response", "kiro:get_context:query-optional"
)
def test_the_example_call_puts_the_decision_before_the_edit(example: LocalMemory, call: Call) -> None:
    reply = call("get_context", project="my-api", token_budget=4000, query="authentication rate limiting")
    assert (reply["project"], reply["tokenBudget"]) == ("my-api", 4000)
    decision, edit = reply["items"][:2]
    assert (decision["id"], decision["type"], decision["title"]) == (146, "decision", "Use JWT for API authentication")
    assert decision["content"].startswith("JWT provides stateless authentication")
    assert (edit["id"], edit["type"], edit["project"]) == (142, "file-write", "my-api")
    assert decision["signals"]["fts5"] > 0
    assert decision["signals"]["projectMatch"] == 1.0
    (summary,) = reply["summaries"]
    assert summary["completed"] == "Modified auth.ts, Modified routes.ts"


@pytest.mark.promise("kiro:get_context:second-example-call")
def test_the_second_example_call_ranks_the_edit_first_of_what_happened(example: LocalMemory, call: Call) -> None:
    reply = call("get_context", project="my-api", token_budget=3000, query="authentication")
    assert [item["id"] for item in reply["items"]][:2] == [146, 142]
    assert reply["tokenBudget"] == 3000
    assert 0 < reply["tokensUsed"] <= 3000


@pytest.mark.promise(
    "kiro:get_context.project", "kiro:get_context.items", "kiro:get_context.summaries", "kiro:get_context.tokenBudget",
    "kiro:get_context.tokensUsed", "kiro:get_context:items.id", "kiro:get_context:items.title",
    "kiro:get_context:items.content", "kiro:get_context:items.type", "kiro:get_context:items.project",
    "kiro:get_context:items.created_at", "kiro:get_context:items.created_at_epoch", "kiro:get_context:items.score",
    "kiro:get_context:items.signals", "kiro:get_context:signals.semantic", "kiro:get_context:signals.fts5",
    "kiro:get_context:signals.recency", "kiro:get_context:signals.projectMatch",
)  # fmt: skip
def test_the_package_and_its_items_have_their_fields(example: LocalMemory, call: Call) -> None:
    reply = call("get_context", project="my-api")
    promised = {"project": str, "items": list, "summaries": list, "tokenBudget": int, "tokensUsed": int}
    assert {name: type(reply[name]) for name in promised} == promised
    fields = {
        "id": int, "title": str, "content": str, "type": str, "project": str, "created_at": str,
        "created_at_epoch": int, "score": float, "signals": dict,
    }  # fmt: skip
    for item in reply["items"]:
        assert {name: type(value) for name, value in item.items()} == fields
        assert item["signals"].keys() == {"semantic", "fts5", "recency", "projectMatch"}
        assert all(isinstance(value, float) for value in item["signals"].values())


@pytest.mark.promise("kiro:get_context:budget-default")
def test_the_budget_is_two_thousand_by_default(example: LocalMemory, call: Call) -> None:
    assert call("get_context", project="my-api")["tokenBudget"] == 2000


@pytest.mark.promise("kiro:get_context:knowledge-first", "kiro:get_context:knowledge-types")
def test_knowledge_stands_at_the_top_even_when_it_is_years_old(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, recent(40))
    kinds = ("decision", "constraint", "heuristic", "rejected")
    for n, type_ in enumerate(kinds):
        remember(
            memory, NewItem(content=f"An old {type_}", type=type_, project="my-api", created_ms=THEN - (n + 1) * YEAR)
        )
    for query in ({}, {"query": "alpha3 beta3"}):
        items = call("get_context", project="my-api", **query)["items"]
        assert {item["type"] for item in items[:4]} == set(kinds)
        assert {item["type"] for item in items[4:]} == {"observation"}


def test_rules_of_the_project_and_of_everywhere_stand_with_knowledge(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, recent(40))
    remember(memory, NewItem(content="Never force-push", type="rule", created_ms=THEN - 3 * YEAR))
    remember(memory, NewItem(content="Tabs in Makefiles", type="rule", project="my-api", created_ms=THEN - 3 * YEAR))
    remember(memory, NewItem(content="Only here", type="rule", project="elsewhere", created_ms=THEN - 3 * YEAR))
    items = call("get_context", project="my-api")["items"]
    assert {item["content"] for item in items[:2]} == {"Never force-push", "Tabs in Makefiles"}
    assert "Only here" not in {item["content"] for item in items}


def test_without_a_query_the_newest_comes_first(memory: LocalMemory, call: Call) -> None:
    ids = [stored.id for stored in remember_all(memory, recent(5))]
    assert [item["id"] for item in call("get_context", project="my-api")["items"]] == ids


@pytest.mark.promise("kiro:get_context:checkpoint")
def test_the_latest_checkpoint_is_there(memory: LocalMemory, call: Call) -> None:
    assert call("get_context", project="my-api")["checkpoint"] is None
    for n, task in enumerate(("Old task", "New task")):
        details = {"task": task, "progress": "half", "next_steps": "more", "open_questions": "why"}
        details["relevant_files"] = "a.py"
        remember(
            memory, NewItem(kind="checkpoint", session=f"s{n}", details=details, project="my-api", created_ms=THEN + n)
        )
    checkpoint = call("get_context", project="my-api")["checkpoint"]
    assert checkpoint["task"] == "New task"
    assert checkpoint["session_id"] == "s1"
    assert (checkpoint["progress"], checkpoint["next_steps"], checkpoint["open_questions"]) == ("half", "more", "why")
    assert checkpoint["relevant_files"] == "a.py"


@pytest.mark.parametrize("budget", [400, 2000])
def test_a_long_checkpoint_is_shortened_rather_than_left_out(memory: LocalMemory, call: Call, budget: int) -> None:
    remember_all(memory, recent(40, words=60))
    remember(memory, NewItem(content="Keep it simple", type="decision", project="my-api"))
    details = {"task": "Write it down", "progress": "word " * 10_000}
    remember(memory, NewItem(kind="checkpoint", session="s", details=details, project="my-api"))
    reply = call("get_context", project="my-api", token_budget=budget)
    assert reply["checkpoint"]["task"] == "Write it down"
    assert reply["checkpoint"]["progress"].startswith("word word")
    assert reply["truncated"] is True
    assert reply["items"][0]["content"] == "Keep it simple"


@pytest.mark.promise("kiro:get_context:summaries")
def test_summaries_of_the_project_are_there_newest_first(memory: LocalMemory, call: Call) -> None:
    for n, project in enumerate(["my-api", "other", "my-api"]):
        details = {"request": f"Request {n}", "learned": "something"}
        remember(
            memory, NewItem(kind="summary", session=f"s{n}", details=details, project=project, created_ms=THEN + n)
        )
    summaries = call("get_context", project="my-api")["summaries"]
    assert [summary["request"] for summary in summaries] == ["Request 2", "Request 0"]
    assert all(summary.keys() == SUMMARY_FIELDS.keys() for summary in summaries)


def test_with_a_query_the_summary_that_answers_comes_first(memory: LocalMemory, call: Call) -> None:
    for n, about in enumerate(("zebras", "lions", "tigers", "bears", "wolves", "foxes", "owls")):
        details = {"request": f"Feed the {about}"}
        remember(memory, NewItem(kind="summary", session=f"s{n}", details=details, project="zoo", created_ms=THEN + n))
    summaries = call("get_context", project="zoo", query="zebras")["summaries"]
    assert summaries[0]["request"] == "Feed the zebras"


@pytest.mark.promise("kiro:decided:left-out-told")
def test_it_tells_whether_something_was_left_out(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, recent(30, words=10))
    remember(memory, NewItem(content="First line\n\n    indented second line", type="decision", project="my-api"))
    whole = call("get_context", project="my-api", token_budget=20_000)
    assert (whole["truncated"], whole["totalCount"], whole["returnedCount"]) == (False, 31, 31)
    assert whole["items"][0]["content"] == "First line\n\n    indented second line"
    part = call("get_context", project="my-api", token_budget=600)
    assert part["truncated"] is True
    assert part["totalCount"] == 31
    assert part["returnedCount"] == len(part["items"]) < 31
    assert call("get_context", project="nothing-here")["truncated"] is False


def test_shortened_content_counts_as_left_out(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(content="long story " * 1000, project="my-api"))
    reply = call("get_context", project="my-api")
    assert reply["items"][0]["content"].endswith("…")
    assert reply["truncated"] is True


@pytest.mark.promise("kiro:get_context:budget-used")
def test_a_larger_budget_holds_more_than_fifty_items(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, recent(160))
    reply = call("get_context", project="my-api", token_budget=50_000)
    assert (reply["returnedCount"], reply["truncated"]) == (160, False)
    full = call("get_context", project="my-api", token_budget=8_000)
    spare = 8_000 - len(TOOLS["get_context"].run(memory, {"project": "my-api", "token_budget": 8_000}).text) / 4
    assert full["truncated"] is True
    assert spare < 200


def test_the_context_of_no_project_is_what_belongs_to_none(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, [*recent(2, project=None), *recent(3, project="my-api")])
    remember(memory, NewItem(kind="checkpoint", session="s", details={"task": "Anywhere"}))
    reply = call("get_context", project="global")
    assert {(item["project"], item["signals"]["projectMatch"]) for item in reply["items"]} == {("global", 1.0)}
    assert len(reply["items"]) == 2
    assert reply["checkpoint"]["task"] == "Anywhere"


def test_what_was_forgotten_is_not_in_it(example: LocalMemory, call: Call) -> None:
    forget_items(example, [142, 144, 145, 146])
    reply = call("get_context", project="my-api")
    assert {item["id"] for item in reply["items"]} == {139, 140, 141, 143}
    assert (reply["summaries"], reply["checkpoint"]) == ([], None)


@pytest.mark.promise("kiro:get_context:project-match")
def test_an_answer_from_another_project_counts_half(memory: LocalMemory, call: Call, clock: Clock) -> None:
    remember(memory, NewItem(content="The zebra eats grass in the zoo", project="zoo"))
    remember(memory, NewItem(content="The zebra dances at the circus", project="circus"))
    items = call("get_context", project="zoo", query="zebra")["items"]
    assert {item["project"]: item["signals"]["projectMatch"] for item in items} == {"zoo": 1.0, "circus": 0.5}
    assert items[0]["project"] == "zoo"
    without = call("get_context", project="zoo")["items"]
    assert [item["project"] for item in without] == ["zoo"]


@pytest.mark.promise("kiro:get_context:project-required")
def test_the_tool_says_what_it_takes() -> None:
    schema = TOOLS["get_context"].input_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert {name: (entry["type"], entry.get("default")) for name, entry in properties.items()} == {
        "project": ("string", None),
        "token_budget": ("number", 2000),
        "query": ("string", None),
    }
    assert schema["required"] == ["project"]
