"""Gemini CLI: GEMINI.md in the project's root."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Host, RuleFile
from commonplace.memory.rulebook import Rulebook


def files(book: Rulebook, root: Path) -> list[RuleFile]:
    return [RuleFile("GEMINI.md", rules=book.rules)]


GEMINI = Host(
    name="gemini",
    title="Gemini CLI",
    signs=("GEMINI.md", ".gemini"),
    files=files,
    homes=("GEMINI.md",),
    skills=".gemini/skills",
)
