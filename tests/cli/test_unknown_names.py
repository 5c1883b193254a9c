"""A project or type that is not there is said, and not shown as empty; a command line without a command helps."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Run

from commonplace.cli.main import COMMANDS, RENAMED, SYNONYMS


@pytest.fixture
def remembered(run: Run) -> None:
    assert run("add", "Sessions live in Redis", "--type", "decision", "--project", "github.com/acme/shop-api").code == 0


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    "command",
    [
        ("search", "redis", "--project", "shop-apy"),
        ("list", "--project", "shop-apy"),
        ("context", "shop-apy"),
        ("report", "--project", "shop-apy"),
        ("sessions", "--project", "shop-apy"),
        ("conversations", "--project", "shop-apy"),
        ("export", "--everything", "--project", "shop-apy", "--output", "x.zip"),
    ],
    ids=lambda command: command[0],
)
def test_an_unknown_project_is_not_found_and_a_near_one_is_named(run: Run, command: tuple[str, ...]) -> None:
    outcome = run(*command)
    assert outcome.code == 3, outcome
    assert "There is no project 'shop-apy'." in outcome.err and "Did you mean 'shop-api'?" in outcome.err


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("command", [("search", "redis"), ("list",)], ids=lambda command: command[0])
def test_an_unknown_type_is_not_found_and_a_near_one_is_named(run: Run, command: tuple[str, ...]) -> None:
    outcome = run(*command, "--type", "decison")
    assert outcome.code == 3 and "Did you mean 'decision'?" in outcome.err
    assert run(*command, "--type", "rule").code == 0
    assert run(*command, "--type", "decision").code == 0


def test_an_unknown_project_far_from_any_leads_to_the_list(run: Run) -> None:
    assert "`commonplace projects` lists those that are known." in run("list", "--project", "zzz").err


def test_help_and_version_are_commands_too(run: Run) -> None:
    assert "Usage: commonplace search" in run("help", "search").out
    assert "Usage: commonplace keys create" in run("help", "keys", "create").out
    assert "Everyday:" in run("help").out
    assert run("help", "serach").code == 2 and "Did you mean 'search'?" in run("help", "serach").err
    assert run("help", "search", "nothing").code == 2
    assert run("version").out == run("--version").out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("serach", "'search'"),
        ("Search", "'search'"),
        ("ls", "'list'"),
        ("rm", "'forget'"),
        ("remember", "'add'"),
        ("uninstall", "'disconnect'"),
        ("config", "'settings'"),
        ("dashboard", "'serve'"),
        ("fnd", "'search'"),
    ],
)
def test_a_command_that_is_not_there_leads_to_the_one_that_is_meant(run: Run, typed: str, expected: str) -> None:
    outcome = run(typed)
    assert outcome.code == 2 and f"There is no command {typed!r}. Did you mean {expected}?" in outcome.err
    assert "`commonplace --help`" in outcome.err


def test_nothing_is_suggested_for_nonsense(run: Run) -> None:
    assert run("xyzzy").err == "error: There is no command 'xyzzy'.\nhint: See `commonplace --help`.\n"


def test_every_synonym_leads_to_a_command() -> None:
    names = {name for name, _where, _what in COMMANDS}
    assert set(SYNONYMS.values()) <= names and not names & set(SYNONYMS) and not set(RENAMED) & names


def test_a_subcommand_that_is_not_there_is_corrected_or_the_others_are_named(run: Run) -> None:
    near = run("conversations", "shwo", "1")
    assert near.code == 2 and "`conversations` has no command 'shwo'. Did you mean 'show'?" in near.err
    far = run("keys", "xyzzy")
    assert far.code == 2 and "There are: create, revoke." in far.err


def test_settings_are_listed_with_where_they_come_from(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_RATE_BURST", "77")
    monkeypatch.setenv("COMMONPLACE_REMOTE_KEY", "not to be seen")
    rows = {row["setting"]: row for row in run("settings", "--json").data["settings"]}
    assert (rows["rate_burst"]["value"], rows["rate_burst"]["from"]) == ("77", "environment")
    assert rows["remote_key"]["value"] == "(set)"
    assert (rows["port"]["value"], rows["port"]["from"]) == ("8765", "default")
    assert rows["port"]["meaning"] == "The port of `serve`; 0 for any free one."


def test_a_setting_that_is_named_is_explained(run: Run) -> None:
    told = run("settings", "port")
    assert told.code == 0 and "port = 8765 (default)\n  The port of `serve`" in told.out
    wrong = run("settings", "prot")
    assert wrong.code == 3 and "There is no setting 'prot'" in wrong.err


def test_a_forgotten_memory_does_not_block_an_edit(run: Run) -> None:
    run("add", "Use yarn", "--type", "rule", "--global")
    run("add", "Use npm", "--type", "rule", "--global")
    run("forget", "1")
    outcome = run("edit", "2", "--content", "Use yarn")
    assert outcome.code == 0, outcome.err
    assert [item["content"] for item in run("list", "--json").data["items"]] == ["Use yarn"]
    assert run("edit", "2", "--content", "Use yarn").code == 0
    assert run("check").code == 0


def test_an_edit_that_changes_nothing_makes_no_revision(run: Run) -> None:
    run("add", "Use pnpm", "--type", "rule", "--tag", "a", "--global")
    for change in (("--content", "Use pnpm"), ("--type", "rule"), ("--tag", "a")):
        assert run("edit", "1", *change).code == 0
    assert run("show", "1", "--json").data["items"][0]["rev"] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("connect", "claude"), "Did you mean 'claude-code' or 'claude-desktop'?"),
        (("connect", "cursr"), "Did you mean 'cursor'?"),
        (("generate", "agnets"), "Did you mean 'agents'?"),
        (("connect", "emacs"), "There are: claude-code, claude-desktop, cursor,"),
    ],
)
def test_an_editor_that_is_not_known_leads_to_those_that_are(
    run: Run, arguments: tuple[str, ...], expected: str
) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2 and expected in outcome.err


def test_an_edit_and_an_addition_of_nothing_say_what_to_give(run: Run) -> None:
    run("add", "Use pnpm")
    assert "such as --content" in run("edit", "1").err and run("edit", "1").code == 2
    assert "commonplace add" in run("add", stdin="\n").err and run("add", "").code == 2
