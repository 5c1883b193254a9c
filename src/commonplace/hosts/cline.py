"""Cline: .clinerules, a folder of rule files with `paths` on top, or, in older projects, one file."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.front_matter import listed, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import group_rules
from commonplace.memory.rules import RuleSet

FOLDER = ".clinerules"


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    if (root / FOLDER).is_file():
        return [RuleFile(FOLDER, rules=memory.rules)]
    return [
        RuleFile(f"{FOLDER}/{c.name}.md", write([("paths", listed(c.paths))]) if c.paths else "", c.rules)
        for c in group_rules(memory)
    ]


CLINE = RuleTarget(
    name="cline",
    title="Cline",
    signs=(FOLDER,),
    files=files,
    homes=(FOLDER, f"{FOLDER}/*.md"),
    skills=".cline/skills",
    glob_keys=("paths",),
)
