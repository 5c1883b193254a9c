"""One neutral event: what any host's hook tells, in our words. Adapters make it, all after them read only it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

EventKind = Literal["session-start", "prompt", "tool", "compact", "stop", "subagent-stop", "session-end"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a session of a host. Every field but the first two may be unknown, that is empty."""

    host: str
    kind: EventKind
    id: str = ""
    """What tells it from every other event: the same id again is the same event told again."""
    session: str = ""
    """What the host calls the session; the same name that its transcripts bear."""
    cwd: str = ""
    at_ms: int = 0
    text: str = ""
    """What was said: the prompt, the last answer at a stop, the summary of a compaction."""
    tool: str = ""
    """The host's own name of the tool that was used."""
    input: Mapping[str, object] = field(default_factory=dict)
    output: object = None
    failed: bool = False
    succeeded: bool = False
    """The host tells of this tool only if it went well; unknown if false."""
    partial: bool = False
    """It was too long to be taken whole: what it says is right, but not all."""
    reason: str = ""
    """Why a session started or ended: startup, resume, clear, compact, logout ..."""
    agent: str = ""
    """The sub-agent in which it happened; empty in the main thread."""
    transcript: str = ""
