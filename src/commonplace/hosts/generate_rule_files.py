"""Generate: a project's rules in the files that agents read. Planned and checked first, then written at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.hosts import rule_file_parts
from commonplace.hosts.host import RuleFiles, rule_targets_in
from commonplace.hosts.project_files import (
    Change,
    as_text,
    canonical_path,
    find_files,
    read_inside,
    read_writable,
    write_all,
)
from commonplace.hosts.rule_files import RuleFile, skill_files, skill_text
from commonplace.hosts.rules_markdown import KnownStatements, as_markdown, statements
from commonplace.memory.content_fingerprint import fingerprint_reader
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rules import RULE_SET_TYPES, RuleSet, rule_set
from commonplace.text.paths import glob_from_root
from commonplace.text.sentences import normalise_statement

BOM = "\ufeff"


class Generated(NamedTuple):
    """What became of every file, or would, and what a person should know about it."""

    targets: tuple[str, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def changed(self) -> list[Change]:
        return [change for change in self.changes if change.action != "unchanged"]


def generate(
    memory: LocalMemory,
    root: Path,
    project: str | None,
    targets: Sequence[str] = (),
    types: Sequence[str] = RULE_SET_TYPES,
    *,
    write: bool = True,
) -> Generated:
    """Bring the rule files of a project up to date. Nothing is written unless everything can be."""
    chosen = rule_targets_in(root, targets)
    generated = plan_rule_files(rule_set(memory, project, types), root, chosen)
    if write:
        write_all(root, generated.changes)
    return generated


def plan_rule_files(rules: RuleSet, root: Path, targets: Sequence[RuleFiles]) -> Generated:
    """The changes that bring the files of these targets up to date. Writes nothing."""
    notes = [
        f"Skill {skill.id} has no category, so it has no folder: `commonplace edit {skill.id} --category NAME`."
        for skill in rules.skills
        if not skill.category
    ]
    changes: dict[str, Change] = {}
    paths: dict[str, str] = {}
    for target in targets:
        for wanted in _wanted_files(target, rules, root):
            path = canonical_path(root, wanted.path)
            if path in paths:
                raise InvalidInput(
                    f"{wanted.path} and {paths[path]} are the same file.",
                    "Two categories or targets need it: rename one category, or name the targets to write.",
                )
            paths[path] = wanted.path
            change = _written(root, wanted, target, notes)
            if change is not None:
                changes[wanted.path] = change
    for target in targets:
        for path in find_files(root, (*target.patterns, f"{target.skills}/*/SKILL.md")):
            if path not in changes and _has_our_block(root, path):
                changes[path] = _without_ours(root, path)
    names = tuple(target.name for target in targets)
    return Generated(names, tuple(changes[path] for path in sorted(changes)), tuple(notes))


def _wanted_files(target: RuleFiles, rules: RuleSet, root: Path) -> list[RuleFile]:
    """Everything to be written for a target, skills too."""
    return [*(target.files(rules, root) if rules.rules else ()), *skill_files(target.skills, rules)]


def _written(root: Path, wanted: RuleFile, target: RuleFiles, notes: list[str]) -> Change | None:
    """The change for a wanted file, None if the file says all of it already outside of our block."""
    before = read_writable(root, wanted.path)
    bom, text = _opened(before, wanted.path)
    cut = _cut(text, wanted.path)
    inner = _inner(wanted, cut)
    if not inner:
        return None
    front, cut = _fronted(wanted, text, cut, target, notes)
    made = rule_file_parts.block(inner, rule_file_parts.digest(front) if front else "")
    if not text:
        after = front + made + "\n"
    elif cut.block is None:
        after = rule_file_parts.appended(text, made)
    else:
        after = rule_file_parts.replaced(cut, made)
    if target.limit and len(after) > target.limit:
        notes.append(
            f"{wanted.path} has {len(after):,} characters; {target.title} may read only {target.limit:,} of them."
        )
    return Change(wanted.path, before, (bom + after).encode())


def _inner(wanted: RuleFile, cut: rule_file_parts.Parts) -> str:
    """What goes between the markers: all that the file does not say itself."""
    outside = rule_file_parts.cut(cut.before)[1] + "\n\n" + cut.after
    if wanted.skills:
        own = f" {normalise_statement(outside)} "
        new = [skill for skill in wanted.skills if f" {normalise_statement(skill.text)} " not in own]
        return rule_file_parts.disarmed("\n\n".join(map(skill_text, new)))
    known = KnownStatements((one.text, one.topic, one.paths) for one in statements(outside))
    return as_markdown([rule for rule in wanted.rules if not known.has_anywhere(rule.text, rule.topic)])


def _fronted(
    wanted: RuleFile, text: str, cut: rule_file_parts.Parts, target: RuleFiles, notes: list[str]
) -> tuple[str, rule_file_parts.Parts]:
    """The front matter that is ours to write, and the parts with it. Someone else's stays as it is."""
    if not text:
        return wanted.front, cut
    head, rest = rule_file_parts.cut(cut.before)
    alone = not rest.strip() and not cut.after.strip()
    ours = bool(head and cut.front_digest == rule_file_parts.digest(head) and not rest.strip())
    if cut.block is not None and (ours or (alone and not head)):
        if head and rule_file_parts.read(head) == rule_file_parts.read(wanted.front):
            return wanted.front, cut
        eol = rule_file_parts.line_end(cut.before + cut.block)
        return wanted.front, rule_file_parts.Parts(wanted.front.replace("\n", eol) + rest, cut.block, cut.after)
    has, needs = (rule_file_parts.globs_in(rule_file_parts.read(h), target.glob_keys) for h in (head, wanted.front))
    if set(map(glob_from_root, has)) != set(needs):
        notes.append(f"{wanted.path} already says which files it applies to; its front matter was left as it is.")
    return "", cut


