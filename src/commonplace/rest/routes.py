"""The routes of the REST door, for whoever assembles the site."""

from __future__ import annotations

import functools
from collections.abc import Callable

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Route

from commonplace.rest.endpoint import Endpoint, House
from commonplace.rest.frame import Door, Nowhere
from commonplace.rest.metrics import Requests
from commonplace.rest.openapi import document
from commonplace.rest.refusal import as_bytes
from commonplace.rest.table import ENDPOINTS
from commonplace.workers import Workers

# Below this a reply travels as fast as it is; streams of events are never held back to be packed.
_PACKED = Middleware(GZipMiddleware, minimum_size=4096, compresslevel=3)


def routes(workers: Workers, requests: Requests, ending: Callable[[], bool]) -> list[BaseRoute]:
    """Everything under /api/v1 and /api/sdk, and /metrics.

    `ending` tells those who listen that the server is about to stop.
    """
    house = House(
        workers=workers,
        document=functools.cache(lambda: as_bytes(document(ENDPOINTS))),
        counted=requests.text,
        ending=ending,
    )
    doors = [Route(path, Door(path, behind, house), middleware=[_PACKED]) for path, behind in _by_path().items()]
    nowhere = Nowhere()
    elsewhere = [Route(path, nowhere) for root in ("/api/v1", "/api/sdk") for path in (root, root + "/{rest:path}")]
    return [*doors, *elsewhere]


def _by_path() -> dict[str, dict[str, Endpoint]]:
    """Endpoints by path and method; a path that says more comes before one with a gap in its place."""
    found: dict[str, dict[str, Endpoint]] = {}
    for endpoint in sorted(ENDPOINTS, key=lambda one: one.path.replace("{", "\uffff")):
        found.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return found
