"""GitHub Copilot: .github/copilot-instructions.md for what is general, .github/instructions with `applyTo`."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.front_matter import comma_globs, quoted, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import OWN, RuleGroup, group_rules
from commonplace.memory.rules import RuleSet

EVERY_FILE = "**"


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile(_path(chapter), _front(chapter), chapter.rules) for chapter in group_rules(memory)]


def _path(chapter: RuleGroup) -> str:
    if chapter.name == OWN:
        return ".github/copilot-instructions.md"
    return f".github/instructions/{chapter.name}.instructions.md"


def _front(chapter: RuleGroup) -> str:
    if chapter.name == OWN:
        return ""
    return write([("applyTo", quoted(comma_globs(chapter.paths) or EVERY_FILE))])


COPILOT = RuleTarget(
    name="copilot",
    title="GitHub Copilot",
    # Every project on GitHub has a .github folder.
    signs=(".github/copilot-instructions.md", ".github/instructions"),
    files=files,
    homes=(".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"),
    skills=".github/skills",
    glob_keys=("applyTo",),
)
