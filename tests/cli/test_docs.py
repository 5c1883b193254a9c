"""The page about the command line is true: its examples run, and no command is missing from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
from docs.command_options import reference

from commonplace.cli.main import COMMANDS, GROUPS, RENAMED
from commonplace.cli.main import commonplace as group

from .conftest import Run, write_chats
from .test_help import execute

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def console_lines() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_the_examples_of_the_page_run_in_order(run: Run, folder: Path) -> None:
    (folder / "notes.jsonl").write_text(json.dumps({"content": "From a file"}) + "\n", encoding="utf-8")
    write_chats(folder)
    lines = console_lines()
    assert len(lines) > 20
    for line in lines:
        done = execute(line, run)
        assert done.code == 0, f"{line}: {done}"


def test_every_command_is_on_the_page_in_the_order_of_the_help() -> None:
    text = PAGE.read_text(encoding="utf-8")
    titles = [title for title, _rows in GROUPS]
    assert [title for title in re.findall(r"^## (.+)$", text, re.MULTILINE) if title in titles] == titles
    for title, rows in GROUPS:
        section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert [name for name, *_rest in rows if f"`{name}`" not in section] == []


def test_the_reference_names_every_option_of_every_command() -> None:
    text = reference()
    for name, _where, _what in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        for one in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
            for option in one.params:
                if isinstance(option, click.Option) and option.name not in ("json_", "data_dir"):
                    assert all(f"`{opt}`" in section for opt in option.opts), (name, one.name, option.opts)
    assert all(f"| `{old}` | `{new}` |" in text for old, new in RENAMED.items())
