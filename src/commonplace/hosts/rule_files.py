"""Chapters: which rules go into one file, and what that file is called.

A rule's category names its file. Rules without one are told everywhere; if they are about some files only, their globs
name the file. What would not be a plain file name everywhere is refused.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.rules import Rule, RuleSet
from commonplace.text.paths import glob_from_root

OWN = "commonplace"
"""The file, in a folder of rule files, for what has no category and is about no files in particular."""

MAX_NAME = 100
MAX_GLOB_NAME = 40

_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
_SEPARATORS = re.compile(r"[/\\]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that share a file. `paths`, as tools read them, is empty when any of the rules holds for every file."""

    name: str
    paths: tuple[str, ...]
    rules: tuple[Rule, ...]


def group_rules(memory: RuleSet) -> list[RuleGroup]:
    """A rulebook by file: first what is general, then in order of the oldest rule."""
    general: list[Rule] = []
    by_category: dict[str, list[Rule]] = {}
    by_globs: dict[tuple[str, ...], list[Rule]] = {}
    for rule in memory.rules:
        if rule.category:
            name = file_name(rule.category, rule.id)
            # Two spellings of one name are one file on many disks.
            general_too = name.casefold() == OWN
            (general if general_too else by_category.setdefault(name.casefold(), [])).append(rule)
        elif rule.paths:
            by_globs.setdefault(rule.paths, []).append(rule)
        else:
            general.append(rule)
    named = [_chapter(file_name(rules[0].category, rules[0].id), rules) for rules in by_category.values()]
    names = _glob_names(list(by_globs), taken={OWN, *by_category})
    named += [_chapter(names[globs], rules) for globs, rules in by_globs.items()]
    age = {rule.id: position for position, rule in enumerate(memory.rules)}
    named.sort(key=lambda chapter: age[chapter.rules[0].id])
    return [_chapter(OWN, general), *named] if general else named


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
            f"The category {category[:80]!r} of memory {item_id} cannot name a skill: it holds no usable letters.",
            f"`commonplace edit {item_id} --category NAME` gives it another.",
        )
    return name


def _wrong_with(name: str) -> str:
    if _SEPARATORS.search(name) or name in ("", ".", ".."):
        return "it is a path"
    if _FORBIDDEN.search(name):
        return "it holds characters that file names cannot"
    if name.startswith((".", " ", "-", "~")) or name.endswith((".", " ")):
        return f"it starts or ends with {name[0] if name[0] in '. -~' else name[-1]!r}"
    if _RESERVED.fullmatch(name):
        return "Windows keeps that name for itself"
    if len(name) > MAX_NAME or len(name.encode()) > 2 * MAX_NAME:
        return f"it is longer than {MAX_NAME} characters"
    return ""


def _chapter(name: str, rules: list[Rule]) -> RuleGroup:
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
