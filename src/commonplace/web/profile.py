"""The profile: how the people who use this memory work, line by line, to pin, to hide, or to change."""

from __future__ import annotations

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.profile import PROFILE_TOKENS, SHOW, build_profile
from commonplace.memory.profile import show_in_profile as set_shown
from commonplace.text.profile_sentences import PROFILE_GROUPS
from commonplace.web.page import PageRequest, Redirect, Rendered, project_names, with_query


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
