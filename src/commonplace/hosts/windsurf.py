"""Windsurf: .windsurf/rules/*.md, each with a trigger. It cuts long files off, so ours are kept short enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.hosts.front_matter import Fields, comma_globs, write
from commonplace.hosts.host import RuleFile, RuleTarget
from commonplace.hosts.rule_files import RuleGroup, group_rules
from commonplace.hosts.rules_markdown import HEADINGS, list_item, path_heading
from commonplace.memory.rules import Rule, RuleSet

# A file may have 12,000 characters now; it was 6,000, and still is in older versions.
LIMIT = 6_000
# Markers, note and blank lines.
AROUND = 300


def files(memory: RuleSet, root: Path) -> list[RuleFile]:
    made = []
    for chapter in group_rules(memory):
        front = _front(chapter)
        for number, rules in enumerate(_portions(chapter.rules, LIMIT - AROUND - len(front)), 1):
            name = chapter.name if number == 1 else f"{chapter.name}-{number}"
            made.append(RuleFile(f".windsurf/rules/{name}.md", front, rules))
    return made


def _front(chapter: RuleGroup) -> str:
    if not chapter.paths:
        return write([("trigger", "always_on")])
    return write([("trigger", "glob"), ("globs", comma_globs(chapter.paths))])


def _portions(rules: tuple[Rule, ...], room: int) -> Iterator[tuple[Rule, ...]]:
    """Rules in order, as many to a file as fit; one that fits nowhere has a file of its own."""
    portion: list[Rule] = []
    headings: set[object] = set()
    used = 0
    for rule in rules:
        needed = _length(rule, headings)
        if portion and used + needed > room:
            yield tuple(portion)
            portion, headings, used = [], set(), 0
            needed = _length(rule, headings)
        portion.append(rule)
        headings |= {rule.type, (rule.type, rule.paths)}
        used += needed
    yield tuple(portion)


def _length(rule: Rule, headings: set[object]) -> int:
    length = len(list_item(rule)) + 1
    if rule.type not in headings:
        length += len(HEADINGS[rule.type]) + 7
    if rule.paths and (rule.type, rule.paths) not in headings:
        length += len(path_heading(rule.paths)) + 4
    return length


def on_demand(fields: Fields) -> bool:
    return fields.get("trigger") in ("manual", "model_decision")


WINDSURF = RuleTarget(
    name="windsurf",
    title="Windsurf",
    signs=(".windsurf", ".windsurfrules"),
    files=files,
    homes=(".windsurf/rules/**/*.md",),
    skills=".windsurf/skills",
    older=(".windsurfrules",),
    glob_keys=("globs", "glob"),
    on_demand=on_demand,
    limit=LIMIT,
)
