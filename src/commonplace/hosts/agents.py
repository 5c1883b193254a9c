"""AGENTS.md: one file in the project's root that Codex and many other agents read."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile("AGENTS.md", rules=book.rules)]


AGENTS = Host(
    name="agents",
    title="AGENTS.md (Codex and others)",
    signs=("AGENTS.md", ".agents"),
    files=files,
    homes=("AGENTS.md",),
    skills=".agents/skills",
    older=(".agents/instructions.md", ".agents/rules/**/*.md"),
    glob_keys=("paths",),
)
