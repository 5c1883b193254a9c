"""Who and what: the people and things that memories name, and what is known of one of them."""

from __future__ import annotations

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.about import about
from commonplace.memory.entities import list_entities
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.entity_names import ENTITY_KINDS, MAX_NAME
from commonplace.text.validity import parse_as_of
from commonplace.web.page import PageRequest, Rendered, project_names

LISTED = 200


def list_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What memories name, by kind, what is named most first."""
    kind, project, named = request.one("kind"), request.one("project"), request.one("named")[:MAX_NAME]
    wanted = kind if kind in ENTITY_KINDS else ""
    try:
        found = list_entities(memory, wanted, project or None, named, LISTED)
    except (InvalidInput, NotFound):
        # A project that was renamed since the page was bookmarked.
        found, project = list_entities(memory, wanted, None, named, LISTED), ""
    groups = {one: [entity for entity in found if entity.kind == one] for one in ENTITY_KINDS}
    values = {
        "groups": {one: entities for one, entities in groups.items() if entities},
        "kind": wanted,
        "kinds": ENTITY_KINDS,
        "project": project,
        "projects": project_names(memory),
        "named": named,
        "limited": len(found) == LISTED,
        "limit": LISTED,
    }
    return Rendered("entities", values)


def entity_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What is known of somebody or something, now or at a moment."""
    name, as_of = request.path["name"], request.one("as_of")
    values = {"name": name[:MAX_NAME], "as_of": as_of, "wrong": None, "known": None}
    try:
        at_ms = parse_as_of(as_of, memory.clock()) if as_of else None
        known = about(memory, name, at_ms=at_ms)
    except (InvalidInput, NotFound) as error:
        return Rendered("entity", values | {"wrong": error}, error.http_status)
    return Rendered("entity", values | {"known": known})
