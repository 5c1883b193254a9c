"""Cline: .clinerules, a folder of rule files with `paths` on top, or, in older projects, one file."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.chapters import chapters
from commonplace.hosts.front_matter import listed, write
from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook

FOLDER = ".clinerules"


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    if (root / FOLDER).is_file():
        return [RuleFile(FOLDER, rules=book.rules)]
    return [
        RuleFile(f"{FOLDER}/{c.name}.md", write([("paths", listed(c.paths))]) if c.paths else "", c.rules)
        for c in chapters(book)
    ]


CLINE = Host(
    name="cline",
    title="Cline",
    signs=(FOLDER,),
    files=files,
    homes=(FOLDER, f"{FOLDER}/*.md"),
    skills=".cline/skills",
    glob_keys=("paths",),
)