def _without_ours(root: Path, path: str) -> Change:
    """The change for a file that is not wanted any more: it goes if nothing else is in it."""
    before = read_writable(root, path)
    bom, text = _opened(before, path)
    cut = _cut(text, path)
    head, rest = rule_file_parts.cut(cut.before)
    ours = not head or cut.front_digest == rule_file_parts.digest(head)
    if ours and not rest.strip() and not cut.after.strip():
        return Change(path, before, None)
    return Change(path, before, (bom + rule_file_parts.removed(cut)).encode())


def _has_our_block(root: Path, path: str) -> bool:
    """Whether a file of a host has our markers. Files that cannot be read have nothing of ours."""
    try:
        data = read_inside(root, path)
    except CommonplaceError:
        return False
    return b"commonplace:begin" in data and _cut(_opened(data, path)[1], path).block is not None


def _opened(data: bytes | None, path: str) -> tuple[str, str]:
    text = as_text(data or b"", path)
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _cut(text: str, path: str) -> rule_file_parts.Parts:
    try:
        return rule_file_parts.parts(text)
    except rule_file_parts.BadMarkers as error:
        raise Conflict(
            f"It is not clear which part of {path} is ours: {error}.",
            f"Leave one {rule_file_parts.BEGIN} and one {rule_file_parts.END} after it, or none.",
        ) from error


Stamp = tuple[tuple[int, int] | str | None, ...]


def watch(
    memory: LocalMemory,
    regenerate: Callable[[], Generated],
    wait: Callable[[], bool],
    report: Callable[[Generated], None],
    report_refusal: Callable[[CommonplaceError], None],
) -> None:
    """Regenerate whenever the store changed, until `wait` returns False.

    A refusal is reported once and tried again each time: someone may be in the middle of editing a file.
    """
    seen: Stamp | None = None
    refused, fresh = "", False
    while True:
        now = stamp(memory)
        # Once more after each change: a second write within a clock tick looks the same.
        if now != seen or fresh or refused:
            fresh = now != seen
            try:
                made = regenerate()
            except CommonplaceError as error:
                if error.message != refused:
                    report_refusal(error)
                refused = error.message
            else:
                refused = ""
                if made.changed or seen is None:
                    report(made)
            # Taken before reading, so that what was written meanwhile is seen next time.
            seen = now
        if not wait():
            return


def stamp(memory: LocalMemory) -> Stamp:
    """Changes with every write to the store, by whichever process."""
    ask = fingerprint_reader(memory)
    if ask is not None:
        try:
            return (ask(),)
        except CommonplaceError:
            # Whoever reads the rules then gets the reason.
            return ("away",)
    database = memory.settings.database
    return tuple(_times(path) for path in (database, Path(f"{database}-wal")))


def _times(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
