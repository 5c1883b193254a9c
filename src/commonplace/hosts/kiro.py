"""Kiro: steering files in .kiro/steering, each saying when it is included."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.chapters import Chapter, chapters
from commonplace.hosts.front_matter import Fields, bracketed, quoted, write
from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile(f".kiro/steering/{c.name}.md", _front(c), c.rules) for c in chapters(book)]


def _front(chapter: Chapter) -> str:
    if not chapter.paths:
        return write([("inclusion", "always")])
    patterns = quoted(chapter.paths[0]) if len(chapter.paths) == 1 else bracketed(chapter.paths)
    return write([("inclusion", "fileMatch"), ("fileMatchPattern", patterns)])


def on_demand(fields: Fields) -> bool:
    return fields.get("inclusion") in ("manual", "auto")


KIRO = Host(
    name="kiro",
    title="Kiro",
    signs=(".kiro",),
    files=files,
    homes=(".kiro/steering/**/*.md",),
    skills=".kiro/skills",
    glob_keys=("fileMatchPattern",),
    on_demand=on_demand,
)
