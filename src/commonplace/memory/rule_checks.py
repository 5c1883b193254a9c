"""Does an action break a rule? It is compared with what the rule rejects and with what it wants.

Names are compared, not meanings: programs, packages, images, services, hosts, branches, files and what a file gets.
What a rule says beyond that is no reason to speak; so most rules are never found to be broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.memory.command_checks import UNRELATED, Finding, check_call, same_thing
from commonplace.memory.edit_checks import check_edit
from commonplace.memory.rules import rule_paths
from commonplace.model import Item
from commonplace.text.command_actions import Action, command_action, edit_action
from commonplace.text.known_tools import are_alternatives
from commonplace.text.paths import any_glob_matches
from commonplace.text.rule_statements import RuleStatements, Word, rule_statements

__all__ = ["Action", "Finding", "broken_rules", "check_rule", "command_action", "edit_action", "is_checkable"]

# What may forbid something. A decision or a fact tells how it is, not how it has to be.
CHECKED_TYPES = ("rule", "constraint", "rejected")


def check_rule(rule: Item, action: Action) -> Finding:
    """Whether an action breaks a rule, a constraint or a rejected idea; a path rule only where it is about a file."""
    if rule.type not in CHECKED_TYPES:
        return UNRELATED
    paths = rule_paths(rule)
    if paths and not any_glob_matches(paths, _files_of(action)):
        return UNRELATED
    return check_statements(rule_statements(_text_of(rule), rule.type == "rejected"), action)


def broken_rules(rules: Iterable[Item], action: Action) -> list[Item]:
    """Those of some rules that an action seems to break."""
    return [rule for rule in rules if check_rule(rule, action).verdict == "breaks"]


def is_against(rule: Item, other: Item) -> bool:
    """Whether a rule rejects what another one wants, or wants what that rejects or something in its place."""
    one, two = (rule_statements(_text_of(item), item.type == "rejected") for item in (rule, other))
    return (
        _rejects_wanted(one, two)
        or _rejects_wanted(two, one)
        or any(
            are_alternatives(word.folded, wish.folded)
            for phrase in one.wanted
            for word in phrase
            for wanted in two.wanted
            for wish in wanted
        )
    )


def _rejects_wanted(one: RuleStatements, two: RuleStatements) -> bool:
    wanted = [{word.folded for word in phrase} for phrase in two.wanted]
    return any({word.folded for word in rejection.words} <= phrase for rejection in one.rejected for phrase in wanted)


def rejects_any(rule: Item, words: Sequence[Word]) -> bool:
    """Whether a rule rejects something that is proposed in words."""
    if rule.type not in CHECKED_TYPES or not words:
        return False
    statements = rule_statements(_text_of(rule), rule.type == "rejected")
    return any(
        rejection.deed == "use"
        and all(any(same_thing(word.folded, one.folded) for one in words) for word in rejection.words)
        for rejection in statements.rejected
    )


def check_statements(rule: RuleStatements, action: Action) -> Finding:
    """The same for what a rule wants and rejects."""
    findings = [check_call(rule, call) for call in action.calls]
    if action.files:
        findings.append(check_edit(rule, action))
    for verdict in ("breaks", "obeys"):
        found = [finding for finding in findings if finding.verdict == verdict]
        if found:
            return next((finding for finding in found if finding.certain), found[0])
    return UNRELATED


def _text_of(rule: Item) -> str:
    text = rule.text or rule.title
    if rule.type == "rejected" and rule.title and not text.startswith(rule.title.rstrip("…. ")[:40]):
        return f"{rule.title}. {text}"
    return text


def _files_of(action: Action) -> list[str]:
    return [*action.files, *(file for call in action.calls for file in call.files)]


def is_checkable(rule: Item) -> bool:
    """Whether a rule says anything that an action could break."""
    found = rule_statements(_text_of(rule), rule.type == "rejected")
    return rule.type in CHECKED_TYPES and bool(found.wanted or found.rejected)
