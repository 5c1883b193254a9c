"""What Sekha's own clients send and read: its Python and JavaScript SDKs, its bridge to agents, its proxy, its editors.

Each request has the shape that the client sends; each assertion is a field that it reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .conftest import Site, conforms, refused, running, settings_in

ALL = "/api/v1/conversations"
SAID = [
    {"role": "user", "content": "How can we optimize our database queries?"},
    {"role": "assistant", "content": "Add an index; that was decided."},
]
OLD = "2025-01-01T00:00:00Z"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(settings_in(tmp_path)) as site:
        yield site


@pytest.fixture
def api(site: Site) -> Iterator[httpx2.Client]:
    with site.client("write") as client:
        yield client


def body(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def test_the_python_sdk_stores_with_nulls_for_what_is_unset(api: httpx2.Client) -> None:
    messages = [{**entry, "timestamp": None, "metadata": None} for entry in SAID]
    unset = {"importance_score": None, "metadata": None}
    reply = body(api.post(ALL, json={"messages": messages, "label": "Databases", "folder": "/", **unset}), 201)
    assert reply["id"] == reply["conversation_id"]
    assert (reply["status"], reply["message_count"]) == ("active", 2)
    assert datetime.fromisoformat(reply["created_at"])
    nulls = {"label": None, "folder": None, **unset}
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
    ]
    mixed = [{"role": "tool", "content": "exit 0"}, {"role": "user", "content": parts}]
    reply = body(api.post(ALL, json={"messages": mixed, **nulls}), 201)
    read = body(api.get(f"{ALL}/{reply['id']}"))
    assert [message["role"] for message in read["messages"]] == ["tool", "user"]
    assert read["messages"][1]["content"] == "what is this?\n[image: https://a.b/c.png]"


def test_the_python_sdk_lists_and_reads(api: httpx2.Client) -> None:
    id_ = body(api.post(ALL, json={"messages": SAID, "label": "Databases", "folder": "/work"}), 201)["id"]
    params: dict[str, str | int | bool] = {
        "page": 1,
        "page_size": 50,
        "label": "Databases",
        "folder": "/work",
        "pinned": False,
        "archived": False,
    }
    (row,) = body(api.get(ALL, params=params))["results"]
    for name, type_ in {
        "id": str, "conversation_id": str, "label": str, "folder": str, "content": str, "score": float,
        "created_at": str, "updated_at": str, "timestamp": str, "metadata": dict, "status": str, "message_count": int,
        "word_count": int, "importance_score": int,
    }.items():  # fmt: skip
        assert isinstance(row[name], type_), name
    assert row["message_id"] is None and row["last_accessed"] is None
    reply = body(api.get(f"{ALL}/{id_}"))
    assert reply["archived"] is False and reply["updated_at"] and reply["messages"][0]["role"] == "user"
    assert body(api.get(f"{ALL}/count", params={"label": "Databases"}))["count"] == 1


def test_the_python_sdk_organises_by_five_addresses(api: httpx2.Client) -> None:
    one = f"{ALL}/{body(api.post(ALL, json={'messages': SAID, 'label': 'Databases'}), 201)['id']}"
    body(api.put(f"{one}/label", json={"label": "Indexes", "folder": "/work"}))
    body(api.put(f"{one}/folder", json={"folder": "/work/db"}))
    body(api.put(f"{one}/pin"))
    assert body(api.get(one))["importance_score"] == 10
    body(api.put(f"{one}/archive"))
    assert (body(api.get(one))["label"], body(api.get(one))["folder"]) == ("Indexes", "/work/db")
    body(api.delete(one))
    refused(api.get(one), 404, "NOT_FOUND")


def test_the_python_sdk_asks(api: httpx2.Client) -> None:
    id_ = body(api.post(ALL, json={"messages": SAID, "label": "Databases", "folder": "/work"}), 201)["id"]
    found = body(api.post("/api/v1/query", json={"query": "database index", "limit": 5, "offset": 0, "filters": {}}))
    assert found["query"] == "database index" and found["total"] == len(found["results"]) >= 1
    for row in found["results"]:
        assert row["conversation_id"] == id_ and row["label"] == "Databases" and row["folder"] == "/work"
        assert isinstance(row["content"], str) and 0 < row["score"] <= 1 and datetime.fromisoformat(row["created_at"])
    words = body(api.post("/api/v1/search/fts", json={"query": "index", "limit": 10}))
    assert (words["total"], words["query"]) == (1, "index")
    wanted = {"query": "index", "preferred_labels": [], "context_budget": 4000, "excluded_folders": []}
    assert isinstance(body(api.post("/api/v1/context/assemble", json=wanted)), list)
    for level in ("daily", "weekly", "monthly"):
        reply = body(api.post("/api/v1/summarize", json={"conversation_id": id_, "level": level}))
        assert reply["conversation_id"] == id_ and reply["level"] == level
        assert reply["summary"] and reply["token_count"] > 0 and reply["created_at"]


def test_the_python_sdk_prunes_labels_and_weighs(api: httpx2.Client) -> None:
    messages = [{**entry, "timestamp": OLD} for entry in SAID]
    id_ = body(api.post(ALL, json={"messages": messages, "label": "Old", "importance_score": 2.0}), 201)["id"]
    reply = body(api.post("/api/v1/prune/dry-run", json={"threshold_days": 90}))
    assert (reply["total_reviewed"], reply["recommended_archive"], reply["recommended_keep"]) == (1, 1, 0)
    (one,) = reply["suggestions"]
    assert (one["conversation_id"], one["label"], one["recommendation"]) == (id_, "Old", "archive")
    assert one["last_accessed"] == OLD and one["days_since_access"] > 300 and one["reason"]
    body(api.post("/api/v1/prune/execute", json={"conversation_ids": [id_]}))
    reply = body(api.post("/api/v1/labels/suggest", json={"conversation_id": id_}))
    assert reply["conversation_id"] == id_ and "top_suggestion" in reply
    for suggestion in reply["suggestions"]:
        assert suggestion["label"] and suggestion["folder"] and 0 <= suggestion["confidence"] <= 1
    message = body(api.get(f"{ALL}/{id_}"))["messages"][1]["id"]
    reply = body(api.post("/api/v1/messages/score", json={"message_id": message}))
    assert (reply["message_id"], reply["importance_score"]) == (message, 6)
    assert sum(reply["factors"].values()) == 6 and reply["reasoning"]


def test_the_python_sdk_exports_and_looks_for_tools(api: httpx2.Client) -> None:
    body(api.post(ALL, json={"messages": SAID, "label": "Databases", "folder": "/work"}), 201)
    reply = body(api.get("/api/v1/export", params={"format": "markdown", "label": "Databases", "folder": "/work"}))
    assert reply["content"].startswith("# Databases\n") and reply["format"] == "markdown"
    reply = body(api.get("/api/v1/export", params={"format": "json"}))
    assert len(json.loads(reply["content"])["conversations"]) == reply["conversation_count"] == 1
    for path in ("/api/v1/mcp/tools", "/mcp/tools"):
        answer = api.get(path)
        conforms(answer, "GET", path)
        assert len(answer.json()) == 7 and all(tool["name"].startswith("memory_") for tool in answer.json())


def test_the_python_sdk_has_a_client_of_its_own_for_memory(api: httpx2.Client) -> None:
    body(api.post(ALL, json={"messages": SAID, "label": "Databases", "folder": "/work"}), 201)
    stats = body(api.post("/mcp/memory/stats", json={"filters": {}}))
    assert stats["total_conversations"] == 1 and stats["total_tokens"] > 0
    wanted = {"query": "index", "limit": 5, "filters": {"labels": ["Databases"]}}
    answer = api.post("/mcp/memory/search", json=wanted)
    conforms(answer, "POST", "/mcp/memory/search")
    assert answer.json()["results"][0]["label"] == "Databases" and answer.json()["results"][0]["score"] > 0


def test_the_javascript_sdk_stores_and_updates_in_its_spelling(api: httpx2.Client) -> None:
    reply = body(api.post(ALL, json={"messages": SAID, "label": "L", "folder": "/w", "importanceScore": 8}), 201)
    assert reply["importance_score"] == 8
    one = f"{ALL}/{reply['id']}"
    assert body(api.put(one, json={"label": "M", "importanceScore": 3}))["importance_score"] == 3
    assert body(api.put(one, json={"status": "pinned"}))["status"] == "pinned"
    (row,) = body(api.get(ALL, params={"label": "M", "status": "pinned", "limit": "10"}))["conversations"]
    assert (row["id"], row["label"], row["status"]) == (reply["id"], "M", "pinned")
    assert body(api.get(ALL, params={"offset": "5"}))["conversations"] == []
    suggested = body(api.post(f"{one}/suggest-labels"))
    assert isinstance(suggested, list)
    smart = body(api.post("/api/v1/query/smart", json={"query": "index", "token_budget": 8000}))
    assert "Add an index" in smart["formattedContext"] and smart["estimatedTokens"] > 0


def test_the_javascript_sdk_calls_tools_and_reads_an_envelope(api: httpx2.Client) -> None:
    old = [{**message, "timestamp": OLD} for message in SAID]
    stored = tool(api, "memory_store", label="Old", folder="/work", messages=old, importance_score=2)
    assert {stored["id"], stored["conversation_id"]} == {stored["id"]} and stored["folder"] == "/work"
    found = tool(api, "memory_search", query="index", limit=10, offset=0, filters={"label": "Old"})
    assert (found["query"], found["total_results"], found["limit"]) == ("index", 1, 10)
    assert set(found["results"][0]) >= {"conversation_id", "message_id", "score", "content", "timestamp", "metadata"}
    pruned = tool(api, "memory_prune", threshold_days=30, importance_threshold=5.0)
    assert (pruned["total_suggestions"], pruned["threshold_days"]) == (1, 30) and pruned["estimated_token_savings"] > 0
    (one,) = pruned["suggestions"]
    assert set(one) >= {"conversation_label", "message_count", "token_estimate", "preview", "recommendation"}
    updated = tool(api, "memory_update", conversation_id=stored["id"], status="archived")
    assert updated["updated_fields"] == ["status"] and updated["status"] == "archived"
    exported = tool(api, "memory_export", conversation_id=stored["id"], format="json", include_metadata=True)
    assert exported["conversation"]["label"] == "Old" and len(exported["messages"]) == 2
    assert tool(api, "memory_stats", label="Old")["total_conversations"] == 1


def tool(api: httpx2.Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    answer = api.post(f"/mcp/tools/{name}", json=arguments)
    conforms(answer, "POST", f"/mcp/tools/{name}")
    reply = answer.json()
    assert reply["success"] is True and reply["error"] is None
    data: dict[str, Any] = reply["data"]
    return data


@pytest.mark.promise("sekha:workflow:store-and-find", "sekha:workflow:cleanup")
def test_the_bridge_to_agents_gets_what_it_shows(api: httpx2.Client) -> None:
    messages = [{**entry, "timestamp": OLD, "metadata": {}} for entry in SAID]
    stored = tool(api, "memory_store", label="Databases", folder="/work", messages=messages, importance_score=3.0)
    assert stored["message_count"] == 2
    (row, *_more) = tool(api, "memory_search", query="database index", limit=10, filter_labels=["Databases"])["results"]
    assert row["similarity"] > 0 and row["conversation_id"] == stored["id"] and row["folder"] == "/work"
    updated = tool(
        api, "memory_update", conversation_id=stored["id"], label="Done", folder="/old", importance_score=4.0
    )
    assert updated["updated_fields"] == ["label", "folder", "importance_score"]
    read = tool(api, "memory_get_context", conversation_id=stored["id"])
    assert (read["label"], read["folder"], read["status"], read["importance_score"]) == ("Done", "/old", "active", 4)
    assert read["conversation_id"] == stored["id"] and read["word_count"] == 13 and read["created_at"] == OLD
    assert [message["timestamp"] for message in read["messages"]] == [OLD, OLD]
    (one,) = tool(api, "memory_prune", threshold_days=30)["suggestions"]
    assert (one["conversation_id"], one["importance_score"]) == (stored["id"], 4) and one["age_days"] > 300
    assert one["label"] == "Done" and one["reason"]
    text = tool(api, "memory_export", conversation_id=stored["id"], format="markdown")["content"]
    assert text.startswith("# Done\n")
    stats = body(api.get("/api/v1/stats", params={"folder": "/old"}))
    assert stats["success"] and stats["data"]["total_conversations"] == 1
    assert list(stats["data"]["folders"]) == ["/old"] and f"{stats['data']['average_importance']:.1f}" == "4.0"


@pytest.mark.parametrize("name", ["memory_get_context", "memory_export", "memory_update"])
def test_a_tool_that_finds_nothing_says_so(api: httpx2.Client, name: str) -> None:
    arguments = {"conversation_id": "00000000-0000-0000-0000-000000000000"}
    more = {"label": "x"} if name == "memory_update" else {}
    refused(api.post(f"/mcp/tools/{name}", json=arguments | more), 404, "NOT_FOUND")
    refused(api.post(f"/mcp/tools/{name}", json={}), 400, "VALIDATION_ERROR")
    refused(api.post("/mcp/tools/memory_update", json=arguments), 400, "VALIDATION_ERROR")


def test_tools_ask_for_the_key_that_their_work_takes(site: Site) -> None:
    with site.client("read") as reader, site.client("") as nobody:
        assert tool(reader, "memory_stats")["total_conversations"] == 0
        wanted = {"label": "a", "folder": "/", "messages": SAID}
        refused(reader.post("/mcp/tools/memory_store", json=wanted), 403, "FORBIDDEN")
        refused(nobody.post("/mcp/tools/memory_stats", json={}), 401, "UNAUTHORIZED")
        refused(nobody.get("/mcp/tools"), 401, "UNAUTHORIZED")


@pytest.mark.promise("sekha:workflow:continuity")
def test_the_proxy_gets_context_and_stores_the_exchange(api: httpx2.Client) -> None:
    metadata = {"context_used": [{"label": "x"}], "llm_provider": "bridge"}
    stored = {"label": "Chat: databases", "folder": "/auto", "messages": SAID, "metadata": metadata}
    assert api.post(ALL, json=stored).status_code == 201
    wanted = {
        "query": "database index",
        "preferred_labels": ["Chat"],
        "context_budget": 2000,
        "excluded_folders": ["/p"],
    }
    context = body(api.post("/api/v1/context/assemble", json=wanted))
    assert context and all(isinstance(one["content"], str) and one["role"] in ("user", "assistant") for one in context)
    assert {one["metadata"]["citation"]["folder"] for one in context} == {"/auto"}
    assert {one["metadata"]["citation"]["label"] for one in context} == {"Chat: databases"}


def test_editors_show_messages_of_what_they_opened(api: httpx2.Client) -> None:
    body(api.post(ALL, json={"messages": SAID, "label": "Note", "folder": "/vscode"}), 201)
    (row,) = body(api.get(ALL))["conversations"]
    conversation = body(api.get(f"{ALL}/{row['id']}"))
    assert [f"[{m['role']}] {m['content']}" for m in conversation["messages"]][
        1
    ] == "[assistant] Add an index; that was decided."
    suggested = body(api.post("/api/v1/labels/suggest", json={"messages": SAID, "count": 5}))
    assert all({"label", "confidence", "reasoning"} <= set(one) for one in suggested["suggestions"])
