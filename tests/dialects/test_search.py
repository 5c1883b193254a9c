"""`search`: parameters, limits and fields as the Kiro reference has them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import THEN, Clock
from tests.dialects.conftest import TOOLS, Call

from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import NoResults
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Kind

OBSERVATION_FIELDS = {
    "id": int, "type": str, "title": str, "subtitle": str, "text": str, "narrative": str, "facts": str,
    "concepts": str, "files_read": str, "files_modified": str, "project": str, "created_at": str,
    "created_at_epoch": int, "is_stale": int, "discovery_tokens": int,
}  # fmt: skip
SUMMARY_FIELDS = {
    "id": int, "session_id": str, "project": str, "request": str, "investigated": str, "learned": str,
    "completed": str, "next_steps": str, "notes": str, "created_at": str, "created_at_epoch": int,
}  # fmt: skip


# A hit has the fields of the reference, and how likely it answers.
SCORE = {"score": float}


def has_fields(record: dict[str, object], fields: dict[str, type]) -> bool:
    return record.keys() == fields.keys() and all(type(record[name]) is type_ for name, type_ in fields.items())


@pytest.mark.promise("kiro:search:example-call", "kiro:search:example-response", "kiro:search:text-only")
def test_the_example_call_finds_the_edit_and_the_summary(example: LocalMemory, call: Call) -> None:
    reply = call("search", query="JWT authentication middleware", project="my-api", limit=5)
    edit = next(found for found in reply["observations"] if found["id"] == 142)
    expected = {
        "type": "file-write",
        "title": "Modified auth.ts",
        "subtitle": "edit src/auth.ts",
        "concepts": "security, api, middleware",
        "files_modified": "src/auth.ts",
        "project": "my-api",
        "created_at": "2025-03-15T14:30:00.000Z",
        "created_at_epoch": THEN,
        "is_stale": 0,
    }
    assert expected.items() <= edit.items()
    (summary,) = reply["summaries"]
    assert summary["session_id"] == "session-abc"
    assert summary["request"] == "my-api — authentication implementation — 2025-03-15"
    assert summary["completed"] == "Modified auth.ts, Modified routes.ts"
    assert summary["created_at"] == "2025-03-15T18:00:00.000Z"


@pytest.mark.promise("kiro:search:second-example-call")
def test_the_second_example_call_finds_the_edit(example: LocalMemory, call: Call) -> None:
    reply = call("search", query="authentication middleware", project="my-api", limit=5)
    assert reply["observations"][0]["id"] == 142
    assert reply["summaries"][0]["request"].startswith("my-api — authentication implementation")


@pytest.mark.promise(
    "kiro:search:observations.id", "kiro:search:observations.type", "kiro:search:observations.title",
    "kiro:search:observations.subtitle", "kiro:search:observations.text", "kiro:search:observations.narrative",
    "kiro:search:observations.facts", "kiro:search:observations.concepts", "kiro:search:observations.files_read",
    "kiro:search:observations.files_modified", "kiro:search:observations.project",
    "kiro:search:observations.created_at", "kiro:search:observations.created_at_epoch",
    "kiro:search:observations.is_stale", "kiro:search:observations.discovery_tokens",
)  # fmt: skip
def test_an_observation_has_its_fifteen_fields(memory: LocalMemory, call: Call) -> None:
    names = ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified")
    details = {name: f"{name} zebra" for name in names}
    remember(memory, NewItem(kind="observation", title="Zebra", content="zebra text", details=details, project="zoo"))
    (found,) = call("search", query="zebra")["observations"]
    assert has_fields(found, OBSERVATION_FIELDS | SCORE)
    assert {name: found[name] for name in names} == details


def test_a_field_that_an_observation_does_not_have_is_null(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(kind="observation", title="Zebra", project="zoo"))
    (found,) = call("search", query="zebra")["observations"]
    assert found.keys() == (OBSERVATION_FIELDS | SCORE).keys()
    nullable = ("subtitle", "text", "narrative", "facts", "concepts", "files_read", "files_modified")
    assert {name: found[name] for name in nullable} == dict.fromkeys(nullable)


@pytest.mark.promise(
    "kiro:search:summaries.id", "kiro:search:summaries.session_id", "kiro:search:summaries.project",
    "kiro:search:summaries.request", "kiro:search:summaries.investigated", "kiro:search:summaries.learned",
    "kiro:search:summaries.completed", "kiro:search:summaries.next_steps", "kiro:search:summaries.notes",
    "kiro:search:summaries.created_at", "kiro:search:summaries.created_at_epoch",
)  # fmt: skip
def test_a_summary_has_its_eleven_fields(memory: LocalMemory, call: Call) -> None:
    names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    details = {name: f"{name} zebra" for name in names}
    remember(memory, NewItem(kind="summary", session="s1", details=details, project="zoo"))
    reply = call("search", query="zebra")
    assert reply["observations"] == []
    (found,) = reply["summaries"]
    assert has_fields(found, SUMMARY_FIELDS | SCORE)
    assert {name: found[name] for name in names} == details


def test_what_a_summary_does_not_tell_is_null(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(kind="summary", session="s1", details={"request": "Feed the zebra"}, project="zoo"))
    (found,) = call("search", query="zebra")["summaries"]
    untold = ("investigated", "learned", "completed", "next_steps", "notes")
    assert {name: found[name] for name in untold} == dict.fromkeys(untold)


@pytest.mark.promise("kiro:search:created-at")
def test_times_are_written_to_the_millisecond_in_utc(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(kind="observation", title="Zebra", created_ms=THEN + 7))
    (found,) = call("search", query="zebra")["observations"]
    assert (found["created_at"], found["created_at_epoch"]) == ("2025-03-15T14:30:00.007Z", THEN + 7)


@pytest.mark.promise("kiro:search:discovery-tokens")
def test_discovery_tokens_are_a_quarter_of_the_characters(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(kind="observation", title="Zebra", content="zebra " * 10 + "z"))
    (found,) = call("search", query="zebra")["observations"]
    assert found["discovery_tokens"] == 16


def many(kind: Kind, count: int) -> list[NewItem]:
    details = {"request": "Count the zebras"} if kind == "summary" else {}
    return [
        NewItem(
            kind=kind,
            session=f"s{n}",
            title=f"Zebra number{n} of herd{n * 7}",
            details=details,
            created_ms=THEN + n,
        )
        for n in range(count)
    ]


@pytest.mark.promise("kiro:search:limit-default", "kiro:search:limit-per-category")
def test_ten_of_each_category_by_default(memory: LocalMemory, call: Call) -> None:
    remember_all(memory, [*many("observation", 12), *many("summary", 12)])
    reply = call("search", query="zebra*")
    assert (len(reply["observations"]), len(reply["summaries"])) == (10, 10)


@pytest.mark.parametrize(
    ("limit", "answered"),
    [(0, 1), (-5, 1), (1, 1), (5.0, 5), (50, 50), (51, 50), (10**9, 50), (10**400, 50), (1e300, 50)],
)
@pytest.mark.promise("kiro:search:limit-max", "kiro:decided:limit-clamped")
def test_a_limit_out_of_range_is_moved_to_its_border(
    memory: LocalMemory, call: Call, limit: float, answered: int
) -> None:
    remember_all(memory, many("observation", 52))
    assert len(call("search", query="zebra*", limit=limit)["observations"]) == answered


@pytest.mark.promise("kiro:search:project-filter", "kiro:search:project-omitted")
def test_a_project_limits_the_search_and_none_searches_everywhere(memory: LocalMemory, call: Call) -> None:
    for project in ("zoo", "circus", None):
        remember(memory, NewItem(content=f"The zebra of {project}", project=project))
        request = {"request": f"zebra {project}"}
        remember(memory, NewItem(kind="summary", session=f"s-{project}", details=request, project=project))
    everywhere = call("search", query="zebra")
    assert {found["project"] for found in everywhere["observations"]} == {"zoo", "circus", "global"}
    assert {found["project"] for found in everywhere["summaries"]} == {"zoo", "circus", "global"}
    for project in ("zoo", "circus", "global"):
        reply = call("search", query="zebra", project=project)
        assert [found["project"] for found in reply["observations"]] == [project]
        assert [found["project"] for found in reply["summaries"]] == [project]
    nowhere = call("search", query="zebra", project="aquarium")
    assert (nowhere["observations"], nowhere["summaries"]) == ([], [])


@pytest.mark.promise("kiro:decided:aliases", "kiro:decided:one-memory")
def test_what_add_memory_wrote_under_the_long_name_is_found_under_the_short(memory: LocalMemory, call: Call) -> None:
    call("add_memory", content="Deploy on Tuesdays", type="rule", project_id="github.com/acme/my-api", tags=["release"])
    for project in ("my-api", "github.com/acme/my-api", "git@github.com:acme/my-api.git"):
        (found,) = call("search", query="deploy", project=project)["observations"]
        assert (found["type"], found["text"], found["project"]) == ("rule", "Deploy on Tuesdays", "my-api")
        assert found["concepts"] == "release"
    (short,) = call("get_context", project="my-api")["items"]
    assert short["signals"]["projectMatch"] == 1.0


def test_what_was_forgotten_is_not_found(memory: LocalMemory, call: Call) -> None:
    zebra = remember(memory, NewItem(content="The zebra left"))
    forget_items(memory, [zebra.id])
    assert call("search", query="zebra")["observations"] == []


@pytest.mark.promise("kiro:search:is-stale")
def test_an_observation_is_stale_once_its_file_has_changed(
    memory: LocalMemory, call: Call, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "auth.ts"
    file.write_text("old")
    os.utime(file, ns=(0, (THEN - 1000) * 1_000_000))
    details = {"files_modified": str(file)}
    remember(memory, NewItem(kind="observation", title="Modified auth.ts", details=details, created_ms=THEN))

    def is_stale() -> int:
        stale: int = call("search", query="auth.ts")["observations"][0]["is_stale"]
        return stale

    assert is_stale() == 0
    os.utime(file, ns=(0, (THEN + 1000) * 1_000_000))
    assert is_stale() == 1
    os.utime(file, ns=(0, (THEN - 1000) * 1_000_000))
    assert is_stale() == 0


@pytest.mark.promise("kiro:decided:long-texts-cut")
def test_a_long_text_is_cut_in_a_result_and_whole_by_its_id(memory: LocalMemory, call: Call) -> None:
    text = "zebra\n" + "line of stripes\n" * 1000
    stored = remember(memory, NewItem(kind="observation", title="Zebra", content=text))
    (found,) = call("search", query="zebra")["observations"]
    assert len(found["text"]) <= 4000
    assert found["text"].endswith("…")
    assert text.startswith(found["text"].rstrip("…"))
    (whole,) = call("get_observations", ids=[stored.id])["observations"]
    assert whole["text"] == text


def test_the_tool_says_what_it_takes() -> None:
    schema = TOOLS["search"].input_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert {name: entry["type"] for name, entry in properties.items()} == {
        "query": "string",
        "project": "string",
        "limit": "number",
    }
    assert properties["limit"]["default"] == 10
    assert schema["required"] == ["query"]


def test_an_unknown_project_is_said_and_a_near_one_is_named(example: LocalMemory, call: Call) -> None:
    reply = call("search", query="authentication", project="my-apy")
    assert reply["observations"] == [] and reply["summaries"] == []
    assert reply["notice"] == "There is no project 'my-apy'. Did you mean 'my-api'?"
    assert "notice" not in call("search", query="authentication", project="my-api")


def test_every_everyday_tool_says_that_a_project_is_unknown(example: LocalMemory) -> None:
    """A slip in the name of a project, which `search` tells; the tools are those of `core`."""
    core = {tool.name: tool for tool in tools_of("core")}
    said = "There is no project 'my-apy'. Did you mean 'my-api'?"
    context = core["get_context"]
    for arguments in (
        {"project": "my-apy"},
        {"project": "my-apy", "query": "authentication"},
        {"project": "my-apy", "query": "authentication", "token_budget": 400},
        {"project_id": "my-apy"},
        {"project_id": "my-apy", "query": "authentication"},
    ):
        assert context.run(example, arguments).data["notice"] == said, arguments
        known = {name: "my-api" if value == "my-apy" else value for name, value in arguments.items()}
        assert "notice" not in context.run(example, known).data, known
    asked = {"query": "authentication", "project": "my-apy"}
    assert core["search"].run(example, asked).data["notice"] == said
    with pytest.raises(NoResults) as nothing:
        core["recall"].run(example, asked)
    assert said in nothing.value.hint


def test_what_starts_a_project_by_its_name_says_so(example: LocalMemory) -> None:
    add = next(tool for tool in tools_of("core") if tool.name == "add_memory")
    arguments = {"content": "Prices are kept in cents.", "type": "decision", "project_id": "my-apy"}
    reply = add.run(example, arguments)
    assert reply.data["notice"] == "@my-apy is a new project. Did you mean 'my-api'?"
    assert reply.data["notice"] in (reply.text or "")
    more = add.run(example, {**arguments, "content": "Dates are in UTC."})
    assert "notice" not in more.data, "by now it is known"
    # A window's own project may well be new.
    window = replace(example, settings=replace(example.settings, project="github.com/acme/new-shop"))
    for project in (None, "new-shop", "global"):
        told = add.run(window, {**arguments, "content": f"For {project}.", "project_id": project})
        assert "notice" not in told.data, project
