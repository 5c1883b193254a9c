"""Every field that one of Sekha's clients reads is in the reply that it reads it from.

Each request is sent as the client sends it: its Python SDK 0.2.0 and 0.5.0, its JavaScript SDK with the editors built
on it, and its proxy. `judges/sekha_packages.py` drives those that are published as packages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .conftest import Site, conforms, running, settings_in

ALL = "/api/v1/conversations"
PYTHON_02 = "Sekha-Python-SDK/0.6.0"
PYTHON_05 = "Sekha-Python-SDK/0.5.0"
JAVASCRIPT = "Sekha-JS-SDK/1.0.0"
OLD = "2025-01-01T00:00:00Z"
SAID = [
    {"role": "user", "content": "How can we optimize our database queries?", "timestamp": OLD},
    {"role": "assistant", "content": "Add an index; that was decided.", "timestamp": OLD},
]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(settings_in(tmp_path)) as site:
        yield site


@pytest.fixture
def api(site: Site) -> Iterator[httpx2.Client]:
    with site.client("admin") as client:
        yield client


@pytest.fixture
def stored(api: httpx2.Client) -> str:
    """A conversation, and a fact that is in none."""
    api.post("/api/v1/items", json={"content": "The database is PostgreSQL 15", "type": "fact"})
    body = {"label": "Databases", "folder": "/work", "messages": SAID, "importance_score": 2}
    return str(api.post(ALL, json=body).json()["id"])


def checked_body(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/query/smart", "/mcp/memory/search"])
def test_every_result_has_the_id_of_a_conversation_as_text(api: httpx2.Client, stored: str, path: str) -> None:
    answer = api.post(path, json={"query": "database", "limit": None, "filters": None})
    conforms(answer, "POST", path)
    found = {row["label"]: row for row in checked_body(answer)["results"]}
    assert found["Databases"]["conversation_id"] == stored
    assert found["The database is PostgreSQL 15"]["conversation_id"] == ""
    for row in found.values():
        for name in ("conversation_id", "message_id", "content", "label", "folder"):
            assert isinstance(row[name], str), name
        assert datetime.fromisoformat(row["timestamp"]) and isinstance(row["score"], float)
    page = checked_body(answer)
    assert (page["page"], page["page_size"]) == (1, 10)


def test_tools_give_the_id_of_a_conversation_as_text_too(api: httpx2.Client, stored: str) -> None:
    rows = checked_body(api.post("/mcp/tools/memory_search", json={"query": "database"}))["data"]["results"]
    assert sorted(row["conversation_id"] for row in rows) == ["", stored]


@pytest.mark.parametrize("agent", [PYTHON_02, PYTHON_05, JAVASCRIPT, "Sekha-JS-SDK-MCP/1.0.0", "node"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", ALL, {"label": "", "messages": []}),
        ("POST", "/api/v1/query", {"query": ""}),
        ("POST", "/api/v1/search/fts", {"query": "x", "limit": 0}),
        ("POST", "/api/v1/context/assemble", {}),
        ("POST", "/api/v1/summarize", {"conversation_id": "x", "level": "yearly"}),
        ("POST", "/api/v1/labels/suggest", {}),
        ("POST", "/api/v1/prune/dry-run", {"threshold_days": -1}),
        ("GET", "/api/v1/export?format=pdf", None),
        ("GET", "/api/v1/stats?folder=", None),
        ("POST", "/mcp/tools/memory_store", {}),
        ("POST", "/mcp/memory/stats", {"filters": {"mood": "glad"}}),
    ],
)
def test_bad_input_is_told_in_a_sentence_and_not_sent_again(
    api: httpx2.Client, agent: str, method: str, path: str, body: Any
) -> None:
    answer = api.request(method, path, json=body, headers={"User-Agent": agent})
    conforms(answer, method, path.partition("?")[0])
    error = checked_body(answer, 400)
    assert isinstance(error["error"], str) and error["error"] == f"{error['message']} {error['details']}"
    assert (error["code"], error["error_code"]) == (400, "VALIDATION_ERROR")


def test_what_is_not_there_and_who_may_not_are_told_in_a_sentence(site: Site, api: httpx2.Client) -> None:
    missing = checked_body(api.get(f"{ALL}/00000000-0000-0000-0000-000000000000"), 404)
    assert missing["error"].startswith("There is no conversation") and missing["error_code"] == "NOT_FOUND"
    assert isinstance(checked_body(api.put(f"{ALL}/nobody/pin"), 404)["error"], str)
    assert isinstance(checked_body(api.post(f"{ALL}/count"), 405)["error"], str)
    with site.client("") as nobody, site.client("read") as reader:
        assert isinstance(checked_body(nobody.get(ALL), 401)["error"], str)
        assert checked_body(reader.post(ALL, json={}), 403)["error_code"] == "FORBIDDEN"


def test_its_sdks_get_sentences_on_our_routes_and_others_get_our_shape(api: httpx2.Client) -> None:
    wrong = {"q": ""}
    assert checked_body(api.post("/api/v1/search", json=wrong), 422)["error"]["code"] == "VALIDATION_ERROR"
    theirs = checked_body(api.post("/api/v1/search", json=wrong, headers={"User-Agent": JAVASCRIPT}), 400)
    assert isinstance(theirs["error"], str)


def test_a_refusal_that_is_repeated_by_its_name_stays_as_it_was(api: httpx2.Client) -> None:
    named = {"Idempotency-Key": "once"}
    first = api.post(ALL, json={"label": 5}, headers=named)
    again = api.post(ALL, json={"label": 5}, headers=named)
    assert (first.status_code, first.content) == (again.status_code, again.content) and first.status_code == 400


def test_metrics_are_text_to_prometheus_and_json_to_the_sdk(api: httpx2.Client) -> None:
    for headers in ({"User-Agent": JAVASCRIPT, "Content-Type": "application/json"}, {"Accept": "application/json"}):
        answer = api.get("/metrics", headers=headers)
        assert answer.headers["content-type"] == "application/json"
        assert "commonplace_requests_total" in checked_body(answer)["metrics"]
    scrape = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    for headers in ({"Accept": scrape}, {"Accept": "*/*"}):
        answer = api.get("/metrics", headers=headers)
        assert answer.headers["content-type"].startswith("text/plain") and answer.text.startswith("# HELP")


@pytest.mark.parametrize("agent", [PYTHON_02, JAVASCRIPT])
def test_an_assembled_context_is_an_object_to_the_sdks_and_a_list_to_the_proxy(
    api: httpx2.Client, stored: str, agent: str
) -> None:
    wanted = {"query": "database index", "preferred_labels": [], "context_budget": 4000, "excluded_folders": []}
    answer = api.post("/api/v1/context/assemble", json=wanted, headers={"User-Agent": agent})
    conforms(answer, "POST", "/api/v1/context/assemble")
    context = checked_body(answer)
    assert {one["role"] for one in context["messages"]} <= {"user", "assistant"}
    assert "Add an index" in context["assembled_context"] and context["labels"]
    for name in ("estimated_tokens", "token_count", "tokens_used"):
        assert context[name] > 0
    assert (context["conversations_used"], context["conversation_ids"]) == (1, [stored])
    listed = api.post("/api/v1/context/assemble", json=wanted, headers={"User-Agent": "python-httpx/0.28.1"})
    conforms(listed, "POST", "/api/v1/context/assemble")
    assert checked_body(listed) == context["messages"] and "User-Agent" in listed.headers["vary"]
    smart = checked_body(api.post("/api/v1/query/smart", json={"query": "database index", "token_budget": 8000}))
    assert smart["messages"] == context["messages"] and smart["formattedContext"] == context["assembled_context"]


def test_words_found_are_ranked(api: httpx2.Client, stored: str) -> None:
    answer = api.post("/api/v1/search/fts", json={"query": "database", "limit": 50})
    conforms(answer, "POST", "/api/v1/search/fts")
    assert [row["rank"] for row in checked_body(answer)["results"]] == [1, 2]


def test_a_tool_tells_what_it_updated_and_how_many_sessions(api: httpx2.Client, stored: str) -> None:
    read = checked_body(api.post("/mcp/tools/memory_get_context", json={"conversation_id": stored}))["data"]
    assert read["session_count"] == 1 and read["word_count"] > 0
    wanted = {"conversation_id": stored, "label": "Indexes", "importance_score": 3}
    updated = checked_body(api.post("/mcp/tools/memory_update", json=wanted))["data"]
    assert updated["message"] == "Updated label, importance_score."


def test_health_is_healthy_since_so_many_seconds(api: httpx2.Client) -> None:
    health = checked_body(api.get("/health", headers={"User-Agent": JAVASCRIPT}))
    assert health["status"] == "healthy" and health["version"]
    assert isinstance(health["uptime_seconds"], int) and health["uptime_seconds"] >= 0


def test_conversations_are_counted_by_status(api: httpx2.Client, stored: str) -> None:
    api.post(ALL, json={"label": "Other", "messages": SAID})
    api.put(f"{ALL}/{stored}/archive")
    answer = api.get(f"{ALL}/count")
    conforms(answer, "GET", f"{ALL}/count")
    assert checked_body(answer) == {"count": 2, "total": 2, "by_status": {"active": 1, "archived": 1, "pinned": 0}}
    assert checked_body(api.get(f"{ALL}/count", params={"label": "Databases"}))["by_status"]["archived"] == 1
    none = checked_body(api.get(f"{ALL}/count", params={"status": "pinned", "pinned": False}))
    assert none["count"] == none["total"] == 0


def test_scores_and_summaries_name_what_made_them(api: httpx2.Client, stored: str) -> None:
    message = checked_body(api.get(f"{ALL}/{stored}"))["messages"][1]["id"]
    scored = checked_body(api.post(f"/api/v1/messages/{message}/importance"))
    assert 1 <= scored["score"] == scored["importance_score"] <= 10 and isinstance(scored["model"], str)
    lowest = checked_body(api.post(f"/api/v1/messages/{message}/importance", json={"importance_score": 0}))
    assert (lowest["importance_score"], lowest["score"]) == (0, 1)
    summary = checked_body(api.post(f"{ALL}/{stored}/summary", params={"level": "daily"}))
    assert isinstance(summary["model"], str) and summary["tokens_used"] == 0
    assert checked_body(api.post("/api/v1/summarize", json={"conversation_id": stored, "level": "weekly"}))["model"]


def test_python_050_reads_bare_lists_and_the_others_read_objects(api: httpx2.Client, stored: str) -> None:
    wanted = {"threshold_days": 90, "importance_threshold": 3.0}
    answer = api.get("/api/v1/prune/suggestions", params=wanted, headers={"User-Agent": PYTHON_05})
    conforms(answer, "GET", "/api/v1/prune/suggestions")
    (candidate,) = checked_body(answer)
    for name in ("conversation_id", "conversation_label", "preview", "recommendation"):
        assert isinstance(candidate[name], str), name
    assert datetime.fromisoformat(candidate["last_accessed"]) and candidate["token_estimate"] > 0
    by_body = checked_body(api.post("/api/v1/prune/dry-run", json=wanted))
    assert by_body["suggestions"] == [candidate] and by_body["estimated_token_savings"] == candidate["token_estimate"]
    labels = api.post(f"{ALL}/{stored}/suggest-labels")
    conforms(labels, "POST", f"{ALL}/{{id}}/suggest-labels")
    for one in checked_body(labels):
        assert isinstance(one["label"], str) and 0 <= one["confidence"] <= 1 and isinstance(one["is_existing"], bool)
    by_body = checked_body(api.post("/api/v1/labels/suggest", json={"conversation_id": stored}))
    assert by_body["suggestions"] == checked_body(labels)


def test_statistics_are_narrowed_by_labels_folders_and_time(api: httpx2.Client, stored: str) -> None:
    new = [{"role": "user", "content": "Which cache?", "timestamp": "2026-02-05T10:00:00Z"}]
    api.post(ALL, json={"label": "Cache", "folder": "/home/pc", "messages": new})

    def counted(**filters: Any) -> int:
        answer = api.post("/mcp/memory/stats", json={"filters": filters})
        conforms(answer, "POST", "/mcp/memory/stats")
        tool = checked_body(api.post("/mcp/tools/memory_stats", json=filters))["data"]
        assert tool["total_conversations"] == checked_body(answer)["total_conversations"]
        return int(tool["total_conversations"])

    assert counted() == 2
    assert counted(labels=["Databases", "Product"]) == 1
    assert counted(start_date="2026-02-01T00:00:00Z", end_date="2026-02-13T23:59:59Z") == 1
    assert counted(labels=["Databases"], start_date="2026-02-01T00:00:00Z", end_date="2026-02-13T23:59:59Z") == 0
    assert counted(end_date="2025-01-01") == 1, "a day with all of it"
    assert counted(folders=["/work", "/home"]) == 2 and counted(folders=["/home"]) == 1
    assert counted(folders=["/work"], folder="/home") == 0
    assert counted(start_date=None, labels=None) == 2
    assert checked_body(api.post("/mcp/memory/stats", json={"filters": {"start_date": "someday"}}), 400)["error"]


def test_older_sdks_and_the_editors_on_them_search_by_query(api: httpx2.Client, stored: str) -> None:
    answer = api.post("/api/v1/search", json={"query": "database", "limit": 10, "filter_labels": ["Databases"]})
    conforms(answer, "POST", "/api/v1/search")
    (row,) = checked_body(answer)["results"]
    assert row["conversationId"] == stored and row["label"] == "Databases" and row["created_at"] and row["content"]
    assert checked_body(api.get(f"{ALL}/{row['id']}"))["label"] == "Databases", "a result opens its conversation"
    ours = checked_body(api.post("/api/v1/search", json={"q": "database", "limit": 10}))["results"]
    assert {"relevance", "kind"} <= set(ours[0])
    for wrong in ({}, {"q": "a", "query": "b"}, {"q": None}):
        assert api.post("/api/v1/search", json=wrong).status_code == 422


def test_the_sdk_reads_one_export(api: httpx2.Client, stored: str) -> None:
    wanted = {"conversation_id": stored, "format": "json", "include_metadata": True}
    exported = checked_body(api.post("/mcp/tools/memory_export", json=wanted))
    assert exported["success"] and exported["data"]["conversation"]["label"] == "Databases"
    assert json.dumps(exported["data"]["messages"])
