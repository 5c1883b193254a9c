"""Claude Code: CLAUDE.md for what is general, .claude/rules for the rest, with `paths` on top."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.front_matter import listed, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import OWN, RuleGroup, group_rules
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile(_path(chapter), _front(chapter), chapter.rules) for chapter in group_rules(memory)]


def _path(chapter: RuleGroup) -> str:
    return "CLAUDE.md" if chapter.name == OWN else f".claude/rules/{chapter.name}.md"


def _front(chapter: RuleGroup) -> str:
    # CLAUDE.md has no front matter: it is always read.
    return write([("paths", listed(chapter.paths))]) if chapter.paths and chapter.name != OWN else ""


CLAUDE = RuleTarget(
    name="claude",
    title="Claude Code",
    signs=("CLAUDE.md", ".claude"),
    files=files,
    homes=("CLAUDE.md", ".claude/rules/**/*.md"),
    skills=".claude/skills",
    older=(".claude/CLAUDE.md", "CLAUDE.local.md"),
    glob_keys=("paths",),
)
