"""Gemini CLI: GEMINI.md in the project's root."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile("GEMINI.md", rules=memory.rules)]


GEMINI = RuleTarget(
    name="gemini",
    title="Gemini CLI",
    signs=("GEMINI.md", ".gemini"),
    files=files,
    homes=("GEMINI.md",),
    skills=".gemini/skills",
)
