"""What Prometheus scrapes is what METRICS and docs/reference/metrics.md say, and no label holds what somebody wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.mcp.conftest import DEADLINE, Served, keyed
from tests.postgres_server import PostgresServer

from commonplace import errors
from commonplace.dialects.tool_profiles import ALL
from commonplace.rest.metrics import METRICS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
PLANTED = "xyloquartz"
LABELS = ("method", "route", "status", "tool", "code", "kind", "state")


@pytest.fixture(scope="module")
def server(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that was asked well and badly, with planted words, over every door."""
    folder = tmp_path_factory.mktemp("metrics")
    server = Served(folder, "--port", "0", COMMONPLACE_DATABASE_URL=postgres.database(folder))
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=DEADLINE) as client:
        client.post("/api/v1/items", json={"content": PLANTED, "project": PLANTED, "type": "note"})
        client.get("/api/v1/search", params={"q": PLANTED})
        client.get(f"/api/v1/items/{PLANTED}")
        client.get(f"/{PLANTED}")
        client.request(PLANTED.upper(), "/api/v1/items")
        client.get("/api/v1/items", headers={"host": PLANTED})

    async def story() -> None:
        async with keyed(f"{server.url}/mcp", server.key) as client:
            await client.call_tool("search", {"query": PLANTED})
            await client.call_tool("search", {PLANTED: PLANTED})

    anyio.run(story)
    yield server
    server.end()
    postgres.leave(folder)


@pytest.fixture(scope="module")
def families(server: Served) -> list[Metric]:
    answer = httpx2.get(f"{server.url}/metrics", headers=server.headers, timeout=DEADLINE)
    assert answer.status_code == 200 and PLANTED not in answer.text.lower()
    return list(text_string_to_metric_families(answer.text))


def value(families: list[Metric], name: str, **labels: str) -> float:
    samples = (sample for family in families for sample in family.samples if sample.name == name)
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def test_the_table_has_every_metric_with_its_type_and_labels(families: list[Metric]) -> None:
    """The table is that of the site (tests/test_docs_site.py); the page names some of it."""
    written = {one.sample_name: (one.kind, frozenset(one.labels)) for one in METRICS.values()}
    named = re.findall(r"`(commonplace_\w+)`", PAGE.read_text(encoding="utf-8"))
    assert named and set(named) <= written.keys()
    scraped = {}
    for family in families:
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        if name.startswith("commonplace_"):
            assert family.documentation
            scraped[name] = (family.type, frozenset(labels))
        else:
            assert name.startswith(("process_", "python_"))
    assert scraped == written


def test_what_happened_is_counted(families: list[Metric]) -> None:
    assert value(families, "commonplace_requests_total", route="/api/v1/items", method="POST", status="201") == 1
    assert value(families, "commonplace_request_seconds_count", route="/api/v1/search", status="200") == 1
    assert value(families, "commonplace_requests_total", route="other", status="404") == 1
    assert value(families, "commonplace_requests_total", route="/api/v1/items", status="421") == 1
    assert value(families, "commonplace_requests_total", method="other", status="405") == 1
    assert value(families, "commonplace_tool_calls_total", tool="search", code="ok") == 1
    assert value(families, "commonplace_tool_calls_total", tool="search", code="VALIDATION_ERROR") == 1
    assert value(families, "commonplace_tool_call_seconds_count", tool="search") == 2
    assert value(families, "commonplace_errors_total", code="NOT_FOUND") == 2
    assert value(families, "commonplace_items", kind="memory") == 1
    # The scrape itself, the transaction that tells this, and perhaps the one that notes when the key was used.
    assert value(families, "commonplace_requests_in_progress") == 1
    assert value(families, "commonplace_database_connections", state="in_use") in (1, 2)
    assert value(families, "commonplace_database_connections_limit") == 10


def test_labels_are_of_known_kinds(families: list[Metric]) -> None:
    found: dict[str, set[str]] = {name: set() for name in LABELS}
    for family in families:
        if family.name.startswith("commonplace_"):
            for sample in family.samples:
                for name, message in sample.labels.items():
                    found.setdefault(name, set()).add(message)
    assert found.keys() - {"le"} == set(LABELS)
    codes = {getattr(errors, name).code for name in dir(errors) if hasattr(getattr(errors, name), "code")}
    assert found["code"] <= codes | {"ok"}
    assert found["tool"] <= {tool.name for tool in ALL}
    assert all(re.fullmatch(r"/[a-z0-9_/{}:.-]*|other", route) for route in found["route"])
