"""Roo Code: .roo/rules/*.md, all of them always read, so globs are named in headings."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import group_rules
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile(f".roo/rules/{chapter.name}.md", rules=chapter.rules) for chapter in group_rules(memory)]


ROO = RuleTarget(
    name="roo",
    title="Roo Code",
    signs=(".roo", ".roorules"),
    files=files,
    homes=(".roo/rules/**/*.md",),
    skills=".roo/skills",
    older=(".roorules",),
)
