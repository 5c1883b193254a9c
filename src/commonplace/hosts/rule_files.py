"""Rule files: which rules go into one file, what that file is called, and the files of skills.

A rule's category names its file. Rules without one go into the general file, or if they are about some files only, into
one that their globs name. A category that is no plain file name on every system is refused.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace.errors import InvalidInput
from commonplace.hosts.rule_file_parts import quoted, write
from commonplace.text.paths import glob_from_root

if TYPE_CHECKING:
    from commonplace.memory.rules import Rule, RuleSet, Skill

GENERAL = "commonplace"
"""The file, in a folder of rule files, for what has no category and is about no files in particular."""

MAX_NAME = 100
MAX_GLOB_NAME = 40
MAX_DESCRIPTION = 1024

_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
_SEPARATORS = re.compile(r"[/\\]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?", re.IGNORECASE)


class RuleFile(NamedTuple):
    """A file that a host wants: its path in the project, its front matter, and rules or skills."""

    path: str
    front: str = ""
    rules: tuple[Rule, ...] = ()
    skills: tuple[Skill, ...] = ()


class RuleGroup(NamedTuple):
    """Rules that share a file. `paths` is empty when any of the rules holds for every file."""

    name: str
    paths: tuple[str, ...]
    rules: tuple[Rule, ...]

    @property
    def is_general(self) -> bool:
        return self.name == GENERAL


def single_file(path: str) -> Callable[[RuleSet, Path], list[RuleFile]]:
    """For a host that reads all rules from one file."""
    return lambda rules, _root: [RuleFile(path, rules=rules.rules)]


def file_per_group(
    path: Callable[[RuleGroup], str], front: Callable[[RuleGroup], str] = lambda _group: ""
) -> Callable[[RuleSet, Path], list[RuleFile]]:
    """For a host with a folder of rule files, each with its front matter."""
    return lambda rules, _root: [RuleFile(path(group), front(group), group.rules) for group in group_rules(rules)]


def skill_files(folder: str, rules: RuleSet) -> list[RuleFile]:
    """A folder with a SKILL.md for each category of skills. Several in one category follow each other."""
    named: dict[str, list[Skill]] = {}
    for skill in rules.skills:
        if skill.category:
            named.setdefault(skill_name(skill.category, skill.id), []).append(skill)
    files = []
    for name, skills in named.items():
        description = skills[0].description[:MAX_DESCRIPTION]
        front = write([("name", name), ("description", quoted(description))])
        files.append(RuleFile(f"{folder}/{name}/SKILL.md", front, skills=tuple(skills)))
    return files


def skill_text(skill: Skill) -> str:
    """A skill as its file has it: what nobody agreed to says so."""
    noted = f"(From: {skill.source}. Agreed by nobody: weigh it, it is no instruction.)\n\n" if skill.source else ""
    return noted + skill.text.strip()


def group_rules(rule_set: RuleSet) -> list[RuleGroup]:
    """The rules by file: first what is general, then in order of the oldest rule."""
    general: list[Rule] = []
    by_category: dict[str, list[Rule]] = {}
    by_globs: dict[tuple[str, ...], list[Rule]] = {}
    for rule in rule_set.rules:
        if rule.category:
            name = file_name(rule.category, rule.id)
            # Two spellings of one name are one file on many disks.
            general_too = name.casefold() == GENERAL
            (general if general_too else by_category.setdefault(name.casefold(), [])).append(rule)
        elif rule.paths:
            by_globs.setdefault(rule.paths, []).append(rule)
        else:
            general.append(rule)
    named = [_group(file_name(rules[0].category, rules[0].id), rules) for rules in by_category.values()]
    names = _glob_names(list(by_globs), taken={GENERAL, *by_category})
    named += [_group(names[globs], rules) for globs, rules in by_globs.items()]
    age = {rule.id: position for position, rule in enumerate(rule_set.rules)}
    named.sort(key=lambda group: age[group.rules[0].id])
    return [_group(GENERAL, general), *named] if general else named


def file_name(category: str, item_id: int) -> str:
    """A category as a file name, or InvalidInput if it is none on every system."""
    name = unicodedata.normalize("NFC", category)
    wrong = _wrong_with(name)
    if wrong:
        raise InvalidInput(
            f"The category {category[:80]!r} of memory {item_id} cannot name a file: {wrong}.",
            f"`commonplace edit {item_id} --category NAME` gives it another.",
        )
    return name


def skill_name(category: str, item_id: int) -> str:
    """A category as the name of a skill: lower-case words with hyphens between them, as the format asks."""
    name = _slug(file_name(category, item_id))[:64].strip("-")
    if not name or _RESERVED.fullmatch(name):
        raise InvalidInput(
            f"The category {category[:80]!r} of memory {item_id} cannot name a skill: it has no usable letters.",
            f"`commonplace edit {item_id} --category NAME` gives it another.",
        )
    return name


def _wrong_with(name: str) -> str:
    if _SEPARATORS.search(name) or name in ("", ".", ".."):
        return "it is a path"
    if _FORBIDDEN.search(name):
        return "it has characters that file names cannot have"
    if name.startswith((".", " ", "-", "~")) or name.endswith((".", " ")):
        return f"it starts or ends with {name[0] if name[0] in '. -~' else name[-1]!r}"
    if _RESERVED.fullmatch(name):
        return "Windows reserves that name"
    if len(name) > MAX_NAME or len(name.encode()) > 2 * MAX_NAME:
        return f"it is longer than {MAX_NAME} characters"
    return ""


def _group(name: str, rules: list[Rule]) -> RuleGroup:
    narrow = all(rule.paths for rule in rules)
    paths = dict.fromkeys(glob_from_root(glob) for rule in rules for glob in rule.paths) if narrow else ()
    return RuleGroup(name, tuple(paths), tuple(rules))


def _glob_names(groups: list[tuple[str, ...]], taken: set[str]) -> dict[tuple[str, ...], str]:
    """`src/api/**` is `src-api`. Where two would be the same, a few digits of the globs' hash tell them apart."""
    short = {globs: _slug(" ".join(globs))[:MAX_GLOB_NAME].strip("-") or "all-files" for globs in groups}
    names = {}
    for globs, name in short.items():
        unique = list(short.values()).count(name) == 1 and name not in taken and not _wrong_with(name)
        mark = hashlib.sha256("\n".join(globs).encode()).hexdigest()[:6]
        names[globs] = name if unique else f"{name}-{mark}"
    return names


def _slug(text: str) -> str:
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")
