"""search_memories, list_memories and get_context: what is found, in which order, and in which scope."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Memories, calling

from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.projects import alias_project
from commonplace.memory.remember import NewItem, remember

APP = "github.com/acme/my-app"


@pytest.mark.promise("memories:search_memories:example-call")
def test_the_search_of_the_reference(memories: Memories) -> None:
    jwt = memories.add("Chose JWT for stateless authentication", "decision", tags=["auth"])
    bcrypt = memories.add("Always use bcrypt for password hashing", "decision", project_id=APP, tags=["auth"])
    memories.add("Auth tokens live for an hour", "fact")
    reply = memories("search_memories", query="auth", type="decision", project_id="my-app")
    opening, blank, *lines = reply.text.split("\n")
    assert (opening, blank) == ("Found 2 memories:", "")
    assert set(lines) == {
        f"💡 DECISION (G) {jwt}: Chose JWT for stateless authentication [auth]",
        f"💡 DECISION (P) {bcrypt}: Always use bcrypt for password hashing [auth]",
    }
    assert {memory["id"] for memory in reply.data["memories"]} == {jwt, bcrypt}


@pytest.mark.promise("memories:search_memories:ranked")
def test_a_better_match_stands_first(memories: Memories) -> None:
    memories.add("The zebra grazes beside many other animals of the wide and open savannah near the river")
    memories.add("Zebra stripes")
    memories.add("Lions sleep")
    assert memories.contents("search_memories", query="zebra stripes")[0] == "Zebra stripes"
    assert "Lions sleep" not in memories.contents("search_memories", query="zebra stripes")
    assert memories("search_memories", query="giraffe").text == "Found 0 memories."


@pytest.mark.parametrize("tool", ["search_memories", "list_memories", "get_context"])
@pytest.mark.promise(
    "memories:search_memories:both-scopes",
    "memories:search_memories:project",
    "memories:list_memories:both-scopes",
    "memories:list_memories:project",
    "memories:decided:apart",
    "memories:decided:alias",
)
def test_a_read_sees_what_is_global_and_what_belongs_to_its_project(memories: Memories, tool: str) -> None:
    memories.add("zebra everywhere")
    memories.add("zebra of the app", project_id=APP)
    memories.add("zebra of the shop", project_id="github.com/acme/shop")
    alias_project(memories.memory, "my-app", "the-app")
    query = {} if tool == "list_memories" else {"query": "zebra"}
    assert set(memories.contents(tool, **query)) == {"zebra everywhere"}
    for name in (APP, "my-app", "the-app", "My-App", "git@github.com:acme/my-app.git"):
        assert set(memories.contents(tool, project_id=name, **query)) == {"zebra everywhere", "zebra of the app"}
    assert set(memories.contents(tool, project_id="nobody-knows", **query)) == {"zebra everywhere"}


@pytest.mark.promise("memories:decided:here")
def test_reads_are_about_the_project_that_the_server_runs_in(settings: Settings, clock: Clock) -> None:
    opened = open_memory(replace(settings, project="my-app"), clock)
    try:
        memories = Memories(opened)
        memories.add("zebra everywhere", "rule", project_id="global")
        memories.add("zebra of the app", "rule")
        memories.add("zebra of the shop", "rule", project_id="shop")
        everywhere, ours = ["zebra everywhere"], ["zebra of the app"]
        rules = memories("get_rules").data
        assert [rule["content"] for rule in rules["project_rules"]] == ours
        assert [rule["content"] for rule in rules["global_rules"]] == everywhere
        assert set(memories.contents("list_memories")) == {*everywhere, *ours}
        assert set(memories.contents("search_memories", query="zebra")) == {*everywhere, *ours}
        assert "zebra of the shop" in memories("get_rules", project_id="shop").text
        assert "zebra of the app" not in memories("get_rules", project_id="shop").text
    finally:
        opened.close()


@pytest.mark.parametrize(("tool", "default", "most"), [("search_memories", 10, 50), ("get_context", 5, 50)])
@pytest.mark.promise(
    "memories:search_memories:limit-default", "memories:get_context:limit-default", "memories:decided:limit-clamped"
)
def test_a_search_has_its_default_and_its_borders(memories: Memories, tool: str, default: int, most: int) -> None:
    for n in range(60):
        memories.add(f"zebra number{n} colour{n} place{n} food{n}")
    assert len(memories.contents(tool, query="zebra")) == default
    for limit, expected in ((1, 1), (7, 7), (7.0, 7), (0, 1), (-5, 1), (50, most), (51, most), (10**9, most)):
        assert len(memories.contents(tool, query="zebra", limit=limit)) == expected


@pytest.mark.promise("memories:list_memories:limit-default", "memories:list_memories:recent")
def test_a_list_shows_the_most_recent_first_whatever_their_type(memories: Memories, clock: Clock) -> None:
    lines = []
    for n in range(110):
        lines.append(f"thing {n}")
        memories.add(lines[-1], ("rule", "decision", "fact", "note", "skill")[n % 5], project_id=("", APP)[n % 2])
        clock.forward(minutes=1)
    newest = lines[::-1]
    assert memories.contents("list_memories", project_id=APP) == newest[:20]
    assert memories.contents("list_memories", project_id=APP, limit=3) == newest[:3]
    assert memories.contents("list_memories", project_id=APP, limit=1000) == newest[:100]
    assert memories("list_memories", project_id=APP, limit=0).text.startswith("1 memory:\n\n")


def test_an_edit_does_not_make_a_memory_recent(memories: Memories, clock: Clock) -> None:
    old = memories.add("old")
    clock.forward(minutes=1)
    memories.add("young")
    memories("edit_memory", id=old, content="old but edited")
    assert memories.contents("list_memories") == ["young", "old but edited"]


@pytest.mark.promise("memories:search_memories:type-filter", "memories:list_memories:type-filter")
def test_a_type_keeps_one_type(memories: Memories) -> None:
    for type_ in ("rule", "decision", "fact", "note", "skill"):
        memories.add(f"zebra {type_}", type_)
    for type_ in ("rule", "decision", "fact", "note", "skill"):
        assert memories.contents("list_memories", type=type_) == [f"zebra {type_}"]
        assert memories.contents("search_memories", query="zebra", type=type_) == [f"zebra {type_}"]


@pytest.mark.promise("memories:list_memories:tags-partial", "memories:decided:any-of-tags")
def test_a_part_of_a_tag_is_enough(memories: Memories, clock: Clock) -> None:
    for content, tags in (("one", ["authentication"]), ("two", ["OAuth", "web"]), ("three", ["api"]), ("four", [])):
        memories.add(content, tags=tags)
        clock.forward(minutes=1)
    assert memories.contents("list_memories", tags="auth") == ["two", "one"]
    assert memories.contents("list_memories", tags="AUTHENT") == ["one"]
    assert memories.contents("list_memories", tags=" web ") == ["two"]
    assert memories.contents("list_memories", tags="api, web") == ["three", "two"]
    assert memories.contents("list_memories", tags="auth", type="note", limit=1) == ["two"]
    for nothing in ("", " ", ","):
        assert len(memories.contents("list_memories", tags=nothing)) == 4
    for hostile in ("%", "_", "' OR 1", "*"):
        assert memories.contents("list_memories", tags=hostile) == []


def test_a_memory_of_any_other_type_is_listed_too(memories: Memories) -> None:
    remember(memories.memory, NewItem("Beware of the moat", type="gotcha"))
    id_ = memories("list_memories").data["memories"][0]["id"]
    assert memories("list_memories").text == f"1 memory:\n\n🗒️ GOTCHA (G) {id_}: Beware of the moat"


@pytest.mark.promise(
    "memories:get_context:example-call",
    "memories:get_context:sections",
    "memories:get_context:rules-and-memories",
    "memories:get_context:project-rules",
)
def test_the_context_of_the_reference(memories: Memories, clock: Clock) -> None:
    strict = memories.add("Always use TypeScript strict mode", "rule")
    clock.forward(minutes=1)
    migrate = memories.add("Run migrations in a transaction", "rule", project_id=APP)
    drizzle = memories.add("Chose Drizzle ORM for type-safe database migration", "decision", project_id=APP)
    fact = memories.add("Production database is PostgreSQL 15 on Supabase", "fact", project_id=APP)
    memories.add("The cat sleeps", project_id=APP)
    reply = memories("get_context", query="database migration", project_id=APP)
    assert reply.text == (
        "## Project Rules\n"
        f"- Run migrations in a transaction (id: {migrate})\n\n"
        "## Global Rules\n"
        f"- Always use TypeScript strict mode (id: {strict})\n\n"
        "## Relevant Memories\n"
        f"💡 DECISION (P) {drizzle}: Chose Drizzle ORM for type-safe database migration\n"
        f"📋 FACT (P) {fact}: Production database is PostgreSQL 15 on Supabase"
    )
    assert [memory["id"] for memory in reply.data["memories"]] == [drizzle, fact]
    assert [rule["id"] for rule in reply.data["project_rules"]] == [migrate]
    assert [rule["id"] for rule in reply.data["global_rules"]] == [strict]


@pytest.mark.parametrize("query", [None, "", "   "])
@pytest.mark.promise("memories:get_context:query-optional")
def test_a_context_without_a_query_is_just_the_rules(memories: Memories, query: str | None) -> None:
    assert memories("get_context").text == "No rules yet."
    id_ = memories.add("Use tabs", "rule")
    memories.add("A note")
    reply = memories("get_context", **({} if query is None else {"query": query}))
    assert reply.text == f"## Global Rules\n- Use tabs (id: {id_})"
    assert reply.data["memories"] == []


@pytest.mark.promise("memories:get_context:rules-always")
def test_rules_are_told_whatever_the_limit_and_take_no_place_of_memories(memories: Memories) -> None:
    for n in range(70):
        memories.add(f"Feed zebra {n} zebra at noon{n} with hay{n}", "rule")
    memories.add("The zebra is called Zoe")
    memories.add("A zebra has stripes", "skill")
    reply = memories("get_context", query="zebra", limit=2)
    assert len(reply.data["global_rules"]) == 70
    assert {memory["content"] for memory in reply.data["memories"]} == {
        "The zebra is called Zoe",
        "A zebra has stripes",
    }
    assert reply.text.count("\n- ") == 70


def test_what_was_only_asked_before_is_nothing_to_know(memories: Memories) -> None:
    memories.add("The zebra is called Zoe")
    for number in range(8):
        asked = NewItem(f"Feed the zebra {number}", "observation", "prompt", session=f"claude-code:{number}")
        remember(memories.memory, asked)
    assert memories.contents("get_context", query="feed the zebra", limit=3) == ["The zebra is called Zoe"]


def test_a_context_says_that_nothing_is_relevant(memories: Memories) -> None:
    memories.add("Lions sleep")
    text = memories("get_context", query="zebra").text
    assert text == "No rules yet.\n\n## Relevant Memories\nNothing relevant was found."


@pytest.mark.promise("memories:decided:one-memory")
def test_what_any_other_way_wrote_is_found_and_the_reverse(memories: Memories) -> None:
    memory = memories.memory
    seen = NewItem(
        kind="observation",
        type="file-write",
        title="Modified zebra.ts",
        details={"narrative": "Added stripes to the zebra"},
        project=APP,
    )
    remember(memory, seen)
    summary = {"request": "Stripe the zebra", "completed": "Stripes are done", "next_steps": "Test them"}
    remember(memory, NewItem(kind="summary", session="s", project=APP, details=summary))
    remember(memory, NewItem("Which zebra?", kind="message", session="c", project=APP, details={"role": "user"}))
    text = memories("search_memories", query="zebra", project_id="my-app").text
    assert "🗒️ FILE-WRITE (P)" in text and "Modified zebra.ts: Added stripes to the zebra" in text
    assert "🗒️ SUMMARY (P)" in text and "request: Stripe the zebra completed: Stripes are done" in text
    assert "🗒️ MESSAGE (P)" in text and ": Which zebra?" in text
    memories.add("The zebra is called Zoe", "fact", project_id=APP)
    kiro = calling(memory)
    found = kiro("search", query="zebra Zoe", project="my-app")["observations"]
    assert found[0]["text"] == "The zebra is called Zoe"
    assert found[0]["type"] == "fact"
    memories.add("Feed it at noon", "rule", project_id=APP)
    lines = [item["content"] for item in kiro("get_context", project="my-app")["items"]]
    assert "Feed it at noon" in lines


def test_a_title_of_its_own_is_told_before_the_content(memories: Memories) -> None:
    remember(memories.memory, NewItem("It is stateless.", title="Use JWT", type="decision"))
    memories.add("# Heading\n\nUnder it")
    text = memories("list_memories").text
    assert "Use JWT: It is stateless." in text
    assert text.count("Heading") == 1


@pytest.mark.promise("memories:decided:notice-once")
def test_that_meaning_does_not_work_is_said_once(settings: Settings, clock: Clock) -> None:
    nowhere = replace(
        settings, embedder="endpoint", endpoint_url="http://127.0.0.1:9/v1", endpoint_model="m", endpoint_timeout=0.2
    )
    memory: LocalMemory = open_memory(nowhere, clock)
    try:
        memories = Memories(memory)
        memories.add("The zebra eats grass")
        first = memories("search_memories", query="zebra")
        assert first.data["notice"].startswith("Keyword search only: failed: ")
        assert first.text.endswith(f"\n\n({first.data['notice']})")
        assert "notice" not in memories("search_memories", query="grass").data
        assert "notice" not in memories("get_context", query="zebra").data
    finally:
        memory.close()
