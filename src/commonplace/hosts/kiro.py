"""Kiro: steering files in .kiro/steering, each saying when it is included."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.front_matter import Fields, bracketed, quoted, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import RuleGroup, group_rules
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile(f".kiro/steering/{c.name}.md", _front(c), c.rules) for c in group_rules(memory)]


def _front(chapter: RuleGroup) -> str:
    if not chapter.paths:
        return write([("inclusion", "always")])
    patterns = quoted(chapter.paths[0]) if len(chapter.paths) == 1 else bracketed(chapter.paths)
    return write([("inclusion", "fileMatch"), ("fileMatchPattern", patterns)])


def on_demand(fields: Fields) -> bool:
    return fields.get("inclusion") in ("manual", "auto")


KIRO = RuleTarget(
    name="kiro",
    title="Kiro",
    signs=(".kiro",),
    files=files,
    homes=(".kiro/steering/**/*.md",),
    skills=".kiro/skills",
    glob_keys=("fileMatchPattern",),
    on_demand=on_demand,
)
