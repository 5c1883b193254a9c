"""AGENTS.md: one file in the project's root that Codex and many other agents read."""

from __future__ import annotations

from commonplace.hosts.host import Host, RuleFiles
from commonplace.hosts.rule_files import single_file

HOST = Host(
    name="agents",
    title="AGENTS.md",
    rule_files=RuleFiles(
        name="agents",
        title="AGENTS.md (Codex and others)",
        signs=("AGENTS.md", ".agents"),
        files=single_file("AGENTS.md"),
        patterns=("AGENTS.md",),
        skills=".agents/skills",
        older=(".agents/instructions.md", ".agents/rules/**/*.md"),
        glob_keys=("paths",),
    ),
)
