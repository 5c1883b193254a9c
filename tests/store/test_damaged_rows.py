"""A damaged row is one damaged row: everything else works, and the row itself can be read, corrected and forgotten."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.damage import INVALID_UTF8, damage_row
from tests.rest.conftest import Site, running, settings_in

from commonplace.config import Settings
from commonplace.memory.check_and_repair import check_and_record, repair_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Kind

# Which column is damaged, by what, and under which name the item says so outside.
DAMAGE = {
    "title": ("title", INVALID_UTF8, "title"),
    "body": ("body", INVALID_UTF8, "content"),
    "details are no JSON": ("details", '\'{"narrative": "half\'', "details"),
    "details are a list": ("details", "'[1, 2]'", "details"),
    "details hold numbers": ("details", "'{\"narrative\": 7}'", "details"),
    "details are nested too deeply": ("details", f"'{'[' * 100_000}'", "details"),
    "metadata is no JSON": ("meta", '\'{"a": "' + "\\" + "'", "metadata"),
    "metadata is a number": ("meta", "'7'", "metadata"),
    "kind": ("kind", "'memosy'", "kind"),
    "kind is nonsense": ("kind", "x'00ff'", "kind"),
    "status": ("status", "'bctive'", "status"),
    "title is missing": ("title", "NULL", "title"),
    "body is bytes": ("body", "x'4170706c65ff'", "content"),
    "title is bytes": ("title", "x'ff00'", "title"),
    "uid": ("uid", "'no uuid'", "uid"),
    "uid is not UTF-8": ("uid", INVALID_UTF8, "uid"),
    "far future": ("created_ms", str(2**62), "created_at"),
    "far past": ("created_ms", str(-(2**62)), "created_at"),
    "end of numbers": ("updated_ms", str(2**63 - 1), "updated_at"),
    "time is text": ("created_ms", "'yesterday'", "created_at"),
    "revision is missing": ("rev", "NULL", "rev"),
    "hash is text": ("content_hash", "'abc'", "content_hash"),
    "tokens are bytes": ("tokens", "x'01'", "tokens"),
    "type": ("type", INVALID_UTF8, "type"),
}
PAGES = (
    "/",
    "/search?q=apples",
    "/timeline",
    "/rules",
    "/topics",
    "/conversations",
    "/search?project=p1",
)
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
TOOLS: dict[str, dict[str, object]] = {
    "search": {"query": "apples"},
    "timeline": {"anchor_id": 1},
    "get_context": {"project": "p1"},
    "get_rules": {},
    "list_memories": {},
    "search_memories": {"query": "apples"},
    "recall": {"query": "apples"},
    "explain": {"topic": "apples"},
    "memory_search": {"query": "apples"},
    "memory_stats": {},
}


def fill(settings: Settings) -> dict[str, int]:
    """A project with an item for each kind of damage, and some that are whole; the number of each."""
    memory = open_memory(settings)
    numbers = {}
    for n, how in enumerate(DAMAGE):
        note = NewItem(f"Apples of sort {n} are kept in src/cellar{n}.py", type="rule", project="p1", tags=["fruit"])
        numbers[how] = remember(memory, note).id
    numbers["whole"] = remember(memory, NewItem("Pears ripen beside apples", type="decision", project="p1")).id
    store_conversation(
        memory,
        NewConversation(
            "Fruit", [NewMessage("user", "Where are the apples?"), NewMessage("assistant", "In the cellar.")]
        ),
    )
    memory.close()
    return numbers


def plant(settings: Settings, numbers: Mapping[str, int]) -> None:
    for how, (column, value, _name) in DAMAGE.items():
        damage_row(settings.database, "items", numbers[how], column, value)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@dataclass(frozen=True)
class Damaged:
    """A running site whose store has an item of each damage, with their numbers."""

    site: Site
    api: httpx2.Client
    numbers: Mapping[str, int]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    settings = settings_in(tmp_path_factory.mktemp("damaged"))
    numbers = fill(settings)
    plant(settings, numbers)
    with running(settings) as site, site.client() as api:
        yield Damaged(site, api, numbers)


def ok(answer: httpx2.Response) -> Any:
    assert answer.status_code in (200, 201), f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json() if "json" in answer.headers["content-type"] else answer.text


def test_lists_search_context_archive_and_sync_go_on(damaged: Damaged) -> None:
    api, whole = damaged.api, damaged.numbers["whole"]
    listed = ok(api.get("/api/v1/items", params={"project": "p1", "limit": 100}))["items"]
    # An item of no known kind is in no list of kinds; it is read by its number, and repair gives it a kind.
    odd = {damaged.numbers[how] for how in DAMAGE if how.startswith("kind")}
    assert {one["id"] for one in listed} == {*damaged.numbers.values()} - odd
    assert "damaged" not in next(one for one in listed if one["id"] == whole)
    found = ok(api.get("/api/v1/search", params={"q": "apples", "project": "p1", "limit": 50}))["results"]
    assert whole in [hit["id"] for hit in found]
    assert "Pears" in json.dumps(ok(api.get("/api/v1/context", params={"project": "p1"})))
    ok(api.get("/api/v1/rules", params={"project": "p1"}))
    ok(api.get(f"/api/v1/items/{whole}/timeline"))
    ok(api.get("/api/v1/conversations"))
    ok(api.get("/api/v1/stats"))
    ok(api.get("/api/v1/status"))
    assert len(ok(api.get("/api/v1/sync/records", params={"limit": 100}))["records"]) >= len(damaged.numbers)
    ok(api.get("/api/v1/sync/changes"))
    with zipfile.ZipFile(io.BytesIO(api.get("/api/v1/archive").content)) as archive:
        lines = archive.read("items.jsonl").splitlines()
    assert len(lines) >= len(damaged.numbers) and all(json.loads(line) for line in lines)


@pytest.mark.parametrize("page", [*PAGES, "/projects/p1", "/api/v1/overview?project=p1", "/api/v1/overviews"])
def test_pages_go_on(damaged: Damaged, page: str) -> None:
    ok(damaged.api.get(page))


@pytest.mark.parametrize("kind", ["memory", "summary"])
def test_damaged_decisions_and_summaries_leave_a_project_its_page(settings: Settings, kind: Kind) -> None:
    memory = open_memory(settings)
    left = {"request": "Pick apples", "completed": "Modified cellar.py", "next_steps": "Pick pears"}
    numbers = {}
    for n, how in enumerate(DAMAGE):
        decision = NewItem(f"Keep sort {n} because it is sweet.", type="decision", project="p1")
        summary = NewItem(kind="summary", session=f"s{n}", project="p1", details={**left, "notes": str(n)})
        numbers[how] = remember(memory, decision if kind == "memory" else summary).id
    memory.close()
    plant(settings, numbers)
    with running(settings) as site, site.client() as api:
        for path in ("/", "/projects/p1", "/api/v1/overview?project=p1", "/api/v1/overviews"):
            ok(api.get(path))


@pytest.mark.parametrize("tool", [*TOOLS])
def test_tools_go_on(damaged: Damaged, tool: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": TOOLS[tool]}}
    reply = ok(damaged.api.post("/mcp", json=call, headers=MCP))
    assert not reply["result"].get("isError"), reply


@pytest.mark.parametrize("how", [*DAMAGE])
def test_a_damaged_item_is_read_changed_forgotten_and_restored(damaged: Damaged, how: str) -> None:
    api, number, name = damaged.api, damaged.numbers[how], DAMAGE[how][2]
    item = ok(api.get(f"/api/v1/items/{number}"))
    assert name in item["damaged"]
    assert "Part of this item is damaged" in ok(api.get(f"/items/{item['short_id']}"))
    call = {"name": "get_observations", "arguments": {"ids": [number]}}
    reply = ok(api.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers=MCP))
    assert reply["result"]["structuredContent"]["observations"][0]["damaged"]
    # Forgetting writes what could be read, and the history keeps what was found.
    ok(api.delete(f"/api/v1/items/{number}"))
    assert api.get(f"/api/v1/items/{number}").status_code == 404
    ok(api.post(f"/api/v1/items/{number}/restore"))
    edited = ok(api.patch(f"/api/v1/items/{number}", json={"content": f"Quinces of sort {number}", "title": "Quince"}))
    assert "damaged" not in edited, edited["damaged"]
    changes = ok(api.get(f"/api/v1/items/{number}/history"))["changes"]
    assert name in {"body": "content", "meta": "metadata", "created_ms": "created_at", "updated_ms": "updated_at"}.get(
        (stored := next(iter(changes[0]["before"]["damaged"]))), stored
    )
    found = ok(api.get("/api/v1/search", params={"q": f"quinces {number}", "limit": 50}))["results"]
    assert number in [hit["id"] for hit in found]


SESSIONS = {
    "label": ("label", INVALID_UTF8),
    "metadata is no JSON": ("meta", "'{\"a'"),
    "metadata is a list": ("meta", "'[]'"),
    "status": ("status", "'bctive'"),
    "key": ("key", INVALID_UTF8),
    "uid is missing": ("uid", "NULL"),
    "start is bytes": ("started_ms", "x'00'"),
    "start in the far future": ("started_ms", str(2**62)),
    "end in the far past": ("ended_ms", str(-(2**62))),
    "importance is text": ("importance", "'abc'"),
    "sketch is a number": ("sketch", "7"),
    "folder is missing": ("folder", "NULL"),
    "revision is bytes": ("rev", "x'01'"),
}


def test_damaged_conversations_and_projects_disable_nothing(settings: Settings) -> None:
    memory = open_memory(settings)
    numbers = {}
    for n, how in enumerate(SESSIONS):
        messages = [NewMessage("user", f"Where are the apples {n}?"), NewMessage("assistant", f"In cellar {n}.")]
        numbers[how] = store_conversation(memory, NewConversation(f"Talk {n}", messages)).session.id
    remember(memory, NewItem("Pears ripen beside apples", project="Acme/orchard"))
    memory.close()
    for how, (column, value) in SESSIONS.items():
        damage_row(settings.database, "sessions", numbers[how], column, value)
    damage_row(settings.database, "projects", 1, "name", INVALID_UTF8)
    with running(settings) as site, site.client() as api:
        for page in (*PAGES, "/api/v1/stats", "/api/v1/projects", "/api/v1/sync/records", "/api/v1/archive"):
            assert api.get(page).status_code == 200, page
        assert ok(api.get("/api/v1/context", params={"project": "acme/orchard"}))
        listed = ok(api.get("/api/v1/conversations", params={"page_size": 50}))["conversations"]
        assert len(listed) == len(SESSIONS)
        for one in listed:
            path = f"/api/v1/conversations/{one['id']}"
            ok(api.get(path))
            assert ok(api.patch(path, json={"label": "Apples"}))["label"] == "Apples"
        for one in ok(api.get("/api/v1/conversations", params={"page_size": 50}))["conversations"]:
            assert api.delete(f"/api/v1/conversations/{one['id']}").status_code in (200, 204)
        assert ok(api.get("/api/v1/conversations"))["conversations"] == []


def test_check_and_repair_name_each_damaged_item(settings: Settings) -> None:
    numbers = fill(settings)
    plant(settings, numbers)
    found = check_and_record(settings)
    damaged = next(fault for fault in found if "damaged" in fault.says and fault.part == "rows")
    assert damaged.count == len(DAMAGE) and not damaged.derived
    done = repair_store(settings)
    assert not any(fault.derived for fault in done.left), done.left
    memory = open_memory(settings)
    try:
        assert len(memory.store.get(numbers.values())) == len(numbers)
    finally:
        memory.close()
    assert repair_store(settings).left == done.left


def test_what_was_found_is_told(settings: Settings) -> None:
    fill(settings)
    damage_row(settings.database, "items", 1, "details", '\'{"narrative": "half\'')
    memory = open_memory(settings)
    try:
        item = memory.store.get([1])[1]
        assert item.damaged == {"details": '{"narrative": "half'} and item.details == {}
        json.dumps(dict(item.damaged))
    finally:
        memory.close()
