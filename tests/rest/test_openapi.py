"""The OpenAPI document is valid, says what the table says, and the page that shows it asks nobody else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from commonplace.dialects.reply_schema import COMPONENTS
from commonplace.rest.endpoint import Endpoint
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.openapi import statuses

from .conftest import DOCUMENT

PAGE = Path(__file__).parents[2] / "src" / "commonplace" / "rest" / "docs_page"


def operation_of(endpoint: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
    return found


def everything(value: Any) -> list[dict[str, Any]]:
    """Every object in the document."""
    if isinstance(value, dict):
        return [value, *(one for entry in value.values() for one in everything(entry))]
    return [one for entry in value for one in everything(entry)] if isinstance(value, list) else []


def test_it_is_served_as_it_is(api: httpx2.Client) -> None:
    answer = api.get("/api/v1/openapi.json")
    assert answer.headers["content-type"] == "application/json" and answer.json() == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1.")


def test_it_is_valid_openapi() -> None:
    assert [f"{error.instance_path}: {error.message}" for error in OPENAPI_31_VALIDATOR.iter_errors(DOCUMENT)] == []


def test_it_tells_every_endpoint_and_no_other() -> None:
    seen = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert seen == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS} and len(seen) == len(ENDPOINTS)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_an_operation_says_what_its_row_says(endpoint: Endpoint) -> None:
    result = operation_of(endpoint)
    assert result["summary"] == endpoint.summary and result["description"].endswith(".")
    assert set(result["responses"]) == {str(status) for status in statuses(endpoint)}
    assert ("requestBody" in result) == (endpoint.body is not None or bool(endpoint.takes))
    assert (result.get("security") == []) == (endpoint.scope is None) and result.get("x-scope") == endpoint.scope
    query = {one["name"] for one in result["parameters"] if one["in"] == "query"}
    assert query == (set() if endpoint.query is None else set(endpoint.query.model_json_schema()["properties"]))
    assert {one["name"] for one in result["parameters"] if one["in"] == "path"} == set(endpoint.params)
    if endpoint.scope is not None:
        assert {"401", "403", "429", "503"} <= set(result["responses"])


def test_names_of_operations_are_unique() -> None:
    names = [endpoint.operation_id for endpoint in ENDPOINTS]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"\w+", name) for name in names)


def test_every_reference_leads_somewhere_and_everything_is_referred_to() -> None:
    used = {one["$ref"] for one in everything(DOCUMENT) if "$ref" in one}
    there = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert used == there
    assert set(COMPONENTS.values()) <= set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_every_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(DOCUMENT["components"]["schemas"][name])


def test_json_to_import_is_described_by_what_is_in_it(api: httpx2.Client) -> None:
    content = DOCUMENT["paths"]["/api/v1/import"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    for body, taken in (
        ({"messages": [{"role": "user", "content": "x"}]}, True),
        ({"messages": [{"role": "user", "content": " "}]}, False),
        ({"messages": []}, False),
        ({}, False),
        ("", False),
        (0, False),
    ):
        assert Draft202012Validator(content).is_valid(body) == taken
        assert api.post("/api/v1/import", json=body).status_code == (200 if taken else 422)


def test_every_number_in_a_request_has_bounds() -> None:
    bodies = [one for name, one in DOCUMENT["components"]["schemas"].items() if name not in COMPONENTS.values()]
    requested = [one["schema"] for op in everything(DOCUMENT["paths"]) for one in op.get("parameters", ())]
    numbers = [one for one in everything([bodies, requested]) if one.get("type") in ("integer", "number")]
    assert len(numbers) > 10
    assert all({"minimum", "maximum"} <= set(one) and abs(one["maximum"]) <= 2**53 for one in numbers)


def test_the_page_and_its_parts_are_served_to_anybody(api: httpx2.Client) -> None:
    with httpx2.Client(base_url=api.base_url) as nobody:
        for path, media in (("", "text/html"), ("/docs.js", "text/javascript"), ("/docs.css", "text/css")):
            answer = nobody.get(f"/api/v1/docs{path}")
            assert answer.status_code == 200 and answer.headers["content-type"].startswith(media)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_asks_nobody_else_and_runs_nothing_inline() -> None:
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "//" not in re.sub(r"^\s*//.*", "", text, flags=re.MULTILINE), path.name
        assert "innerHTML" not in text and "eval(" not in text
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|style=", html)
    assert "<main" in html and 'lang="en"' in html and len((PAGE / "docs.js").read_text().splitlines()) <= 300


def test_the_script_makes_a_page_of_the_document(tmp_path: Path) -> None:
    """Run by Node against a stand-in for a browser; where there is none, its words are at least balanced."""
    script = (PAGE / "docs.js").read_text(encoding="utf-8")
    node = shutil.which("node")
    if node is None:
        for left, right in ("()", "{}", "[]"):
            assert script.count(left) == script.count(right)
        return
    (tmp_path / "openapi.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    (tmp_path / "run.js").write_text(BROWSER + script, encoding="utf-8")
    done = subprocess.run([node, "run.js"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for endpoint in ENDPOINTS:
        assert endpoint.path in done.stdout and endpoint.summary in done.stdout
    assert "array of Item" in done.stdout and "undefined" not in done.stdout


BROWSER = """
class Element {
  constructor(tag) { this.tag = tag; this.kids = []; this.dataset = {}; this.on = {}; this.attributes = {};
    this.classList = { toggle() {}, add() {} }; this.textContent = ""; this.className = ""; this.id = "";
    this.open = false; this.hidden = false; this.value = ""; this.placeholder = ""; }
  append(...kids) { this.kids.push(...kids); }
  replaceChildren(...kids) { this.kids = kids; }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener(name, act) { this.on[name] = act; }
  get childElementCount() { return this.kids.length; }
  all() { return [this, ...this.kids.filter((kid) => kid instanceof Element).flatMap((kid) => kid.all())]; }
  text() { return this.textContent + this.kids.map((kid) => kid instanceof Element ? kid.text() : kid).join(" "); }
}
const parts = {};
globalThis.document = {
  createElement: (tag) => new Element(tag),
  getElementById: (id) => parts[id] ??= new Element(id),
  querySelectorAll: () => [],
};
globalThis.fetch = async () => ({ json: async () => JSON.parse(require("fs").readFileSync("openapi.json", "utf8")) });
setTimeout(() => {
  const main = parts.endpoints;
  for (const box of main.all().filter((one) => one.on.toggle)) { box.open = true; box.on.toggle(); }
  if (main.attributes["aria-busy"] !== "false") throw new Error(main.text());
  console.log(main.text());
}, 200);
"""
