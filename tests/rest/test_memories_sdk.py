"""What memories.sh's own SDK (`@memories.sh/core`) sends and reads, over both of its transports.

Each request has the fields that the SDK sends even if its caller named none; each assertion is a field that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from commonplace.memory import api_keys

from .conftest import Site, conforms, running, settings_in

SDK = "/api/sdk/v1"
# What `context.get` sends beside what its caller says.
ALWAYS: dict[str, Any] = {"mode": "all", "strategy": "lexical", "graphDepth": 1, "graphLimit": 8}
ALWAYS_MCP: dict[str, Any] = {"mode": "all", "retrieval_strategy": "baseline", "graph_depth": 1, "graph_limit": 8}
PROJECT = "github.com/acme/my-api"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(settings_in(tmp_path)) as site:
        yield site


@pytest.fixture
def api(site: Site) -> Iterator[httpx2.Client]:
    with site.client("write") as client:
        yield client


def sdk(api: httpx2.Client, path: str, status: int = 200, **body: Any) -> Any:
    """What the SDK makes of a reply: the data of the envelope."""
    answer = api.post(f"{SDK}/{path}", json=body)
    assert answer.status_code == status, answer.text
    conforms(answer, "POST", f"{SDK}/{path}")
    envelope = answer.json()
    assert envelope["ok"] is True and envelope["error"] is None and isinstance(envelope["meta"], dict)
    return envelope["data"]


def tool(api: httpx2.Client, name: str, **arguments: Any) -> Any:
    """What the SDK makes of a tool's result over its other transport."""
    call = {"jsonrpc": "2.0", "method": "tools/call", "id": "5f0c", "params": {"name": name, "arguments": arguments}}
    answer = api.post("/api/mcp", json=call, headers={"Accept": "*/*"})
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert result["content"][0]["type"] == "text"
    return result["structuredContent"]


def filled(api: httpx2.Client) -> None:
    sdk(api, "memories/add", 201, content="Always use TypeScript strict mode", type="rule")
    scope = {"projectId": PROJECT}
    sdk(api, "memories/add", 201, content="Run migrations in a transaction", type="rule", scope=scope)
    sdk(api, "memories/add", 201, content="Chose Drizzle for migrations", type="decision", tags=["db"], scope=scope)


def test_a_context_has_rules_and_memories(api: httpx2.Client) -> None:
    filled(api)
    data = sdk(api, "context/get", query="migrations", scope={"projectId": PROJECT}, **ALWAYS)
    assert {rule["content"] for rule in data["rules"]} == {
        "Always use TypeScript strict mode",
        "Run migrations in a transaction",
    }
    (memory,) = data["memories"]
    assert (memory["type"], memory["layer"], memory["scope"]) == ("decision", "long_term", "project")
    assert (memory["projectId"], memory["tags"], memory["expiresAt"]) == (PROJECT, ["db"], None)
    assert isinstance(memory["id"], str) and data["longTermMemories"] == [memory] and data["workingMemories"] == []
    assert data["skillFiles"] == []


