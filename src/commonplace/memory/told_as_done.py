"""What is told as done: of a session's summary and checkpoint, all but the commands that broke a rule.

A breach is nothing that was achieved. It is left out where an agent is told of a session: at a start, in a hint, in a
context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.told_to_agents import is_stated, scope_to_tell, that_may_be_told
from commonplace.model import Item, Scope

_ACHIEVED = ("completed", "progress")
_RAN = re.compile(r"Ran (?:`(?P<command>[^`]+)`|(?P<old>.+?)(?= to [a-z]| — | \(|$))")
# The newest so many rules are asked.
_MOST_RULES = 500


def lines_told(item: Item, field: str, rules: Sequence[Item]) -> list[str]:
    """The lines of a field; of what was done, only what broke no rule."""
    lines = item.details.get(field, "").strip().splitlines()
    return [line for line in lines if not (field in _ACHIEVED and is_breach(line, rules))]


def done_lines(item: Item, rules: Sequence[Item]) -> list[str]:
    """What was done and broke no rule."""
    return [line for field in _ACHIEVED for line in lines_told(item, field, rules)]


def is_breach(line: str, rules: Sequence[Item]) -> bool:
    """Whether a line tells of a command that broke a rule."""
    ran = _RAN.match(line) if rules else None
    if ran is None:
        return False
    from commonplace.memory.rule_checks import broken_rules, command_action

    return bool(broken_rules(rules, command_action(ran["command"] or ran["old"])))


def without_breaches(memory: LocalMemory, project: str | None, items: Sequence[Item]) -> list[Item]:
    """The items, their summaries and checkpoints without the commands that broke what holds in a project."""
    if not any(_RAN.match(line) for item in items for line in done_lines(item, ())):
        return list(items)
    rules = _rules_of(memory, project)
    return [_without(item, rules) for item in items]


def _rules_of(memory: LocalMemory, project: str | None) -> list[Item]:
    """The rules, constraints and rejected ideas that people stated for a project and for all."""
    from commonplace.memory.rule_checks import CHECKED_TYPES

    scope = scope_to_tell(Scope.around(project, kinds=("memory",), types=CHECKED_TYPES))
    found = memory.store.newest(scope, _MOST_RULES)
    return [item for item in that_may_be_told(memory, found) if is_stated(item)]


def _without(item: Item, rules: Sequence[Item]) -> Item:
    kept = {field: "\n".join(lines_told(item, field, rules)) for field in _ACHIEVED if field in item.details}
    if all(text == item.details[field].strip() for field, text in kept.items()):
        return item
    return replace(item, details={field: text for field, text in {**item.details, **kept}.items() if text})
