"""Whether an action breaks a rule, for many rules and actions; and what a rule is about."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.memory.rule_actions import Case, action_of, read_cases

from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.rule_checks import broken_rules, check_rule, check_statements, command_action
from commonplace.model import Item
from commonplace.text.rule_statements import rule_statements

TABLES = ("rule_actions.txt", "rule_actions_blind.txt", "rule_actions_more.txt", "rule_actions_other_tools.txt")
CASES = [case for table in TABLES for case in read_cases(table)]


def breaks(case: Case) -> bool:
    return check_statements(rule_statements(case.rule, case.type == "rejected"), case.action).verdict == "breaks"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule} | {case.said}")
def test_a_breach_is_told_from_what_is_innocent(case: Case) -> None:
    assert breaks(case) == (case.breaks != case.known)


def test_what_is_pushed_to_another_branch_is_not_blamed_for_the_branch_that_it_is_pushed_from() -> None:
    rule = rule_statements("Never push straight to main")
    verdicts = {
        line: check_statements(rule, command_action(line, branch="main")).verdict
        for line in (
            *("git push", "git push origin main", "git push origin HEAD:main", "git push -f origin HEAD"),
            *("git push origin feature/locks", "git push -u origin feature/locks", "git push -f origin feature/locks"),
        )
    }
    assert [*verdicts.values()] == ["breaks"] * 4 + ["obeys"] * 3, verdicts


def test_a_rule_has_nothing_to_say_about_the_actions_of_others() -> None:
    """Each rule is asked about every action of the other rules that is innocent there."""
    rules = list(dict.fromkeys((case.rule, case.type) for case in CASES))
    innocent = [case for case in CASES if not case.breaks]
    blamed: Counter[str] = Counter()
    for rule, type_ in rules:
        statements = rule_statements(rule, type_ == "rejected")
        for case in innocent:
            if case.rule != rule and check_statements(statements, case.action).verdict == "breaks":
                blamed[f"{rule} | {case.said}"] += 1
    # Some are right: one person's `npm ci` is another's breach.
    assert sum(blamed.values()) <= 0.02 * len(rules) * len(innocent), blamed


def keep(memory: LocalMemory, text: str, type_: str = "rule", **details: str) -> Item:
    return get_item(memory, remember(memory, NewItem(text, "memory", type_, details=details)).id)


def test_a_path_rule_is_broken_only_in_its_files(memory: LocalMemory) -> None:
    rule = keep(memory, "Never use useEffect() in screens", paths="src/screens/**")
    assert check_rule(rule, action_of("edit src/screens/Home.tsx: useEffect(() => 1)")).verdict == "breaks"
    assert check_rule(rule, action_of("edit src/screens/Home.tsx: return null")).verdict != "breaks"
    assert check_rule(rule, action_of("edit src/hooks/a.ts: useEffect(() => 1)")).verdict == "unrelated"


def test_what_is_broken_is_said(memory: LocalMemory) -> None:
    rules = [keep(memory, "Use pnpm, never npm"), keep(memory, "The app is written in TypeScript", "decision")]
    action = action_of("$ cd web && npm install react")
    assert broken_rules(rules, action) == rules[:1]
    assert check_rule(rules[0], action).what == "npm install react"
    assert check_rule(rules[0], action_of("$ pnpm install")).verdict == "obeys"
    assert check_rule(rules[0], action_of("$ ls")).verdict == "unrelated"


def test_it_is_not_certain_where_the_action_does_not_show_everything() -> None:
    def found(rule: str, action: str) -> bool:
        return check_statements(rule_statements(rule), action_of(action)).certain

    assert found("Use pnpm, never npm", "$ npm ci")
    assert not found("Never deploy on Fridays", "$ make deploy")
