"""GitHub Copilot: .github/copilot-instructions.md for what is general, .github/instructions with `applyTo`."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.chapters import OWN, Chapter, chapters
from commonplace.hosts.front_matter import comma_globs, quoted, write
from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook

EVERY_FILE = "**"


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile(_path(chapter), _front(chapter), chapter.rules) for chapter in chapters(book)]


def _path(chapter: Chapter) -> str:
    if chapter.name == OWN:
        return ".github/copilot-instructions.md"
    return f".github/instructions/{chapter.name}.instructions.md"


def _front(chapter: Chapter) -> str:
    if chapter.name == OWN:
        return ""
    return write([("applyTo", quoted(comma_globs(chapter.paths) or EVERY_FILE))])


COPILOT = Host(
    name="copilot",
    title="GitHub Copilot",
    # Every project on GitHub has a .github folder.
    signs=(".github/copilot-instructions.md", ".github/instructions"),
    files=files,
    homes=(".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"),
    skills=".github/skills",
    glob_keys=("applyTo",),
)
