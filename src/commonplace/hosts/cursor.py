"""Cursor: .cursor/rules/*.mdc, each with a description, the globs, and whether it always applies."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.front_matter import Fields, comma_globs, globs_in, words, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import OWN, RuleGroup, group_rules
from commonplace.memory.rules import RuleSet


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    return [RuleFile(f".cursor/rules/{c.name}.mdc", _front(c), c.rules) for c in group_rules(memory)]


def _front(chapter: RuleGroup) -> str:
    about = "Rules of this project" if chapter.name == OWN else f"Rules about {chapter.name}"
    # Cursor wants its globs bare, with commas between them.
    return write(
        [
            ("description", words(about)),
            ("globs", comma_globs(chapter.paths)),
            ("alwaysApply", "false" if chapter.paths else "true"),
        ]
    )


def on_demand(fields: Fields) -> bool:
    """Without globs a rule that does not always apply waits for an agent or a person to ask for it."""
    return str(fields.get("alwaysApply", "true")).lower() == "false" and not globs_in(fields, ("globs",))


CURSOR = RuleTarget(
    name="cursor",
    title="Cursor",
    signs=(".cursor", ".cursorrules"),
    files=files,
    homes=(".cursor/rules/**/*.mdc",),
    skills=".cursor/skills",
    older=(".cursorrules",),
    glob_keys=("globs",),
    on_demand=on_demand,
)
