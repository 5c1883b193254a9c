"""Roo Code: .roo/rules/*.md, all of them always read, so globs are named in headings."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.chapters import chapters
from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile(f".roo/rules/{chapter.name}.md", rules=chapter.rules) for chapter in chapters(book)]


ROO = Host(
    name="roo",
    title="Roo Code",
    signs=(".roo", ".roorules"),
    files=files,
    homes=(".roo/rules/**/*.md",),
    skills=".roo/skills",
    older=(".roorules",),
)
