"""The rulebook: everything that must be told in a project, in the order in which it was said."""

from __future__ import annotations

import pytest
from tests.conftest import THEN

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.rulebook import Rule, Skill, essence, known_project, rulebook


def test_rules_come_oldest_first_whichever_was_stored_first(book: Book) -> None:
    remember_all(
        book,
        [
            Note("third", type="rule", project="p", created_ms=THEN + 2),
            Note("first", type="rule", created_ms=THEN),
            Note("second", type="fact", project="p", created_ms=THEN + 1),
            Note("second again", type="rule", project="p", created_ms=THEN + 1),
        ],
    )
    assert [rule.text for rule in rulebook(book, "p").rules] == ["first", "second", "second again", "third"]


def test_a_rulebook_is_read_whole_however_long(book: Book) -> None:
    remember_all(book, [Note(f"rule {number}", type="rule", project="p") for number in range(1_203)])
    assert len(rulebook(book, "p").rules) == 1_203


def test_it_holds_what_holds_here_and_everywhere_and_is_asked_for(book: Book) -> None:
    notes = [
        Note("here", type="rule", project="p"),
        Note("everywhere", type="rule"),
        Note("elsewhere", type="rule", project="q"),
        Note("a note", project="p"),
        Note("happened", kind="observation", type="rule", project="p"),
        Note("forgotten", type="rule", project="p"),
    ]
    stored = remember_all(book, notes)
    forget(book, [stored[-1].id])
    assert [rule.text for rule in rulebook(book, "p").rules] == ["here", "everywhere"]
    assert [rule.text for rule in rulebook(book, None).rules] == ["everywhere"]
    assert [rule.text for rule in rulebook(book, "unheard-of").rules] == ["everywhere"]
    assert [rule.text for rule in rulebook(book, "p", ["note"]).rules] == ["a note"]


def test_a_rule_has_its_category_globs_and_heading(book: Book) -> None:
    details = {"category": "api", "paths": "src/**\n*.ts", "subtitle": "YAML  files"}
    one = remember(book, Note("two\r\nlines ", type="rule", project="p", details=details))
    (rule,) = rulebook(book, "p").rules
    assert rule == Rule(one.id, "rule", "two\nlines", "YAML files", "api", ("src/**", "*.ts"))
    assert rule.words == "YAML files: two\nlines"


def test_a_skill_is_described_by_its_metadata_or_its_title(book: Book) -> None:
    one = remember(book, Note("Do it", type="skill", details={"category": "x"}, meta={"description": "When\nasked"}))
    two = remember(book, Note("# Deploying\n\nmake", type="skill", meta={"description": 7}))
    assert rulebook(book, None).skills == (
        Skill(one.id, "x", "Do it", "When asked"),
        Skill(two.id, "", "# Deploying\n\nmake", "Deploying"),
    )


@pytest.mark.parametrize("types", [["banana"], ["rule", "observation"], []])
def test_unknown_types_are_refused(book: Book, types: list[str]) -> None:
    with pytest.raises(InvalidInput, match="type"):
        rulebook(book, None, types)


def test_a_project_that_someone_names_has_to_be_one_project(book: Book) -> None:
    for name in ("github.com/a/api", "github.com/b/api", "web"):
        remember(book, Note("x", type="rule", project=name))
    assert known_project(book, "github.com/a/api") == "github.com/a/api"
    assert known_project(book, "git@github.com:x/web.git") == "web"
    with pytest.raises(Conflict, match=r"github.com/a/api or github.com/b/api|github.com/b/api or github.com/a/api"):
        known_project(book, "api")
    with pytest.raises(NotFound, match="'appi'"):
        known_project(book, "appi")


def test_two_statements_are_the_same_if_their_words_are() -> None:
    assert essence(" Use  pnpm,\nnot npm. ") == essence("use pnpm, not npm")
    assert essence("Use pnpm") != essence("Use npm")
