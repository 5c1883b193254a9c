"""Help that helps: every command describes itself, and its examples work as printed."""

from __future__ import annotations

import json
import shlex
import subprocess
from importlib import import_module
from pathlib import Path

import click
import pytest

import commonplace
from commonplace.cli.main import COMMANDS, GROUPS, RENAMED
from commonplace.cli.main import commonplace as group
from commonplace.doctor.checkup import NAMES as AREA_NAMES

from .conftest import Outcome, Run, write_chats

NAMES = [name for name, _where, _what in COMMANDS]
# Run in test_encrypt.py.
NEED_A_SETTING = ("encrypt", "decrypt")
# Waits for a stream or a proposal that is not there; tried in test_streams.py and test_review.py.
NEED_MORE = (
    "streams cancel",
    "import --undo",
    "review accept",
    "review dismiss",
    "review undo",
    "> commonplace.fish",
    "topics show",
)
# Those of the last four are run in test_sync.py.
NEED_A_SERVER = ("mcp", "serve", "sync", "push", "pull", "promote")


def command(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def execute(line: str, run: Run) -> Outcome:
    """Run an example; what stands before a pipe is the shell's."""
    before, _, ours = line.rpartition(" | ")
    piped = subprocess.run(before, shell=True, capture_output=True, check=True).stdout if before else b""
    program, *arguments = shlex.split(ours)
    assert program == "commonplace"
    return run(*arguments, stdin=piped)


def test_the_overview_lists_every_command(run: Run) -> None:
    for arguments in (("--help",), ("-h",)):
        done = run(*arguments)
        assert done.code == 0 and "Examples:" in done.out and "--data-dir" in done.out
        for name, _where, what in COMMANDS:
            assert f"  {name} " in done.out and what[:40] in done.out


def test_the_overview_has_groups_and_aligned_names(run: Run) -> None:
    lines = run("--help").out.splitlines()
    titles = [title for title, _rows in GROUPS]
    assert [line[:-1] for line in lines if line[:-1] in titles and line.endswith(":")] == titles
    width = max(map(len, NAMES))
    for name, _where, what in COMMANDS:
        assert any(line.startswith(f"  {name:<{width}}  {what[:20]}") for line in lines), name


def test_the_version(run: Run) -> None:
    assert run("--version").out == f"commonplace {commonplace.__version__}\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert f"Usage: commonplace {name} " in done.out
    assert "Examples:\n  $ commonplace" in done.out or "Examples:\n  $ git" in done.out
    assert "--json" in done.out and "--data-dir" in done.out
    made = command(name)
    assert made.name == name and made.help and made.help[0].isupper()
    for option in made.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts} has no help"


def test_the_table_names_what_exists() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for _name, where, what in COMMANDS:
        module, _, function = where.partition(":")
        assert hasattr(import_module(f"commonplace.cli.{module}"), function)
        assert what.endswith(".") and len(what) <= 70


def all_examples(name: str) -> list[str]:
    """The examples of a command and of its subcommands."""
    made = command(name)
    inner = made.commands.values() if isinstance(made, click.Group) else ()
    lists = [getattr(one, "examples", ()) for one in (made, *inner)]
    return list(dict.fromkeys(line for lines in lists for line in lines))


MEMORIES = (
    "Sessions are kept in Redis for 30 days",
    "Never log request bodies",
    "Deploys to production run on Tuesdays and Thursdays",
    "MongoDB was dropped because orders need transactions",
)


def fill(run: Run, folder: Path) -> None:
    """Twenty memories of a project, a conversation, and the files that examples name."""
    (folder / "notes.jsonl").write_text(json.dumps({"content": "From a file"}) + "\n", encoding="utf-8")
    write_chats(folder)
    (Path.home() / ".cursor").mkdir()
    commit = "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m First"
    subprocess.run(f"git init -q . && git config commonplace.project my-api && {commit}", shell=True)
    lines = [{"content": f"{text}, for service {part}"} for part in "abcde" for text in MEMORIES]
    lines[11] = {"content": MEMORIES[0], "type": "decision"}
    done = run("add", "--jsonl", "-", "-p", "my-api", stdin="\n".join(map(json.dumps, lines)))
    assert done.code == 0
    run("edit", "12", "--content", "Sessions are kept in Redis for 60 days")
    run("conversations", "add", "Brand colours", "chats/colours.txt", "--folder", "/design")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEED_A_SERVER + NEED_A_SETTING])
