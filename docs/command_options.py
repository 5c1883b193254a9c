"""The options of all commands as Markdown, made from the commands themselves; conf.py adds them to the site."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator

import click

from commonplace.cli.main import GROUPS, RENAMED, commonplace

HEAD = """\
## Options

Every command takes the first three. The others belong to several commands, which only name them below.

| option | |
|---|---|
| `-j`, `--json` | Print JSON, for programs. |
| `--data-dir` `PATH` | Use the store in this folder. |
| `-h`, `--help` | Show how to use the command, with examples. |
"""
# Options of every command, which the head describes.
_COMMON = frozenset({"json_", "data_dir", "help"})
# Options that mean the same everywhere, though commands word them for what they show.
_REWORDED = {
    "limit": "Show at most this many, or this many per page; each command names its default.",
    "dry_run": "Change nothing; only show what would be done.",
}
_VALUES = {"integer": "N", "integer range": "N", "float": "NUMBER", "float range": "NUMBER"}


def reference() -> str:
    """Everything below the list of commands."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    root = click.Context(commonplace, info_name="commonplace")
    groups = {title: [_command(name, root) for name, *_rest in rows] for title, rows in GROUPS}
    shared = _shared_rows(groups)
    yield HEAD.rstrip()
    yield from shared
    yield ""
    for contexts in groups.values():
        for context in contexts:
            yield from _command_lines(context, "###", shared)
    yield "## Earlier names\n"
    yield "These still work, and say what they are called now.\n"
    yield "| earlier | now |\n|---|---|"
    yield from (f"| `{old}` | `{new}` |" for old, new in RENAMED.items())


def _command(name: str, root: click.Context) -> click.Context:
    found = commonplace.get_command(root, name)
    assert found is not None
    return click.Context(found, parent=root, info_name=name)


def _subcommands(context: click.Context) -> list[click.Context]:
    commands = context.command.commands if isinstance(context.command, click.Group) else {}
    return [click.Context(one, parent=context, info_name=name) for name, one in commands.items()]


def _shared_rows(groups: dict[str, list[click.Context]]) -> dict[str, str]:
    """Rows that several commands have in common, each with its names. Of one name only the most frequent is shared."""
    contexts = [one for each in groups.values() for context in each for one in (context, *_subcommands(context))]
    counts = Counter((_option_row(option), _names(option)) for one in contexts for option in _own_options(one.command))
    shared: dict[str, str] = {}
    for (row, names), count in counts.most_common():
        if count > 1 and names not in shared.values():
            shared[row] = names
    return dict(sorted(shared.items(), key=lambda each: each[1].replace("-", "")))


def _command_lines(context: click.Context, heading: str, shared: dict[str, str]) -> Iterator[str]:
    """Its arguments, what it says about itself, its options, and its subcommands: a table if they need no options."""
    yield f"{heading} {_name(context)}\n"
    if (usage := _usage(context)) != _name(context):
        yield f"`{usage}`\n"
    yield _summary(context) + "\n"
    own, also = _options(context, shared)
    if own:
        yield "| option | |\n|---|---|"
        yield from own
        yield ""
    if also:
        yield f"{'Also' if own else 'Options:'} {also}.\n"
    inner = _subcommands(context)
    if plain := [one for one in inner if not _options(one, shared)[0]]:
        yield "| command | |\n|---|---|"
        yield from (_subcommand_row(one, shared) for one in plain)
        yield ""
    for one in inner:
        if one not in plain:
            yield from _command_lines(one, f"{heading}#", shared)


def _subcommand_row(context: click.Context, shared: dict[str, str]) -> str:
    _own, also = _options(context, shared)
    return f"| `{_usage(context)}` | {' '.join(_summary(context).split())}{f' Options: {also}.' if also else ''} |"


def _options(context: click.Context, shared: dict[str, str]) -> tuple[list[str], str]:
    """The rows that only this command has, and the names of the options that it shares."""
    rows = [(_option_row(option), option) for option in _own_options(context.command)]
    also = [shared[row] + _default(option) for row, option in rows if row in shared]
    return [row for row, _option in rows if row not in shared], "; ".join(also)


def _name(context: click.Context) -> str:
    return context.command_path.removeprefix("commonplace ")


def _usage(context: click.Context) -> str:
    arguments = [one.make_metavar(context) for one in context.command.params if isinstance(one, click.Argument)]
    return " ".join((_name(context), *arguments))


def _own_options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and one.name not in _COMMON]


def _summary(context: click.Context) -> str:
    """Its help as Markdown: the first paragraph, and what explains an argument or begins with an option."""
    first, *others = inspect.cleandoc(context.command.help or "").split("\n\n")
    arguments = "|".join(re.findall(r"[A-Z]{2,}", _usage(context))) or "(?!)"
    sentences = (
        sentence
        for part in others
        for number, sentence in enumerate(re.split(r"(?<=[^.]\.)\s+", "" if part.startswith("\b") else part))
        if re.search(rf"\b({arguments})\b|^Without one", sentence) or (number == 0 and part.startswith("--"))
    )
    paragraphs = (first, " ".join(sentences))
    return "\n\n".join(textwrap.fill(to_markdown(text), 120, break_on_hyphens=False) for text in paragraphs if text)


def _names(option: click.Option) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _default(option: click.Option) -> str:
    """The default of an option whose row does not tell it."""
    return f" ({option.default})" if option.name in _REWORDED and option.show_default and option.default else ""


def _option_row(option: click.Option) -> str:
    text, value = _REWORDED.get(option.name or "", option.help or ""), ""
    if isinstance(option.type, click.Choice):
        value = f" `{max(option.opts, key=len).lstrip('-').upper()}`"
        if not all(str(choice) in text for choice in option.type.choices):
            text += f" One of {', '.join(map(str, option.type.choices))}."
    elif not (option.is_flag or option.count):
        value = f" `{option.metavar or _VALUES.get(option.type.name, option.type.name.upper())}`"
    if option.show_default and option.default is not None and option.name not in _REWORDED:
        text += f" Default: {option.default}."
    return f"| {_names(option)}{_in_table(value)} | {_in_table(to_markdown(text))} |"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def to_markdown(text: str) -> str:
    """Options become code, so that their hyphens stay; angle brackets and stars outside code are text."""
    parts = re.split(r"(`[^`]*`)", text)
    parts = [part if part.startswith("`") else re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", part) for part in parts]
    parts = re.split(r"(`[^`]*`)", "".join(parts))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts)
