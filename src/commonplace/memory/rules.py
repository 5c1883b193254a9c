"""Rules: those that are active for a project and its files, and the set that is written into rule files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from commonplace.errors import InvalidInput
from commonplace.memory.items import MAX_PAGE, browse_items, newest_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.told_to_agents import is_stated, scope_to_tell, source_mark, that_may_be_told, unstated_source
from commonplace.model import MEMORY_TYPES, Item, Scope
from commonplace.text.paths import any_glob_matches, split_globs
from commonplace.text.redact import redact
from commonplace.text.sentences import normalise_statement

MOST_RULES = 1000
# What a rule counts for beside its text, and the most that one text counts for.
_LABEL, _LONGEST = 100, 4_000


@dataclass(frozen=True, slots=True)
class ActiveRules:
    """Active rules, oldest first.

    `elsewhere` counts path rules that do not hold for the files at hand, `left_out` those that were too many to tell.
    `sources` has the marks of rules that somebody else or an agent stated, by their ids.
    """

    project: tuple[Item, ...]
    everywhere: tuple[Item, ...]
    elsewhere: int = 0
    left_out: int = 0
    sources: Mapping[int, str] = field(default_factory=dict)


def active_rules(
    memory: LocalMemory,
    project: str | None,
    files: Sequence[str] = (),
    most: int = MOST_RULES,
    at_ms: int | None = None,
) -> ActiveRules:
    """The newest rules of a project and of everywhere that hold, or held at a moment.

    With `files`, path rules only if they mean one of them.
    """
    scope = Scope.around(project, kinds=("memory",), types=("rule",))
    found = that_may_be_told(memory, newest_items(memory, scope_to_tell(replace(scope, at_ms=at_ms)), most))
    holding = [item for item in reversed(found) if applies_to(item, files)]
    return ActiveRules(
        project=tuple(item for item in holding if item.project is not None),
        everywhere=tuple(item for item in holding if item.project is None),
        elsewhere=len(found) - len(holding),
        sources={item.id: mark for item in holding if (mark := source_mark(memory, item))},
    )


def rules_within(active: ActiveRules, characters: int) -> ActiveRules:
    """As many rules as fit into about so many characters.

    What a person stated or accepted comes first, then the project's, and of those the newest.
    """
    chosen: set[int] = set()
    newest = (*reversed(active.project), *reversed(active.everywhere))
    for item in sorted(newest, key=lambda item: not is_stated(item)):
        characters -= _LABEL + min(len(item.body), _LONGEST)
        if characters < 0:
            break
        chosen.add(item.id)
    return replace(
        active,
        project=tuple(item for item in active.project if item.id in chosen),
        everywhere=tuple(item for item in active.everywhere if item.id in chosen),
        left_out=len(active.project) + len(active.everywhere) - len(chosen),
    )


def applies_to(item: Item, files: Sequence[str]) -> bool:
    """Whether a rule applies to the files at hand; without files, every rule does."""
    return not files or not rule_paths(item) or any_glob_matches(rule_paths(item), files)


def rule_paths(item: Item) -> tuple[str, ...]:
    """The globs of a path-scoped memory."""
    return split_globs(item.details.get("paths", ""))


RULE_SET_TYPES = ("rule", "constraint", "decision", "fact", "rejected", "skill")
# Of what belongs to no project, a project's files are told only these: a fact or decision of somewhere else is not its.
GLOBAL_RULE_TYPES = ("rule", "constraint", "skill")
SKILL = "skill"

_SPACE = re.compile(r"\s+")


class Rule(NamedTuple):
    """One rule: its text, the heading it was imported under, and the files it is about.

    `source` says what it comes from if no person stated or accepted it.
    """

    id: int
    type: str
    text: str
    topic: str = ""
    category: str = ""
    paths: tuple[str, ...] = ()
    source: str = ""

    @property
    def words(self) -> str:
        """Its text with its heading, without which a short rule may not make sense."""
        return f"{self.topic}: {self.text}" if self.topic else self.text


class Skill(NamedTuple):
    """A way of doing something, the sentence by which an agent knows when to use it, and a `source` like a rule's."""

    id: int
    category: str
    text: str
    description: str
    source: str = ""


class RuleSet(NamedTuple):
    """The rules and skills of one project, oldest first."""

    project: str | None
    rules: tuple[Rule, ...]
    skills: tuple[Skill, ...]


def rule_set(
    memory: LocalMemory, project: str | None, types: Sequence[str] = RULE_SET_TYPES, *, waiting: bool = False
) -> RuleSet:
    """What holds in a project, and the rules that hold everywhere; without a project, all that holds everywhere.

    With those `waiting` for review, if somebody wants to know what is known.
    """
    unknown = [type_ for type_ in types if type_ not in MEMORY_TYPES]
    if unknown or not types:
        named = ", ".join(map(repr, unknown))
        raise InvalidInput(
            f"There is no type {named}." if unknown else "No type is named.", f"Choose from {', '.join(MEMORY_TYPES)}."
        )
    found = (item for item in _all(memory, project, tuple(types), waiting=waiting) if _belongs(item, project))
    items = sorted(found, key=lambda item: (item.created_ms, item.id))
    rules: dict[tuple[str, tuple[str, ...]], Rule] = {}
    for item in items:
        if item.type != SKILL:
            rule = _rule(item)
            # The same said for the project and for everywhere is told once.
            key = (normalise_statement(rule.words), rule.paths)
            if key not in rules or (rules[key].source and not rule.source):
                rules[key] = rule
    return RuleSet(project, tuple(rules.values()), tuple(_skill(item) for item in items if item.type == SKILL))


def _all(memory: LocalMemory, project: str | None, types: tuple[str, ...], *, waiting: bool) -> Iterator[Item]:
    every = Scope.around(project, kinds=("memory",), types=types)
    scope = every if waiting else scope_to_tell(every)
    cursor: str | None = None
    while True:
        page = browse_items(memory, scope, MAX_PAGE, cursor)
        yield from page.items if waiting else that_may_be_told(memory, page.items)
        cursor = page.next_cursor
        if cursor is None:
            return


def _belongs(item: Item, project: str | None) -> bool:
    return project is None or item.project is not None or item.type in GLOBAL_RULE_TYPES


def _rule(item: Item) -> Rule:
    return Rule(
        id=item.id,
        type=item.type,
        text=_text(item),
        topic=_SPACE.sub(" ", item.details.get("subtitle", "")).strip(),
        category=item.details.get("category", "").strip(),
        paths=tuple(dict.fromkeys(split_globs(item.details.get("paths", "")))),
        source=unstated_source(item),
    )


def _skill(item: Item) -> Skill:
    given = item.meta.get("description")
    description = given if isinstance(given, str) and given.strip() else item.title
    description = _SPACE.sub(" ", redact(description)).strip()
    return Skill(item.id, item.details.get("category", "").strip(), _text(item), description, unstated_source(item))


def _text(item: Item) -> str:
    text = item.text or item.title.strip()
    return redact(text).replace("\r\n", "\n").replace("\r", "\n")
