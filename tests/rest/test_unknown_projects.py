"""A misspelt project is an error wherever a project is read: a check of its rules must not pass because it has none."""

from __future__ import annotations

import httpx2
import pytest

from commonplace.rest.endpoint import Endpoint
from commonplace.rest.endpoint_table import ENDPOINTS

from .conftest import Remembered, conforms, refused

READING = [endpoint for endpoint in ENDPOINTS if endpoint.reads_known_project]
# What each needs besides a project.
_MORE = {"/api/v1/search": {"q": "x"}, "/api/v1/about": {"name": "Ada"}}


@pytest.mark.parametrize("endpoint", READING, ids=lambda one: f"{one.method} {one.path}")
def test_an_unknown_project_is_not_found_and_the_nearest_is_named(
    api: httpx2.Client, remembered: Remembered, endpoint: Endpoint
) -> None:
    remembered(project="shop-api", type="rule")
    wanted = {"project": "shop-apii", **_MORE.get(endpoint.path, {})}
    part = {"params": wanted} if endpoint.method == "GET" else {"json": wanted}
    answer = api.request(endpoint.method, endpoint.path, **part)  # type: ignore[arg-type]
    conforms(answer, endpoint.method, endpoint.path)
    assert "shop-apii" in refused(answer, 404, "NOT_FOUND")
    assert "shop-api'" in answer.text


@pytest.mark.parametrize("endpoint", READING, ids=lambda one: f"{one.method} {one.path}")
def test_a_name_that_may_mean_two_projects_is_a_conflict_that_names_them(
    api: httpx2.Client, remembered: Remembered, endpoint: Endpoint
) -> None:
    for owner in ("acme", "other"):
        remembered(project=f"github.com/{owner}/twin", type="rule")
    wanted = {"project": "twin", **_MORE.get(endpoint.path, {})}
    part = {"params": wanted} if endpoint.method == "GET" else {"json": wanted}
    answer = api.request(endpoint.method, endpoint.path, **part)  # type: ignore[arg-type]
    conforms(answer, endpoint.method, endpoint.path)
    assert "github.com/acme/twin or github.com/other/twin" in refused(answer, 409, "CONFLICT")


def test_every_read_route_of_a_project_is_among_them() -> None:
    assert {endpoint.path.removeprefix("/api/v1") for endpoint in READING} == {
        *("/items", "/contradictions", "/review", "/search", "/context", "/rules", "/entities", "/about", "/profile"),
        *("/conversations", "/conversations/count", "/sessions", "/overview"),
    }
