"""Help that helps: every command describes itself, and its examples work as printed."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import click
import pytest

import commonplace
from commonplace.cli.main import COMMANDS
from commonplace.cli.main import commonplace as group

from .conftest import Outcome, Run, write_chats

NAMES = [name for name, _where, _what in COMMANDS]
# Run in test_encrypt.py.
NEED_A_SETTING = ("encrypt", "decrypt")
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


def test_no_arguments_show_the_overview(run: Run) -> None:
    done = run()
    assert "Commands:" in done.out + done.err


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
        assert where.startswith("commonplace.cli.") and what.endswith(".") and len(what) <= 70


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEED_A_SERVER + NEED_A_SETTING])
def test_the_examples_work(run: Run, folder: Path, name: str) -> None:
    (folder / "notes.jsonl").write_text(json.dumps({"content": "From a file"}) + "\n", encoding="utf-8")
    write_chats(folder)
    subprocess.run(
        "git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m First", shell=True
    )
    for text in ("First thing", "Second thing", "Third thing"):
        run("add", text, "--project", "my-api")
    run("edit", "2", "--content", "Second thing, changed")
    run("store", "Colours", "chats/colours.txt", "--folder", "/work/design")
    for line in command(name).examples:  # type: ignore[attr-defined]
        done = execute(line, run)
        assert done.code == 0, f"{line}: {done}"


def test_a_server_ends_when_its_agent_leaves(spawn: Run) -> None:
    for line in command("mcp").examples:  # type: ignore[attr-defined]
        done = spawn(*shlex.split(line)[1:])
        assert done.code == 0 and (done.out == "" or "--help" in line), line
