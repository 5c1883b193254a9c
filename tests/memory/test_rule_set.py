"""The rulebook: everything that must be told in a project, in the order in which it was said."""

from __future__ import annotations

import pytest
from tests.conftest import THEN

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import resolve_project
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.rules import Rule, Skill, rule_set
from commonplace.text.sentences import normalise_statement


def test_rules_come_oldest_first_whichever_was_stored_first(memory: LocalMemory) -> None:
    remember_all(
        memory,
        [
            NewItem("third", type="rule", project="p", created_ms=THEN + 2),
            NewItem("first", type="rule", created_ms=THEN),
            NewItem("second", type="fact", project="p", created_ms=THEN + 1),
            NewItem("second again", type="rule", project="p", created_ms=THEN + 1),
        ],
    )
    assert [rule.text for rule in rule_set(memory, "p").rules] == ["first", "second", "second again", "third"]


def test_a_rulebook_is_read_whole_however_long(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"rule {number}", type="rule", project="p") for number in range(1_203)])
    assert len(rule_set(memory, "p").rules) == 1_203


def test_it_holds_what_holds_here_and_everywhere_and_is_asked_for(memory: LocalMemory) -> None:
    notes = [
        NewItem("here", type="rule", project="p"),
        NewItem("everywhere", type="rule"),
        NewItem("elsewhere", type="rule", project="q"),
        NewItem("a note", project="p"),
        NewItem("happened", kind="observation", type="rule", project="p"),
        NewItem("forgotten", type="rule", project="p"),
    ]
    stored = remember_all(memory, notes)
    forget_items(memory, [stored[-1].id])
    assert [rule.text for rule in rule_set(memory, "p").rules] == ["here", "everywhere"]
    assert [rule.text for rule in rule_set(memory, None).rules] == ["everywhere"]
    assert [rule.text for rule in rule_set(memory, "unheard-of").rules] == ["everywhere"]
    assert [rule.text for rule in rule_set(memory, "p", ["note"]).rules] == ["a note"]


def test_a_rule_has_its_category_globs_and_heading(memory: LocalMemory) -> None:
    details = {"category": "api", "paths": "src/**\n*.ts", "subtitle": "YAML  files"}
    one = remember(memory, NewItem("two\r\nlines ", type="rule", project="p", details=details))
    (rule,) = rule_set(memory, "p").rules
    assert rule == Rule(one.id, "rule", "two\nlines", "YAML files", "api", ("src/**", "*.ts"))
    assert rule.words == "YAML files: two\nlines"


def test_a_skill_is_described_by_its_metadata_or_its_title(memory: LocalMemory) -> None:
    one = remember(
        memory, NewItem("Do it", type="skill", details={"category": "x"}, meta={"description": "When\nasked"})
    )
    two = remember(memory, NewItem("# Deploying\n\nmake", type="skill", meta={"description": 7}))
    assert rule_set(memory, None).skills == (
        Skill(one.id, "x", "Do it", "When asked"),
        Skill(two.id, "", "# Deploying\n\nmake", "Deploying"),
    )


@pytest.mark.parametrize("types", [["banana"], ["rule", "observation"], []])
def test_unknown_types_are_refused(memory: LocalMemory, types: list[str]) -> None:
    with pytest.raises(InvalidInput, match="type"):
        rule_set(memory, None, types)


def test_a_project_that_someone_names_has_to_be_one_project(memory: LocalMemory) -> None:
    for name in ("github.com/a/api", "github.com/b/api", "web"):
        remember(memory, NewItem("x", type="rule", project=name))
    assert resolve_project(memory, "github.com/a/api") == "github.com/a/api"
    assert resolve_project(memory, "git@github.com:x/web.git") == "web"
    with pytest.raises(Conflict, match=r"github.com/a/api or github.com/b/api|github.com/b/api or github.com/a/api"):
        resolve_project(memory, "api")
    with pytest.raises(NotFound, match="'appi'"):
        resolve_project(memory, "appi")


def test_two_statements_are_the_same_if_their_words_are() -> None:
    assert normalise_statement(" Use  pnpm,\nnot npm. ") == normalise_statement("use pnpm, not npm")
    assert normalise_statement("Use pnpm") != normalise_statement("Use npm")