def test_the_same_context_over_its_other_transport(api: httpx2.Client) -> None:
    filled(api)
    data = tool(api, "get_context", query="migrations", project_id=PROJECT, limit=5, **ALWAYS_MCP)
    assert {rule["content"] for rule in data["rules"]} == {
        "Always use TypeScript strict mode",
        "Run migrations in a transaction",
    }
    (memory,) = data["memories"]
    assert (memory["layer"], memory["projectId"], memory["scope"]) == ("long_term", PROJECT, "project")
    assert "graph_depth" in data["notice"]
    ours = {"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {"name": "get_context", "arguments": {}}}
    accept = {"Accept": "application/json, text/event-stream"}
    assert "rules" not in api.post("/mcp", json=ours, headers=accept).json()["result"]["structuredContent"]


def test_what_has_no_effect_is_told(api: httpx2.Client) -> None:
    answer = api.post(f"{SDK}/context/get", json=ALWAYS)
    assert "strategy, graphDepth and graphLimit" in answer.json()["meta"]["notice"]
    assert "notice" not in api.post(f"{SDK}/context/get", json={}).json()["meta"]


@pytest.mark.parametrize(
    ("options", "rules", "memories"),
    [
        ({"mode": "rules_only"}, 1, 0),
        ({"mode": "working"}, 1, 1),
        ({"mode": "long_term"}, 1, 1),
        ({"includeRules": False}, 0, 2),
        ({"sessionId": "s1", "budgetTokens": 4000, "turnCount": 3, "turnBudget": 24, "taskCompleted": False}, 1, 2),
        ({"lastActivityAt": "2026-01-25T16:30:00.000Z", "inactivityThresholdMinutes": 45}, 1, 2),
    ],
)
def test_a_context_is_narrowed_as_the_caller_says(
    api: httpx2.Client, options: dict[str, Any], rules: int, memories: int
) -> None:
    sdk(api, "memories/add", 201, content="Never commit to main", layer="rule")
    sdk(api, "memories/add", 201, content="The cache is being moved to Redis", layer="working")
    sdk(api, "memories/add", 201, content="The cache has 2 GB", type="fact")
    data = sdk(api, "context/get", **{**ALWAYS, "query": "cache", **options})
    assert (len(data["rules"]), len(data["memories"])) == (rules, memories)


def test_memories_are_searched_listed_edited_and_forgotten(api: httpx2.Client) -> None:
    filled(api)
    added = sdk(api, "memories/add", 201, content="API rate limit is 100", type="fact", embeddingModel="m")
    assert added["message"] and added["memory"]["content"] == "API rate limit is 100"
    assert sdk(api, "memories/add", content="API rate limit is 100", type="fact")["duplicate"]
    found = sdk(api, "memories/search", query="rate limit", type="fact", strategy="hybrid", limit=5)
    assert [memory["id"] for memory in found["memories"]] == [added["id"]]
    assert sdk(api, "memories/search", query="rate limit", layer="rule")["memories"] == []
    edited = sdk(api, "memories/edit", id=added["id"], content="API rate limit is 200", layer="working")
    assert edited["memory"]["layer"] == "working" and edited["message"]
    assert [one["content"] for one in sdk(api, "memories/list", layer="working")["memories"]] == [
        "API rate limit is 200"
    ]
    listed = sdk(api, "memories/list", tags="db", scope={"projectId": PROJECT})["memories"]
    assert [memory["content"] for memory in listed] == ["Chose Drizzle for migrations"]
    assert sdk(api, "memories/forget", id=added["id"])["message"]
    assert sdk(api, "memories/search", query="rate limit")["memories"] == []


def test_the_same_over_its_other_transport(api: httpx2.Client) -> None:
    tool(api, "add_memory", content="The cache is Redis", type="fact", layer="working", embedding_model="m")
    (memory,) = tool(api, "search_memories", query="cache", layer="working", retrieval_strategy="baseline")["memories"]
    assert (memory["layer"], memory["scope"], memory["projectId"]) == ("working", "global", None)
    assert tool(api, "list_memories", layer="rule")["memories"] == []
    tool(api, "edit_memory", id=memory["id"], layer="long_term")
    assert tool(api, "list_memories", layer="long_term")["memories"][0]["id"] == memory["id"]
    tool(api, "forget_memory", id=memory["id"])
    assert tool(api, "list_memories")["memories"] == []


def test_many_are_forgotten_at_once_after_a_look(api: httpx2.Client) -> None:
    filled(api)
    wanted = {"types": ["rule"], "tags": None, "projectId": PROJECT}
    looked = sdk(api, "memories/bulk-forget", filters=wanted, dryRun=True)
    assert (looked["count"], looked["memories"][0]["contentPreview"]) == (1, "Run migrations in a transaction")
    assert looked["memories"][0]["id"] == looked["ids"][0] and "would be" in looked["message"]
    assert len(sdk(api, "memories/list", scope={"projectId": PROJECT})["memories"]) == 3
    assert sdk(api, "memories/bulk-forget", filters=wanted, dryRun=False)["count"] == 1
    assert sdk(api, "memories/bulk-forget", filters={"tags": ["DB"], "pattern": "drizzle*migr"})["count"] == 1
    assert sdk(api, "memories/bulk-forget", filters={"olderThanDays": 1})["count"] == 0
    assert sdk(api, "memories/bulk-forget", filters={"all": True})["count"] == 1
    assert sdk(api, "memories/vacuum")["purged"] == 0
    nothing: tuple[dict[str, Any], ...] = ({}, {"all": False}, {"types": []}, {"pattern": ""})
    for filters in nothing:
        assert api.post(f"{SDK}/memories/bulk-forget", json={"filters": filters}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "code"),
    [
        ("memories/add", {"content": ""}, 400, "validation_error", "VALIDATION_ERROR"),
        ("memories/add", {"content": "x", "mood": "glad"}, 400, "validation_error", "VALIDATION_ERROR"),
        ("memories/edit", {"id": "nobody", "content": "x"}, 404, "not_found_error", "NOT_FOUND"),
        ("memories/forget", {"id": "0123456789ab"}, 404, "not_found_error", "NOT_FOUND"),
        ("skills/files/list", {}, 404, "not_found_error", "NOT_FOUND"),
        ("memories/search", {"query": "x", "scope": {"userId": "u1"}}, 400, "validation_error", "VALIDATION_ERROR"),
        ("context/get", {"scope": {"tenantId": "t1"}}, 400, "validation_error", "VALIDATION_ERROR"),
    ],
)
def test_an_error_comes_in_its_envelope(
    api: httpx2.Client, path: str, body: dict[str, Any], status: int, kind: str, code: str
) -> None:
    answer = api.post(f"{SDK}/{path}", json=body)
    assert answer.status_code == status, answer.text
    envelope = answer.json()
    error = envelope["error"]
    assert (envelope["ok"], envelope["data"]) == (False, None)
    assert (error["type"], error["code"], error["status"], error["retryable"]) == (kind, code, status, False)
    assert error["message"].endswith(".") and error["details"]


