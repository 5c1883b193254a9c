"""The routes of the dashboard, for whoever assembles the site."""

from __future__ import annotations

from collections.abc import Callable

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Route, compile_path

from commonplace.web import static
from commonplace.web.frame import Frame
from commonplace.web.login import Door, Login, Tickets
from commonplace.web.lost import LOST, is_typed
from commonplace.web.page import House, Page
from commonplace.web.pages import PAGES
from commonplace.web.render import Templates
from commonplace.workers import Workers

_DOORS = ("/login", "/logout", "/enter")
# The news of REST, which pages listen to: reading it takes no more than a visit.
_EVENTS = "/api/v1/events"
_PACKED = Middleware(GZipMiddleware, minimum_size=1024, compresslevel=4)


def routes(workers: Workers, ending: Callable[[], bool], door: Door, tickets: Tickets) -> list[BaseRoute]:
    """Every page, the door to them, and the files they need."""
    house = House(workers, ending)
    templates = Templates()
    login = Login(door, templates, tickets)
    return [
        Route("/login", login.form, methods=["GET"]),
        Route("/login", login.enter, methods=["POST"]),
        Route("/logout", login.leave, methods=["POST"]),
        Route("/enter", login.ticket, methods=["GET"]),
        Route(static.TREE + "/{name}", static.send, middleware=[_PACKED]),
        *(
            Route(path, Frame(path, behind, house, templates), middleware=[_PACKED])
            for path, behind in _by_path().items()
        ),
    ]


def lost(workers: Workers, ending: Callable[[], bool]) -> Frame:
    """What is shown where nothing is."""
    return Frame(LOST.path, {LOST.method: LOST}, House(workers, ending), Templates())


def is_page(path: str, accept: str) -> bool:
    """Whether a path is for people, who sign in, rather than for programs, which show a key."""
    known = path in (*_DOORS, _EVENTS) or any(pattern.match(path) for pattern in _PATTERNS)
    return known or is_typed(path, accept)


def _by_path() -> dict[str, dict[str, Page]]:
    """Pages by path and method; a path that says more comes before one with a gap in its place."""
    found: dict[str, dict[str, Page]] = {}
    for page in sorted(PAGES, key=lambda one: one.path.replace("{", "\uffff")):
        found.setdefault(page.path, {})[page.method] = page
    return found


_PATTERNS = [compile_path(path)[0] for path in (*_by_path(), static.TREE + "/{name}")]
