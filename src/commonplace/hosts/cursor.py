"""Cursor: .cursor/rules/*.mdc, each with a description, the globs, and whether it always applies."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.chapters import OWN, Chapter, chapters
from commonplace.hosts.front_matter import Fields, comma_globs, globs_in, words, write
from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile(f".cursor/rules/{c.name}.mdc", _front(c), c.rules) for c in chapters(book)]


def _front(chapter: Chapter) -> str:
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


CURSOR = Host(
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
