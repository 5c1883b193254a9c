"""Search, context, rules, streams, projects, status and keys over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from .conftest import Remembered, Site, conforms, refused


def test_a_search_finds_by_either_way(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered("The lighthouse keeper counts ships", project="harbour")
    wanted: dict[str, Any] = {"q": "lighthouse keeper", "project": "harbour", "kind": ["memory"], "limit": 5}
    question, sent = api.get("/api/v1/search", params=wanted), api.post("/api/v1/search", json=wanted)
    conforms(question, "GET", "/api/v1/search")
    assert question.json() == sent.json()
    (hit,) = question.json()["results"]
    assert hit["id"] == item["id"] and 0 < hit["relevance"] <= 1
    assert (question.json()["total"], question.json()["by_meaning"]) == (1, False)


def test_a_search_and_a_list_keep_to_a_tag_and_a_stretch_of_time(api: httpx2.Client, remembered: Remembered) -> None:
    old = remembered("The ferry leaves at nine", project="ferry", created_at_epoch=1_600_000_000_000, tags=["harbour"])
    new = remembered("The ferry leaves at ten", project="ferry", created_at_epoch=1_700_000_000_000, tags=["timetable"])
    for narrowed, expected in (
        ({"since": "2022-01-01"}, new),
        ({"until": "2022-01-01"}, old),
        ({"since": "2020-09-13T00:00Z", "until": "2020-09-14T00:00Z"}, old),
        ({"tag": "timetable"}, new),
    ):
        for path, request in (("/api/v1/search", {"q": "ferry leaves"}), ("/api/v1/items", {})):
            answer = api.get(path, params={"project": "ferry", **request, **narrowed})
            conforms(answer, "GET", path)
            (found,) = answer.json()["results" if request else "items"]
            assert found["id"] == expected["id"], (path, narrowed)
    assert "not a time" in refused(
        api.get("/api/v1/search", params={"q": "ferry", "since": "someday"}), 422, "VALIDATION_ERROR"
    )


@pytest.mark.parametrize("query", ["", "   ", "\u2003"])
def test_a_search_looks_for_something(api: httpx2.Client, query: str) -> None:
    assert "q:" in refused(api.get("/api/v1/search", params={"q": query}), 422, "VALIDATION_ERROR")


@pytest.mark.parametrize("query", ['"', "NOT", "(((", "title:", "*", "a AND OR b", "'; DROP TABLE items; --"])
def test_no_query_is_a_fault(api: httpx2.Client, query: str) -> None:
    assert api.get("/api/v1/search", params={"q": query}).status_code == 200


def test_a_context_is_what_agents_get(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered("We chose event sourcing", type="decision", project="ledger")
    answer = api.get("/api/v1/context", params={"project": "ledger", "query": "events", "token_budget": 500})
    conforms(answer, "GET", "/api/v1/context")
    assert [one["id"] for one in answer.json()["items"]] == [item["id"]] and answer.json()["tokenBudget"] == 500
    conforms(api.get("/api/v1/context"), "GET", "/api/v1/context")


def test_rules_hold_here_and_everywhere(api: httpx2.Client, remembered: Remembered) -> None:
    ours = remembered("Ruled: tabs", type="rule", project="ruled")
    shared = remembered("Ruled: be kind", type="rule")
    typed = remembered("Ruled: zod", type="rule", project="ruled", paths=["src/api/**"])
    answer = api.get("/api/v1/rules", params={"project": "ruled"})
    conforms(answer, "GET", "/api/v1/rules")
    assert [one["id"] for one in answer.json()["project_rules"]] == [ours["id"], typed["id"]]
    assert shared["id"] in [one["id"] for one in answer.json()["global_rules"]]
    narrowed = api.get("/api/v1/rules", params={"project": "ruled", "file": ["docs/x.md"]}).json()
    assert [one["id"] for one in narrowed["project_rules"]] == [ours["id"]] and narrowed["rules_for_other_files"] == 1


def test_a_stream_becomes_a_memory(api: httpx2.Client) -> None:
    start = api.post("/api/v1/streams", json={"type": "fact", "tags": ["s"], "project": "streamed"})
    conforms(start, "POST", "/api/v1/streams")
    path = f"/api/v1/streams/{start.json()['stream_id']}"
    assert "no text" in refused(api.post(f"{path}/finalize"), 409, "CONFLICT")
    for chunk in ("Water boils ", "at 100 degrees"):
        conforms(api.post(f"{path}/chunks", json={"chunk": chunk}), "POST", "/api/v1/streams/{id}/chunks")
    conforms(api.get("/api/v1/streams"), "GET", "/api/v1/streams")
    assert start.json()["stream_id"] in [one["stream_id"] for one in api.get("/api/v1/streams").json()["streams"]]
    done = api.post(f"{path}/finalize")
    conforms(done, "POST", "/api/v1/streams/{id}/finalize")
    assert done.json()["status"] == "finalized" and done.json()["item"]["content"] == "Water boils at 100 degrees"
    refused(api.post(f"{path}/chunks", json={"chunk": "x"}), 409, "CONFLICT")
    refused(api.post("/api/v1/streams/none/finalize"), 404, "NOT_FOUND")


def test_a_stream_can_be_cancelled(api: httpx2.Client) -> None:
    start = api.post("/api/v1/streams")
    gone = api.delete(f"/api/v1/streams/{start.json()['stream_id']}")
    conforms(gone, "DELETE", "/api/v1/streams/{id}")
    assert (start.json()["type"], gone.json()["status"]) == ("note", "cancelled")


def test_a_project_answers_to_another_name(api: httpx2.Client, remembered: Remembered) -> None:
    remembered(project="https://github.com/acme/aliased.git")
    answer = api.post("/api/v1/projects/aliases", json={"project": "aliased", "alias": "the-other-name"})
    conforms(answer, "POST", "/api/v1/projects/aliases")
    assert answer.json()["project"] == "github.com/acme/aliased"
    listed = api.get("/api/v1/projects")
    conforms(listed, "GET", "/api/v1/projects")
    (mine,) = [one for one in listed.json()["projects"] if one["name"] == "github.com/acme/aliased"]
    assert "the-other-name" in mine["aliases"]
    refused(api.post("/api/v1/projects/aliases", json={"project": "unheard", "alias": "x"}), 404, "NOT_FOUND")


def test_the_status_counts(api: httpx2.Client) -> None:
    answer = api.get("/api/v1/status")
    conforms(answer, "GET", "/api/v1/status")
    assert answer.json()["total"] == sum(answer.json()["counts"]["items"].values())


def test_a_key_is_made_told_once_and_revoked(site: Site, api: httpx2.Client) -> None:
    body = {"name": "ci", "scope": "read", "project": "harbour", "expires_in_days": 30}
    made = api.post("/api/v1/keys", json=body, headers={"Idempotency-Key": "key-1"})
    conforms(made, "POST", "/api/v1/keys")
    secret = made.json()["secret"]
    assert secret.startswith(made.json()["prefix"]) and made.json()["expires_at"] > made.json()["created_at"]
    with httpx2.Client(base_url=site.url, headers={"Authorization": f"Bearer {secret}"}) as ci:
        assert ci.get("/api/v1/status").status_code == 200
        again = api.post("/api/v1/keys", json=body, headers={"Idempotency-Key": "key-1"})
        assert again.json() == made.json() | {"secret": None}
        listed = api.get("/api/v1/keys")
        conforms(listed, "GET", "/api/v1/keys")
        assert made.json()["prefix"] in listed.text and secret not in listed.text
    gone = api.delete(f"/api/v1/keys/{made.json()['id']}")
    conforms(gone, "DELETE", "/api/v1/keys/{id}")
    assert gone.json()["revoked_at"] is not None
    for id_ in ("99999", "nobody", "sk-sekha-", "%20"):
        refused(api.delete(f"/api/v1/keys/{id_}"), 404, "NOT_FOUND")


def test_the_secret_of_a_key_is_written_nowhere(site: Site, api: httpx2.Client) -> None:
    made = api.post("/api/v1/keys", json={"name": "kept"}, headers={"Idempotency-Key": "key-2"}).json()
    folder = site.memory.settings.data_dir
    assert not [path for path in folder.rglob("*") if path.is_file() and made["secret"].encode() in path.read_bytes()]


def test_a_key_of_one_project_sees_only_that(site: Site, api: httpx2.Client, remembered: Remembered) -> None:
    ours, other = remembered(project="walled"), remembered(project="elsewhere")
    made = api.post("/api/v1/keys", json={"name": "walled", "scope": "admin", "project": "walled"}).json()
    with httpx2.Client(base_url=site.url, headers={"Authorization": f"Bearer {made['secret']}"}) as walled:
        assert [one["id"] for one in walled.get("/api/v1/items").json()["items"]] == [ours["id"]]
        refused(walled.get(f"/api/v1/items/{other['id']}"), 404, "NOT_FOUND")
        refused(walled.get("/api/v1/keys"), 403, "FORBIDDEN")
        reply = walled.get("/api/v1/events?follow=false", headers={"Last-Event-ID": "0-0-0-0"}).text
        assert {json.loads(line[6:])["project"] for line in reply.splitlines() if line.startswith("data:")} == {
            "walled"
        }
        named = {"Idempotency-Key": "walled-1"}
        first = walled.post("/api/v1/items", json={"content": "Inside the wall"}, headers=named)
        assert walled.post("/api/v1/items", json={"content": "Inside the wall"}, headers=named).json() == first.json()
