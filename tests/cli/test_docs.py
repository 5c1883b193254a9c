"""The page about the command line is true: its examples run, and no command is missing from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from commonplace.cli.main import COMMANDS
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


def test_every_command_and_option_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, _where, _what in COMMANDS:
        assert f"## `{name}" in text, name
        command = group.get_command(click.Context(group), name)
        assert command is not None
        section = text.partition(f"## `{name}")[2].partition("\n## ")[0]
        for option in command.params:
            if isinstance(option, click.Option) and option.name not in ("json_", "data_dir"):
                assert option.opts[0] in section, f"{name} {option.opts[0]} is not on the page"
