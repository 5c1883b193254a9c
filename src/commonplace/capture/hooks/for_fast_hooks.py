"""What a hook, which is of the fast program, has done by the whole program.

A hook waits for each of these parts to load, so each is imported only when it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from commonplace.fast.host_events import HostEvents


def events_of_plugin(host: str) -> HostEvents | None:
    """The events of a host that another package adds; None if there is none, or it has no hooks."""
    from commonplace.hosts.event_table import row_of
    from commonplace.hosts.host import hooks_of

    hooks = hooks_of(host)
    return row_of(hooks) if hooks else None


def content_fingerprint(database: str) -> str | None:
    """A text that changes with the content of a store; None if it cannot be read at this moment."""
    from commonplace.memory import content_fingerprint

    return content_fingerprint.content_fingerprint(database)


def compose_context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
    """The context for a session in a folder, read from the store."""
    from commonplace.capture.hooks import context_refresh

    return context_refresh.compose_context(data, folder, session, env)


def team_context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str | None:
    """The context that a team's server gives; None if what happens in the folder stays on this machine."""
    from commonplace.capture.hooks import team_server

    return team_server.team_context(data, folder, session, env)


def tool_refusal(data: str, folder: str, env: Mapping[str, str], given: Mapping[str, object]) -> str:
    """Why an agent may not call the tools of a team's server like this in a folder; empty if it may."""
    from commonplace.capture.hooks import team_server

    return team_server.tool_refusal(data, folder, env, given)


def read_hints(data: str, env: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
    """The hints for an event, by words alone."""
    from commonplace.capture.hooks import hint_answers

    return hint_answers.read_hints(data, env, request)
