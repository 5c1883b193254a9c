"""AGENTS.md: one file in the project's root that Codex and many other agents read."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile("AGENTS.md", rules=memory.rules)]


AGENTS = RuleTarget(
    name="agents",
    title="AGENTS.md (Codex and others)",
    signs=("AGENTS.md", ".agents"),
    files=files,
    homes=("AGENTS.md",),
    skills=".agents/skills",
    older=(".agents/instructions.md", ".agents/rules/**/*.md"),
    glob_keys=("paths",),
)
