"""Who and what: the people and things that memories name, what is known of one of them, and the profile."""

from __future__ import annotations

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.about import about
from commonplace.memory.entities import list_entities
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.profile import PROFILE_GROUPS, PROFILE_TOKENS, SHOW, build_profile
from commonplace.memory.profile import show_in_profile as set_shown
from commonplace.text.entity_names import ENTITY_KINDS, MAX_NAME
from commonplace.text.validity import parse_as_of
from commonplace.web.page_handler import PageRequest, Redirect, Rendered, project_names, with_query

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


def profile_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The lines by group, and what was hidden."""
    project = request.one("project")
    try:
        profile = build_profile(memory, project or None)
    except (InvalidInput, NotFound):
        profile, project = build_profile(memory), ""
    groups = {group: [line for line in profile.lines if line.group == group] for group in PROFILE_GROUPS}
    values = {
        "profile": profile,
        "groups": {group: lines for group, lines in groups.items() if lines},
        "most": PROFILE_TOKENS,
        "project": project,
        "projects": project_names(memory),
        "may_change": request.may("write"),
    }
    return Rendered("profile", values)


def show_in_profile(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Pin a memory, hide it, or leave that to the rules."""
    show = next((one for one in SHOW if one == request.given("show")), None)
    if show is None:
        raise InvalidInput("The request does not say what to do with it.", "Pin it, hide it, or leave it to the rules.")
    item = set_shown(memory, request.path["id"], show)
    path = with_query("/profile", {"project": request.given("at_project")})
    return Redirect(path, f"profile_{show}", item.short_id)
