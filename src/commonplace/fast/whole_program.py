"""What the fast program has done by the rest of the program, which is loaded only then. Read by type checkers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from commonplace.fast.host_events import HostEvents


class WholeProgramForHooks(Protocol):
    """For hooks: `capture/hooks/for_fast_hooks.py`."""

    def events_of_plugin(self, host: str) -> HostEvents | None:
        """The events of a host that another package adds; None if there is none, or it has no hooks."""

    def content_fingerprint(self, database: str) -> str | None:
        """A text that changes with the content of a store; None if it cannot be read at this moment."""

    def compose_context(self, data: str, folder: str, session: str, env: Mapping[str, str]) -> str:
        """The context for a session in a folder, read from the store."""

    def team_context(self, data: str, folder: str, session: str, env: Mapping[str, str]) -> str | None:
        """The context that a team's server gives; None if what happens in the folder stays on this machine."""

    def tool_refusal(self, data: str, folder: str, env: Mapping[str, str], given: Mapping[str, object]) -> str:
        """Why an agent may not call the tools of a team's server like this in a folder; empty if it may."""

    def read_hints(self, data: str, env: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
        """The hints for an event, by words alone."""


class WholeProgramForEditors(Protocol):
    """For the servers of editors: `resident_process/for_fast_editors.py`."""

    def read_only_tools(self, profile: str) -> frozenset[str]:
        """The tools that change nothing."""

    def serve(self, options: Mapping[str, str | None], reads: int, writes: int) -> int:
        """Serve lines from one descriptor, and answer to another, until the first one ends; the exit code."""


LoadForHooks = Callable[[], WholeProgramForHooks]
LoadForEditors = Callable[[], WholeProgramForEditors]
