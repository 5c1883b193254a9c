"""No endpoint keeps a secret or says one: in its path, its query, its body, its headers, and in what is told of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from tests.leaks.planting import SEEDS, leaks, leaks_in_files
from tests.rest.conftest import Site, running, settings_in

from commonplace.rest.endpoint import Endpoint
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.openapi import document

DOCUMENT = document(ENDPOINTS)
# Told to whoever makes a key, once; and a stream that does not end by itself.
_SKIPPED = {"/api/v1/events"}
# The one that is not closed comes last, since it hides all that follows.
TOGETHER = "\n".join(seed.text for seed in SEEDS)


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("leaks"))) as site:
        yield site


def resolved(schema: Any) -> Any:
    while isinstance(schema, dict) and "$ref" in schema:
        node: Any = DOCUMENT
        for step in schema["$ref"].removeprefix("#/").split("/"):
            node = node[step]
        schema = node
    return schema


def example(schema: Any, depth: int = 0) -> Any:
    """A value of the shape, as plain as can be."""
    schema = resolved(schema)
    if "enum" in schema:
        return schema["enum"][0]
    for combined in ("anyOf", "oneOf", "allOf"):
        if combined in schema:
            return example(schema[combined][0], depth)
    kind = schema.get("type")
    if kind == "object" and depth < 4:
        wanted = schema.get("required", [])
        return {name: example(part, depth + 1) for name, part in schema.get("properties", {}).items() if name in wanted}
    if kind == "array":
        return [example(schema.get("items", {"type": "string"}), depth + 1)]
    return {"integer": 1, "number": 1, "boolean": True, "object": {}}.get(str(kind), "plain")


def planted(schema: Any, text: str, depth: int = 0) -> Iterator[Any]:
    """Bodies of the shape with the text in each place of them, and in some where it cannot be."""
    schema = resolved(schema)
    for combined in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(combined, ()):
            yield from planted(part, text, depth)
    if schema.get("type") == "object" and depth < 4:
        base = example(schema, depth)
        base = base if isinstance(base, dict) else {}
        yield {**base, text: text}
        for name, part in schema.get("properties", {}).items():
            for value in planted(part, text, depth + 1):
                yield {**base, name: value}
    elif schema.get("type") == "array":
        for value in planted(schema.get("items", {}), text, depth + 1):
            yield [value]
    yield text


def calls(endpoint: Endpoint, text: str, known: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ways to call an endpoint with the text somewhere."""
    path = endpoint.path
    for name in endpoint.params:
        path = path.replace(f"{{{name}}}", known.get(path.split("/")[3], "1")).replace(f"{{{name}:path}}", "x")
    spelled = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
    for param in spelled.get("parameters", ()):
        if param["in"] == "query":
            yield path, {"params": {param["name"]: text}}
        elif param["in"] == "header":
            yield path, {"headers": {param["name"]: text}}
        elif param["in"] == "path":
            yield endpoint.path.replace(f"{{{param['name']}}}", quote(text, safe="")), {"json": {}}
    yield path, {"params": {text: text}}
    if endpoint.body is not None:
        for number, body in enumerate(planted(spelled["requestBody"]["content"]["application/json"]["schema"], text)):
            # An answer that is kept to be repeated is one more place.
            named = {"Idempotency-Key": f"{text.encode().hex()[:60]}-{number}"}
            yield path, {"json": body, **({} if number % 5 else {"headers": named})}
        yield path, {"content": text.encode(), "headers": {"Content-Type": "application/json"}}
        yield path, {"content": text.encode(), "headers": {"Content-Type": text}}


@pytest.fixture(scope="module")
def known(leaky: Site) -> dict[str, str]:
    """Something to name in the paths, by what they are about."""
    with leaky.client() as api:
        item = api.post("/api/v1/items", json={"content": "Deploys run at noon"}).json()
        talk = {"label": "Deploys", "folder": "/work", "messages": [{"role": "user", "content": "When?"}]}
        conversation = api.post("/api/v1/conversations", json=talk).json()
        stream = api.post("/api/v1/streams", json={}).json()
    return {
        "items": str(item["id"]),
        "conversations": conversation["id"],
        "streams": stream["stream_id"],
        "keys": "999",
    }


@pytest.mark.parametrize(
    "endpoint",
    [one for one in ENDPOINTS if one.path not in _SKIPPED and one.tag != "Documentation"],
    ids=lambda one: f"{one.method} {one.path}",
)
def test_no_endpoint_keeps_or_says_a_secret(leaky: Site, known: dict[str, str], endpoint: Endpoint) -> None:
    # Every place is asked with all of the secrets together, and with one alone that is another at each place.
    alone = [calls(endpoint, seed.text, known) for seed in SEEDS]
    turns = ((turn[number % len(SEEDS)]) for number, turn in enumerate(zip(*alone, strict=True)))
    with leaky.client() as api:
        for path, given in itertools.chain(calls(endpoint, TOGETHER, known), turns):
            answer = api.request(endpoint.method, path, **_sendable(given))
            assert answer.status_code < 500, answer.text
            result = answer.text + str(dict(answer.headers))
            assert leaks(result) == [], (path, given)
    assert leaks_in_files(leaky.memory.settings.data_dir) == {}


def test_what_is_told_of_it_later_holds_none(leaky: Site, known: dict[str, str]) -> None:
    with leaky.client() as api:
        for seed in SEEDS:
            talk = {"label": seed.text, "folder": "/w", "messages": [{"role": "user", "content": seed.text}]}
            api.post("/api/v1/items", json={"content": f"Told {seed.text}", "title": seed.text})
            api.post("/api/v1/conversations", json=talk)
        for path in ("events?follow=false", "search?query=told", "items", "conversations", "projects", "status"):
            assert leaks(api.get(f"/api/v1/{path}", headers={"Last-Event-ID": ""}).text) == [], path


def _sendable(given: dict[str, Any]) -> dict[str, Any]:
    """Headers hold no line breaks and no letters but these."""
    headers = {
        name: value.replace("\n", " ").encode("latin-1", "replace") for name, value in given.get("headers", {}).items()
    }
    return {**given, **({"headers": headers} if headers else {})}


def test_the_client_would_show_a_leak(leaky: Site) -> None:
    """The check can fail: the same secret is seen where it stands."""
    assert leaks(f"... {SEEDS[0].text} ...") == ["token"]
    with httpx2.Client(base_url=leaky.url) as api:
        assert api.get("/api/v1/items").status_code == 401
