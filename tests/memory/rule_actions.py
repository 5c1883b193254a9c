"""Tables of rules and actions (`rule_actions.txt`): which of them breaks the rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.memory.rule_checks import Action, command_action, edit_action

_EDIT = re.compile(r"(?P<how>edit|write) (?P<file>[^:]+): (?P<text>.*)")


class Case(NamedTuple):
    """A rule, an action, and whether it breaks the rule; `known` are the faults that are known of it."""

    type: str
    rule: str
    said: str
    action: Action
    breaks: bool
    known: bool


def read_cases(name: str) -> Iterator[Case]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        rule = lines[0].removeprefix("rejected: ")
        type_ = "rule" if rule == lines[0] else "rejected"
        for line in lines[1:]:
            verdict, _, said = line.partition(" ")
            is_breach, is_fault = verdict in ("breaks", "missed"), verdict in ("missed", "wrong")
            yield Case(type_, rule, said, action_of(said), is_breach, is_fault)


def action_of(said: str) -> Action:
    if edit := _EDIT.fullmatch(said):
        return edit_action([edit["file"]], edit["text"], creates=None if edit["how"] == "write" else False)
    branch, _, command = said.partition("$ ")
    return command_action(command, branch.strip().removeprefix("@"))
