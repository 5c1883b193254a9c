"""Learn: the rule files and skills that a project has, as memories. What is known already is not learned again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.hosts import rule_file_parts
from commonplace.hosts.host import RuleFiles, rule_targets
from commonplace.hosts.project_files import as_text, find_files, read_inside
from commonplace.hosts.rule_files import GENERAL, file_name, skill_name
from commonplace.hosts.rules_markdown import KnownStatements, statements
from commonplace.memory.authors import for_import
from commonplace.memory.draft import make_draft
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.rules import SKILL, rule_set
from commonplace.model import MEMORY_TYPES
from commonplace.text.paths import check_glob, split_globs
from commonplace.text.sentences import normalise_statement

MAX_FILES = 500
EVERY_FILE = frozenset({"*", "**", "**/*"})
SKILL_FILE = "SKILL.md"
SUFFIXES = (".instructions.md", ".mdc", ".md", ".txt")


@dataclass(frozen=True, slots=True)
class RuleSource:
    """A rule file: under which root and path, of which target, in which category, about which files."""

    root: Path
    path: str
    target: RuleFiles | None = None
    category: str = ""
    paths: tuple[str, ...] = ()


@dataclass(slots=True)
class LearnedFile:
    """What became of one file."""

    path: str
    host: str = ""
    added: list[NewItem] = field(default_factory=list)
    known: int = 0
    skipped: str = ""


class Skipped(Exception):
    """Why nothing is learned from a file."""


def learn(
    memory: LocalMemory,
    root: Path,
    project: str | None,
    given: Sequence[Path] = (),
    *,
    write: bool = True,
    accept: bool = False,
) -> list[LearnedFile]:
    """Remember what is new in these rule files and folders, or in all of the project: all of it or nothing.

    Rules wait for review, unless whoever learns them says to `accept` them.
    """
    importing = for_import(memory, accept=accept)
    rules = rule_set(memory, project, MEMORY_TYPES, waiting=True)
    known = KnownStatements((rule.text, rule.topic, rule.paths) for rule in rules.rules)
    skills = {(_skill_key(skill.category), normalise_statement(skill.text)) for skill in rules.skills}
    reads = []
    for number, source in enumerate(_sources(root, given)):
        read = LearnedFile(source.path, source.target.name if source.target else "")
        reads.append(read)
        if number >= MAX_FILES:
            read.skipped = f"more than {MAX_FILES} files"
            continue
        try:
            notes = list(_notes(source))
            for note in notes:
                # What cannot be stored concerns this file alone.
                make_draft(note, memory.clock())
        except (CommonplaceError, Skipped) as error:
            read.skipped = str(error).rstrip(".")
            continue
        for note in notes:
            if _is_new(note, known, skills):
                read.added.append(replace(note, project=project, meta={**note.meta, "learned_from": source.path}))
            else:
                read.known += 1
    if write:
        _remember(importing, reads)
    return reads


def _remember(memory: LocalMemory, reads: Sequence[LearnedFile]) -> None:
    notes = [note for read in reads for note in read.added]
    if notes:
        remember_all(memory, notes)


def _is_new(note: NewItem, known: KnownStatements, skills: set[tuple[str, str]]) -> bool:
    """Whether this is neither in the store nor in a file that was read before; it is noted as known."""
    if note.type == SKILL:
        key = (_skill_key(note.details["category"]), normalise_statement(note.content))
        new = key not in skills
        skills.add(key)
        return new
    paths = split_globs(note.details.get("paths", ""))
    topic = note.details.get("subtitle", "")
    if known.has(note.content, topic, paths):
        return False
    known.add(note.content, topic, paths)
    return True


def _notes(source: RuleSource) -> Iterator[NewItem]:
    """What a file says, outside of the part that we wrote."""
    text = as_text(read_inside(source.root, source.path), source.path).removeprefix("\ufeff")
    try:
        cut = rule_file_parts.parts(text)
    except rule_file_parts.BadMarkers as error:
        raise Skipped(str(error)) from error
    head, body = rule_file_parts.cut(cut.before)
    body = f"{body}\n\n{cut.after}".strip()
    if not body:
        raise Skipped("written by `commonplace generate`" if cut.block else "empty")
    fields = rule_file_parts.read(head)
    description = fields.get("description", "")
    on_demand = source.target is not None and source.target.on_demand(fields)
    if PurePosixPath(source.path).name == SKILL_FILE or (on_demand and source.category):
        meta = {"description": description} if isinstance(description, str) and description else {}
        yield NewItem(body, type=SKILL, details={"category": source.category}, meta=meta)
        return
    keys = source.target.glob_keys if source.target else ()
    globs = tuple(check_glob(glob) for glob in rule_file_parts.globs_in(fields, keys) if glob not in EVERY_FILE)
    found = statements(body)
    if not found:
        raise Skipped("it contains no rules")
    for one in found:
        paths = tuple(map(check_glob, one.paths)) or globs or source.paths
        details = {"subtitle": one.topic, "category": source.category, "paths": "\n".join(paths)}
        yield NewItem(one.text, type=one.type, details={name: value for name, value in details.items() if value})


def _sources(root: Path, given: Sequence[Path]) -> list[RuleSource]:
    if not given:
        return _all_in(root)
    found: dict[tuple[Path, str], RuleSource] = {}
    for path in given:
        for source in _named(root, path):
            found.setdefault((source.root, source.path), source)
    return list(found.values())


def _all_in(root: Path) -> list[RuleSource]:
    """Every rule file that some host reads in this folder, host by host."""
    sources: dict[str, RuleSource] = {}
    for target in rule_targets():
        for pattern in (*target.patterns, *target.older):
            for path in find_files(root, [pattern]):
                sources.setdefault(path, RuleSource(root, path, target, _category(path, pattern)))
        for path in find_files(root, [f"{target.skills}/*/{SKILL_FILE}"]):
            sources.setdefault(path, RuleSource(root, path, target, _skill_category(path)))
    return list(sources.values())


def _named(root: Path, given: Path) -> list[RuleSource]:
    """The rule files that a person means by a path. One outside of the project is a place of its own."""
    place = Path(os.path.normpath(Path.cwd().resolve() / given))
    if not place.exists():
        raise NotFound(f"There is no file or folder {given}.", "Name a rule file, or a folder that has some.")
    if not place.is_relative_to(root):
        place = place.parent.resolve() / place.name
    elif place.is_dir() and not place.resolve().is_relative_to(root):
        raise InvalidInput(f"{given} is a link that leaves the project.", "Name the folder that it leads to.")
    here = root if place.is_relative_to(root) else place if place.is_dir() else place.parent
    known = _all_in(here)
    inside = place.relative_to(here).as_posix()
    if place.is_dir():
        return known if here == place else [s for s in known if s.path.startswith(f"{inside}/")] or _all_in(place)
    for source in known:
        if source.path == inside:
            return [source]
    category = _skill_category(place.as_posix()) if place.name == SKILL_FILE else ""
    target = next((target for target in rule_targets() if place.name in target.patterns), None)
    # A file such as AGENTS.md speaks about the folder it is in.
    paths = (f"{PurePosixPath(inside).parent}/**",) if target and "/" in inside else ()
    return [RuleSource(here, inside, target, category, paths)]


def _category(path: str, pattern: str) -> str:
    """A file's name in a folder of rule files; sub-folders are part of it. Our own general file has none."""
    fixed, wildcard, _rest = pattern.partition("*")
    if not wildcard:
        return ""
    name = path.removeprefix(fixed).replace("/", "-")
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    name = _as_category(name.removesuffix(suffix))
    return "" if name.casefold() == GENERAL else name


def _skill_category(path: str) -> str:
    return _as_category(PurePosixPath(path).parent.name) or SKILL


def _as_category(name: str) -> str:
    """A file's or folder's name as a category; empty where it cannot be one."""
    name = re.sub(r"[^\w .-]+", "-", name).strip(" .-")
    try:
        return file_name(name, 0)
    except InvalidInput:
        return ""


def _skill_key(category: str) -> str:
    try:
        return skill_name(category, 0)
    except InvalidInput:
        return category
