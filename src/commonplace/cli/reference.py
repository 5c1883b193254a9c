"""The reference of all commands and options as Markdown, made from the commands themselves.

`python -m commonplace.cli.reference docs/reference/options.md` writes it; a test says if the page is not up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from commonplace.cli.main import GROUPS, RENAMED, commonplace

HEAD = """\
# Every command and option

<!-- Written by `python -m commonplace.cli.reference docs/reference/options.md`; do not edit it by hand. -->

Every command also takes `-j`, `--json` (print JSON, for programs), `--data-dir PATH` (use the store in this folder) and
`-h`, `--help`.
"""
# Options of every command, which are described once.
_COMMON = frozenset({"json_", "data_dir", "help"})
_VALUES = {"integer": "N", "integer range": "N", "float": "NUMBER", "float range": "NUMBER"}


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    root = click.Context(commonplace, info_name="commonplace")
    for title, rows in GROUPS:
        yield f"## {title}\n"
        for name, _where, _what in rows:
            found = commonplace.get_command(root, name)
            assert found is not None
            yield from _command_lines(found, click.Context(found, parent=root, info_name=name), "###")
    yield "## Earlier names\n"
    yield "These still work, and say what they are called now.\n"
    yield "| earlier | now |\n|---|---|"
    yield from (f"| `{old}` | `{new}` |" for old, new in RENAMED.items())


def _command_lines(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    """Its arguments, what it says about itself, its options, its examples, and those of its subcommands."""
    name = context.command_path.removeprefix("commonplace ")
    arguments = [one.make_metavar(context) for one in command.params if isinstance(one, click.Argument)]
    yield f"{heading} {name}\n"
    if arguments:
        yield f"`{' '.join((name, *arguments))}`\n"
    yield _text(command.help or "") + "\n"
    options = [one for one in command.params if isinstance(one, click.Option) and one.name not in _COMMON]
    if options:
        yield "| option | |\n|---|---|"
        yield from map(_option_row, options)
        yield ""
    if examples := getattr(command, "examples", ()):
        yield "```sh"
        yield from examples
        yield "```\n"
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command_lines(inner, click.Context(inner, parent=context, info_name=name), f"{heading}#")


def _text(text: str) -> str:
    r"""Help as Markdown: a paragraph after `\b` is printed as it stands."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```text\n{inspect.cleandoc(part.removeprefix(chr(8)).strip(chr(10)))}\n```"
        if part.startswith("\b")
        else _with_html_escaped(part)
        for part in paragraphs
    )


def _option_row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = ""
    if not (option.is_flag or option.count):
        chosen = option.type
        choices = "|".join(map(str, chosen.choices)) if isinstance(chosen, click.Choice) else ""
        value = f" `{option.metavar or choices or _VALUES.get(chosen.name, chosen.name.upper())}`"
    shown = f" Default: {option.default}." if option.show_default and option.default is not None else ""
    return f"| {names}{_in_table(value)} | {_in_table(_with_html_escaped((option.help or '') + shown))} |"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _with_html_escaped(text: str) -> str:
    """Angle brackets outside code are text."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
