"""`settings`, `version` and `help`: what is set and from where, which version this is, and how a command is called."""

from __future__ import annotations

from dataclasses import fields

import click

import commonplace
from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.config import SECRET, Settings, sources


@command("settings", "commonplace settings", "commonplace settings --json")
def settings(call: Call) -> None:
    """Every setting with its value, and where it was set: in the file, the environment, or nowhere.

    Passwords and keys are not shown. Set one in config.toml in the data folder, or as COMMONPLACE_NAME.
    """
    values, origins = call.settings(), sources({"data_dir": call.data_dir})
    rows = [
        {
            "setting": field.name,
            "value": _shown(field.name, getattr(values, field.name)),
            "from": origins.get(field.name, "default"),
        }
        for field in fields(Settings)
    ]
    if call.json:
        call.reply({"settings": rows, "file": str(values.data_dir / "config.toml")})
    else:
        tables.table(("setting", "value", "from"), rows)
        call.note(f"They are set in {values.data_dir / 'config.toml'} or by COMMONPLACE_<NAME>.")


def _shown(name: str, value: object) -> str:
    if name in SECRET:
        return "(set)" if value else ""
    return str(value)


@command("version", "commonplace version")
def version(call: Call) -> None:
    """The version that is installed."""
    if call.json:
        call.reply({"version": commonplace.__version__})
    else:
        call.say(f"commonplace {commonplace.__version__}")


@command("help", "commonplace help", "commonplace help search", "commonplace help keys create")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(call: Call, names: tuple[str, ...]) -> None:
    """How to call a command; without one, the list of commands."""
    top = click.get_current_context().find_root()
    context, found = top, top.command
    for name in names:
        inner = found.get_command(context, name) if isinstance(found, click.Group) else None
        if inner is None:
            raise click.UsageError(f"There is no command {' '.join(names)!r}.", top)
        context, found = click.Context(inner, parent=context, info_name=name), inner
    click.echo(found.get_help(context))
