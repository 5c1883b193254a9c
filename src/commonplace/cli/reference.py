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
`-h`, `--help`, which shows examples. [The command line](commands.md) says what each command is for.
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
    """Its arguments, what it says about itself, its options, and its subcommands."""
    yield f"{heading} {_name(context)}\n"
    if (usage := _usage(context)) != _name(context):
        yield f"`{usage}`\n"
    yield _text(command.help or "") + "\n"
    if options := _own_options(command):
        yield "| option | |\n|---|---|"
        yield from map(_option_row, options)
        yield ""
    if isinstance(command, click.Group):
        yield from _subcommand_lines(command, context, f"{heading}#")


def _subcommand_lines(group: click.Group, context: click.Context, heading: str) -> Iterator[str]:
    """The subcommands of a group: those without options are rows of a table."""
    inner = [click.Context(one, parent=context, info_name=name) for name, one in group.commands.items()]
    if plain := [one for one in inner if not _own_options(one.command)]:
        yield "| command | |\n|---|---|"
        yield from (f"| `{_usage(one)}` | {' '.join(_text(one.command.help or '').split())} |" for one in plain)
        yield ""
    for one in inner:
        if _own_options(one.command):
            yield from _command_lines(one.command, one, heading)


def _name(context: click.Context) -> str:
    return context.command_path.removeprefix("commonplace ")


def _usage(context: click.Context) -> str:
    arguments = [one.make_metavar(context) for one in context.command.params if isinstance(one, click.Argument)]
    return " ".join((_name(context), *arguments))


def _own_options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and one.name not in _COMMON]


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
    text, value = option.help or "", ""
    if isinstance(option.type, click.Choice):
        value = f" `{max(option.opts, key=len).lstrip('-').upper()}`"
        if not all(str(choice) in text for choice in option.type.choices):
            text += f" One of {', '.join(map(str, option.type.choices))}."
    elif not (option.is_flag or option.count):
        value = f" `{option.metavar or _VALUES.get(option.type.name, option.type.name.upper())}`"
    if option.show_default and option.default is not None:
        text += f" Default: {option.default}."
    return f"| {names}{_in_table(value)} | {_in_table(_with_html_escaped(text))} |"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _with_html_escaped(text: str) -> str:
    """Options become code, so that their hyphens stay; angle brackets and stars outside code are text."""
    parts = re.split(r"(`[^`]*`)", text)
    parts = [part if part.startswith("`") else re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", part) for part in parts]
    parts = re.split(r"(`[^`]*`)", "".join(parts))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