def test_users_and_tenants_are_not_mixed_silently(api: httpx2.Client) -> None:
    answer = api.post(f"{SDK}/memories/list", json={"scope": {"userId": "ann", "tenantId": "acme"}})
    assert "do not keep memories apart" in answer.json()["error"]["message"]
    assert sdk(api, "memories/list", scope={"userId": None})["memories"] == []
    error = tool(api, "search_memories", query="x", user_id="ann")
    assert error["ok"] is False and "user_id" in error["error"]["message"]


def test_an_error_of_a_tool_is_not_taken_for_an_empty_reply(api: httpx2.Client) -> None:
    error = tool(api, "edit_memory", id="nobody", content="x")
    assert (error["ok"], error["data"]) == (False, None)
    assert (error["error"]["type"], error["error"]["code"]) == ("tool_error", "NOT_FOUND")
    assert error["error"]["message"] and error["error"]["details"]


def test_keys_hold_as_everywhere(site: Site) -> None:
    with site.client("") as nobody, site.client("read") as reader:
        for path in (f"{SDK}/memories/list", "/api/mcp", f"{SDK}/nothing"):
            assert nobody.post(path, json={}).status_code == 401
        assert nobody.post(f"{SDK}/memories/list", json={}).json()["error"]["type"] == "auth_error"
        assert sdk(reader, "memories/list")["memories"] == []
        assert reader.post(f"{SDK}/memories/add", json={"content": "x"}).status_code == 403
        assert tool(reader, "add_memory", content="x")["error"]["code"] == "FORBIDDEN"
        assert reader.get("/api/mcp").status_code == 405


def test_a_key_for_one_project_sees_and_forgets_only_there(site: Site, api: httpx2.Client) -> None:
    filled(api)
    sdk(api, "memories/add", 201, content="Chose Mongo for logs", type="decision", scope={"projectId": "other"})
    _key, secret = api_keys.create_key(site.memory, "narrow", "write", project="other")
    bearer = {"Authorization": f"Bearer {secret}"}
    with httpx2.Client(base_url=site.url, headers=bearer, timeout=60) as narrow:
        assert [one["content"] for one in sdk(narrow, "memories/list")["memories"]] == ["Chose Mongo for logs"]
        assert sdk(narrow, "memories/bulk-forget", filters={"all": True})["count"] == 1
    assert len(sdk(api, "memories/list", scope={"projectId": PROJECT})["memories"]) == 3
