"""A host: an editor or agent, how to tell that a project uses it, and which rule files it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commonplace.hosts.chapters import skill_name
from commonplace.hosts.front_matter import Fields, quoted, write
from commonplace.memory.rulebook import Rule, Rulebook, Skill

MAX_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file that a host wants: its place in the project, its front matter, and rules or whole texts."""

    path: str
    front: str = ""
    rules: tuple[Rule, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """What there is to know about one tool. Paths are relative to the project and use `/`."""

    name: str
    title: str
    # The project uses the tool if any of these exists.
    signs: tuple[str, ...]
    # Its rule files for a rulebook, in a project at this folder.
    files: Callable[[Rulebook, Path], list[RuleFile]]
    # Where its rule files are, as globs: ours among them.
    homes: tuple[str, ...]
    # The folder with a folder for each skill.
    skills: str
    # Files it read once, or reads besides: learned from, never written.
    older: tuple[str, ...] = ()
    # Where a front matter keeps the globs.
    glob_keys: tuple[str, ...] = ()
    # Whether a rule file with this front matter is read only when an agent asks for it, as a skill is.
    on_demand: Callable[[Fields], bool] = lambda _fields: False
    # More characters than this in one file are not read by the tool.
    limit: int | None = None

    def used_in(self, root: Path) -> bool:
        """Whether a sign of it is there. If its file is a link to another one, that is written instead."""
        signs = [root / sign for sign in self.signs]
        return any(sign.exists() for sign in signs) and not any(_is_alias(sign, root) for sign in signs)

    def wants(self, book: Rulebook, root: Path) -> list[RuleFile]:
        """Everything to be written for it, skills too."""
        return [*(self.files(book, root) if book.rules else ()), *_skill_files(self.skills, book)]


def _is_alias(file: Path, root: Path) -> bool:
    return file.is_symlink() and file.is_file() and file.resolve().is_relative_to(root)


def _skill_files(folder: str, book: Rulebook) -> list[RuleFile]:
    """A folder with a SKILL.md for each category of skills. Several in one category follow each other."""
    named: dict[str, list[Skill]] = {}
    for skill in book.skills:
        if skill.category:
            named.setdefault(skill_name(skill.category, skill.id), []).append(skill)
    files = []
    for name, skills in named.items():
        description = skills[0].description[:MAX_DESCRIPTION]
        front = write([("name", name), ("description", quoted(description))])
        texts = tuple(skill.text.strip() for skill in skills)
        files.append(RuleFile(f"{folder}/{name}/SKILL.md", front, texts=texts))
    return files
