"""Null means omitted over HTTP as well: in every body, and in a query where a number or a boolean is meant."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.openapi import component_name

from .conftest import DOCUMENT

SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
BODIES = {component_name(endpoint.body.__name__) for endpoint in ENDPOINTS if endpoint.body is not None}


def takes_null(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type")
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(map(takes_null, schema.get("anyOf", ())))
    )


def reached(name: str) -> set[str]:
    """A schema of the document by its name, and those that it refers to."""
    found = {name}
    for other in re.findall(r"'#/components/schemas/(\w+)'", str(SCHEMAS[name])):
        found |= reached(other)
    return found


@pytest.mark.parametrize("name", sorted(set[str]().union(*map(reached, BODIES))))
def test_every_optional_field_of_a_body_may_be_null(name: str) -> None:
    schema = SCHEMAS[name]
    for field, described in schema.get("properties", {}).items():
        anything = not described.keys() - {"description", "default"}
        assert field in schema.get("required", []) or anything or takes_null(described), field


def test_a_default_stands_where_a_body_says_null(api: httpx2.Client) -> None:
    talk = {"label": "L", "folder": "/f", "messages": [{"role": "user", "content": "hello", "timestamp": None}]}
    stored = api.post("/api/v1/conversations", json=talk | {"importance_score": None, "status": None}).json()
    one = f"/api/v1/conversations/{stored['id']}"
    assert api.put(f"{one}/pin", json={"pinned": None}).json()["status"] == "pinned"
    assert api.put(f"{one}/archive", json={"archived": None}).json()["status"] == "archived"
    exported = api.post(
        "/mcp/tools/memory_export", json={"conversation_id": stored["id"], "format": None, "include_metadata": None}
    )
    assert exported.status_code == 200, exported.text
    pruned = api.post("/mcp/tools/memory_prune", json={"threshold_days": None, "importance_threshold": None})
    assert pruned.status_code == 200, pruned.text
    made = api.post("/api/v1/items", json={"content": "x", "kind": None, "type": None, "tags": None})
    assert made.status_code == 201 and made.json()["kind"] == "memory", made.text


def test_null_for_a_required_field_is_refused(api: httpx2.Client) -> None:
    refused = api.post("/mcp/tools/memory_export", json={"conversation_id": None})
    assert refused.status_code == 400 and "conversation_id: " in refused.text


@pytest.mark.parametrize(
    "path", ["/api/v1/items?limit=null&global=null", "/api/v1/conversations?limit=null&pinned=null"]
)
def test_null_in_a_query_is_the_default_where_a_number_or_a_boolean_is_meant(api: httpx2.Client, path: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.json() == api.get(path.partition("?")[0]).json()


def test_in_a_text_of_a_query_null_is_a_word(api: httpx2.Client) -> None:
    api.post("/api/v1/items", json={"content": "A tagged thing", "tags": ["nullable"]})
    api.post("/api/v1/items", json={"content": "Another thing", "tags": ["other"]})
    found = api.get("/api/v1/items", params={"tag": "null"}).json()["items"]
    assert [item["content"] for item in found] == ["A tagged thing"]