def test_the_examples_work(run: Run, folder: Path, name: str) -> None:
    fill(run, folder)
    for line in all_examples(name):
        if not any(words in line for words in NEED_MORE):
            done = execute(line, run)
            assert done.code == 0, f"{line}: {done}"


# `hook` prints what its editor reads.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*NEED_A_SERVER, *NEED_A_SETTING, "hook")])
def test_every_command_prints_one_json_object(run: Run, folder: Path, name: str) -> None:
    fill(run, folder)
    line = all_examples(name)[0]
    done = execute(line if "--json" in line else f"{line} --json", run)
    assert done.code == 0 and isinstance(done.data, dict), f"{line}: {done}"


def test_the_help_of_the_doctor_names_every_area(run: Run) -> None:
    output = run("doctor", "--help").out
    assert [area for area in AREA_NAMES if area not in output] == []


def test_every_subcommand_explains_itself(run: Run) -> None:
    for name in NAMES:
        made = command(name)
        for inner in made.commands.values() if isinstance(made, click.Group) else ():
            done = run(name, str(inner.name), "--help")
            assert done.code == 0 and f"Usage: commonplace {name} {inner.name}" in done.out
            assert inner.help and inner.help[0].isupper()
            assert all(option.help for option in inner.params if isinstance(option, click.Option)), inner.name


# What each letter stands for, wherever it is an option.
LETTERS = {
    "-p": "--project",
    "-g": "--global",
    "-t": "--type",
    "-k": "--kind",
    "-n": "--limit",
    "-s": "--since",
    "-u": "--until",
    "-j": "--json",
    "-o": "--output",
    "-y": "--yes",
    "-c": "--content",
    "-q": "--query",
}


def test_a_letter_means_the_same_everywhere() -> None:
    for name in NAMES:
        made = command(name)
        for one in (made, *(made.commands.values() if isinstance(made, click.Group) else ())):
            for option in one.params:
                if isinstance(option, click.Option):
                    words = [word for word in option.opts if word.startswith("--")]
                    for letter, word in LETTERS.items():
                        assert (letter in option.opts) == (word in words), (name, one.name, option.opts)


@pytest.mark.parametrize("old", [*RENAMED])
def test_an_old_name_works_and_says_the_new_one(run: Run, old: str) -> None:
    arguments = ("Talk",) if old == "store" else ()
    run("conversations", "add", "Brand colours", stdin="User: Which blue?\nAI: Navy.\n")
    new = RENAMED[old]
    done = run(old, *arguments, stdin="User: Hello\nAI: Hi\n")
    assert done.code == 0 and f"`commonplace {old}` is now `commonplace {new}`" in done.err
    outcome = run(old, *arguments, "--json", stdin="User: Hello\nAI: Hi\n")
    assert outcome.code == 0 and outcome.data and outcome.err == ""
    assert f"Usage: commonplace {new.partition(' --')[0]} " in run(old, "--help").out
    assert f"Usage: commonplace {new.partition(' --')[0]} " in run("help", old).out
    assert old not in NAMES


def test_the_old_name_of_restoring_a_backup_works(run: Run) -> None:
    run("add", "Deploy on Tuesdays")
    run("backup")
    done = run("backups", "restore", "latest", "--dry-run")
    assert done.code == 0 and "`commonplace backups` is now `commonplace backup restore`" in done.err


def test_the_reply_under_an_old_name_keeps_its_shape(run: Run) -> None:
    assert list(run("clusters", "--json").data) == ["clusters"]
    assert list(run("topics", "--json").data) == ["topics"]


def test_a_server_ends_when_its_agent_leaves(spawn: Run) -> None:
    for line in command("mcp").examples:  # type: ignore[attr-defined]
        done = spawn(*shlex.split(line)[1:])
        assert done.code == 0 and (done.out == "" or "--help" in line), line
