"""How a row of the table of endpoints is written: `get("/items", list_items, "items_listing", "List", verb="list")`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from commonplace.library.verbs import VERBS
from commonplace.rest.endpoint import Call, Endpoint, Method, Scope
from commonplace.text.untrusted_json import MAX_VALUES_OF_MANY

# Paths are below this unless they begin with one of the others.
_ROOT, _OTHER_ROOTS = "/api/v1", ("/api/", "/mcp/", "/metrics")


def row(
    method: Method,
    path: str,
    call: Call,
    operation: str,
    summary: str,
    *,
    scope: Scope | None = "write",
    verb: str = "",
    if_match: bool = False,
    many_values: bool = False,
    **more: Any,
) -> Endpoint:
    """A row; `operation` with the method names it for clients that are generated from the document.

    One that is another form of a verb of the library names it, and needs what it needs.
    """
    if if_match:
        more["headers"] = ("If-Match",)
    if many_values:
        more["max_values"] = MAX_VALUES_OF_MANY
    whole = path if path.startswith(_OTHER_ROOTS) else _ROOT + path
    needed = VERBS[verb].key_scope if verb else scope
    return Endpoint(method, whole, call, f"{operation}_{method.lower()}", summary, needed, **more)


get = partial(row, "GET", scope="read")
ask = partial(row, "POST", scope="read")
post = partial(row, "POST")
put = partial(row, "PUT", if_match=True)
patch = partial(row, "PATCH")
delete = partial(row, "DELETE")


def tagged(tag: str, *rows: Endpoint) -> tuple[Endpoint, ...]:
    return tuple(replace(one, tag=tag) for one in rows)
