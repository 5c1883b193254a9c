"""Finds the route of a path among those that begin like it, instead of trying one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

# So many parts of a path tell routes apart well enough: /api/v1/items.
DEPTH = 3
_MATCHED = "commonplace.route"


class RouteIndex(BaseRoute):
    """All routes as one, in the same order of precedence."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        beginnings = [_fixed_parts(route) for route in routes]
        known = {parts[:depth] for parts in beginnings for depth in range(len(parts) + 1)}
        self._routes = {
            key: [route for route, parts in zip(routes, beginnings, strict=True) if key[: len(parts)] == parts]
            for key in known
        }

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found: tuple[Match, Scope] = (Match.NONE, {})
        for route in self._beginning_like(scope["path"]):
            match, matched = route.matches(scope)
            if match is not Match.NONE and found[0] is Match.NONE:
                found = (match, {**matched, _MATCHED: route})
            if match is Match.FULL:
                return match, {**matched, _MATCHED: route}
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = scope.pop(_MATCHED)
        await scope["route"].handle(scope, receive, send)

    def _beginning_like(self, path: str) -> Sequence[BaseRoute]:
        """The routes whose fixed beginning is also that of the path."""
        parts = tuple(path.split("/", DEPTH + 1)[1 : DEPTH + 1])
        while parts not in self._routes:
            parts = parts[:-1]
        return self._routes[parts]


def _fixed_parts(route: BaseRoute) -> tuple[str, ...]:
    """The first parts of a route's path, up to one that is filled in; none if it has no path."""
    parts = route.path.split("/")[1 : DEPTH + 1] if isinstance(route, Route) else []
    return tuple(parts[: next((n for n, part in enumerate(parts) if "{" in part), len(parts))])
