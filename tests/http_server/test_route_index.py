"""Routes that are found by how a path begins: the same that would be found by trying all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute, Match, Route

from commonplace import config
from commonplace.http_server import application as site
from commonplace.http_server.application import RouteIndex

METHODS = ("GET", "HEAD", "POST", "DELETE")


@pytest.fixture
def routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[BaseRoute]:
    """The routes of the whole site."""
    indexed: list[BaseRoute] = []

    class Noted(RouteIndex):
        def __init__(self, routes: Sequence[BaseRoute]) -> None:
            indexed.extend(routes)
            super().__init__(routes)

    monkeypatch.setattr(site, "RouteIndex", Noted)
    settings = config.load({"data_dir": str(tmp_path)}, env={})
    site.application(lambda: pytest.fail("nothing is asked"), settings, apart=False)
    return indexed


def first_that_matches(routes: Sequence[BaseRoute], scope: dict[str, Any]) -> tuple[Match, str, dict[str, Any]]:
    """What trying one after the other finds: the first that takes the path and the method, or else the path."""
    found = [(match, route, more) for route in routes for match, more in [route.matches(scope)]]
    for wanted in (Match.FULL, Match.PARTIAL):
        for match, route, more in found:
            if match is wanted and isinstance(route, Route):
                return match, route.path, more["path_params"]
    return Match.NONE, "", {}


def test_the_same_route_is_found_for_every_path(routes: Sequence[BaseRoute]) -> None:
    templates = [route.path for route in routes if isinstance(route, Route)]
    paths = {re.sub(r"{[^}]*}", filled, path) for path in templates for filled in ("abc", "a/b", "")}
    paths |= {path + more for path in paths for more in ("/", "/more")} | {"", "*", "//", "/api", "/api/v2/items"}
    index = RouteIndex(routes)
    for path in paths:
        for method in METHODS:
            scope = {"type": "http", "path": path, "method": method, "root_path": ""}
            match, more = index.matches(scope)
            found = (match, more["commonplace.route"].path, more["path_params"]) if more else (match, "", {})
            assert found == first_that_matches(routes, scope), (method, path)


def test_few_routes_begin_alike(routes: Sequence[BaseRoute]) -> None:
    index = RouteIndex(routes)
    assert len(routes) > 100
    assert max(len(alike) for alike in index._routes.values()) < 30
