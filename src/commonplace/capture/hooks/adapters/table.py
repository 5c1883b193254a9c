"""Which adapter understands which host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from commonplace.capture.hooks.adapters import claude_code, codex, cursor, gemini, kiro, windsurf
from commonplace.hosts.hook_event import Event, HookRecord

Adapt = Callable[[str, Mapping[str, Any], HookRecord], Event | None]

ADAPTERS: Mapping[str, Adapt] = {
    "claude-code": claude_code.adapt,
    "codex": codex.adapt,
    "gemini": gemini.adapt,
    "cursor": cursor.adapt,
    "kiro": kiro.adapt,
    "windsurf": windsurf.adapt,
}
